"""What a fit to a sample of the frames costs in quality: ``python -m benchmarks.fit_frames DATA``.

On moved_object the outlier flags of every frame are held against those of the fit to all frames; on
highway the masks of the paper's formula and of local models against the truth (CDnet's).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Literal

import numpy as np

from bgsub.evaluation.evaluate import Pair, evaluate
from bgsub.options import RunOptions
from bgsub.outliers.errors_table import ErrorTable
from bgsub.pipeline.run import fit_errors, run

Model = Literal["paper", "local"]
MODELS: tuple[Model, ...] = ("paper", "local")

SAMPLES = (None, 1000, 500, 250, 100, 50)


def errors(footage: str, fit_frames: int | None) -> ErrorTable:
    """Errors of all frames, k = 5."""
    return fit_errors(footage, RunOptions(k=5, fit_frames=fit_frames)).table


def f_measure(footage: Path, fit_frames: int | None, folder: Path, model: Model) -> float:
    """F of the masks of a run on a CDnet sequence."""
    options = RunOptions(
        k=5,
        model=model,
        fit_frames=fit_frames,
        outputs=frozenset({"mask"}),
        format="mkv",
        force=True,
    )
    run(str(footage / "input"), folder, options)
    return evaluate([Pair(str(folder), str(footage))]).total.f_measure or 0.0


def main(data: Path) -> None:
    """Measure and print a table."""
    moved = str(data / "moved_object" / "moved_object.mp4")
    whole = errors(moved, None)
    print(
        "| fitted | moved_object: flagged | not as by all | median change of rmse "
        "| highway: F, formula | F, local |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as name:
        for sample in SAMPLES:
            table = errors(moved, sample)
            other = int((table.outliers != whole.outliers).sum())
            change = float(np.median(np.abs(table.rmse / whole.rmse - 1)))
            paper, local = (
                f_measure(data / "highway", sample, Path(name), model) for model in MODELS
            )
            print(
                f"| {sample or 'all'} frames | {int(table.outliers.sum())} | {other} "
                f"| {change:.1%} | {paper:.3f} | {local:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
