"""``bgsub objects``: follow the objects of masks that exist already."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from bgsub.cli.messages import Session, log_results, make_progress
from bgsub.cli.options import (
    PATH,
    ByRule,
    command,
    named,
    option,
    out_option,
    run_options,
    section,
)
from bgsub.errors import UsageError
from bgsub.rules import Rate


@command(
    "objects",
    "bgsub objects results/",
    "bgsub objects results/ --regions arenas.json --out arenas/",
    "bgsub objects masks.mkv --min-area 40 --out objects/",
    "bgsub objects masks/ --fps 30 --out objects/   a folder of images",
)
@click.argument("given", type=PATH, metavar="RESULTS|MASKS")
@out_option("Folder for the tables.  [default: RESULTS/objects]", required=False)
@option(
    "Results",
    "--fps",
    type=ByRule(Rate()),
    metavar="RATE",
    help="Frames a second, where the masks do not say it.",
)
@named("force", section="Results")
@named("min_area", section="Objects")
@section("Objects")
def objects_command(
    session: Session, given: str, out: str | None, fps: str | None, force: bool, **params: Any
) -> None:
    """Write objects.csv, tracks.csv, events.csv and events.json of masks.

    RESULTS is a folder that bgsub run wrote with masks. MASKS is any mask video, or a folder of
    mask images whose names are numbered.
    """
    from bgsub.export.from_masks import follow_masks
    from bgsub.pipeline.objects import object_options

    with session.about(given):
        options = run_options(params)
        chosen = object_options(options)
        if out is None:
            if not (Path(given) / "run.json").is_file():
                raise UsageError("--out is missing; name the folder for the tables")
            out = str(Path(given) / "objects")
        rate = None if fps is None else Fraction(fps)
        with make_progress(session) as progress:
            found, notes = follow_masks(
                given,
                Path(out),
                chosen,
                rate=rate,
                still_objects=options.still_objects,
                force=force,
                progress=progress,
            )
        from bgsub.tracking.recorder import describe

        for note in notes:
            session.log("warning", note)
        session.log("finding", describe(found))
        log_results(out, session)
