"""Find how far a camera that shakes has moved each frame from the place of its scene."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles, coarseness
from bgsub.local.params import LocalParams
from bgsub.robustpca.median import NORMAL_MAD, median
from bgsub.video.frames import Bytes

_SIDE = 160
"""Pixels of the shrunken pictures' longer side: a tenth of one is a part of a pixel at 640×360."""

_COARSEST = 24
"""Pixels of the shorter side of the smallest picture of a pyramid, at least."""

_LOOKS = 16
"""Frames of a sample from which one sees whether a camera shakes."""

_ROUNDS, _ENOUGH = 15, 0.03
"""Most steps on one level of a pyramid, and the step in its pixels that ends them."""

_LONGEST_STEP = 1.5
_LEAST_SCALE = 0.1
_FLAT = 1e-6
"""Determinant of the slopes, over their squared trace, below which only one direction is seen."""

_FURTHEST = 1 / 6
"""Share of the shorter side by which frames may lie apart; what is further is another view."""

_LEFT = 0.6
"""Share of what differs that a shift leaves, at most, of what the opposite one does.

Both smooth a frame alike, as moving it by a part of a pixel does."""

_LOST = 0.5
"""Contrasts by which pixels typically differ where a frame has not been found; of two that show
nothing in common it is .95."""

_LEAST_SURE = 2 / 3
"""Share of the frames whose place must be sure: those of a camera that pans have none in common."""

_FAINT = 3.0
"""Grey levels of texture that count for half: noise has less."""


class Shift(NamedTuple):
    """How far a frame's scene lies to the right of its place and below it, in pixels."""

    right: int = 0
    down: int = 0


class _Found(NamedTuple):
    """A shift in pixels of a shrunken picture, and whether it is sure."""

    right: float
    down: float
    sure: bool

    @property
    def distance(self) -> float:
        return max(abs(self.right), abs(self.down))


