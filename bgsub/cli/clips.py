"""``bgsub clips``: cut a film into clips, one for each event."""

from __future__ import annotations

import mmap
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as shared
from bgsub.cli import values
from bgsub.cli.analysed import results_of
from bgsub.cli.files import check_free, preamble
from bgsub.cli.help import Command, examples, option, together
from bgsub.cli.interrupts import log_results
from bgsub.cli.logs import current_session, log_options
from bgsub.cli.progress import make_progress
from bgsub.errors import UsageError

if TYPE_CHECKING:
    from bgsub.export.clips import Span
    from bgsub.export.run_data import RunData

_SECONDS = values.Seconds()
_MASKS = {"mask", "side-by-side"}
_OWN = (
    *("mode", "overlay", "caption", "reel", "before", "after", "merge", "max_events"),
    *("sheet", "clock"),
)
"""Options of this command alone; run.json keeps them."""

_result_options = together(
    option(
        "Results",
        "-o",
        "--out",
        type=values.PATH,
        required=True,
        metavar="DIR",
        help="Folder for the clips.",
    ),
    option(
        "Results",
        "--mode",
        type=click.Choice(["encode", "copy"]),
        default="encode",
        show_default=True,
        help="encode: exact to the frame. copy: the film's own packets, from the key frame before.",
    ),
    option(
        "Results",
        "--overlay",
        type=click.Choice(["none", "boxes", "mask", "side-by-side"]),
        default="none",
        show_default=True,
        help="Draw on encoded clips: boxes and numbers of the objects; the mask as a tint; or "
        "boxes, and the mask beside them.",
    ),
    option(
        "Results",
        "--caption",
        is_flag=True,
        help="Write the number of the event and the time on encoded clips, and so on the reel.",
    ),
    option(
        "Results",
        "--clock",
        type=click.DateTime(["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S"]),
        metavar="TIME",
        help="When the film began, as 2026-05-01T22:00:00: captions show the time of day.",
    ),
    option(
        "Results",
        "--reel",
        type=values.PATH,
        metavar="FILE",
        help="Join all clips into this file too, .mp4.",
    ),
    option(
        "Results",
        "--sheet",
        type=values.PATH,
        metavar="FILE",
        help="Write a contact sheet of the peak frames too, .jpg or .png.",
    ),
    shared.named("force", section="Results"),
)

_event_options = together(
    option(
        "Events",
        "--before",
        type=_SECONDS,
        default=1.5,
        show_default=True,
        metavar="SECONDS",
        help="Seconds of the film before each event.",
    ),
    option(
        "Events",
        "--after",
        type=_SECONDS,
        default=2.0,
        show_default=True,
        metavar="SECONDS",
        help="Seconds of the film after each event.",
    ),
    option(
        "Events",
        "--merge",
        type=_SECONDS,
        default=2.0,
        show_default=True,
        metavar="SECONDS",
        help="Join clips with at most this many seconds between them.",
    ),
    option(
        "Events",
        "--max-events",
        type=values.IntegerRange(1),
        metavar="N",
        help="Keep the N clips with the largest objects.",
    ),
)


