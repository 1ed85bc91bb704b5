"""From scores to a mask: neighbours vote, shadows go, holes are filled, specks dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.regions import enlarged, thinned
from bgsub.local.scoring import UNIT
from bgsub.local.shadows import LIGHT_REACH, object_evidence
from bgsub.local.texture import TEXTURE_REACH
from bgsub.runtime.threads import scratch
from bgsub.video.contours import filled, pixels_within
from bgsub.video.frames import Bytes

SOLID = 0.75
"""Share of evidence from which a blob too small for the opening is an object as it is."""

SCORE_LEVEL = 90
"""Hundredths of a threshold from which `vote` marks, by default."""

_HUNDREDTHS = np.rint(np.arange(256) * (100 / UNIT)).astype(np.uint16)
_LARGE = 4  # least areas that an object covers, at least, whose thin parts belong to it
VOTE_WINDOW = 5
"""Side in pixels of the window whose mean score decides."""


def mean_score(score: Bytes, most: float = DEFAULTS.vote_most) -> Bytes:
    """Mean of the clipped scores of 5×5 pixels, which is all that the raw mask depends on.

    Parameters
    ----------
    score : ndarray of uint8, shape (h, w)
        In units of `UNIT` a threshold.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        In the same unit, rounded; new memory.
    """
    clipped = scratch("local clipped", score.shape, np.uint8)
    cv2.threshold(score, int(most * UNIT), 0, cv2.THRESH_TRUNC, dst=clipped)
    return np.asarray(cv2.blur(clipped, (VOTE_WINDOW, VOTE_WINDOW)), dtype=np.uint8)


def vote(mean: Bytes, level: float = DEFAULTS.vote_level) -> Bytes:
    """Raw mask: where what `mean_score` gave exceeds 0.9 thresholds.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 1, new memory.
    """
    _, raw = cv2.threshold(mean, int(level * UNIT), 1, cv2.THRESH_BINARY)
    return np.asarray(raw, dtype=np.uint8)


def in_hundredths(mean: Bytes) -> NDArray[np.uint16]:
    """Give mean scores in hundredths of a threshold; `vote` marks from `SCORE_LEVEL` on."""
    return np.asarray(cv2.LUT(mean, _HUNDREDTHS), dtype=np.uint16)


@dataclass(frozen=True)
class BlobRule:
    """Which blobs stay.

    Attributes
    ----------
    least_area : int
        Pixels, holes counted in.
    fill : bool
        Fill holes.
    """

    least_area: int
    fill: bool = True

    def apply(self, mask: Bytes) -> Bytes:
        """Mask of 0 and 255 from one that is 0 outside of blobs, which are 8-connected."""
        result = np.zeros_like(mask)
        outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        large = [one for one in outlines if pixels_within(one) >= self.least_area]
        if large:
            cv2.drawContours(result, large, -1, 255, cv2.FILLED)
        if not self.fill:
            result = np.asarray(cv2.copyTo(result, mask), dtype=np.uint8)
        return result


def shadow_reach(step: int, params: LocalParams) -> int:
    """Pixels around a mask that `light_evidence` looks at, at most."""
    texture = TEXTURE_REACH if params.texture_kept <= 1 else 0
    return (max(LIGHT_REACH, texture) + 1) * step


def solid_reach(step: int, params: LocalParams) -> int:
    """Pixels around a mask that `solid_parts` and `bays` look at, at most."""
    return max(params.open_px, params.close_px // 2 + 1, (params.bay_px // 2 + 1) * step) + step


def without_shadows(
    mask: Bytes,
    picture: Bytes,
    background: Callable[[slice, slice], Bytes],
    noise: float | Singles,
    step: int,
    params: LocalParams = DEFAULTS,
) -> Bytes:
    """Leave in a mask what is an object and not the background in another light.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 1; of a part of a picture, which ends `shadow_reach` and `solid_reach` from the mask or
        with the picture.
    picture : ndarray of uint8, shape (h, w, 3)
    background : callable
        Gives the background of some rows and columns, by slices that may have a step.
    noise : float or ndarray of float32, shape (256,)
        In grey levels, of all pixels or by their luma.
    step : int
        Every so many pixels are looked at, down and across.
    params : LocalParams, optional

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 1.
    """
    evidence = light_evidence(mask, picture, background, noise, step, params)
    return solid_parts(mask, evidence, step, params)


def light_evidence(
    mask: Bytes,
    picture: Bytes,
    background: Callable[[slice, slice], Bytes],
    noise: float | Singles,
    step: int,
    params: LocalParams,
) -> Bytes:
    """Mark of every so many pixels of a mask which are not the background in another light.

    Takes what `without_shadows` takes; the part may end `shadow_reach` from the mask.

    Returns
    -------
    ndarray of uint8, shape (⌈h / step⌉, ⌈w / step⌉)
        0 or 1.
    """
    thin = thinned(mask, step)
    rows, columns = _near(thin)
    full = tuple(slice(step * one.start, step * one.stop) for one in (rows, columns))
    evidence = np.zeros_like(thin)
    evidence[rows, columns] = object_evidence(
        thinned(picture[full], step),
        background(*(slice(one.start, one.stop, step) for one in full)),
        np.ascontiguousarray(thin[rows, columns]),
        noise,
        params,
    )
    return evidence


def solid_parts(
    mask: Bytes, evidence: Bytes, step: int, params: LocalParams, least: float = np.inf
) -> Bytes:
    """Leave in a mask what is evidence, opened and closed.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 1; of a part of a picture, which ends `solid_reach` from the mask or with the picture.
    evidence : ndarray of uint8, shape (⌈h / step⌉, ⌈w / step⌉)
        What `light_evidence` gave of that part.
    step : int
    params : LocalParams
    least : float, optional
        Pixels that a blob covers, at least; by default none is large enough to have thin parts.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 1.
    """
    found = _solid(evidence, thinned(mask, step), step, params, least)
    if step > 1:
        found = enlarged(found, step, mask.shape)
    return np.asarray(cv2.bitwise_and(found, mask), dtype=np.uint8)


def _near(mask: Bytes) -> tuple[slice, slice]:
    """Rows and columns of a mask, and as many around it as windows reach."""
    x, y, wide, high = cv2.boundingRect(mask)
    reach = VOTE_WINDOW // 2
    return (
        slice(max(y - reach, 0), min(y + high + reach, mask.shape[0])),
        slice(max(x - reach, 0), min(x + wide + reach, mask.shape[1])),
    )


def _solid(evidence: Bytes, mask: Bytes, step: int, params: LocalParams, least: float) -> Bytes:
    """Opened and closed evidence, small blobs that are nothing else, thin parts of large ones."""
    window = np.ones((params.open_px // (2 * step) * 2 + 1,) * 2, np.uint8)
    opened = cv2.morphologyEx(evidence, cv2.MORPH_OPEN, window)
    window = np.ones((params.close_px // (2 * step) * 2 + 1,) * 2, np.uint8)
    closed = np.asarray(cv2.morphologyEx(opened, cv2.MORPH_CLOSE, window), dtype=np.uint8)
    thin = evidence & ~np.asarray(cv2.dilate(cv2.subtract(mask, evidence), window), np.uint8)
    outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    for outline in outlines:
        x, y, wide, high = cv2.boundingRect(outline)
        part = np.s_[y : y + high, x : x + wide]
        if cv2.countNonZero(closed[part]) * step**2 >= _LARGE * least:
            closed[part] |= thin[part]  # opened, shadows lose specks, but people their legs
        if wide <= 2 * params.open_px and high >= wide:
            shown = evidence[part]
            if cv2.countNonZero(shown) < SOLID * high:
                continue  # the blob has a pixel in every row at least
            blob = filled(outline, x, y, wide, high)
            cv2.bitwise_and(blob, mask[part], dst=blob)
            evident = cv2.countNonZero(cv2.bitwise_and(shown, blob))
            if evident >= SOLID * cv2.countNonZero(blob):
                closed[part] |= blob
    return closed
