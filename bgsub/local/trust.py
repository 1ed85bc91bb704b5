"""Say how far a mask deserves trust, by the light, the noise and the evidence of its frame."""

from __future__ import annotations

import cv2
import numpy as np

from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.scoring import UNIT
from bgsub.video.frames import Bytes

_CERTAIN = 4.0
"""Thresholds from which what usually moves in a film is seen for certain."""

BLIND = 25.0
"""Grey levels from which a threshold hides people in plain clothes."""

_SURE_PART = 0.75


def seen_for_certain(contrast: float, threshold: float) -> float:
    """Say how far what moves stands out of the noise.

    Parameters
    ----------
    contrast : float
        Evidence that what moves usually has, in grey levels; 0 where nothing does.
    threshold : float
        Evidence that is asked for, in grey levels.

    Returns
    -------
    float
        1 from four thresholds on, in proportion below; where nothing moves, 1 for thresholds that
        hide nobody.
    """
    seen = contrast / _CERTAIN if contrast else BLIND
    return min(seen / max(threshold, 1e-3), 1.0)


def marked_for_certain(mask: Bytes, mean: Bytes, params: LocalParams = DEFAULTS) -> float:
    """Say how clear the evidence of a mask is.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
    mean : ndarray of uint8, shape (h, w)
        See `cleanup.mean_score`.
    params : LocalParams, optional

    Returns
    -------
    float
        0 where a quarter of the mask, the clearest, is hardly above the level from which pixels are
        marked, 1 where it has as much as pixels can have; 1 for an empty mask.
    """
    if not cv2.hasNonZero(mask):
        return 1.0
    counts = np.bincount(mean[mask > 0], minlength=256).cumsum()
    clear = int(np.searchsorted(counts, _SURE_PART * counts[-1])) / UNIT
    span = params.vote_most - params.vote_level
    return min(max((clear - params.vote_level) / max(span, 1e-3), 0.0), 1.0)
