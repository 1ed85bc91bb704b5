"""``bgsub compare``: fit every method to the same frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as shared
from bgsub.cli.files import preamble, write
from bgsub.cli.help import Command, examples
from bgsub.cli.messages import Session, current_session, log_options, log_results
from bgsub.cli.progress import make_progress
from bgsub.paper.options import COLUMNS, CompareOptions
from bgsub.report.tables import list_rows

if TYPE_CHECKING:
    from bgsub.paper.options import Comparison
    from bgsub.pipeline.results import ResultsDirectory

SCHEMA_VERSION = 1
"""Of the JSON listing."""


@click.command(
    "compare",
    cls=Command,
    epilog=examples(
        "bgsub compare water.avi --k 1,3,5,7,9 --out comparison/",
        "bgsub compare water.avi --methods trpca,pca --truth frames.csv --out comparison/",
        "bgsub compare door.mp4 --every 5 --frames 560,600 --timeout 60 --out comparison/",
        "bgsub compare water.avi --out comparison/ --format latex > table.tex",
    ),
)
@click.argument("path", type=shared.PATH, metavar="INPUT")
@shared.table_options
@shared.section("Comparison", kind=CompareOptions)
@shared.named("support_fraction", "fit_frames", "seed", section="Comparison")
@shared.source_options
@shared.resource_options
@log_options
def compare_command(path: str, out: str, form: str, force: bool, **params: Any) -> None:
    """Fit methods to the same frames of INPUT and compare times, objectives, errors, backgrounds.

    The table is printed and written to compare.csv, with frame_errors.csv, errors.png,
    decomposition.png and run.json. Frames are read once, in grey, and their Gram matrix is computed
    once. A method that fails keeps its row, with the reason.
    """
    from bgsub.pipeline.manifest import Stopwatch
    from bgsub.pipeline.results import ResultsDirectory

    options = shared.chosen(CompareOptions, {**params, "run": shared.run_options(params)})
    session = current_session()
    for unused in options.unused:
        session.log("warning", unused)
    names = ["compare.csv", "frame_errors.csv", "errors.png", "decomposition.png"]
    with session.about(path):
        with ResultsDirectory(Path(out), names, force=force) as results:
            watch = Stopwatch()
            comparison = run_comparison(path, options, session)
            rows = [row.cells() for row in comparison.rows]
            with watch.stage("write"):
                _write_comparison(results, comparison)
            stages = {**comparison.stages, **watch.seconds}
            results.commit(manifest("compare", path, comparison, options.to_json(), stages))
        click.echo(list_rows(form, COLUMNS, rows, **_listing(comparison)), nl=False)
        log_comparison(comparison, session)
        log_results(out, session)


def run_comparison(path: str, options: CompareOptions, session: Session) -> Comparison:
    """Compare, and show the progress on stderr."""
    from bgsub.paper.compare import compare

    with make_progress(session) as progress:
        return compare(path, options, progress=progress)


def _write_comparison(results: ResultsDirectory, comparison: Comparison) -> None:
    """Write tables and figures."""
    from bgsub.paper.figures import render_decomposition, render_errors

    rows = [row.cells() for row in comparison.rows]
    write(results, "compare.csv", list_rows("csv", COLUMNS, rows))
    write(results, "frame_errors.csv", frame_errors(comparison))
    write(results, "errors.png", render_errors(comparison))
    write(results, "decomposition.png", render_decomposition(comparison))


def frame_errors(comparison: Comparison) -> str:
    """Tabulate the error of every frame, a column for each method and k."""
    done = {f"{row.name}_k{row.k}": row.errors for row in comparison.rows if row.errors is not None}
    rows = [
        {
            "frame": int(number),
            "time_s": float(time),
            **{name: float(errors[i]) for name, errors in done.items()},
        }
        for i, (number, time) in enumerate(zip(comparison.numbers, comparison.times, strict=True))
    ]
    return list_rows("csv", ["frame", "time_s", *done], rows)


def manifest(
    command: str,
    path: str,
    comparison: Comparison,
    options: dict[str, Any],
    stages: dict[str, float],
) -> dict[str, Any]:
    """Return what run.json says of a comparison."""
    from bgsub.pipeline.manifest import input_identity

    return {
        **preamble(command, options),
        "input": input_identity(path),
        **comparison.facts,
        "warnings": comparison.warnings,
        "rows": [row.cells() for row in comparison.rows],
        "stages_s": stages,
    }


def _listing(comparison: Comparison) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "input": comparison.name,
        "frames": int(comparison.numbers.size),
        "pixels": comparison.pixels,
        "stages_s": comparison.stages,
    }


def log_comparison(comparison: Comparison, session: Session) -> None:
    """Log the warnings of a comparison, and what was done once for all its rows."""
    for warning in comparison.warnings:
        session.log("warning", warning)
    for row in comparison.rows:
        if row.failed:
            session.log("warning", f"{row.name}, k = {row.k}: {row.reason}")
    decode, gram = (comparison.stages[name] for name in ("decode", "gram"))
    text = (
        f"{comparison.name}: {comparison.numbers.size} frames of {comparison.pixels} pixels; read "
        f"in {decode:.2g} s, Gram matrix in {gram:.2g} s, once for all rows"
    )
    session.log("summary", text)
