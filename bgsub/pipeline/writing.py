"""What a run writes on its way: pictures as the frames pass, the table of errors, the plots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bgsub.background.mask_model import MaskModel
from bgsub.background.model import BackgroundModel
from bgsub.errors import UsageError
from bgsub.options import ProgressCallback, RunOptions
from bgsub.outliers.errors_table import ErrorTable, write_csv
from bgsub.outliers.events import find_events
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.outputs import OutputVideos, output_name
from bgsub.pipeline.projection import ScoredBlock
from bgsub.runtime.threads import Workers
from bgsub.video.source import FrameSource

if TYPE_CHECKING:
    from bgsub.fit.frame_fit import FrameFit


def output_names(options: RunOptions) -> list[str]:
    """Names of what a run will write.

    Raises
    ------
    UsageError
        If that is nothing.
    """
    if not options.outputs:
        message = "--only names no output; name at least one"
        raise UsageError(message)
    return [output_name(output, options) for output in sorted(options.outputs)]


def write_videos(
    results: ResultsDirectory,
    model: BackgroundModel | MaskModel,
    options: RunOptions,
    source: FrameSource,
    blocks: Iterator[ScoredBlock],
    workers: Workers,
    progress: ProgressCallback,
    total: int | None,
) -> OutputVideos:
    """Write the pictures of the frames of some blocks."""
    done = 0
    with OutputVideos(results, model, options, source.rate, workers) as videos:
        for block in blocks:
            if videos.wanted:
                videos.write(block)
            done += len(block.rows)
            progress("write", done, total)
        videos.close()
    return videos


def write_table(
    results: ResultsDirectory, table: ErrorTable, options: RunOptions, source: FrameSource
) -> None:
    """Write errors.csv and draw errors.png."""
    if "errors" in options.outputs:
        write_csv(table, results.stage("errors.csv"))
    if "plot" in options.outputs:
        # Matplotlib takes longer to import than many runs take.
        from bgsub.report.plots import plot_errors

        plot_errors(
            table,
            find_events(table),
            results.stage(output_name("plot", options)),
            title=source.name,
            plot_format=options.plot_format,
        )


def write_spectrum(
    results: ResultsDirectory, fit: FrameFit, options: RunOptions, source: FrameSource
) -> None:
    """Draw spectrum.png, if it is asked for."""
    if "spectrum" in options.outputs and fit.rank is not None:
        from bgsub.report.spectrum import plot_spectrum

        path, kind = results.stage(output_name("spectrum", options)), options.plot_format
        k = fit.estimator.n_components
        plot_spectrum(fit.rank, k, path, title=source.name, plot_format=kind)
