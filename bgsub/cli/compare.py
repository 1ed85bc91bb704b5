"""``bgsub compare``: fit every method to the same frames; ``bgsub methods`` lists them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli.messages import Session, log_results, make_progress
from bgsub.cli.options import (
    PATH,
    chosen,
    command,
    format_option,
    named,
    preamble,
    resource_options,
    run_options,
    section,
    source_options,
    table_options,
)
from bgsub.errors import cannot_write
from bgsub.paper.options import COLUMNS, CompareOptions
from bgsub.report.tables import list_rows, values_text
from bgsub.robustpca.competitors import METHODS

if TYPE_CHECKING:
    from bgsub.paper.options import Comparison
    from bgsub.pipeline.results import ResultsDirectory

SCHEMA_VERSION = 1
"""Of the JSON listing."""


@command(
    "compare",
    "bgsub compare water.avi --k 1,3,5,7,9 --out comparison/",
    "bgsub compare water.avi --methods trpca,pca --truth frames.csv --out comparison/",
    "bgsub compare door.mp4 --every 5 --frames 560,600 --timeout 60 --out comparison/",
    "bgsub compare water.avi --out comparison/ --format latex > table.tex",
)
@click.argument("path", type=PATH, metavar="INPUT")
@table_options
@section("Comparison", kind=CompareOptions)
@named("support_fraction", "fit_frames", "seed", section="Comparison")
@source_options
@resource_options
def compare_command(
    session: Session, path: str, out: str, form: str, force: bool, **params: Any
) -> None:
    """Fit methods to the same frames of INPUT and compare times, objectives, errors, backgrounds.

    The table is printed and written to compare.csv, with frame_errors.csv, errors.png,
    decomposition.png and run.json. Frames are read once, in grey, and their Gram matrix is computed
    once. A method that fails keeps its row, with the reason.
    """
    from bgsub.paper.figures import render_decomposition
    from bgsub.pipeline.manifest import Stopwatch
    from bgsub.pipeline.results import ResultsDirectory

    options = chosen(CompareOptions, {**params, "run": run_options(params)})
    for unused in options.unused:
        session.log("warning", unused)
    names = ["compare.csv", "frame_errors.csv", "errors.png", "decomposition.png"]
    with session.about(path):
        with ResultsDirectory(Path(out), names, force=force) as results:
            watch = Stopwatch()
            comparison = run_comparison(path, options, session)
            rows = [row.cells() for row in comparison.rows]
            with watch.stage("write"):
                write(results, "compare.csv", list_rows("csv", COLUMNS, rows))
                write_errors(results, comparison)
                write(results, "decomposition.png", render_decomposition(comparison))
            stages = {**comparison.stages, **watch.seconds}
            results.commit(manifest("compare", path, comparison, options.to_json(), stages))
        facts = {
            "schema_version": SCHEMA_VERSION,
            "input": comparison.name,
            "frames": int(comparison.numbers.size),
            "pixels": comparison.pixels,
            "stages_s": comparison.stages,
        }
        click.echo(list_rows(form, COLUMNS, rows, **facts), nl=False)
        log_comparison(comparison, session)
        log_results(out, session)


def write(results: ResultsDirectory, name: str, data: str | bytes) -> None:
    """Write a file of the results; raises OutputError if it cannot be written."""
    raw = data.encode() if isinstance(data, str) else data
    try:
        results.stage(name).write_bytes(raw)
    except OSError as error:
        advice = "free some space or choose another folder with --out"
        raise cannot_write(results.path / name, error, advice) from error


def run_comparison(path: str, options: CompareOptions, session: Session) -> Comparison:
    """Compare, and show the progress on stderr."""
    from bgsub.paper.compare import compare

    with make_progress(session) as progress:
        return compare(path, options, progress=progress)


def write_errors(results: ResultsDirectory, comparison: Comparison, suffix: str = "") -> None:
    """Write the error of every frame, a column for each method and k, and draw them."""
    from bgsub.paper.figures import render_errors

    done = {f"{row.name}_k{row.k}": row.errors for row in comparison.rows if row.errors is not None}
    rows = [
        {
            "frame": int(number),
            "time_s": float(time),
            **{name: float(errors[i]) for name, errors in done.items()},
        }
        for i, (number, time) in enumerate(zip(comparison.numbers, comparison.times, strict=True))
    ]
    text = list_rows("csv", ["frame", "time_s", *done], rows)
    write(results, f"frame_errors{suffix}.csv", text)
    write(results, f"errors{suffix}.png", render_errors(comparison))


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


METHOD_COLUMNS = ("name", "paper", "outlier_model", "parameters", "cost")


@command("methods", "bgsub methods", "bgsub methods --format json | jq -r '.rows[].name'")
@format_option(
    ["table", "json", "markdown"], "A table for people, one JSON object, or a table in Markdown."
)
def methods_command(_session: Session, form: str) -> None:
    """List the methods of robust PCA with their paper, outlier model, parameters and cost.

    n is the number of frames, p of pixels, k of components, t of frames that are taken for inliers.
    """
    rows = [{name: getattr(method, name) for name in METHOD_COLUMNS} for method in METHODS.values()]
    if form == "table":
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
        click.echo(values_text(METHOD_COLUMNS, rows, width=width), nl=False)
        return
    click.echo(list_rows(form, METHOD_COLUMNS, rows, schema_version=SCHEMA_VERSION), nl=False)
