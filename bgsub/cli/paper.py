"""What researchers of robust PCA want: ``bgsub compare``, ``methods`` and ``experiment``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as opts
from bgsub.cli.messages import Progress, Session, log_results, make_progress
from bgsub.paper.options import (
    COLUMNS,
    CompareOptions,
    DigitOptions,
    MovedObjectOptions,
    SyntheticOptions,
    TimesOptions,
)
from bgsub.report.tables import list_rows, values_text
from bgsub.robustpca.competitors import METHODS

if TYPE_CHECKING:
    from bgsub.options import Declared
    from bgsub.paper.options import Comparison
    from bgsub.pipeline.results import ResultsDirectory

SCHEMA_VERSION = 1
"""Of the JSON listing."""

_SHEETS = ("frames-own.png", "frames-common.png")


def _on_a_video(kind: type[Declared], *names: str) -> Callable[[opts.F], opts.F]:
    """Return a decorator that adds an input, where results go, and options of a comparison."""
    return opts.together(
        opts.argument("path", "INPUT"),
        opts.table_options,
        opts.section("Comparison", kind=kind),
        opts.named(*names, section="Comparison"),
        opts.source_options,
        opts.resource_options,
    )


@opts.command(
    "compare",
    "bgsub compare water.avi --k 1,3,5,7,9 --out comparison/",
    "bgsub compare water.avi --methods trpca,pca --truth frames.csv --out comparison/",
    "bgsub compare door.mp4 --every 5 --frames 560,600 --timeout 60 --out comparison/",
    "bgsub compare water.avi --out comparison/ --format latex > table.tex",
)
@_on_a_video(CompareOptions, "support_fraction", "fit_frames", "seed")
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

    options = opts.chosen(CompareOptions, {**params, "run": opts.run_options(params)})
    for unused in options.unused:
        session.log("warning", unused)
    names = ["compare.csv", "frame_errors.csv", "errors.png", "decomposition.png"]
    with session.about(path):
        with ResultsDirectory(Path(out), names, force=force) as results:
            watch = Stopwatch()
            comparison = _run(path, options, session)
            rows = [row.cells() for row in comparison.rows]
            with watch.stage("write"):
                results.write("compare.csv", list_rows("csv", COLUMNS, rows))
                _write_errors(results, comparison)
                results.write("decomposition.png", render_decomposition(comparison))
            record = _manifest("compare", path, comparison, options)
            results.commit({**record, "stages_s": {**comparison.stages, **watch.seconds}})
        facts = {
            "schema_version": SCHEMA_VERSION,
            "input": comparison.name,
            "frames": int(comparison.numbers.size),
            "pixels": comparison.pixels,
            "stages_s": comparison.stages,
        }
        click.echo(list_rows(form, COLUMNS, rows, **facts), nl=False)
        _log(comparison, session)
        log_results(out, session)


def _run(path: str, options: CompareOptions, session: Session) -> Comparison:
    """Compare, and show the progress on stderr."""
    from bgsub.paper.compare import compare

    with make_progress(session) as progress:
        return compare(path, options, progress=progress)


def _write_errors(results: ResultsDirectory, comparison: Comparison, suffix: str = "") -> None:
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
    results.write(f"frame_errors{suffix}.csv", text)
    results.write(f"errors{suffix}.png", render_errors(comparison))


def _write_sheets(results: ResultsDirectory, comparison: Comparison) -> None:
    """Write pictures of frames at two scalings."""
    from bgsub.paper.figures import render_sheet

    results.write("frames-own.png", render_sheet(comparison, "own"))
    results.write("frames-common.png", render_sheet(comparison, "common"))


def _manifest(
    command: str, path: str, comparison: Comparison, options: CompareOptions
) -> dict[str, Any]:
    """Return what run.json says of a comparison."""
    from bgsub.pipeline.manifest import input_identity

    return {
        **opts.preamble(command, options.to_json()),
        "input": input_identity(path),
        **comparison.facts,
        "warnings": comparison.warnings,
        "rows": [row.cells() for row in comparison.rows],
        "stages_s": comparison.stages,
    }


def _log(comparison: Comparison, session: Session) -> None:
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


@opts.command("methods", "bgsub methods", "bgsub methods --format json | jq -r '.rows[].name'")
@opts.format_option(
    ("table", "json", "markdown"), "A table for people, one JSON object, or a table in Markdown."
)
def methods_command(_session: Session, form: str) -> None:
    """List the methods of robust PCA with their paper, outlier model, parameters and cost.

    n is the number of frames, p of pixels, k of components, t of frames that are taken for inliers.
    """
    columns = ("name", "paper", "outlier_model", "parameters", "cost")
    rows = [{name: getattr(method, name) for name in columns} for method in METHODS.values()]
    if form == "table":
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
        click.echo(values_text(columns, rows, width=width), nl=False)
        return
    click.echo(list_rows(form, columns, rows, schema_version=SCHEMA_VERSION), nl=False)


@click.group(
    "experiment",
    epilog=opts.examples(
        "bgsub experiment synthetic --out fig1/",
        "bgsub experiment digits --data train-images-idx3-ubyte.gz --true 1 --out digits/",
        "bgsub experiment background water.avi --out table1/",
        "bgsub experiment moved-object MovedObject.avi --out moved/",
    ),
)
def experiment_command() -> None:
    """Repeat an experiment of the TRPCA paper: write its data, its figure and run.json.

    Podosinnikova, Setzer, Hein: Robust PCA: Optimization of the Robust Reconstruction Error over
    the Stiefel Manifold, GCPR 2014.
    """


@opts.command(
    "synthetic",
    "bgsub experiment synthetic --out fig1/",
    "bgsub experiment synthetic --shares 0.4 --sets 20 --format markdown --out fig1/",
    group=experiment_command,
    short_help="Fig. 1: Data1 and Data2 with more and more outliers.",
)
@opts.table_options
@opts.section("Experiment", kind=SyntheticOptions)
def synthetic_command(session: Session, out: str, form: str, force: bool, **params: Any) -> None:
    """Fit every row-outlier method to synthetic data whose outliers are known.

    Data1 has outliers uniform on [0, 2]^p, Data2 in a random half-space. tre is the error of the
    true observations above that of their own PCA; methods know the true t, or take half of the
    rows. Prints mean tre; writes synthetic.csv, with deviations and seconds, and synthetic.png.
    """
    from bgsub.paper.curves import DATA, SYNTHETIC_COLUMNS, run_synthetic

    options = opts.chosen(SyntheticOptions, params)

    def make(progress: Progress) -> _Curves:
        points = run_synthetic(options, progress=progress)
        panels = {
            f"{name}, p = {p}": [q for q in points if (q["data"], q["p"]) == (name, p)]
            for name in DATA
            for p in options.features
        }
        title = f"Synthetic data, n = {options.samples}, k = {options.components}"
        return points, panels, title, 2

    columns = SYNTHETIC_COLUMNS
    _curves("synthetic", make, columns, ("data", "p"), options, out, form, session, force=force)


@opts.command(
    "digits",
    "bgsub experiment digits --out digits/",
    "bgsub experiment digits --data usps.bz2 --true 3 --outliers 7,others --out digits/",
    "bgsub experiment digits --data train-images-idx3-ubyte.gz --samples 500 --out digits/",
    group=experiment_command,
    short_help="One digit is true, others are outliers.",
)
@opts.table_options
@opts.section("Experiment", kind=DigitOptions)
def digits_command(session: Session, out: str, form: str, force: bool, **params: Any) -> None:
    """Fit every row-outlier method to pictures of one digit, with other digits among them.

    Prints mean tre; writes digits.csv, with deviations and seconds, and digits.png: tre over the
    share of outliers, a panel for each kind of outliers and each k. The paper's pictures are USPS
    and MNIST: --data names them, as they are published or as arrays X and y of an .npz file.
    """
    from bgsub.paper.curves import DIGIT_COLUMNS, load_digits, run_digits

    options = opts.chosen(DigitOptions, params)

    def make(progress: Progress) -> _Curves:
        digits = load_digits(None if options.data is None else Path(options.data))
        points = run_digits(digits, options, progress=progress)
        panels = {
            f"outliers: {'all others' if kind == 'others' else kind}, k = {k}": [
                q for q in points if (q["outliers"], q["k"]) == (kind, k)
            ]
            for kind in options.outliers
            for k in options.ks
        }
        title = f"{digits.name.replace('$', '')}, true digit {options.true}, n = {points[0]['n']}"
        return points, panels, title, len(options.ks)

    columns = DIGIT_COLUMNS
    _curves("digits", make, columns, ("outliers", "k"), options, out, form, session, force=force)


_Curves = tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]], str, int]
"""Rows of an experiment, and the panels, title and columns of its figure."""


def _curves(
    name: str,
    make: Callable[[Progress], _Curves],
    header: Sequence[str],
    panel: Sequence[str],
    options: Declared,
    out: str,
    form: str,
    session: Session,
    *,
    force: bool,
) -> None:
    """Do an experiment of true and outlying rows, write it and print it.

    For people, the mean tre alone is printed, with the shares side by side in each `panel`.
    """
    from bgsub.paper.figures import render_tre, tre_table
    from bgsub.pipeline.results import ResultsDirectory

    with ResultsDirectory(Path(out), [f"{name}.csv", f"{name}.png"], force=force) as results:
        with make_progress(session) as progress:
            rows, panels, title, columns = make(progress)
        results.write(f"{name}.png", render_tre(panels, title, columns=columns))
        results.write(f"{name}.csv", list_rows("csv", header, rows))
        results.commit(opts.preamble(f"experiment {name}", options.to_json()))
    if form not in {"csv", "json"}:
        header, rows = tre_table(rows, panel)
    click.echo(list_rows(form, header, rows), nl=False)
    log_results(out, session)


@opts.command(
    "background",
    "bgsub experiment background sample_videos/water.avi --truth spans.csv --out table1/",
    "bgsub experiment background door.mp4 --every 5 --k 1,5 --timeout 600 --out table1/",
    group=experiment_command,
    short_help="Table 1 and the reconstruction errors, on a video.",
)
@_on_a_video(TimesOptions, "fit_frames", "seed")
def background_command(
    session: Session, path: str, out: str, form: str, force: bool, **params: Any
) -> None:
    """Measure how long each method takes on INPUT for several k, in the columns of Table 1.

    The paper's seconds stand below ours; they were measured in 2014, on other hardware, for 633
    frames of 160×128. (.5) is t = ⌈n/2⌉; with --truth, methods run with t = |T| as well. Writes
    times.csv, times.png, frame_errors.csv, errors.png and pictures of frames at two scalings,
    frames-own.png and frames-common.png.
    """
    from bgsub.paper.figures import TIMES_COLUMNS, render_times, table_one, time_rows
    from bgsub.paper.options import PAPER_TIMES
    from bgsub.pipeline.results import ResultsDirectory

    options = opts.chosen(TimesOptions, {**params, "run": opts.run_options(params)})
    names = ["times.csv", "times.png", "frame_errors.csv", "errors.png", *_SHEETS]
    with session.about(path):
        with ResultsDirectory(Path(out), names, force=force) as results:
            comparison = _run(path, options, session)
            rows = time_rows(comparison)
            results.write("times.csv", list_rows("csv", TIMES_COLUMNS, rows))
            results.write("times.png", render_times(comparison))
            _write_errors(results, comparison)
            _write_sheets(results, comparison)
            record = _manifest("experiment background", path, comparison, options)
            paper = {name: asdict(column) for name, column in PAPER_TIMES.items()}
            results.commit({**record, "paper_2014_seconds": paper})
        header: Sequence[str] = TIMES_COLUMNS
        if form not in {"csv", "json"}:
            header, rows = table_one(comparison)
        click.echo(list_rows(form, header, rows), nl=False)
        _log(comparison, session)
        log_results(out, session)


@opts.command(
    "moved-object",
    "bgsub experiment moved-object MovedObject.avi --out moved/",
    "bgsub experiment moved-object mine.mp4 --truth spans.csv --part 500 --frames 40,450 "
    "--out moved/",
    group=experiment_command,
    short_help="Error curves and pictures of the paper's second recording.",
)
@_on_a_video(MovedObjectOptions, "fit_frames", "seed")
def moved_object_command(
    session: Session, path: str, out: str, form: str, force: bool, **params: Any
) -> None:
    """Fit all methods to the first part of INPUT, and TRPCA to all of it.

    INPUT is the recording "Moved Object" (Wallflower), or another one with --truth. Prints the
    table of both fits; writes it to compare.csv, the errors of the frames to errors-whole.png and
    errors-part.png, with their data, and pictures of frames at two scalings, frames-own.png and
    frames-common.png.
    """
    from bgsub.pipeline.results import ResultsDirectory

    options = opts.chosen(MovedObjectOptions, {**params, "run": opts.run_options(params)})
    errors = "frame_errors-whole.csv frame_errors-part.csv errors-whole.png errors-part.png"
    names = ["compare.csv", *errors.split(), *_SHEETS]
    with session.about(path):
        with ResultsDirectory(Path(out), names, force=force) as results:
            whole = _run(path, options.whole, session)
            part = _run(path, options.first_part, session)
            _write_errors(results, whole, "-whole")
            _write_errors(results, part, "-part")
            _write_sheets(results, part)
            rows = [
                {"frames": frames, **row.cells(), "method": row.name}
                for frames, comparison in (("all", whole), (f"1-{options.part}", part))
                for row in comparison.rows
            ]
            results.write("compare.csv", list_rows("csv", ("frames", *COLUMNS), rows))
            record = _manifest("experiment moved-object", path, part, options)
            results.commit({**record, "rows": rows})
        click.echo(list_rows(form, ("frames", *COLUMNS), rows), nl=False)
        for comparison in (whole, part):
            _log(comparison, session)
        log_results(out, session)
