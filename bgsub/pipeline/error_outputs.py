"""Write what a fit says of the frames: errors.csv, errors.png and spectrum.png."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from bgsub.errors import cannot_write
from bgsub.outliers.errors_table import ErrorTable, write_csv
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.output_names import PlotFormat, plot_name
from bgsub.report.artist import MODULE, ErrorsFigure, make_artist
from bgsub.runtime.helpers import Task
from bgsub.runtime.threads import Workers

if TYPE_CHECKING:
    from bgsub.fit.frame_fit import FrameFit


class TableOutputs:
    """Writes errors.csv and draws errors.png, if they are asked for.

    Where processes help, one draws, which imports matplotlib while the run goes on.

    Parameters
    ----------
    outputs : collection of str
    plot_format : {"png", "svg"}
    title : str
        What the frames are of.
    workers : Workers
    """

    def __init__(
        self, outputs: Collection[str], plot_format: PlotFormat, title: str, workers: Workers
    ) -> None:
        self._outputs, self._plot_format, self._title = outputs, plot_format, title
        # A spectrum is drawn here and needs matplotlib anyway.
        is_alone = "plot" in outputs and "spectrum" not in outputs
        self._artists = workers.beside(MODULE) if is_alone else None
        self._begun: Task[bytes] | None = None

    def begin(self, table: ErrorTable | None) -> None:
        """Begin to draw, where another process does."""
        if table is not None and self._artists is not None:
            figure = ErrorsFigure(table, self._title, self._plot_format)
            self._artists.begin(make_artist, {})
            self._begun = self._artists.submit(figure, figure.render)

    def write(self, table: ErrorTable | None, results: ResultsDirectory) -> None:
        """Write the files, if there is a table."""
        if table is None:
            return
        if "errors" in self._outputs:
            write_csv(table, results.stage("errors.csv"))
        if "plot" not in self._outputs:
            return
        if self._artists is None or self._begun is None:
            data = ErrorsFigure(table, self._title, self._plot_format).render()
        else:
            data = self._artists.result(self._begun, waits=True)
        path = results.stage(plot_name("plot", self._plot_format))
        try:
            path.write_bytes(data)
        except OSError as error:
            raise cannot_write(path, error) from error


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
