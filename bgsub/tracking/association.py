"""Pair objects with detections so that the sum of the costs is least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bgsub.tracking.detections import Box, Detection, center
from bgsub.tracking.target import Target

FORBIDDEN = 1e6
"""Cost of a pair that is out of the question."""

_REACH = (0.6, 3.0, 2.0)
"""How far from its prediction an object is looked for: sizes, standard deviations, pixels."""

_FARTHEST = 4.0
"""Most sizes of the object by which an uncertain prediction reaches further (and 20 pixels)."""

_AREA_COST, _COLOR_COST, _COLOR_SPAN = 0.3, 0.6, 40.0
"""Cost of twice (or half) the usual area, and of a colour that is 40 grey levels off or more."""


def pairing_costs(tracks: Sequence[Target], detections: Sequence[Detection]) -> NDArray[np.float64]:
    """Costs of taking each detection for the object of each track, shape (tracks, detections)."""
    if not tracks or not detections:
        return np.zeros((len(tracks), len(detections)))
    own = np.array([(t.motion.x, t.motion.y, t.motion.spread, t.size, t.area) for t in tracks])
    x, y, spread, size, area = (column[:, None] for column in own.T)
    found = np.array([(*center(d.box), d.box[2] * d.box[3], d.area) for d in detections])
    off = np.hypot(found[:, 0] - x, found[:, 1] - y)
    size = np.maximum(size, np.sqrt(found[:, 2]))
    reach = _REACH[0] * size + _REACH[2] + np.minimum(_REACH[1] * spread, _FARTHEST * size + 20)
    values = (off / reach) ** 2
    values += _AREA_COST * np.minimum(1.0, np.abs(np.log2(found[:, 3] / np.maximum(area, 1.0))))
    colors = [track.color for track in tracks], [detection.color for detection in detections]
    if all(len(color) for some in colors for color in some):
        mine, theirs = (np.array(some) for some in colors)
        apart = np.abs(mine[:, None] - theirs).max(axis=2)
        values += _COLOR_COST * np.minimum(1.0, apart / _COLOR_SPAN)
    values[off > reach] = FORBIDDEN
    return np.asarray(values)


def assign(costs: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pair rows with columns at the least sum of costs.

    Parameters
    ----------
    costs : ndarray of shape (m, n)
        Pairs of `FORBIDDEN` or more are never made.

    Returns
    -------
    list of (int, int)
        Row and column of each pair, in order of the rows.

    Notes
    -----
    Where every row has at most one column that is allowed and the other way round, there is nothing
    to solve; most frames are such. Otherwise O(max(m, n)³) by the algorithm of Jonker and Volgenant
    in SciPy, which is not imported before.
    """
    allowed = costs < FORBIDDEN
    if allowed.sum(axis=1).max(initial=0) <= 1 and allowed.sum(axis=0).max(initial=0) <= 1:
        rows, columns = np.nonzero(allowed)
    else:
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(np.minimum(costs, FORBIDDEN))
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return [(row, column) for row, column in pairs if allowed[row, column]]


def covered(box: Box, by: Box) -> float:
    """Share of a box that lies within another."""
    width = min(box[0] + box[2], by[0] + by[2]) - max(box[0], by[0])
    height = min(box[1] + box[3], by[1] + by[3]) - max(box[1], by[1])
    return max(width, 0) * max(height, 0) / max(box[2] * box[3], 1e-9)