class Registration:
    """The place of a scene before a camera that shakes.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h', w')
        Luma of the scene at its place, shrunken so that its longer side has 160 pixels at most.
    factor : float
        Size of a pixel of it in pixels of the pictures.

    Notes
    -----
    A frame's shift d minimises Σ ρ(I(x + d) − R(x)) over the pixels x by Gauss–Newton steps, coarse
    to fine (Lucas and Kanade 1981), with the weights of Geman and McClure, which leave out what
    moves by itself; the first one is where the smallest pictures correlate most. I and R are luma
    less its local mean, over its local contrast: light is no motion.
    """

    def __init__(self, reference: Bytes, factor: float) -> None:
        self.reference = reference
        self._factor = factor
        self._levels = [_slopes(level) for level in _pyramid(reference)]

    def find(self, picture: Bytes) -> Shift:
        """Find the shift of a frame; none where nothing is sure.

        Parameters
        ----------
        picture : ndarray of uint8, shape (h, w, 3) BGR or (h, w)
        """
        found = self._find(shrunken(picture))
        if not found.sure:
            return Shift()
        return Shift(round(found.right * self._factor), round(found.down * self._factor))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give it as arrays by name, for an .npz file."""
        return {"local_place": self.reference, "local_place_factor": np.array(self._factor)}

    def find_all(self, small: Iterable[Bytes]) -> list[_Found]:
        """Find the shifts of shrunken frames, in their pixels."""
        return [self._find(one) for one in small]

    def _find(self, small: Bytes) -> _Found:
        frames = _pyramid(small)
        found, left = self._descend(frames, np.zeros(2, np.float32))
        if found.sure or left < _LOST:
            return found
        further, less = self._descend(frames, _nearest(self._levels[0][0], frames[0]))
        return further if less < _LEFT * left else found

    def _descend(self, frames: list[Singles], shift: Singles) -> tuple[_Found, float]:
        """Find a shift, beginning with one of the smallest picture, and what it leaves."""
        for i, ((place, *slopes), frame) in enumerate(zip(self._levels, frames, strict=True)):
            if i:
                shift = 2 * shift
            typical = _typical(_difference(place, frame, shift))
            scale = max(2 * typical / NORMAL_MAD, _LEAST_SCALE)
            for _ in range(_ROUNDS):
                step = _step(place, slopes, frame, shift, scale)
                shift = shift - step
                if np.abs(shift).max() > _FURTHEST * min(place.shape):
                    return _Found(0, 0, sure=False), math.inf
                if np.abs(step).max() < _ENOUGH:
                    break
        left = _typical(_difference(place, frame, shift))
        other = _typical(_difference(place, frame, -shift))
        right, down = shift.tolist()
        return _Found(right, down, sure=left < _LEFT * other), left


def find_registration(pictures: Bytes, params: LocalParams) -> Registration | None:
    """Look whether a camera shakes, and if it does, find the place of its scene.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
        In order of time.
    params : LocalParams

    Returns
    -------
    Registration or None
        None for a camera that stands still, for one that pans, whose frames have no place in
        common, and for pictures too small to tell.
    """
    height, width = pictures.shape[1:3]
    looks = np.linspace(0, len(pictures) - 1, min(len(pictures), _LOOKS)).astype(int)
    small = [shrunken(pictures[i]) for i in looks]
    if min(small[0].shape) < _COARSEST:
        return None
    factor = max(height, width) / max(small[0].shape)
    trial = Registration(small[len(small) // 2], factor)
    found = trial.find_all(small)
    least = params.shake_px * coarseness(height, width) / factor
    moved = sum(one.sure and one.distance >= least for one in found)
    sure = [one.sure or one.distance < least for one in found]
    if moved < params.shake_share * len(found) or sum(sure) < _LEAST_SURE * len(found):
        return None
    shifts = np.array([one[:2] for one in found], np.float32)[sure]
    # As much is then lost on one side as on the other; by full pixels, which blur nothing.
    shifts -= np.rint(median(shifts, axis=0) * factor) / np.float32(factor)
    kept = [one for one, is_sure in zip(small, sure, strict=True) if is_sure]
    at_place = [_warped(one, shift) for one, shift in zip(kept, shifts, strict=True)]
    return Registration(median(np.stack(at_place), axis=0).astype(np.uint8), factor)


def shrunken(picture: Bytes) -> Bytes:
    """Give the luma of a picture, its longer side shrunken to 160 pixels at most."""
    factor = min(1.0, _SIDE / max(picture.shape[:2]))
    if factor < 1:
        height, width = (max(1, round(factor * side)) for side in picture.shape[:2])
        smaller = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
        picture = np.asarray(smaller, np.uint8)
    return np.asarray(
        cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY) if picture.ndim == 3 else picture, np.uint8
    )


def registration_in(arrays: Mapping[str, NDArray[Any]]) -> Registration | None:
    """Give the registration whose `arrays` these are; None if they are those of none.

    Raises
    ------
    ValueError
        If they cannot be those of one.
    """
    if "local_place" not in arrays:
        return None
    reference, factor = arrays["local_place"], float(arrays["local_place_factor"])
    sides = sorted(reference.shape)
    fits = reference.ndim == 2 and sides[0] >= _COARSEST and sides[1] <= _SIDE
    if reference.dtype != np.uint8 or not fits or not 1 <= factor < math.inf:
        raise ValueError(reference.shape)
    return Registration(reference, factor)


def _pyramid(small: Bytes) -> list[Singles]:
    """Give the texture of a picture at halves of its size, the smallest first."""
    levels = [small]
    while min(levels[-1].shape) >= 2 * _COARSEST:
        levels.append(np.asarray(cv2.pyrDown(levels[-1]), np.uint8))
    return [_texture(level) for level in reversed(levels)]


def _texture(level: Bytes) -> Singles:
    """Give luma less its mean around, over its contrast around."""
    around = (max(3, min(level.shape) // 8 | 1),) * 2
    luma = level.astype(np.float32)
    luma -= cv2.blur(luma, around)
    contrast = cv2.sqrt(cv2.blur(luma * luma, around) + np.float32(_FAINT * _FAINT))
    return np.asarray(luma / contrast, np.float32)


def _slopes(level: Singles) -> tuple[Singles, Singles, Singles]:
    """Give a level, and how much it changes from one pixel to the next, right and down."""
    right, down = (
        np.asarray(cv2.Sobel(level, cv2.CV_32F, *axis, scale=1 / 8), np.float32)
        for axis in ((1, 0), (0, 1))
    )
    return level, right, down


def _warped(picture: NDArray[Any], shift: Singles) -> NDArray[Any]:
    """Move a picture by parts of a pixel, from where it lies to its place."""
    height, width = picture.shape
    matrix = np.array([[1, 0, shift[0]], [0, 1, shift[1]]], np.float32)
    how = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(
        picture, matrix, (width, height), flags=how, borderMode=cv2.BORDER_REPLICATE
    )


def _margin(shift: Singles) -> tuple[slice, slice]:
    """Leave out the borders, where a frame shows other things than the place."""
    border = 2 + int(np.abs(shift).max())
    return (slice(border, -border),) * 2


def _difference(place: Singles, frame: Singles, shift: Singles) -> Singles:
    return np.asarray((_warped(frame, shift) - place)[_margin(shift)], np.float32)


def _typical(difference: Singles) -> float:
    """Give the median size of a difference, of every second pixel each way."""
    return float(median(np.abs(difference[::2, ::2])))


def _nearest(place: Singles, frame: Singles) -> Singles:
    """Give the shift by full pixels at which a frame correlates most with its place."""
    reach = int(_FURTHEST * min(place.shape))
    middle = np.ascontiguousarray(place[reach:-reach, reach:-reach])
    alike = cv2.matchTemplate(frame, middle, cv2.TM_CCORR)
    down, right = np.unravel_index(int(alike.argmax()), alike.shape)
    return np.array([right - reach, down - reach], np.float32)


def _step(
    place: Singles, slopes: Sequence[Singles], frame: Singles, shift: Singles, scale: float
) -> Singles:
    """Give one Gauss–Newton step; none where the slopes do not tell both directions."""
    difference = _difference(place, frame, shift)
    weights = np.square(difference / np.float32(scale))
    weights += 1
    np.reciprocal(np.square(weights, out=weights), out=weights)
    right, down = (slope[_margin(shift)] for slope in slopes)
    weighted_right, weighted_down = weights * right, weights * down
    a, c = float(np.vdot(weighted_right, right)), float(np.vdot(weighted_down, down))
    b = float(np.vdot(weighted_right, down))
    x, y = (float(np.vdot(one, difference)) for one in (weighted_right, weighted_down))
    determinant = a * c - b * b
    if determinant <= _FLAT * (a + c) ** 2:
        return np.zeros(2, np.float32)
    step = np.array([c * x - b * y, a * y - b * x], np.float32) / np.float32(determinant)
    return np.asarray(np.clip(step, -_LONGEST_STEP, _LONGEST_STEP), np.float32)
