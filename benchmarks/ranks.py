"""Count how often `--k auto` finds the components of made films.

Run ``python -m benchmarks.ranks``: 50 films of 1 to 8 components, with five kinds of signals, and
the same with a visitor in 30 % of the frames.
"""

from __future__ import annotations

import argparse
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.rank import choose_rank

Signal = Literal["white", "drift", "waves", "uniform", "levels"]
SIGNALS: tuple[Signal, ...] = get_args(Signal)

_FRAMES, _PIXELS, _AMPLITUDE = 200, 3000, 0.7
_MOST = 8


def _signals(kind: Signal, k: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return scores of unit variance, shape (n, k)."""
    n, keep = _FRAMES, 0.9
    if kind == "uniform":
        return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), (n, k))
    if kind == "waves":
        times = 2.0 * np.pi * np.arange(n)[:, None] / n
        periods = 3.3 * np.arange(1, k + 1)
        waves = np.sin(periods * times + rng.uniform(0.0, 2.0 * np.pi, k))
        return np.asarray(np.sqrt(2.0) * waves)
    scores = rng.normal(size=(n, k))
    for i in range(1, n if kind != "white" else 0):
        if kind == "drift":
            scores[i] = keep * scores[i - 1] + np.sqrt(1.0 - keep**2) * scores[i]
        else:  # held for five frames on the average
            scores[i] = np.where(rng.random(k) < 0.2, scores[i], scores[i - 1])
    return scores


def ranked_film(index: int, *, visitor: bool) -> tuple[NDArray[np.float64], int]:
    """Return a film of unit noise, shape (n, p), and its number of components."""
    rng = np.random.default_rng(1000 + index)
    k = 1 + index % _MOST
    scores = _signals(SIGNALS[index % len(SIGNALS)], k, rng)
    axes = np.linalg.qr(rng.normal(size=(_PIXELS, k)))[0].T * np.sqrt(_PIXELS)
    film = rng.normal(size=(_FRAMES, _PIXELS)) + _AMPLITUDE * scores @ axes
    if visitor:
        stay, width = int(0.3 * _FRAMES), _PIXELS // 10
        first = rng.integers(0, _FRAMES - stay)
        for frame in film[first : first + stay]:
            place = rng.integers(0, _PIXELS - width)
            frame[place : place + width] += 8.0
    return film, k


def main() -> None:
    """Print how many of the films are right, and those that are not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description=__doc__)
    parser.add_argument("--films", type=int, default=50)
    films = parser.parse_args().films
    for visitor in (False, True):
        wrong = []
        for index in range(films):
            film, k = ranked_film(index, visitor=visitor)
            found = choose_rank(film, random_state=0).rank
            if found != k:
                wrong.append(f"{SIGNALS[index % len(SIGNALS)]}: {found} for {k}")
        what = "with a visitor in 30 %" if visitor else "clean"
        print(f"{what}: {films - len(wrong)} of {films} right; {', '.join(wrong) or 'none wrong'}")


if __name__ == "__main__":
    main()
