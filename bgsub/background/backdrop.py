"""Put together the background that local masks were cut against, from two models of it.

Centre and components tell water and light from frame to frame, but know nothing of places: who
stands there for long becomes part of them. The local model knows which colours a place has, and
nothing of what waves. So behind objects the background has the usual colours of the place, and
where the frame shows it, it is the one of the two that is nearer to the frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import cv2
import numpy as np

from bgsub.background.camera import Motion, moved
from bgsub.background.scene import Scene, Shown
from bgsub.robustpca.spaces import Floats, Singles
from bgsub.video.frames import Bytes

if TYPE_CHECKING:
    from bgsub.background.model import BackgroundModel

# Share of a component that is seen at least, for its coefficient to be told from what is seen.
_SEEN = 0.05
_AROUND = np.ones((5, 5), np.uint8)
# Light and nearness are smooth: they are found in cells of so many pixels, and the light of a place
# from so many cells around it, beside which that of the picture weighs so much.
_CELL, _LIT_FROM, _OF_ALL = 8, (5, 5), 0.01
# Grey levels by which the light of a cell differs from that around it, at most. What differs by
# more is no light, but an object that no mask has found, or the rim of one.
_UNEVEN = 3
# Grey levels by which one model is nearer to the frame than the other, and by which they contradict
# each other: then one has learned an object, and the frame itself says what is there.
_NEARER, _CONTRADICT = 1, 8
# Unless they do as much around, where the first is nearer: so many times what the second is off by.
# Behind an object the first is right only if it is nearer than that to all that is around: what is
# off by more has learned other objects, and is near to those around that no mask has found.
_WAVES = 2


class Backdrop:
    """The background of frames, given their masks and the scene that these were made with."""

    def __init__(self, model: BackgroundModel, local: Scene) -> None:
        self._layout = model.layout
        self._usual = [model.layout.pack(plate) for plate in local.plates]
        pixels = model.layout.pixels
        self._center, self._components = model.center[:pixels], model.components[:, :pixels]
        self._fitted = None if model.pixel_mask is None else model.pixel_mask.view(np.uint8)

    def coefficients(self, row: Bytes, mask: Bytes, projected: Floats) -> Floats:
        """Coefficients of a frame's background, of the pixels outside its mask alone.

        With y = Uᵀ(x − m) those of all pixels of the fit, the least squares over the others is
        (I − .95 U_M U_Mᵀ)⁻¹ (y − U_M (x − m)_M) with M the pixels of the mask; the factor bounds it
        where little of a component is seen. 2k²|M| operations.
        """
        if not projected.size:
            return projected
        hidden = np.flatnonzero(self._among_fitted(_grown(mask)) > 0)
        if not hidden.size:
            return projected
        components = self._components[:, hidden]
        away = row[hidden] - self._center[hidden]
        unseen = (components @ components.T).astype(np.float64)
        seen = np.eye(len(projected)) - (1 - _SEEN) * unseen
        return np.asarray(np.linalg.solve(seen, projected - components @ away))

    def compose(
        self, row: Bytes, mask: Bytes, shown: Shown, estimate: Bytes, rested: Bytes | None = None
    ) -> Bytes:
        """Correct a background by what the local model knows of its places.

        Within the mask it has the most frequent colours of the place, in the light that is around.
        Outside, these or the estimate by centre and components, whichever is nearer to the frame;
        and the frame itself where they contradict each other, and where something has come to rest
        (`rested`), which is background from now on.
        """
        layout, hidden = self._layout, _grown(mask)
        unlike = hidden if rested is None else _united(hidden, _grown(rested))
        planes, estimated = layout.planes(row), layout.planes(estimate)
        at_rest = layout.planes(self._usual[shown.state])
        usual = [_lying(plane, shown.motion, mask) for plane in at_rest]
        grid = max(layout.width // _CELL, 1), max(layout.height // _CELL, 1)
        like = np.asarray(_means(unlike, grid) == 0, np.float32)  # cells in which nothing is marked
        lit = _in_light_of(planes, estimated, usual, like)
        waves, nearer, apart = _compare(planes[0], estimated[0], lit[0], like)
        place = _united(cv2.subtract(hidden, waves), cv2.subtract(nearer, hidden))
        itself = apart if rested is None else _united(apart, _grown(rested))
        itself = np.asarray(cv2.subtract(itself, hidden), dtype=np.uint8)
        composed = estimate.copy()
        # The frame itself comes last: it is there where one model has learned an object.
        for others, where in ((lit, place), (planes, itself)):
            wanted = self._among_fitted(where)
            for plane, other in zip(layout.planes(composed), others, strict=True):
                whole = plane.shape[:2] == wanted.shape  # planes of colours may be half as large
                chosen = wanted if whole else np.ascontiguousarray(wanted[::2, ::2])
                cv2.copyTo(other, chosen, plane)
        return composed

    def _among_fitted(self, where: Bytes) -> Bytes:
        """Leave pixels that took part in the fit; the others have the frame's own colours."""
        return where if self._fitted is None else np.asarray(where * self._fitted, np.uint8)


