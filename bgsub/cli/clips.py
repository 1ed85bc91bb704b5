"""``bgsub clips``: cut a film into clips, one for each event."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as shared
from bgsub.cli import values
from bgsub.cli.files import preamble
from bgsub.cli.help import Command, examples, option
from bgsub.cli.logs import current_session, log_options
from bgsub.cli.progress import make_progress

if TYPE_CHECKING:
    from bgsub.export.clips import Mode, Overlay

_SECONDS = click.FloatRange(min=0)


@click.command(
    "clips",
    cls=Command,
    short_help="Cut a film into clips, one for each event.",
    epilog=examples(
        "bgsub clips results/ --out clips/",
        "bgsub clips results/ --mode copy --out clips/            at once, from key frames",
        "bgsub clips results/ --overlay boxes --sheet sheet.jpg --out clips/",
        "bgsub clips results/ --before 5 --after 5 --max-events 20 --out clips/",
    ),
)
@click.argument("results", type=values.PATH, metavar="RESULTS")
@option(
    "Results",
    "-o",
    "--out",
    type=values.PATH,
    required=True,
    metavar="DIR",
    help="Folder for them.",
)
@option(
    "Results",
    "--mode",
    type=click.Choice(["encode", "copy"]),
    default="encode",
    show_default=True,
    help="encode: exact to the frame. copy: the film's own packets, from the key frame before.",
)
@option(
    "Results",
    "--overlay",
    type=click.Choice(["none", "boxes"]),
    default="none",
    show_default=True,
    help="Draw boxes and numbers of the objects on encoded clips.",
)
@option(
    "Results",
    "--sheet",
    type=click.Choice(["sheet.jpg", "sheet.png"]),
    metavar="sheet.jpg|sheet.png",
    help="Write a contact sheet of the peak frames into the folder too.",
)
@shared.named("force", section="Results")
@option("Events", "--before", type=_SECONDS, default=1.5, show_default=True, metavar="SECONDS",
        help="Seconds of the film before each event.")  # fmt: skip
@option("Events", "--after", type=_SECONDS, default=2.0, show_default=True, metavar="SECONDS",
        help="Seconds after it.")  # fmt: skip
@option("Events", "--merge", type=_SECONDS, default=2.0, show_default=True, metavar="SECONDS",
        help="Join clips with at most so many seconds between them.")  # fmt: skip
@option("Events", "--max-events", type=click.IntRange(min=1), metavar="N",
        help="Keep the N clips with the largest objects.")  # fmt: skip
@log_options
def clips_command(
    results: str,
    out: str,
    mode: Mode,
    overlay: Overlay,
    sheet: str | None,
    force: bool,
    before: float,
    after: float,
    merge: float,
    max_events: int | None,
) -> None:
    """Cut the film of RESULTS into a clip for each event, with its sound.

    RESULTS is a folder that bgsub run wrote. clips.csv says what is in which; names sort by time.
    """
    from bgsub.errors import UsageError
    from bgsub.export.clips import clip_names, plan_spans, write_clips
    from bgsub.export.run_data import load_run
    from bgsub.pipeline.directory import ResultsDirectory

    session = current_session()
    if mode == "copy" and overlay != "none":
        raise UsageError("--overlay has no effect with --mode copy; leave one of them out")
    with session.about(results):
        run = load_run(Path(results))
        spans = plan_spans(
            run.events(), before_s=before, after_s=after, merge_s=merge, most=max_events
        )
        names = [*clip_names(spans), "clips.csv", *([sheet] if sheet else [])]
        with ResultsDirectory(Path(out), names, force=force) as folder:
            with make_progress(session) as progress:
                write_clips(
                    run,
                    folder.stage(""),
                    spans,
                    mode=mode,
                    overlay=overlay,
                    sheet=sheet,
                    progress=progress,
                )
            facts = {key: str(value) for key, value in asdict(run).items()}
            chosen: dict[str, Any] = {
                "mode": mode,
                "overlay": overlay,
                "before": before,
                "after": after,
            }
            chosen |= {"merge": merge, "max_events": max_events, "sheet": sheet}
            folder.commit(preamble("clips", chosen) | {"of": facts, "clips": len(spans)})
        noun = "clip" if len(spans) == 1 else "clips"
        session.log("result", f"{len(spans)} {noun} in {out}", out=out)
