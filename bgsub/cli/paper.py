"""What researchers of robust PCA want: ``bgsub compare``, ``methods`` and ``experiment``."""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

import click

from bgsub.cli import options as opts
from bgsub.cli.messages import Progress, Session, log_results, make_progress
from bgsub.options import Declared
from bgsub.paper import options as kinds
from bgsub.paper.options import COLUMNS, Comparison
from bgsub.pipeline.results import ResultsDirectory, Stopwatch, input_identity, preamble
from bgsub.report.tables import SCHEMA_VERSION, list_rows, values_text
from bgsub.robustpca.competitors import METHODS

_SHEETS: dict[str, Literal["own", "common"]]
_SHEETS = {"frames-own.png": "own", "frames-common.png": "common"}
_Files = dict[str, str | bytes]
_Rows = list[dict[str, Any]]
# Files, run.json, header and rows that are printed, what was compared, and facts for JSON.
_Made = tuple[_Files, dict[str, Any], tuple[Sequence[str], _Rows], list[Comparison], dict[str, Any]]


def _writes(
    files: str, kind: type[Declared], *names: str
) -> Callable[[Callable[..., _Made]], Callable[..., None]]:
    """Return a decorator that writes the files that an experiment makes, and prints its table.

    It adds where results go and the options of a kind; with names of options of a run, those of an
    input too: then the experiment gets its path.
    """
    added = [opts.table_options, opts.section("Experiment", kind=kind)]
    if names:
        added = [opts.argument("path", "INPUT"), opts.table_options]
        added += [opts.section("Comparison", kind=kind), opts.named(*names, section="Comparison")]
        added += [opts.source_options, opts.resource_options]

    def decorate(make: Callable[..., _Made]) -> Callable[..., None]:
        @functools.wraps(make)
        def command(
            session: Session, out: str, form: str, force: bool, path: str = "", **params: Any
        ) -> None:
            run = {"run": opts.run_options(params)} if names else {}
            options = opts.chosen(kind, {**params, **run})
            for unused in getattr(options, "unused", ()):
                session.log("warning", unused)
            with session.about(path) if names else nullcontext():
                with ResultsDirectory(Path(out), files.split(), force=force) as results:
                    with make_progress(session) as progress:
                        given = (path,) if names else ()
                        written, record, table, found, facts = make(options, form, progress, *given)
                    for name, data in written.items():
                        results.write(name, data)
                    results.commit(record)
                click.echo(list_rows(form, *table, **facts), nl=False)
                for one in found:
                    for warning in one.warnings:
                        session.log("warning", warning)
                    for row in one.rows:
                        if row.errors is None:
                            session.log("warning", f"{row.name}, k = {row.k}: {row.reason}")
                    read = f"{one.name}: {one.numbers.size} frames of {one.pixels} pixels; read in"
                    decode, gram = f"{one.stages['decode']:.2g} s", f"{one.stages['gram']:.2g} s"
                    text = f"{read} {decode}, Gram matrix in {gram}, once for all rows"
                    session.log("summary", text)
                log_results(out, session)

        return opts.together(*added)(command)

    return decorate


@opts.command(
    "compare",
    "bgsub compare water.avi --k 1,3,5,7,9 --out comparison/",
    "bgsub compare water.avi --methods trpca,pca --truth frames.csv --out comparison/",
    "bgsub compare door.mp4 --every 5 --frames 560,600 --timeout 60 --out comparison/",
    "bgsub compare water.avi --out comparison/ --format latex > table.tex",
)
@_writes(
    "compare.csv frame_errors.csv errors.png decomposition.png",
    kinds.CompareOptions,
    *("support_fraction", "fit_frames", "seed"),
)
def compare_command(
    options: kinds.CompareOptions, _form: str, progress: Progress, path: str
) -> _Made:
    """Fit methods to the same frames of INPUT and compare times, objectives, errors, backgrounds.

    The table is printed and written to compare.csv, with frame_errors.csv, errors.png,
    decomposition.png and run.json. Frames are read once, in grey, and their Gram matrix is computed
    once. A method that fails keeps its row, with the reason.
    """
    from bgsub.paper.compare import compare
    from bgsub.paper.figures import render_decomposition

    watch, found = Stopwatch(), compare(path, options, progress=progress)
    rows = [row.cells() for row in found.rows]
    with watch.stage("write"):
        files = {"compare.csv": list_rows("csv", COLUMNS, rows), **_errors(found)}
        files["decomposition.png"] = render_decomposition(found)
    record = _record("compare", path, found, options)
    record["stages_s"] = found.stages | watch.seconds
    facts = {"schema_version": SCHEMA_VERSION, "input": found.name}
    facts |= {"frames": int(found.numbers.size), "pixels": found.pixels}
    return files, record, (COLUMNS, rows), [found], facts | {"stages_s": found.stages}


