"""``bgsub export``: write objects and events for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from bgsub.cli import options as shared
from bgsub.cli import values
from bgsub.cli.help import Command, examples, option
from bgsub.cli.interrupts import log_results
from bgsub.cli.logs import current_session, log_options
from bgsub.rules import Choice

NAMES = (
    *("via", "mot", "coco", "cvat", "yolo", "megadetector", "labels"),
    *(OF_EVENTS := ("edl", "ffconcat", "csv-seconds")),
)
"""Formats, so that --help need not import what writes them."""


@click.command(
    "export",
    cls=Command,
    epilog=examples(
        "bgsub export results/ --to via -o tracks.csv        movement, VIA",
        "bgsub export results/ --to mot -o gt.txt            MOT Challenge",
        "bgsub export results/ --to coco -o instances.json   boxes, pixels and track numbers",
        "bgsub export results/ --to cvat -o annotations.xml  CVAT, for videos",
        "bgsub export results/ --to labels -o labels.tif     TrackMate, napari",
        "bgsub export results/ --to csv-seconds -o cuts.csv  LosslessCut",
    ),
)
@click.argument("results", type=values.PATH, metavar="RESULTS")
@option(
    "Results",
    "--to",
    "form",
    type=values.click_type(Choice(NAMES)),
    required=True,
    help="Boxes: via, mot, cvat, yolo (a folder), megadetector. Pixels: coco, labels. Events: edl, "
    "ffconcat, csv-seconds.",
)
@shared.out_option("The file to write, or for yolo the folder.", metavar="PATH")
@shared.named("force", section="Results")
@log_options
def export_command(results: str, form: str, out: str, force: bool) -> None:
    """Write the objects or events of RESULTS in a format that other programs open.

    RESULTS is a folder that bgsub run or bgsub objects wrote. Frames are counted as each format
    counts them, from 0 or from 1; boxes are in pixels of the input.
    """
    from bgsub.export.run_data import load_run
    from bgsub.export.writing import export

    session = current_session()
    with session.about(results):
        run = load_run(Path(results))
        export(run, form, Path(out), force=force)
        if not (run.events() if form in OF_EVENTS else run.objects()):
            session.log("finding", f"nothing was found in {run.name}: {out} holds none")
        log_results(out, session, "{} is written")
