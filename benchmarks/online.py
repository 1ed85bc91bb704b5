"""Stream Data1 and Data2 with a subspace that turns, or jumps: OnlineTRPCA beside TRPCA.

python -m benchmarks.online [--frames]

tre over time, of the true rows of the last 200, for p = 100, k = 5 and 30 % outliers; TRPCA is
fitted anew to these rows each time. "turns" moves every direction by 90 degrees in 2000 rows,
"jumps" replaces the subspace after 1000. With --frames: the seconds of both on 8-bit rows of
160×120, the fit being renewed every 25 rows of a window of 500.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import BgsubWarning
from bgsub.paper.curves import SyntheticData, data1, data2, tre
from bgsub.robustpca.descent import random_orthonormal
from bgsub.robustpca.online import OnlineTRPCA
from bgsub.robustpca.trpca import TRPCA
from bgsub.runtime.threads import one_blas_thread

ROWS, P, K, WINDOW, STEP, SETS = 2000, 100, 5, 200, 50, 5
LOOKS = (200, 500, 900, 1050, 1100, 1150, 1200, 1500, 2000)

Floats = NDArray[np.float64]
Motion = Callable[[int, Floats, Floats], Floats]


def turning(row: int, first: Floats, second: Floats) -> Floats:
    """Turn the directions of `first` to those of `second`, all of them orthogonal."""
    angle = np.pi / 2 * row / ROWS
    return np.asarray(np.cos(angle) * first + np.sin(angle) * second)


def jumping(row: int, first: Floats, second: Floats) -> Floats:
    """Change from one subspace to another halfway."""
    return first if row < ROWS // 2 else second


def stream(data: Callable[..., SyntheticData], move: Motion, seed: int) -> SyntheticData:
    """Draw rows whose subspace moves, from one data set by turning its true rows."""
    rng = np.random.default_rng([seed, 7])
    drawn = data(ROWS, P, K, random_state=rng)
    both = np.concatenate([drawn.components, np.zeros((K, P))])
    both[K:] = random_orthonormal(P, 2 * K, rng).T[K:]
    both = np.linalg.qr(both.T)[0].T
    first, second = both[:K] * np.sign((both[:K] * drawn.components).sum(1))[:, None], both[K:]
    X = drawn.X.copy()
    for row in np.flatnonzero(drawn.labels).tolist():
        scores = drawn.X[row] @ first.T
        X[row] += scores @ (move(row, first, second) - first)
    return SyntheticData(X, drawn.labels, first)


def over_time(made: SyntheticData, seed: int) -> tuple[list[float], list[float]]:
    """Compute tre of the online fit and of TRPCA anew, at every look."""
    online = OnlineTRPCA(K, window=WINDOW, refresh=STEP, random_state=seed)
    kept, anew = [], []
    for stop in range(STEP, ROWS + 1, STEP):
        online.partial_fit(made.X[stop - STEP : stop])
        if stop in LOOKS:
            window = slice(stop - WINDOW, stop)
            T = made.X[window][made.labels[window]]
            plain = TRPCA(K, random_state=seed).fit(made.X[window])
            kept.append(tre(online.center_, online.components_, T))
            anew.append(tre(plain.center_, plain.components_, T))
    return kept, anew


def table() -> None:
    """Print tre over time."""
    print("| stream | fit |", *(f"{look} |" for look in LOOKS))
    print("|---|---|" + "---:|" * len(LOOKS))
    for name, data in (("Data1", data1), ("Data2", data2)):
        for what, move in (("turns", turning), ("jumps", jumping)):
            runs = [over_time(stream(data, move, seed), seed) for seed in range(SETS)]
            for fit, values in zip(("online", "TRPCA"), np.mean(runs, axis=0), strict=True):
                cells = (f"{abs(round(value, 9)):.2g} |" for value in values)
                print(f"| {name} {what} | {fit} |", *cells)


def seconds() -> None:
    """Print what a renewed fit costs beside a fit anew."""
    rng = np.random.default_rng(0)
    p, window, step = 160 * 120, 500, 25
    base, wave = rng.uniform(40, 200, p), rng.normal(size=(3, p)) * 6
    rows = np.clip(base + rng.normal(size=(700, 3)) @ wave + rng.normal(size=(700, p)) * 2, 0, 255)
    X = rows.astype(np.uint8)
    online = OnlineTRPCA(3, window=window, refresh=step, random_state=0).fit(X[:window])
    spent: dict[str, list[float]] = {"renewed": [], "anew": []}
    for stop in range(window + step, len(X) + 1, step):
        began = time.process_time()
        online.partial_fit(X[stop - step : stop])
        middle = time.process_time()
        TRPCA(3, random_state=0).fit(X[stop - window : stop])
        spent["renewed"].append(middle - began)
        spent["anew"].append(time.process_time() - middle)
    renewed, anew = (float(np.median(values)) for values in spent.values())
    print(f"renewed {renewed:.2f} s, anew {anew:.2f} s of CPU: {anew / renewed:.1f} times as long")


if __name__ == "__main__":
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", BgsubWarning)
        seconds() if "--frames" in sys.argv[1:] else table()