def _errors(comparison: Comparison, suffix: str = "") -> _Files:
    """Return a table of the error of every frame, a column for each method and k, and its plot."""
    from bgsub.paper.figures import render_errors

    done = {f"{row.name}_k{row.k}": row.errors for row in comparison.rows if row.errors is not None}
    rows = [
        {"frame": int(number), "time_s": float(time)}
        | {name: float(errors[i]) for name, errors in done.items()}
        for i, (number, time) in enumerate(zip(comparison.numbers, comparison.times, strict=True))
    ]
    table = list_rows("csv", ["frame", "time_s", *done], rows)
    return {f"frame_errors{suffix}.csv": table, f"errors{suffix}.png": render_errors(comparison)}


def _record(
    command: str, path: str, comparison: Comparison, options: kinds.CompareOptions
) -> dict[str, Any]:
    """Return what run.json says of a comparison."""
    return {
        **preamble(command, options.to_json()),
        "input": input_identity(path),
        **comparison.facts,
        "warnings": comparison.warnings,
        "rows": [row.cells() for row in comparison.rows],
        "stages_s": comparison.stages,
    }


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
@_writes("synthetic.csv synthetic.png", kinds.SyntheticOptions)
def synthetic_command(options: kinds.SyntheticOptions, form: str, progress: Progress) -> _Made:
    """Fit every row-outlier method to synthetic data whose outliers are known.

    Data1 has outliers uniform on [0, 2]^p, Data2 in a random half-space. tre is the error of the
    true observations above that of their own PCA; methods know the true t, or take half of the
    rows. Prints mean tre; writes synthetic.csv, with deviations and seconds, and synthetic.png.
    """
    from bgsub.paper.curves import DATA, SYNTHETIC_COLUMNS, run_synthetic

    points = run_synthetic(options, progress=progress)
    panels = {
        f"{name}, p = {p}": [q for q in points if (q["data"], q["p"]) == (name, p)]
        for name in DATA
        for p in options.features
    }
    title = f"Synthetic data, n = {options.samples}, k = {options.components}"
    columns = SYNTHETIC_COLUMNS, ("data", "p"), 2
    return _curves("synthetic", points, panels, title, columns, options, form)


@opts.command(
    "digits",
    "bgsub experiment digits --out digits/",
    "bgsub experiment digits --data usps.bz2 --true 3 --outliers 7,others --out digits/",
    "bgsub experiment digits --data train-images-idx3-ubyte.gz --samples 500 --out digits/",
    group=experiment_command,
    short_help="One digit is true, others are outliers.",
)
@_writes("digits.csv digits.png", kinds.DigitOptions)
def digits_command(options: kinds.DigitOptions, form: str, progress: Progress) -> _Made:
    """Fit every row-outlier method to pictures of one digit, with other digits among them.

    Prints mean tre; writes digits.csv, with deviations and seconds, and digits.png: tre over the
    share of outliers, a panel for each kind of outliers and each k. The paper's pictures are USPS
    and MNIST: --data names them, as they are published or as arrays X and y of an .npz file.
    """
    from bgsub.paper.curves import DIGIT_COLUMNS, load_digits, run_digits

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
    columns = DIGIT_COLUMNS, ("outliers", "k"), len(options.ks)
    return _curves("digits", points, panels, title, columns, options, form)


