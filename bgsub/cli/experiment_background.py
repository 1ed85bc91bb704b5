"""``bgsub experiment background``: repeat the paper's Table 1 on a video."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from bgsub.cli import compare as comparing
from bgsub.cli import options as shared
from bgsub.cli import values
from bgsub.cli.files import write
from bgsub.cli.help import Command, examples
from bgsub.cli.interrupts import log_results
from bgsub.cli.logs import current_session, log_options
from bgsub.experiments.options import TimesOptions
from bgsub.report.tables import list_rows


@click.command(
    "background",
    cls=Command,
    short_help="Table 1 and the reconstruction errors, on a video.",
    epilog=examples(
        "bgsub experiment background sample_videos/water.avi --out table1/",
        "bgsub experiment background door.mp4 --every 5 --k 1,5 --timeout 600 --out table1/",
    ),
)
@click.argument("path", type=values.PATH, metavar="INPUT")
@shared.table_options
@shared.named("methods", "ks", "timeout", kind=TimesOptions)
@shared.named("support_fraction", "fit_frames", "seed", section="Comparison")
@shared.source_options
@shared.resource_options
@log_options
def background_command(path: str, out: str, form: str, force: bool, **params: Any) -> None:
    """Measure how long each method takes on INPUT for several k, and show the paper's own seconds.

    The paper's figures were measured in 2014, on other hardware, for 633 frames of 160×128; where
    we know none the cell is empty. Writes times.csv, times.png, frame_errors.csv and errors.png.
    """
    from bgsub.comparison.report import render_errors
    from bgsub.experiments.background import BACKGROUND_COLUMNS, time_rows
    from bgsub.experiments.paper_times import PAPER_TIMES
    from bgsub.experiments.times import render_times
    from bgsub.pipeline.directory import ResultsDirectory

    options = shared.chosen(TimesOptions, {**params, "run": shared.run_options(params)})
    session = current_session()
    names = ["times.csv", "times.png", "frame_errors.csv", "errors.png"]
    with session.about(path), ResultsDirectory(Path(out), names, force=force) as results:
        comparison = comparing.run_comparison(path, options, session)
        rows = time_rows(comparison)
        write(results, "times.csv", list_rows("csv", BACKGROUND_COLUMNS, rows))
        write(results, "times.png", render_times(comparison, PAPER_TIMES))
        write(results, "frame_errors.csv", comparing.frame_errors(comparison))
        write(results, "errors.png", render_errors(comparison))
        facts = comparing.manifest(
            "experiment background", path, comparison, options.to_json(), comparison.stages
        )
        paper = {name: asdict(seconds) for name, seconds in PAPER_TIMES.items()}
        results.commit({**facts, "paper_2014_seconds": paper})
        click.echo(list_rows(form, BACKGROUND_COLUMNS, rows), nl=False)
        comparing.log_comparison(comparison, session)
        log_results(out, session)
