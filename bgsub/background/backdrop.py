"""Put together the background that local masks were cut against, from two models of it.

Centre and components tell water and light from frame to frame, but know nothing of places: who
stands there for long becomes part of them. The local model knows which colours a place has, and
nothing of what waves. So the first says what the background is, the second where that is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.model import BackgroundModel
from bgsub.local.model import LocalModel
from bgsub.local.regions import boxes_of
from bgsub.video.frames import Bytes

Floats = NDArray[np.float64]

# Share of a component that is seen at least, for its coefficient to be told from what is seen.
_SEEN = 0.05
_AROUND = np.ones((5, 5), np.uint8)
_REACH = 32  # pixels around a place from which its light is taken
_LEAST_AROUND = 0.01  # share of them that must be known


class Backdrop:
    """The background of frames, given their masks.

    Parameters
    ----------
    model : BackgroundModel
    local : LocalModel
        What the masks were made with.
    """

    def __init__(self, model: BackgroundModel, local: LocalModel) -> None:
        self._layout, self._local = model.layout, local
        pixels = model.layout.pixels
        self._center, self._components = model.center[:pixels], model.components[:, :pixels]
        self._fitted = None if model.pixel_mask is None else model.pixel_mask.view(np.uint8)

    def coefficients(self, row: Bytes, mask: Bytes, projected: Floats) -> Floats:
        """Coefficients of a frame's background, of the pixels outside its mask alone.

        Parameters
        ----------
        row : ndarray of uint8, shape (size,)
        mask : ndarray of uint8, shape (h, w)
        projected : ndarray of shape (k,)
            y = Uᵀ(x − m), of all pixels of the fit.

        Returns
        -------
        ndarray of shape (k,)
            The least squares over the others, (I − .95 U_M U_Mᵀ)⁻¹ (y − U_M (x − m)_M) with M the
            pixels of the mask; the factor bounds it where little of a component is seen.

        Notes
        -----
        2k²|M| operations.
        """
        grown = _grown(mask)
        if self._fitted is not None:
            grown *= self._fitted
        hidden = np.flatnonzero(grown.ravel())
        if not hidden.size or not projected.size:
            return projected
        components = self._components[:, hidden]
        away = row[hidden] - self._center[hidden]
        unseen = (components @ components.T).astype(np.float64)
        seen = np.eye(len(projected)) - (1 - _SEEN) * unseen
        return np.asarray(np.linalg.solve(seen, projected - components @ away))

    def compose(
        self, row: Bytes, mask: Bytes, estimate: Bytes, rested: Bytes | None = None
    ) -> Bytes:
        """Correct a background where the local model has never seen such.

        Parameters
        ----------
        row, estimate : ndarray of uint8, shape (size,)
            The frame, and its background by centre and components.
        mask : ndarray of uint8, shape (h, w)
        rested : ndarray of uint8, shape (h, w), optional
            What has come to rest, and is background from now on.

        Returns
        -------
        ndarray of uint8, shape (size,)
            Where the estimate is no background, the frame itself outside the mask, and the most
            frequent colours of the place, in the light that is around, within it.
        """
        picture = self._layout.to_bgr(estimate)
        wrong, usual = self._local.implausible(picture)
        if rested is not None:
            wrong = np.asarray(cv2.bitwise_or(wrong, rested), dtype=np.uint8)
        if not cv2.countNonZero(wrong):
            return estimate
        wrong, hidden = _grown(wrong), _grown(mask)
        if self._fitted is not None:
            wrong *= self._fitted
        composed = estimate.copy()
        outside = np.asarray(cv2.subtract(wrong, hidden), dtype=np.uint8)
        _paste(self._layout.planes(composed), self._layout.planes(row), outside)
        behind = np.asarray(cv2.subtract(wrong, outside), dtype=np.uint8)
        if picture.ndim == 2:
            picture = np.asarray(cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR), dtype=np.uint8)
        for top, bottom, left, right in boxes_of(behind, _REACH, 2):
            part = np.s_[top:bottom, left:right]
            layout = replace(self._layout, height=bottom - top, width=right - left)
            lit = layout.pack(_in_light_of(picture[part], usual[part], wrong[part]))
            _paste(_part_of(self._layout.planes(composed), part), layout.planes(lit), behind[part])
        return composed


def _grown(mask: Bytes) -> Bytes:
    """Add what is beside a mask, where lenses and codecs mix it with its background."""
    return np.asarray(cv2.dilate(mask, _AROUND), dtype=np.uint8)


def _part_of(planes: tuple[Bytes, ...], part: tuple[slice, slice]) -> list[Bytes]:
    """The planes in some rows and columns, of which the first are even."""
    height = planes[0].shape[0]
    halves = tuple(slice(one.start // 2, (one.stop + 1) // 2) for one in part)
    return [plane[part if len(plane) == height else halves] for plane in planes]


def _paste(planes: Sequence[Bytes], others: Sequence[Bytes], where: Bytes) -> None:
    """Copy pixels from planes to planes, of which those of colours may be half as large."""
    for plane, other in zip(planes, others, strict=True):
        chosen = where if plane.shape[:2] == where.shape else where[::2, ::2]
        np.copyto(plane, other, where=chosen.reshape(*chosen.shape, *[1] * (plane.ndim - 2)) > 0)


def _in_light_of(picture: Bytes, usual: Bytes, wrong: Bytes) -> Bytes:
    """The usual colours of a place in the light of a picture of it, where that is not wrong."""
    right = (wrong == 0).astype(np.float32)
    more = (picture.astype(np.float32) - usual) * right[..., None]
    size = (_REACH + 1, _REACH + 1)
    seen = cv2.blur(right, size) + np.float32(_LEAST_AROUND)
    lit = usual + cv2.blur(more, size) / seen[..., None]
    return np.asarray(np.clip(np.rint(lit), 0, 255).astype(np.uint8))