def _curves(
    name: str,
    rows: _Rows,
    panels: dict[str, _Rows],
    title: str,
    columns: tuple[Sequence[str], Sequence[str], int],
    options: Declared,
    form: str,
) -> _Made:
    """Return what is made of an experiment of true and outlying rows.

    `columns` are those of the table, those that make a panel, and the number of panels in a row.
    For people, the mean tre alone is printed, with the shares side by side in each panel.
    """
    from bgsub.paper.figures import render_tre, tre_table

    header, panel, across = columns
    files: _Files = {f"{name}.png": render_tre(panels, title, columns=across)}
    files[f"{name}.csv"] = list_rows("csv", header, rows)
    shown = (header, rows) if form in {"csv", "json"} else tre_table(rows, panel)
    return files, preamble(f"experiment {name}", options.to_json()), shown, [], {}


@opts.command(
    "background",
    "bgsub experiment background sample_videos/water.avi --truth spans.csv --out table1/",
    "bgsub experiment background door.mp4 --every 5 --k 1,5 --timeout 600 --out table1/",
    group=experiment_command,
    short_help="Table 1 and the reconstruction errors, on a video.",
)
@_writes(
    f"times.csv times.png frame_errors.csv errors.png {' '.join(_SHEETS)}",
    kinds.TimesOptions,
    *("fit_frames", "seed"),
)
def background_command(
    options: kinds.TimesOptions, form: str, progress: Progress, path: str
) -> _Made:
    """Measure how long each method takes on INPUT for several k, in the columns of Table 1.

    The paper's seconds stand below ours; they were measured in 2014, on other hardware, for 633
    frames of 160×128. (.5) is t = ⌈n/2⌉; with --truth, methods run with t = |T| as well. Writes
    times.csv, times.png, frame_errors.csv, errors.png and pictures of frames at two scalings,
    frames-own.png and frames-common.png.
    """
    from bgsub.paper import figures
    from bgsub.paper.compare import compare

    found = compare(path, options, progress=progress)
    columns, rows = figures.TIMES_COLUMNS, figures.time_rows(found)
    files = {"times.csv": list_rows("csv", columns, rows), **_errors(found)}
    files |= {"times.png": figures.render_times(found)}
    files |= {name: figures.render_sheet(found, scaling) for name, scaling in _SHEETS.items()}
    record = _record("experiment background", path, found, options)
    paper = {
        name: {"name": kinds.PAPER_NAMES.get(name, name), "seconds": seconds}
        for name, seconds in kinds.PAPER_TIMES.items()
    }
    shown = (columns, rows) if form in {"csv", "json"} else figures.table_one(found)
    return files, record | {"paper_2014_seconds": paper}, shown, [found], {}


@opts.command(
    "moved-object",
    "bgsub experiment moved-object MovedObject.avi --out moved/",
    "bgsub experiment moved-object mine.mp4 --truth spans.csv --part 500 --frames 40,450 "
    "--out moved/",
    group=experiment_command,
    short_help="Error curves and pictures of the paper's second recording.",
)
@_writes(
    "compare.csv frame_errors-whole.csv frame_errors-part.csv errors-whole.png errors-part.png "
    f"{' '.join(_SHEETS)}",
    kinds.MovedObjectOptions,
    *("fit_frames", "seed"),
)
def moved_object_command(
    options: kinds.MovedObjectOptions, _form: str, progress: Progress, path: str
) -> _Made:
    """Fit all methods to the first part of INPUT, and TRPCA to all of it.

    INPUT is the recording "Moved Object" (Wallflower), or another one with --truth. Prints the
    table of both fits; writes it to compare.csv, the errors of the frames to errors-whole.png and
    errors-part.png, with their data, and pictures of frames at two scalings, frames-own.png and
    frames-common.png.
    """
    from bgsub.paper.compare import compare
    from bgsub.paper.figures import render_sheet

    whole = compare(path, options.whole, progress=progress)
    part = compare(path, options.first_part, progress=progress)
    rows = [
        {"frames": frames, **row.cells(), "method": row.name}
        for frames, found in (("all", whole), (f"1-{options.part}", part))
        for row in found.rows
    ]
    header = ("frames", *COLUMNS)
    files = {"compare.csv": list_rows("csv", header, rows), **_errors(whole, "-whole")}
    files |= _errors(part, "-part")
    files |= {name: render_sheet(part, scaling) for name, scaling in _SHEETS.items()}
    record = _record("experiment moved-object", path, part, options)
    return files, record | {"rows": rows}, (header, rows), [whole, part], {}