def _grown(mask: Bytes) -> Bytes:
    """Add what is beside a mask, where lenses and codecs mix it with its background."""
    return np.asarray(cv2.dilate(mask, _AROUND), dtype=np.uint8)


def _united(one: cv2.typing.MatLike, other: cv2.typing.MatLike) -> Bytes:
    return np.asarray(cv2.bitwise_or(one, other), dtype=np.uint8)


def _lying(plane: Bytes, motion: Motion, frame: Bytes) -> Bytes:
    """Move a plane, which may be half as large as the frame, to where it lies in it."""
    down, across = (own / side for own, side in zip(plane.shape, frame.shape, strict=False))
    return np.asarray(moved(plane, motion.scaled(across, down), back=True), np.uint8)


def _means(plane: cv2.typing.MatLike, grid: tuple[int, int]) -> Singles:
    """Means of a plane over cells, so many across and down."""
    return np.asarray(cv2.resize(plane, grid, interpolation=cv2.INTER_AREA), dtype=np.float32)


def _around(values: Singles, like: Singles) -> Singles:
    """Means over the cells around that are like their background, or over all of them."""
    if values.ndim > like.ndim:
        like = like[..., None]
    known = values * like
    everywhere = known.mean(axis=(0, 1)) / max(float(like.mean()), _OF_ALL)
    total = cv2.blur(known, _LIT_FROM) + np.float32(_OF_ALL) * everywhere
    count = cv2.blur(like, _LIT_FROM).reshape(like.shape) + np.float32(_OF_ALL)
    return np.asarray(total / count, dtype=np.float32)


def _in_light_of(
    planes: Sequence[Bytes], estimated: Sequence[Bytes], usual: Sequence[Bytes], like: Singles
) -> list[Bytes]:
    """Return the usual colours of a scene in the light of a frame, from the cells that are like it.

    The light is what the frame or its estimate differs by, whichever does less: a shadow is in the
    frame alone, what was taken for background in the estimate alone. What is in both is told by
    its edges, which light has none of.
    """
    grid = like.shape[::-1]
    found = []
    for plane, estimate, own in zip(planes, estimated, usual, strict=True):
        place = _means(own, grid)
        away, other = _means(plane, grid) - place, _means(estimate, grid) - place
        light = np.where(np.abs(away) < np.abs(other), away, other)
        uneven = np.abs(light - _around(light, like)).reshape(*like.shape, -1).max(axis=2)
        around = _around(light, like * (uneven <= _UNEVEN))
        smooth = cv2.resize(np.rint(around).astype(np.int16), plane.shape[1::-1])
        found.append(np.asarray(cv2.add(own, smooth, dtype=cv2.CV_8U), dtype=np.uint8))
    return found


def _compare(seen: Bytes, estimate: Bytes, lit: Bytes, like: Singles) -> tuple[Bytes, Bytes, Bytes]:
    """Compare two backgrounds of a frame, in masks of 0 and 255.

    Where the first is right, as the second is wrong by as much around: on water, in the wind. Where
    the second is nearer to the frame. Where they contradict each other, and one has learned an
    object.
    """
    by_fit, by_place, apart = (
        _means(cv2.absdiff(one, other), like.shape[::-1])
        for one, other in ((seen, estimate), (seen, lit), (estimate, lit))
    )
    off, fit_off = _around(by_place, like), _around(by_fit, like)
    restless = (fit_off < off) & (apart < _WAVES * off)
    waves = restless & (fit_off < _CONTRADICT)
    cases = waves, by_fit - by_place > _NEARER, ~restless & (apart > _CONTRADICT)
    size, way = seen.shape[::-1], cv2.INTER_NEAREST
    first, second, third = (
        np.asarray(cv2.resize(np.uint8(255) * one, size, interpolation=way), np.uint8)
        for one in cases
    )
    return first, second, third
