"""Write what a fit says of the frames: errors.csv, errors.png and spectrum.png."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from bgsub.outliers.errors_table import ErrorTable, write_csv
from bgsub.outliers.events import find_events
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.output_names import PlotFormat, plot_name

if TYPE_CHECKING:
    from bgsub.fit.frame_fit import FrameFit


def write_table(
    results: ResultsDirectory,
    table: ErrorTable,
    outputs: Collection[str],
    plot_format: PlotFormat,
    title: str,
) -> None:
    """Write errors.csv and draw errors.png, if they are asked for."""
    if "errors" in outputs:
        write_csv(table, results.stage("errors.csv"))
    if "plot" in outputs:
        # Matplotlib takes longer to import than many runs take.
        from bgsub.report.plots import plot_errors

        plot_errors(
            table,
            find_events(table),
            results.stage(plot_name("plot", plot_format)),
            title=title,
            plot_format=plot_format,
        )


def write_spectrum(
    results: ResultsDirectory,
    fit: FrameFit,
    outputs: Collection[str],
    plot_format: PlotFormat,
    title: str,
) -> None:
    """Draw spectrum.png, if it is asked for."""
    if "spectrum" in outputs and fit.rank is not None:
        from bgsub.report.spectrum import plot_spectrum

        plot_spectrum(
            fit.rank,
            fit.estimator.n_components,
            results.stage(plot_name("spectrum", plot_format)),
            title=title,
            plot_format=plot_format,
        )
