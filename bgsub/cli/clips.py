"""``bgsub clips``: cut a film into clips, one for each event."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as shared
from bgsub.cli.files import check_free, load_selected, preamble, results_of, selection_options
from bgsub.cli.help import Command, examples
from bgsub.cli.messages import current_session, log_options
from bgsub.cli.progress import make_progress
from bgsub.errors import cannot_write, plural
from bgsub.export import ClipOptions

if TYPE_CHECKING:
    from bgsub.export.clips import Overlay, Span
    from bgsub.export.run_data import RunData

_MASKS = {"mask", "side-by-side"}
"""Overlays that show masks."""

_FACTS = ("folder", "name", "path", "width", "height", "frames", "rate", "region")
"""What run.json says of the results that clips were cut from."""


@click.command(
    "clips",
    cls=Command,
    epilog=examples(
        "bgsub clips results/ --out clips/",
        "bgsub clips night.mp4 --out clips/                       analysed now",
        "bgsub clips results/ --mode copy --out clips/            at once, from key frames",
        "bgsub clips results/ --overlay boxes --sheet sheet.jpg --out clips/",
        "bgsub clips results/ --reel reel.mp4 --caption --clock 2026-05-01T22:00 --out clips/",
        "bgsub clips results/ --min-area 200 --regions yard.json --region gate --out clips/",
        "bgsub clips results/ --before 5 --after 5 --max-events 20 --out clips/",
    ),
)
@click.argument("given", type=shared.PATH, metavar="RESULTS|INPUT")
@shared.out_option("Folder for the clips.")
@shared.section("Results", kind=ClipOptions)
@shared.named("force", section="Results")
@shared.section("Events", kind=ClipOptions)
@selection_options
@shared.source_options
@shared.resource_options
@log_options
def clips_command(given: str, out: str, **params: Any) -> None:
    """Cut a film into a clip for each event, with its sound.

    RESULTS is a folder that bgsub run wrote; its film is cut. INPUT, a video or a folder of
    images, is analysed first. clips.csv says which events each clip shows; the names of clips sort
    by time.
    """
    from bgsub.export.clips import Painter, clip_names, plan_spans, write_clips
    from bgsub.pipeline.results import ResultsDirectory

    session = current_session()
    force, own = params.pop("force"), shared.chosen(ClipOptions, params)
    for unused in own.unused:
        session.log("warning", unused)
    for name in filter(None, (own.reel, own.sheet)):
        check_free(Path(name), force=force)
    # All objects are followed, wherever they are: which of them count is decided afterwards.
    run_params = {**params, "regions": None, "ignore": None}
    masks = {"mask"} if own.overlay in _MASKS else set()
    outputs = frozenset({"objects", "tracks", "events", *masks})
    with session.about(given), results_of(given, outputs, run_params, session) as folder:
        run = load_selected(folder, params)
        spans = plan_spans(
            run.events(),
            before_s=own.before,
            after_s=own.after,
            merge_s=own.merge,
            most=own.max_events,
        )
        painter = None
        if own.mode != "copy" and (own.overlay != "none" or own.caption):
            began = None if own.clock is None else datetime.fromisoformat(own.clock)
            painter = Painter(run, own.overlay, captions=own.caption, began=began)
        names = clip_names(spans)
        with ResultsDirectory(Path(out), [*names, "clips.csv"], force=force) as results:
            stage = results.stage("")
            with make_progress(session) as progress:
                write_clips(run, stage, spans, mode=own.mode, painter=painter, progress=progress)
            if own.reel is not None and names:
                _write_reel([stage / name for name in names], Path(own.reel))
            if own.sheet is not None:
                _write_sheet(run, spans, own.overlay, Path(own.sheet))
            facts = {name: str(getattr(run, name)) for name in _FACTS}
            record = preamble("clips", own.to_json())
            results.commit(record | {"of": facts, "clips": len(spans)})
        _say(session, out, len(spans), own.reel)


def _write_reel(clips: list[Path], reel: Path) -> None:
    """Join clips in a file that is replaced when all of it is there."""
    from bgsub.export.clips import join_clips
    from bgsub.runtime.files import staged

    try:
        with staged(reel) as path:
            join_clips(clips, path)
    except OSError as error:
        raise cannot_write(reel, error, "check the folder and its space") from error


def _write_sheet(run: RunData, spans: list[Span], overlay: Overlay, sheet: Path) -> None:
    """Draw the peak frame of each event on one picture, with the overlay of the clips."""
    from bgsub.export.clips import Painter, contact_sheet, open_film
    from bgsub.runtime.files import write_file
    from bgsub.video.images import encode_image

    # Masks beside the pictures would make them half as large.
    shown: Overlay = "boxes" if overlay == "side-by-side" else overlay
    painter = None if shown == "none" else Painter(run, shown)
    film = open_film(run, numbered=painter is not None and painter.needs_numbers)
    events = [event for span in spans for event in span.events]
    picture = contact_sheet(film, events, painter=painter)
    write_file(sheet, encode_image(picture, sheet.suffix.lower()))


def _say(session: Any, out: str, clips: int, reel: str | None) -> None:
    if not clips:
        session.log("finding", "no event was found: clips.csv has no rows")
        if reel is not None:
            session.log("warning", f"{reel}: is not written, for there is nothing to join")
    session.log("result", f"{plural(clips, 'clip')} in {out}", out=out)
