"""``bgsub export``: write objects and events for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli.events import load_selected, selection_options
from bgsub.cli.messages import Session, log_results
from bgsub.cli.options import PATH, click_type, command, named, option, out_option
from bgsub.errors import UsageError
from bgsub.rules import Choice

if TYPE_CHECKING:
    from bgsub.export.run_data import RunData

NAMES = (
    *("via", "mot", "coco", "cvat", "yolo", "megadetector", "labels"),
    *(OF_EVENTS := ("edl", "ffconcat", "csv-seconds", "lossless-cut")),
)
"""Formats, so that --help need not import what writes them."""


@command(
    "export",
    "bgsub export results/ --to via -o tracks.csv        movement, VIA",
    "bgsub export results/ --to mot -o gt.txt            MOT Challenge",
    "bgsub export results/ --to coco -o instances.json   boxes, pixels and track numbers",
    "bgsub export results/ --to cvat -o annotations.xml  CVAT, for videos",
    "bgsub export results/ --to labels -o labels.tif     TrackMate, napari",
    "bgsub export results/ --to csv-seconds -o cuts.csv  start and end of each event",
    "bgsub export results/ --to lossless-cut             beside the film, where it is found",
)
@click.argument("results", type=PATH, metavar="RESULTS")
@option(
    "Results",
    "--to",
    "form",
    type=click_type(Choice(NAMES)),
    required=True,
    help="Boxes: via, mot, cvat, yolo (a folder), megadetector. Pixels: coco, labels. Events: edl, "
    "ffconcat, csv-seconds, lossless-cut.",
)
@out_option(
    "The file to write, or for yolo the folder. A project of LosslessCut is named after its film: "
    "the folder to write it into.  [default for lossless-cut: beside the film]",
    metavar="PATH",
    required=False,
)
@named("force", section="Results")
@selection_options
def export_command(
    session: Session, results: str, form: str, out: str | None, force: bool, **params: Any
) -> None:
    """Write the objects or events of RESULTS in a format that other programs open.

    RESULTS is a folder that bgsub run or bgsub objects wrote. Frames are counted as each format
    counts them, from 0 or from 1; boxes are in pixels of the input.
    """
    from bgsub.export.formats import export

    with session.about(results):
        run = load_selected(Path(results), params)
        path = _place(run, form, out)
        export(run, form, path, force=force)
        if not (run.events() if form in OF_EVENTS else run.objects()):
            session.log("finding", f"nothing was found in {run.name}: {path} holds none")
        log_results(path, session, "{} is written")


def _place(run: RunData, form: str, out: str | None) -> Path:
    """Return where to write: LosslessCut finds a project that is named after its film."""
    if form == "lossless-cut" and (out is None or Path(out).is_dir()):
        folder = Path(run.path).parent if out is None else Path(out)
        return folder / f"{Path(run.name).stem}-proj.llc"
    if out is None:
        raise UsageError("--out is missing; name the file to write")
    return Path(out)