@click.command(
    "clips",
    cls=Command,
    epilog=examples(
        "bgsub clips results/ --out clips/",
        "bgsub clips night.mp4 --out clips/                       analysed now",
        "bgsub clips results/ --mode copy --out clips/            at once, from key frames",
        "bgsub clips results/ --overlay boxes --sheet sheet.jpg --out clips/",
        "bgsub clips results/ --reel reel.mp4 --caption --clock 2026-05-01T22:00 --out clips/",
        "bgsub clips results/ --before 5 --after 5 --max-events 20 --out clips/",
    ),
)
@click.argument("given", type=values.PATH, metavar="RESULTS|INPUT")
@_result_options
@_event_options
@shared.source_options
@shared.resource_options
@log_options
def clips_command(given: str, out: str, **params: Any) -> None:
    """Cut a film into a clip for each event, with its sound.

    RESULTS is a folder that bgsub run wrote; its film is cut. INPUT, a video or a folder of
    images, is analysed first. clips.csv says which events each clip shows; the names of clips sort
    by time.
    """
    from bgsub.export.clips import clip_names, plan_spans, write_clips
    from bgsub.export.overlays import Painter
    from bgsub.export.run_data import load_run
    from bgsub.pipeline.directory import ResultsDirectory

    session = current_session()
    force, own = params.pop("force"), {name: params.pop(name) for name in _OWN}
    overlay, reel, sheet = own["overlay"], own["reel"], own["sheet"]
    _check(own["mode"], overlay, own["caption"], own["clock"])
    _check_name(reel, "--reel", {".mp4"}, force)
    _check_name(sheet, "--sheet", {".jpg", ".jpeg", ".png"}, force)
    outputs = frozenset({"objects", "tracks", "events", *(["mask"] if overlay in _MASKS else [])})
    with session.about(given), results_of(given, outputs, params, session) as folder:
        run = load_run(folder)
        spans = plan_spans(
            run.events(),
            before_s=own["before"],
            after_s=own["after"],
            merge_s=own["merge"],
            most=own["max_events"],
        )
        painter = None
        if overlay != "none" or own["caption"]:
            painter = Painter(run, overlay, captions=own["caption"], began=own["clock"])
        names = clip_names(spans)
        with ResultsDirectory(Path(out), [*names, "clips.csv"], force=force) as results:
            stage = results.stage("")
            with make_progress(session) as progress:
                write_clips(run, stage, spans, mode=own["mode"], painter=painter, progress=progress)
            if reel is not None and names:
                _write_reel([stage / name for name in names], stage / "reel.mp4", Path(reel))
            if sheet is not None:
                _write_sheet(run, spans, Path(sheet))
            facts = {key: str(value) for key, value in asdict(run).items()}
            clock = own["clock"]
            own["clock"] = None if clock is None else clock.isoformat()
            results.commit(preamble("clips", own) | {"of": facts, "clips": len(spans)})
        _say(session, out, len(spans), reel)


def _write_reel(clips: list[Path], staged: Path, reel: Path) -> None:
    """Join clips, and write them to a file that is replaced when all of it is there."""
    from bgsub.export.reel import join_clips
    from bgsub.runtime.temporary import write_file

    join_clips(clips, staged)
    with (
        staged.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        write_file(reel, data)


def _write_sheet(run: RunData, spans: list[Span], sheet: Path) -> None:
    """Draw the peak frame of each clip on one picture."""
    from bgsub.export.clips import open_film
    from bgsub.export.contact_sheet import contact_sheet
    from bgsub.runtime.temporary import write_file
    from bgsub.video.images import encode_image

    picture = contact_sheet(open_film(run), [span.peak for span in spans])
    write_file(sheet, encode_image(picture, sheet.suffix.lower()))


def _check(mode: str, overlay: str, caption: bool, clock: datetime | None) -> None:
    """Refuse options that have no effect together."""
    if mode == "copy" and (overlay != "none" or caption):
        name = "--overlay" if overlay != "none" else "--caption"
        raise UsageError(f"{name} has no effect with --mode copy; leave one of them out")
    if clock is not None and not caption:
        raise UsageError("--clock has no effect without --caption; leave it out, or give both")


def _check_name(name: str | None, flag: str, suffixes: set[str], force: bool) -> None:
    """Refuse a file of another kind, and one that is there, before any work."""
    if name is None:
        return
    if Path(name).suffix.lower() not in suffixes:
        raise UsageError(f"{flag} {name}: the name must end with {' or '.join(sorted(suffixes))}")
    check_free(Path(name), force=force)


def _say(session: Any, out: str, clips: int, reel: str | None) -> None:
    if not clips:
        session.log("finding", "no event was found: clips.csv has no rows")
        if reel is not None:
            session.log("warning", f"{reel}: is not written, for there is nothing to join")
    log_results(out, session, f"{clips} {'clip' if clips == 1 else 'clips'} in {{}}")
