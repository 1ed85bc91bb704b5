"""Write what a fit says of the frames: errors.csv, errors.png and spectrum.png."""

from __future__ import annotations

from bgsub.fit.frame_fit import FrameFit
from bgsub.options import RunOptions
from bgsub.outliers.errors_table import ErrorTable, write_csv
from bgsub.outliers.events import find_events
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.output_names import output_name


def write_table(
    results: ResultsDirectory, table: ErrorTable, options: RunOptions, title: str
) -> None:
    """Write errors.csv and draw errors.png, if they are asked for."""
    if "errors" in options.outputs:
        write_csv(table, results.stage("errors.csv"))
    if "plot" in options.outputs:
        # Matplotlib takes longer to import than many runs take.
        from bgsub.report.plots import plot_errors

        name = output_name("plot", options.format, options.plot_format)
        plot_errors(
            table,
            find_events(table),
            results.stage(name),
            title=title,
            plot_format=options.plot_format,
        )


def write_spectrum(
    results: ResultsDirectory, fit: FrameFit, options: RunOptions, title: str
) -> None:
    """Draw spectrum.png, if it is asked for."""
    if "spectrum" in options.outputs and fit.rank is not None:
        from bgsub.report.spectrum import plot_spectrum

        name = output_name("spectrum", options.format, options.plot_format)
        plot_spectrum(
            fit.rank,
            fit.estimator.n_components,
            results.stage(name),
            title=title,
            plot_format=options.plot_format,
        )
