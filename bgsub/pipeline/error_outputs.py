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


class TableOutputs:
    """Writes errors.csv and draws errors.png, if they are asked for.

    Parameters
    ----------
    outputs : collection of str
    plot_format : {"png", "svg"}
    title : str
        What the frames are of.
    """

    def __init__(self, outputs: Collection[str], plot_format: PlotFormat, title: str) -> None:
        self._outputs, self._plot_format, self._title = outputs, plot_format, title

    def write(self, table: ErrorTable | None, results: ResultsDirectory) -> None:
        """Write the files, if there is a table."""
        if table is None:
            return
        if "errors" in self._outputs:
            write_csv(table, results.stage("errors.csv"))
        if "plot" not in self._outputs:
            return
        from bgsub.report.plots import render_errors, write_plot  # which imports matplotlib

        events = find_events(table)
        data = render_errors(table, events, title=self._title, plot_format=self._plot_format)
        write_plot(results.stage(plot_name("plot", self._plot_format)), data)


def write_spectrum(
    results: ResultsDirectory,
    fit: FrameFit,
    outputs: Collection[str],
    plot_format: PlotFormat,
    title: str,
) -> None:
    """Draw spectrum.png, if it is asked for."""
    if "spectrum" in outputs and fit.rank is not None:
        from bgsub.report.plots import render_spectrum, write_plot

        used = fit.estimator.n_components
        data = render_spectrum(fit.rank, used, title=title, plot_format=plot_format)
        write_plot(results.stage(plot_name("spectrum", plot_format)), data)
