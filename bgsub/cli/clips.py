"""``bgsub clips``: cut a film into clips, one for each event."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli.events import load_selected, results_of, selection_options
from bgsub.cli.messages import Session, make_progress
from bgsub.cli.options import (
    PATH,
    chosen,
    command,
    named,
    out_option,
    preamble,
    resource_options,
    section,
    source_options,
)
from bgsub.errors import cannot_write, plural
from bgsub.export import ClipOptions
from bgsub.runtime.files import check_free, staged, write_file

if TYPE_CHECKING:
    from bgsub.export.clips import Overlay, Span
    from bgsub.export.run_data import RunData

_MASKS = {"mask", "side-by-side"}
"""Overlays that show masks."""

_FACTS = ("folder", "name", "path", "width", "height", "frames", "rate", "region")
"""What run.json says of the results that clips were cut from."""


@command(
    "clips",
    "bgsub clips results/ --out clips/",
    "bgsub clips night.mp4 --out clips/                       analysed now",
    "bgsub clips results/ --mode copy --out clips/            at once, from key frames",
    "bgsub clips results/ --overlay boxes --sheet sheet.jpg --out clips/",
    "bgsub clips results/ --reel reel.mp4 --caption --clock 2026-05-01T22:00 --out clips/",
    "bgsub clips results/ --min-area 200 --regions yard.json --region gate --out clips/",
    "bgsub clips results/ --before 5 --after 5 --max-events 20 --out clips/",
)
@click.argument("given", type=PATH, metavar="RESULTS|INPUT")
@out_option("Folder for the clips.")
@section("Results", kind=ClipOptions)
@named("force", section="Results")
@section("Events", kind=ClipOptions)
@selection_options
@source_options
@resource_options
def clips_command(session: Session, given: str, out: str, **params: Any) -> None:
    """Cut a film into a clip for each event, with its sound.

    RESULTS is a folder that bgsub run wrote; its film is cut. INPUT, a video or a folder of
    images, is analysed first. clips.csv says which events each clip shows; the names of clips sort
    by time.
    """
    from bgsub.export.clips import Painter, clip_names, join_clips, plan_spans, write_clips
    from bgsub.pipeline.results import ResultsDirectory

    force, own = params.pop("force"), chosen(ClipOptions, params)
    for unused in own.unused:
        session.log("warning", unused)
    for name in filter(None, (own.reel, own.sheet)):
        check_free(Path(name), force=force)
    masks = {"mask"} if own.overlay in _MASKS else set()
    outputs = frozenset({"objects", "tracks", "events", *masks})
    with session.about(given), results_of(given, outputs, params, session) as folder:
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
                try:
                    with staged(Path(own.reel)) as reel:
                        join_clips([stage / name for name in names], reel)
                except OSError as error:
                    where = "check the folder and its space"
                    raise cannot_write(own.reel, error, where) from error
            if own.sheet is not None:
                _write_sheet(run, spans, own.overlay, Path(own.sheet))
            facts = {name: str(getattr(run, name)) for name in _FACTS}
            record = preamble("clips", own.to_json())
            results.commit(record | {"of": facts, "clips": len(spans)})
        if not spans:
            session.log("finding", "no event was found: clips.csv has no rows")
            if own.reel is not None:
                message = f"{own.reel}: is not written, for there is nothing to join"
                session.log("warning", message)
        session.log("result", f"{plural(len(spans), 'clip')} in {out}", out=out)


def _write_sheet(run: RunData, spans: list[Span], overlay: Overlay, sheet: Path) -> None:
    """Draw the peak frame of each event on one picture, with the overlay of the clips."""
    from bgsub.export.clips import Painter, contact_sheet, open_film
    from bgsub.video.images import encode_image

    # Masks beside the pictures would make them half as large.
    shown: Overlay = "boxes" if overlay == "side-by-side" else overlay
    painter = None if shown == "none" else Painter(run, shown)
    film = open_film(run, numbered=painter is not None and painter.needs_numbers)
    events = [event for span in spans for event in span.events]
    picture = contact_sheet(film, events, painter=painter)
    write_file(sheet, encode_image(picture, sheet.suffix.lower()))
