"""Pack numbers for a page: few bytes, and exactly what was given."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MOST_RUNS = 256
"""Evenly spaced runs up to which integers are packed as such."""


def pack_integers(values: ArrayLike) -> dict[str, Any]:
    """Pack integers as runs of even steps, or as differences where they have no such runs.

    Parameters
    ----------
    values : array_like of int, shape (n,)
        The difference of two neighbours must fit into 32 bits.

    Returns
    -------
    dict
        ``{"runs": [[first, step, count], …]}``, or ``{"first": …, "steps": …}`` with the
        differences as little-endian int32 in base64.

    Examples
    --------
    >>> pack_integers([1, 2, 3, 10, 12, 14])
    {'runs': [[1, 1, 3], [10, 2, 3]]}
    """
    numbers = np.asarray(values, dtype=np.int64)
    if numbers.size == 0:
        return {"runs": []}
    steps = np.diff(numbers)
    runs = _runs(numbers, steps)
    if runs is not None:
        return {"runs": runs}
    return {"first": int(numbers[0]), "steps": _base64(steps.astype("<i4"))}


def _runs(numbers: NDArray[np.int64], steps: NDArray[np.int64]) -> list[list[int]] | None:
    """Part integers into runs of one step; None where there are too many."""
    changes = np.flatnonzero(np.diff(steps)) + 1
    if changes.size > 2 * _MOST_RUNS:
        return None
    runs: list[list[int]] = []
    begin = 0
    while begin < numbers.size:
        after = changes[np.searchsorted(changes, begin, side="right") :]
        end = int(after[0]) + 1 if after.size else numbers.size
        step = int(steps[begin]) if begin < steps.size else 1
        runs.append([int(numbers[begin]), step, end - begin])
        begin = end
    return runs if len(runs) <= _MOST_RUNS else None


def pack_floats(values: ArrayLike) -> str:
    """Pack numbers as little-endian float32 in base64; seven digits are kept."""
    return _base64(np.asarray(values, dtype="<f4"))


def pack_flags(flags: NDArray[np.bool_]) -> str:
    """Pack truth values as bits in base64, the first in the lowest bit."""
    return _base64(np.packbits(flags, bitorder="little"))


def _base64(values: NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def frames_shown(
    series: list[NDArray[np.float64]], always: NDArray[np.bool_], most: int
) -> NDArray[np.int64]:
    """Choose the frames whose values a page holds, so that no peak and no dip is lost.

    Parameters
    ----------
    series : list of ndarray of shape (n,)
        The curves.
    always : ndarray of bool, shape (n,)
        Frames that are kept if they can be; those behind others in a stretch of them go first.
    most : int
        Frames up to which all are kept.

    Returns
    -------
    ndarray of int64
        Places, increasing, about `most` at most: all, or of every stretch of equal length those of
        the lowest and the highest value of every curve, and those of `always`.
    """
    n = always.size
    if n <= most:
        return np.arange(n)
    kept = np.zeros(n, dtype=bool)
    kept[[0, n - 1]] = True
    room = most // 2
    kept[_thinned(always, room)] = True
    bins = max(1, (most - int(kept.sum())) // max(2 * len(series), 1))
    edges = np.linspace(0, n, bins + 1).astype(np.int64)
    for values in series:
        finite = np.nan_to_num(values, nan=0.0)
        for begin, end in pairwise(edges.tolist()):
            if end > begin:
                part = finite[begin:end]
                kept[[begin + int(part.argmin()), begin + int(part.argmax())]] = True
    return np.flatnonzero(kept)


def _thinned(always: NDArray[np.bool_], room: int) -> NDArray[np.int64]:
    """Keep all places where there is room, else the first and last of each stretch."""
    places = np.flatnonzero(always)
    if places.size <= room:
        return places
    edges = always & ~(np.roll(always, 1) & np.roll(always, -1))
    ends = np.flatnonzero(edges)
    return ends[:: -(-ends.size // max(room, 1)) or 1]
