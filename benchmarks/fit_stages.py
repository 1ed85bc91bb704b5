"""Show where the time of the default fit goes, beside one X·Xᵀ and scikit-learn's PCA.

``python -m benchmarks.fit_stages VIDEO [FRAMES] [ROUNDS]`` does the fit of `bgsub.TRPCA(10)` to the
first frames of a video stage by stage, in turns with the others, and prints the least time of each.
Where others use the machine, set ``OPENBLAS_NUM_THREADS=1`` and look at processor time.
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from sklearn.decomposition import PCA

from bgsub.robustpca.base import form_pixels
from bgsub.robustpca.descent import descend
from bgsub.robustpca.gram import ArrayColumns, gram_matrix
from bgsub.robustpca.reweight import FOOTAGE_CUTOFF, reweight
from bgsub.robustpca.spaces import RowSpace, column_median
from bgsub.robustpca.trpca import TRPCA, principal_axes
from bgsub.runtime.threads import ThreadPool
from bgsub.video.source import open_source

_K, _STARTS = 10, 10
Result = TypeVar("Result")


class _Least:
    """The least time of every stage: on the clock, and of processors."""

    def __init__(self) -> None:
        self.seconds: dict[str, tuple[float, float]] = {}

    def __call__(self, name: str, function: Callable[[], Result]) -> Result:
        clock, cpu = time.perf_counter(), time.process_time()
        result = function()
        spent = time.perf_counter() - clock, time.process_time() - cpu
        earlier = self.seconds.get(name, spent)
        self.seconds[name] = min(earlier[0], spent[0]), min(earlier[1], spent[1])
        return result


def _fit_by_stages(X: np.ndarray, spend: _Least) -> None:
    """What `TRPCA.fit` does, one stage after the other."""
    with ThreadPool() as pool:
        gram = spend("Gram matrix", lambda: gram_matrix(X, threads=pool.threads))
        space, rng = RowSpace(gram.values, X.shape[1], pool), np.random.default_rng(0)
        starts = spend(
            "drawing the starts",
            lambda: np.stack([space.draw_scores(_K, rng) for _ in range(_STARTS)]),
        )
        descents = spend("descents", lambda: descend(space, starts, (len(X) + 1) // 2))
        best = principal_axes(min(descents, key=lambda descent: descent.objectives[-1]).fit)
        refit = spend("reweighting", lambda: reweight(space, best, _K, cutoff=FOOTAGE_CUTOFF))[0]
        spend("components", lambda: form_pixels(ArrayColumns(X), gram.offset, [refit, best], pool))


def main() -> None:
    """Measure, and print a table."""
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    count, rounds = (int(a) for a in (*sys.argv[2:4], "892", "5")[:2])
    frames = itertools.islice(open_source(Path(sys.argv[1]), color="gray"), count)
    X = np.stack([frame.luma.ravel() for frame in frames])
    single = X.astype(np.float32)
    least = _Least()
    warnings.simplefilter("ignore")
    for _ in range(rounds):
        least("X·Xᵀ in float32", lambda: single @ single.T)
        least("PCA(10) on float32", lambda: PCA(_K, random_state=0).fit(single))
        least("TRPCA(10)", lambda: TRPCA(_K, random_state=0, reweight_cutoff=8.0).fit(X))
        _fit_by_stages(X, least)
        least("medians on one thread, part of the Gram matrix", lambda: column_median(X))
    unit = least.seconds["X·Xᵀ in float32"]
    print(f"{X.shape[0]}×{X.shape[1]}\n\n| | clock | processor | in X·Xᵀ |\n|---|---:|---:|---:|")
    for name, (clock, cpu) in least.seconds.items():
        print(f"| {name} | {clock:.3f} s | {cpu:.3f} s | {cpu / unit[1]:.2f} |")
    for name in ("X·Xᵀ in float32", "PCA(10) on float32"):
        clock, cpu = (
            a / b for a, b in zip(least.seconds["TRPCA(10)"], least.seconds[name], strict=True)
        )
        print(f"TRPCA(10) takes {clock:.2f} times {name} on the clock, {cpu:.2f} of processor time")


if __name__ == "__main__":
    main()
