"""Pair objects with detections so that the sum of the costs is least."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgsub.tracking.detections import Detection, center
from bgsub.tracking.targets import Target

FORBIDDEN = 1e6
"""Cost of a pair that is out of the question."""

ALONE = 2.0
"""Cost of an object without a detection: above that of every pair, and below that of two poor ones.
"""

_FEW = 4
"""Rows and columns of a group up to which all pairings are tried out."""

_REACH = (0.6, 3.0, 2.0)
"""How far from its prediction an object is looked for: sizes, standard deviations, pixels."""

_FARTHEST = 4.0
"""Most sizes of the object by which an uncertain prediction reaches further (and 20 pixels)."""

_AREA_COST, _COLOR_COST, _COLOR_SPAN = 0.3, 0.6, 40.0
"""Cost of twice (or half) the usual area, and of a colour that is 40 grey levels off or more."""


_OTHER = 8
"""Factor between an object's usual area and a region's from which that is something else there, but
where the border cut the object."""

_NEAR = 1.5
"""Own sizes, and as much as for every pair, beyond which only what looks like an object is it."""

_ALIKE, _ALIKE_COLOR = 3.0, 40.0
"""Factor between areas, and grey levels between colours, up to which a region looks like it."""


def pairing_costs(tracks: Sequence[Target], detections: Sequence[Detection]) -> NDArray[np.float64]:
    """Costs of taking each detection for the object of each track, shape (tracks, detections)."""
    if not tracks or not detections:
        return np.zeros((len(tracks), len(detections)))
    own = np.array([(t.motion.x, t.motion.y, t.motion.spread, t.size, t.area) for t in tracks])
    found = np.array([(*center(d.box), d.box[2] * d.box[3], d.area) for d in detections])
    off = np.hypot(found[:, 0] - own[:, :1], found[:, 1] - own[:, 1:2])
    size = np.maximum(own[:, 3:4], np.sqrt(found[:, 2]))
    near = _REACH[0] * size + _REACH[2]
    reach = near + np.minimum(_REACH[1] * own[:, 2:3], _FARTHEST * size + 20)
    values = np.full(off.shape, FORBIDDEN)
    i, j = np.nonzero(off <= reach)  # of many objects most pairs are too far apart
    if not i.size:
        return values
    growth = np.abs(np.log2(found[j, 3] / np.maximum(own[i, 4], 1.0)))
    costs = (off[i, j] / reach[i, j]) ** 2 + _AREA_COST * np.minimum(1.0, growth)
    is_alike = growth <= math.log2(_ALIKE)
    colors = [track.color for track in tracks], [detection.color for detection in detections]
    if all(len(color) for some in colors for color in some):
        mine, theirs = (np.array(some) for some in colors)
        apart = np.abs(mine[i] - theirs[j]).max(axis=1)
        costs += _COLOR_COST * np.minimum(1.0, apart / _COLOR_SPAN)
        is_alike &= apart <= _ALIKE_COLOR
    is_far = off[i, j] > near[i, j] + _NEAR * own[i, 3]
    is_cut = np.array([track.is_cut for track in tracks])[i]
    is_wrong = (is_far & ~is_alike) | _are_others(is_cut, own[i, 4], found[j, 3])
    values[i, j] = np.where(is_wrong, FORBIDDEN, costs)
    return values


def is_other(track: Target, detection: Detection) -> bool:
    """Say whether a region is too large or too small to be an object alone."""
    return bool(_are_others(np.array(track.is_cut), np.array(track.area), detection.area))


def _are_others(
    is_cut: NDArray[np.bool_], usual: NDArray[np.float64], areas: NDArray[np.float64] | float
) -> NDArray[np.bool_]:
    ratio = areas / np.maximum(usual, 1.0)
    return np.asarray(~is_cut & ((ratio < 1 / _OTHER) | (ratio > _OTHER)))


def assign(costs: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pair rows with columns at the least sum of costs.

    A row without a column costs `ALONE`. Were as many pairs made as can be, a newcomer in a region
    could push the object that is there on to the next one's place, and that one to another's.

    Parameters
    ----------
    costs : ndarray of shape (m, n)
        Pairs of `ALONE` or more are never made.

    Returns
    -------
    list of (int, int)
        Row and column of each pair, in order of the rows.

    Notes
    -----
    Rows and columns that no allowed pair connects do not concern each other. Most are alone, and a
    few meet: up to four of them are tried out. More take O(max(m, n)³) by the algorithm of Jonker
    and Volgenant in SciPy, whose import takes as long as following objects through 2000 frames.
    """
    pairs: list[tuple[int, int]] = []
    for rows, columns in _groups(costs < ALONE):
        if len(rows) <= _FEW and len(columns) <= _FEW:
            pairs += _try_out(costs, rows, frozenset(columns))[1]
            continue
        from scipy.optimize import linear_sum_assignment

        block = costs[np.ix_(rows, columns)]
        for i, j in zip(*linear_sum_assignment(np.minimum(block - ALONE, 0)), strict=True):
            if block[i, j] < ALONE:
                pairs.append((rows[i], columns[j]))
    return sorted(pairs)


def _groups(allowed: NDArray[np.bool_]) -> list[tuple[list[int], list[int]]]:
    """Part rows and columns into groups that no allowed pair connects."""
    groups: list[tuple[set[int], set[int]]] = []
    choices: dict[int, set[int]] = {}
    for row, column in np.argwhere(allowed).tolist():
        choices.setdefault(row, set()).add(column)
    for row, columns in choices.items():
        own = {row}, columns
        for other in [each for each in groups if each[1] & own[1]]:
            own = own[0] | other[0], own[1] | other[1]
            groups.remove(other)
        groups.append(own)
    return [(sorted(rows), sorted(columns)) for rows, columns in groups]


def _try_out(
    costs: NDArray[np.float64], rows: list[int], free: frozenset[int]
) -> tuple[float, list[tuple[int, int]]]:
    """Give the least sum for some rows, where a row without a column costs `ALONE`."""
    if not rows:
        return 0.0, []
    first, rest = rows[0], rows[1:]
    total, pairs = _try_out(costs, rest, free)
    best = total + ALONE, pairs
    for column in sorted(free):
        if costs[first, column] < ALONE:
            total, pairs = _try_out(costs, rest, free - {column})
            if total + costs[first, column] < best[0]:
                best = total + float(costs[first, column]), [(first, column), *pairs]
    return best


def covered(boxes: ArrayLike, by: ArrayLike) -> NDArray[np.float64]:
    """Share of each box that lies within another; shapes (..., 4), which broadcast."""
    one, two = np.asarray(boxes, float), np.asarray(by, float)
    ends = np.minimum(one[..., :2] + one[..., 2:], two[..., :2] + two[..., 2:])
    common = np.clip(ends - np.maximum(one[..., :2], two[..., :2]), 0, None).prod(axis=-1)
    return np.asarray(common / np.maximum(one[..., 2:].prod(axis=-1), 1e-9))
