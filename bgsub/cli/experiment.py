"""``bgsub experiment``: repeat the experiments of the TRPCA paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli.compare import log_comparison, manifest, run_comparison, write, write_errors
from bgsub.cli.messages import Session, log_results, make_progress
from bgsub.cli.options import (
    PATH,
    chosen,
    command,
    examples,
    named,
    preamble,
    resource_options,
    run_options,
    section,
    source_options,
    table_options,
)
from bgsub.paper.options import (
    COLUMNS,
    DigitOptions,
    MovedObjectOptions,
    SyntheticOptions,
    TimesOptions,
)
from bgsub.report.tables import list_rows

if TYPE_CHECKING:
    from bgsub.options import Declared
    from bgsub.paper.options import Comparison
    from bgsub.pipeline.results import ResultsDirectory


@click.group(
    "experiment",
    epilog=examples(
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


@command(
    "synthetic",
    "bgsub experiment synthetic --out fig1/",
    "bgsub experiment synthetic --shares 0.4 --sets 20 --format markdown --out fig1/",
    group=experiment_command,
    short_help="Fig. 1: Data1 and Data2 with more and more outliers.",
)
@table_options
@section("Experiment", kind=SyntheticOptions)
def synthetic_command(session: Session, out: str, form: str, force: bool, **params: Any) -> None:
    """Fit every row-outlier method to synthetic data whose outliers are known.

    Data1 has outliers uniform on [0, 2]^p, Data2 in a random half-space. tre is the error of the
    true observations above that of their own PCA; methods know the true t, or take half of the
    rows. Prints mean tre; writes synthetic.csv, with deviations and seconds, and synthetic.png.
    """
    from bgsub.paper.curves import DATA, SYNTHETIC_COLUMNS, run_synthetic
    from bgsub.paper.figures import render_tre
    from bgsub.pipeline.results import ResultsDirectory

    options = chosen(SyntheticOptions, params)
    with ResultsDirectory(Path(out), ["synthetic.csv", "synthetic.png"], force=force) as results:
        with make_progress(session) as progress:
            points = run_synthetic(options, progress=progress)
        panels = {
            f"{name}, p = {p}": [q for q in points if (q["data"], q["p"]) == (name, p)]
            for name in DATA
            for p in options.features
        }
        title = f"Synthetic data, n = {options.samples}, k = {options.components}"
        write(results, "synthetic.png", render_tre(panels, title, columns=2))
        _save(results, "synthetic", SYNTHETIC_COLUMNS, points, options)
    _print(form, SYNTHETIC_COLUMNS, points, ("data", "p"))
    log_results(out, session)


@command(
    "digits",
    "bgsub experiment digits --out digits/",
    "bgsub experiment digits --data usps.bz2 --true 3 --outliers 7,others --out digits/",
    "bgsub experiment digits --data train-images-idx3-ubyte.gz --samples 500 --out digits/",
    group=experiment_command,
    short_help="One digit is true, others are outliers.",
)
@table_options
@section("Experiment", kind=DigitOptions)
def digits_command(session: Session, out: str, form: str, force: bool, **params: Any) -> None:
    """Fit every row-outlier method to pictures of one digit, with other digits among them.

    Prints mean tre; writes digits.csv, with deviations and seconds, and digits.png: tre over the
    share of outliers, a panel for each kind of outliers and each k. The paper's pictures are USPS
    and MNIST: --data names them, as they are published or as arrays X and y of an .npz file.
    """
    from bgsub.paper.curves import DIGIT_COLUMNS, load_digits, run_digits
    from bgsub.paper.figures import render_tre
    from bgsub.pipeline.results import ResultsDirectory

    options = chosen(DigitOptions, params)
    with ResultsDirectory(Path(out), ["digits.csv", "digits.png"], force=force) as results:
        digits = load_digits(None if options.data is None else Path(options.data))
        with make_progress(session) as progress:
            points = run_digits(digits, options, progress=progress)
        panels = {
            f"outliers: {'all others' if kind == 'others' else kind}, k = {k}": [
                q for q in points if (q["outliers"], q["k"]) == (kind, k)
            ]
            for kind in options.outliers
            for k in options.ks
        }
        title = f"{digits.name.replace('$', '')}, true digit {options.true}, n = {points[0]['n']}"
        write(results, "digits.png", render_tre(panels, title, columns=len(options.ks)))
        _save(results, "digits", DIGIT_COLUMNS, points, options)
    _print(form, DIGIT_COLUMNS, points, ("outliers", "k"))
    log_results(out, session)


@command(
    "background",
    "bgsub experiment background sample_videos/water.avi --truth spans.csv --out table1/",
    "bgsub experiment background door.mp4 --every 5 --k 1,5 --timeout 600 --out table1/",
    group=experiment_command,
    short_help="Table 1 and the reconstruction errors, on a video.",
)
@click.argument("path", type=PATH, metavar="INPUT")
@table_options
@section("Comparison", kind=TimesOptions)
@named("fit_frames", "seed", section="Comparison")
@source_options
@resource_options
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

    options = chosen(TimesOptions, {**params, "run": run_options(params)})
    names = ["times.csv", "times.png", "frame_errors.csv", "errors.png", *_SHEETS]
    with session.about(path):
        with ResultsDirectory(Path(out), names, force=force) as results:
            comparison = run_comparison(path, options, session)
            rows = time_rows(comparison)
            write(results, "times.csv", list_rows("csv", TIMES_COLUMNS, rows))
            write(results, "times.png", render_times(comparison))
            write_errors(results, comparison)
            _write_sheets(results, comparison)
            facts = manifest(
                "experiment background", path, comparison, options.to_json(), comparison.stages
            )
            paper = {name: asdict(column) for name, column in PAPER_TIMES.items()}
            results.commit({**facts, "paper_2014_seconds": paper})
        header: Sequence[str] = TIMES_COLUMNS
        if form not in {"csv", "json"}:
            header, rows = table_one(comparison)
        click.echo(list_rows(form, header, rows), nl=False)
        log_comparison(comparison, session)
        log_results(out, session)


@command(
    "moved-object",
    "bgsub experiment moved-object MovedObject.avi --out moved/",
    "bgsub experiment moved-object mine.mp4 --truth spans.csv --part 500 --frames 40,450 "
    "--out moved/",
    group=experiment_command,
    short_help="Error curves and pictures of the paper's second recording.",
)
@click.argument("path", type=PATH, metavar="INPUT")
@table_options
@section("Comparison", kind=MovedObjectOptions)
@named("fit_frames", "seed", section="Comparison")
@source_options
@resource_options
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

    options = chosen(MovedObjectOptions, {**params, "run": run_options(params)})
    parts = ("whole", "part")
    errors = [f"{name}-{part}.{kind}" for part in parts for name, kind in _ERRORS]
    names = ["compare.csv", *errors, *_SHEETS]
    with session.about(path):
        with ResultsDirectory(Path(out), names, force=force) as results:
            whole = run_comparison(path, options.whole, session)
            part = run_comparison(path, options.first_part, session)
            for name, comparison in zip(parts, (whole, part), strict=True):
                write_errors(results, comparison, f"-{name}")
            _write_sheets(results, part)
            rows = [
                {"frames": frames, **row.cells(), "method": row.name}
                for frames, comparison in (("all", whole), (f"1-{options.part}", part))
                for row in comparison.rows
            ]
            write(results, "compare.csv", list_rows("csv", _MOVED_COLUMNS, rows))
            facts = manifest("experiment moved-object", path, part, options.to_json(), part.stages)
            results.commit({**facts, "rows": rows})
        click.echo(list_rows(form, _MOVED_COLUMNS, rows), nl=False)
        for comparison in (whole, part):
            log_comparison(comparison, session)
        log_results(out, session)


_MOVED_COLUMNS = ("frames", *COLUMNS)
_ERRORS = (("frame_errors", "csv"), ("errors", "png"))
_SHEETS = ("frames-own.png", "frames-common.png")


def _write_sheets(results: ResultsDirectory, comparison: Comparison) -> None:
    from bgsub.paper.figures import render_sheet

    write(results, "frames-own.png", render_sheet(comparison, "own"))
    write(results, "frames-common.png", render_sheet(comparison, "common"))


def _save(
    results: ResultsDirectory,
    name: str,
    header: Sequence[str],
    points: Sequence[dict[str, Any]],
    options: Declared,
) -> None:
    write(results, f"{name}.csv", list_rows("csv", header, points))
    results.commit(preamble(f"experiment {name}", options.to_json()))


def _print(
    form: str, header: Sequence[str], rows: list[dict[str, Any]], panel: Sequence[str]
) -> None:
    """Print the points; for people, the mean tre alone, with the shares side by side."""
    from bgsub.paper.figures import tre_table

    if form not in {"csv", "json"}:
        header, rows = tre_table(rows, panel)
    click.echo(list_rows(form, header, rows), nl=False)
