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
from bgsub.robustpca.spaces import Flags, Floats, Singles
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
        layout = self._layout = model.layout
        pixels = layout.pixels
        self._grid = max(layout.width // _CELL, 1), max(layout.height // _CELL, 1)
        rows, size = np.arange(self._grid[1], dtype=np.uint16)[:, None], (1, layout.height)
        self._rows = np.asarray(cv2.resize(rows, size, interpolation=cv2.INTER_NEAREST), np.int64)
        empty = map(local.plate, range(len(local.background.states)))
        self._usual = [self._cells(layout.planes(layout.pack(one))) for one in empty]
        self._center, self._components = model.center[:pixels], model.components[:, :pixels]
        self._fitted = None if model.pixel_mask is None else model.pixel_mask.view(np.uint8)

    def coefficients(self, row: Bytes, mask: Bytes, projected: Floats) -> Floats:
        """Coefficients of a frame's background, of the pixels outside its mask alone.

        With y = Uᵀ(x − m) those of all pixels of the fit, the least squares over the others is
        (I − .95 U_M U_Mᵀ)⁻¹ (y − U_M (x − m)_M) with M the pixels of the mask; the factor bounds it
        where little of a component is seen. 2k²|M| operations.
        """
        hidden = np.flatnonzero(self._among_fitted(_grown(mask)) > 0)
        if not (projected.size and hidden.size):
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
        unlike = hidden if rested is None else hidden | _grown(rested)
        planes, estimated = layout.planes(row), layout.planes(estimate)
        usual = self._usual[shown.state]
        if shown.motion != Motion():
            usual = self._cells([_lying(plane, shown.motion, mask) for plane, _ in usual])
        like = np.asarray(_means(unlike, self._grid) == 0, np.float32)  # nothing is marked there
        lit = _in_light_of(planes, estimated, usual, like)
        calm, place, itself = self._enlarged(_compare(planes[0], estimated[0], lit[0], like))
        cv2.copyTo(calm, hidden, place)
        itself = np.asarray(cv2.subtract(itself | unlike, hidden), dtype=np.uint8)
        composed = estimate.copy()
        # The frame itself comes last: it is there where one model has learned an object.
        for others, where in ((lit, place), (planes, itself)):
            wanted = self._among_fitted(where)
            halved = np.ascontiguousarray(wanted[::2, ::2])  # for colours at half the size
            for plane, other in zip(layout.planes(composed), others, strict=True):
                cv2.copyTo(other, wanted if plane.shape[:2] == wanted.shape else halved, plane)
        return composed

    def _cells(self, planes: Sequence[Bytes]) -> list[tuple[Bytes, Singles]]:
        """Return the planes of a picture, and their means over cells."""
        return [(plane, _means(plane, self._grid)) for plane in planes]

    def _enlarged(self, cases: list[Flags]) -> Bytes:
        """Bring flags of cells to the size of frames, as 0 and 255, row by row."""
        width, wide = self._layout.width, np.concatenate(cases).view(np.uint8) * np.uint8(255)
        wide = np.asarray(cv2.resize(wide, (width, len(wide)), interpolation=cv2.INTER_NEAREST))
        return wide.reshape(len(cases), -1, width).take(self._rows[:, 0], axis=1)

    def _among_fitted(self, where: Bytes) -> Bytes:
        """Leave pixels that took part in the fit; the others have the frame's own colours."""
        return where if self._fitted is None else np.asarray(where * self._fitted, np.uint8)


def _grown(mask: Bytes) -> Bytes:
    """Add what is beside a mask, where lenses and codecs mix it with its background."""
    return np.asarray(cv2.dilate(mask, _AROUND), dtype=np.uint8)


def _lying(plane: Bytes, motion: Motion, frame: Bytes) -> Bytes:
    """Move a plane, which may be half as large as the frame, to where it lies in it."""
    down, across = (own / side for own, side in zip(plane.shape, frame.shape, strict=False))
    return np.asarray(moved(plane, motion.scaled(across, down), back=True), np.uint8)


def _means(plane: cv2.typing.MatLike, grid: tuple[int, int]) -> Singles:
    """Means of a plane over cells, so many across and down."""
    return np.asarray(cv2.resize(plane, grid, interpolation=cv2.INTER_AREA), dtype=np.float32)


def _around(like: Singles, *values: Singles) -> list[Singles]:
    """Means over the cells around that are like their background, or over all of them."""
    count = np.asarray(cv2.blur(like, _LIT_FROM), np.float32) + np.float32(_OF_ALL)
    share, found = max(float(like.mean()), _OF_ALL), []
    for each in values:
        own, around = (one if each.ndim == one.ndim else one[..., None] for one in (like, count))
        known = each * own
        everywhere = known.sum(axis=(0, 1)) / like.size / share
        total = cv2.blur(known, _LIT_FROM) + np.float32(_OF_ALL) * everywhere
        found.append(np.asarray(total / around, dtype=np.float32))
    return found


def _in_light_of(
    planes: Sequence[Bytes],
    estimated: Sequence[Bytes],
    usual: Sequence[tuple[Bytes, Singles]],
    like: Singles,
) -> list[Bytes]:
    """Return the usual colours of a scene in the light of a frame, from the cells that are like it.

    The light is what the frame or its estimate differs by, whichever does less: a shadow is in the
    frame alone, what was taken for background in the estimate alone. What is in both is told by
    its edges, which light has none of.
    """
    lights, found = [], []
    for seen, estimate, (_, place) in zip(planes, estimated, usual, strict=True):
        away, other = (_means(one, like.shape[::-1]) - place for one in (seen, estimate))
        lights.append(np.where(np.abs(away) < np.abs(other), away, other))
    for light, around, (own, _) in zip(lights, _around(like, *lights), usual, strict=True):
        uneven = cv2.absdiff(light, around).reshape(*like.shape, -1).max(axis=2)
        (even,) = _around(like * (uneven <= _UNEVEN), light)
        smooth = cv2.resize(np.rint(even).astype(np.int16), own.shape[1::-1])
        found.append(np.asarray(cv2.add(own, smooth, dtype=cv2.CV_8U), dtype=np.uint8))
    return found


def _compare(seen: Bytes, estimate: Bytes, lit: Bytes, like: Singles) -> list[Flags]:
    """Compare two backgrounds of a frame, in cells.

    Where the second is right behind objects: not where the first is, as the second is wrong by as
    much around, on water, in the wind. Where the second is nearer to the frame. Where they
    contradict each other, and one has learned an object.
    """
    by_fit, by_place, apart = (
        _means(cv2.absdiff(one, other), like.shape[::-1])
        for one, other in ((seen, estimate), (seen, lit), (estimate, lit))
    )
    off, fit_off = _around(like, by_place, by_fit)
    restless = (fit_off < off) & (apart < _WAVES * off)
    calm = ~(restless & (fit_off < _CONTRADICT))
    return [calm, by_fit - by_place > _NEARER, ~restless & (apart > _CONTRADICT)]
