"""Align the frames of a camera that shakes with one reference."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.spaces import Flags, Floats, Singles, median, quantile
from bgsub.video.frames import Bytes, in_grey

Each = Callable[..., Iterable[Any]]  # `map`, or what does the same in threads
COARSEST = 24  # pixels of the shorter side of the smallest picture of a pyramid, at least
_KINDS = 4  # numbers that say how a frame lies: right, down, grown and turned
# Most steps on one level of a pyramid, and the step in its pixels that ends them.
_ROUNDS, _ENOUGH = 15, 0.03
_LONGEST_STEP = 1.5
_LEAST_SCALE = 0.1
# Share of the mean of all slopes that is added to each: where nothing is seen, nothing moves.
_STEADY = 1e-3
# Quantile of what differs that noise decides, as objects may cover more than half of a picture, and
# what it is of normal noise.
_CALM, _OF_NORMAL = 0.3, 0.385
# Share of the shorter side by which frames may lie apart; what is further is another view.
_FURTHEST = 1 / 6
# Contrasts by which pixels typically differ where a frame has not been found; of two that show
# nothing in common it is .95.
_LOST = 0.5
# Shifts of the smallest pictures from which a frame is looked for that has not been found: who
# stands before most of a picture, or another light, hides where it correlates most.
_AROUND = 2.0 * np.array([(x, y) for y in (-1, 0, 1) for x in (-1, 0, 1) if x or y])
# Contrasts by which calm pixels differ in a frame that shows nothing of a place, at least; .54 by
# chance, and .37 to .5 after the motion that suits chance best.
_STRANGE = 1 / 3
# Standard errors of their mean by which blocks, of the size that texture is measured in, must say
# the same: what moves by itself fills a few of them.
_CLEARLY = 3.0
_FAINT = 3.0  # grey levels of texture that count for half: noise has less
# Pixels of the shrunken pictures' longer side: a tenth of one is a part of a pixel at 640×360.
_SIDE = 160
# Pixels beyond which a frame is displaced, and the share of the frames from which a camera shakes:
# fewer are errors.
_SHAKE_PX, _SHAKE_SHARE = 0.5, 0.1
_LOOKS = 16  # frames of a sample from which one sees whether a camera shakes
# Pixels by which a frame may lie beside full pixels, and be moved by these, which blurs nothing:
# less than what it is found to.
_PART = 1 / 8


class Motion(NamedTuple):
    """How a frame lies: what is at x in its place, from the middle, is at x + move + stretch·x."""

    right: float = 0.0  # of the middle, in pixels
    down: float = 0.0
    grown: float = 0.0  # by how much it is larger, as a share, which is small
    turned: float = 0.0  # clockwise, in radians, which are few

    def matrix(self, height: int, width: int) -> Floats:
        """Return the matrix, (2, 3), that takes a pixel of the place to that of the frame."""
        middle, move = np.array([(width - 1) / 2, (height - 1) / 2]), (self.right, self.down)
        matrix = np.empty((2, 3))
        matrix[:, :2] = (1 + self.grown, -self.turned), (self.turned, 1 + self.grown)
        matrix[:, 2] = middle - matrix[:, :2] @ middle + move
        return matrix

    def furthest(self, height: int, width: int) -> float:
        """Return by how many pixels any pixel of a picture moves at most, across or down."""
        x, y = width / 2, height / 2
        grown, turned = abs(self.grown), abs(self.turned)
        across, along = grown * x + turned * y, turned * x + grown * y
        return max(abs(self.right) + across, abs(self.down) + along)

    def parted(self) -> tuple[Motion, Motion]:
        """Return the motion by full pixels, and what is left beside it."""
        full = Motion(round(self.right), round(self.down))
        return full, self._replace(right=self.right - full.right, down=self.down - full.down)

    def sees(self, height: int, width: int) -> Flags:
        """Return which pixels of the place a frame shows, (h, w)."""
        ones, flags = np.ones((height, width), np.uint8), cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return cv2.warpAffine(ones, self.matrix(height, width), (width, height), flags=flags) > 0

    def scaled(self, across: float, down: float) -> Motion:
        """Return the same motion of frames of another size."""
        return self._replace(right=across * self.right, down=down * self.down)


class Found(NamedTuple):
    """How a shrunken picture lies, in its pixels."""

    motion: Motion
    sure: bool  # whether that is told from chance
    explained: float = 0.0  # share of what differs from the place that the motion explains


class Registration:
    """The place of a scene before a camera that shakes, to find how frames lie against it.

    `reference` is its luma, shrunken so that its longer side has 160 pixels at most, and `factor`
    the size of its pixels in those of the pictures.

    A frame's motion W minimises Σ ρ(I(Wx) − R(x)) over the pixels x by Gauss–Newton steps, coarse
    to fine (Lucas and Kanade 1981), with the weights of Geman and McClure, which leave out what
    moves by itself; the first one is where the smallest pictures correlate most. I and R are luma
    less its local mean, over its local contrast: light is no motion. Turns are looked for last, as
    objects that fill a picture lead astray what is free to turn.

    A motion is sure if blocks all over the picture are explained better by it than by its opposite:
    both smooth a frame alike, as moving it by a part of a pixel does.
    """

    def __init__(self, reference: Bytes, factor: float) -> None:
        self.reference, self._factor = reference, factor
        self._levels = [_Level(texture) for texture in _pyramid(reference)]

    def find(self, picture: Bytes) -> Motion:
        """Find how a frame, BGR or grey, lies; as the place does where nothing is sure."""
        found = self.find_small(shrunken(picture))
        motion = found.motion.scaled(self._factor, self._factor) if found.sure else Motion()
        if motion._replace(right=0.0, down=0.0).furthest(*picture.shape[:2]) < _PART:
            motion = Motion(motion.right, motion.down)  # no pixel shows the turn
        full, beside = motion.parted()
        return full if beside.furthest(*picture.shape[:2]) < _PART else motion

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return it as arrays by name, for an .npz file."""
        return {"camera_reference": self.reference, "camera_factor": np.array(self._factor)}

    def find_small(self, small: Bytes, *, everywhere: bool = True) -> Found:
        """Find how a shrunken frame lies, from its luma.

        `everywhere` looks from more starts for what has not been found, in nine times the time.
        """
        frames = _pyramid(small)
        found, left = self._descend(frames, np.zeros(2))
        if left < _LOST:
            return found
        starts = [_nearest(self._levels[0].place, frames[0]), *(_AROUND if everywhere else ())]
        others = [self._descend(frames, start) for start in starts]
        return min([(found, left), *others], key=lambda one: one[1])[0]

    def _descend(self, frames: list[Singles], by: Floats) -> tuple[Found, float]:
        """Find a motion, beginning with a shift of the smallest picture, and what it leaves."""
        for i, (level, frame) in enumerate(zip(self._levels, frames, strict=True)):
            by, scale = level.settle(frame, 2 * by if i else by)
        by, scale = level.settle(frame, np.append(by, np.zeros(_KINDS - by.size)))
        if level.is_far(by):
            return Found(Motion(), sure=False), math.inf
        here, opposite = (level.difference(frame, one) for one in (by, -by))
        left, before = _calm(here), _calm((frame - level.place)[_inner(by)])
        sure = left < _STRANGE and _is_better(here, opposite, scale, _around(frame.shape))
        explained = 1 - left / before if before else 0.0
        return Found(level.motion(by), sure, explained), float(median(np.abs(here[::2, ::2])))


class _Level:
    """The place in one size, and how much of it changes with each kind of motion.

    Motions are arrays of right and down, or of these, grown and turned, all in pixels: the last
    two at the middles of the shorter sides.
    """

    def __init__(self, place: Singles) -> None:
        self.place = place
        height, width = place.shape
        self._reach = max(height, width) / 2
        right, down = (cv2.Sobel(place, cv2.CV_32F, x, 1 - x, scale=1 / 8) for x in (1, 0))
        x = (np.arange(width) - (width - 1) / 2) / self._reach
        y = (np.arange(height) - (height - 1) / 2)[:, None] / self._reach
        kinds = [right, down, x * right + y * down, x * down - y * right]
        self._slopes = np.stack(kinds).astype(np.float32)

    def motion(self, by: Floats) -> Motion:
        """Return a motion in other words."""
        right, down, *others = by.tolist()
        return Motion(right, down, *(one / self._reach for one in others))

    def is_far(self, by: Floats) -> bool:
        """Test whether something else is seen after a motion."""
        return bool(_border(by) > _FURTHEST * min(self.place.shape))

    def difference(self, frame: Singles, by: Floats) -> Singles:
        """Return what differs after a motion, without the borders, where other things are seen."""
        matrix = self.motion(by).matrix(*frame.shape)
        return np.asarray((warped(frame, matrix) - self.place)[_inner(by)], np.float32)

    def settle(self, frame: Singles, by: Floats) -> tuple[Floats, float]:
        """Take steps from a motion until they are small; say what noise is, too."""
        difference = self.difference(frame, by)
        scale = max(2 * _calm(difference) / _OF_NORMAL, _LEAST_SCALE)
        for _ in range(_ROUNDS):
            step = self._step(difference, by, scale)
            by = by - step
            if self.is_far(by) or max(map(abs, step.tolist())) < _ENOUGH:
                break
            difference = self.difference(frame, by)
        return by, scale

    def _step(self, difference: Singles, by: Floats, scale: float) -> Floats:
        """Return one Gauss–Newton step from a motion and what differs after it."""
        weights = np.square(difference / np.float32(scale))
        weights += 1
        np.reciprocal(np.square(weights, out=weights), out=weights)
        slopes = self._slopes[: by.size, *_inner(by)].reshape(by.size, -1)
        weighted = slopes * weights.reshape(-1)
        squares = (weighted @ slopes.T).astype(np.float64)
        ahead = (weighted @ difference.reshape(-1)).astype(np.float64)
        squares.flat[:: by.size + 1] += max(_STEADY * squares.trace() / by.size, sys.float_info.min)
        step = np.linalg.solve(squares, ahead)
        return np.asarray(step / max(1.0, *(abs(one) / _LONGEST_STEP for one in step.tolist())))


def warped(picture: NDArray[Any], matrix: Floats, way: int = cv2.INTER_LINEAR) -> NDArray[Any]:
    """Move a picture by parts of a pixel, from where it lies to its place; continue its borders."""
    size, flags = picture.shape[1::-1], way | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(picture, matrix, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)


def _pyramid(small: Bytes) -> list[Singles]:
    """Return luma less its mean around, over its contrast around, at halves of its size.

    The smallest comes first.
    """
    levels = [small]
    while min(levels[-1].shape) >= 2 * COARSEST:
        levels.append(np.asarray(cv2.pyrDown(levels[-1]), np.uint8))
    textures = []
    for level in reversed(levels):
        around = (_around(level.shape),) * 2
        luma = level.astype(np.float32)
        luma -= cv2.blur(luma, around)
        contrast = cv2.sqrt(cv2.blur(luma * luma, around) + np.float32(_FAINT * _FAINT))
        textures.append(np.asarray(luma / contrast, np.float32))
    return textures


def _around(shape: tuple[int, ...]) -> int:
    """Return the pixels of the side of a window in which a picture's texture is measured."""
    return max(3, min(shape) // 8 | 1)


def _inner(by: Floats) -> tuple[slice, slice]:
    """Leave out the borders, where a frame shows other things than the place."""
    border = 2 + int(_border(by))
    return (slice(border, -border),) * 2


def _border(by: Floats) -> float:
    """Return the pixels at the borders of a picture that show other things, at most."""
    # In plain numbers: of arrays so small NumPy takes most of the time that a step takes.
    right, down, *others = map(abs, by.tolist())
    return float(max(right, down) + sum(others))


def _calm(difference: Singles) -> float:
    """Return by how much pixels differ where nothing but noise does."""
    return quantile(np.abs(difference[::2, ::2]).reshape(-1), _CALM)


def _is_better(here: Singles, there: Singles, scale: float, block: int) -> bool:
    """Test whether one motion leaves less than another one in blocks all over the picture."""
    squares = (np.square(one / np.float32(scale)) for one in (here, there))
    less, more = (one / (1 + one) for one in squares)
    size = [max(side // block, 1) for side in reversed(here.shape)]
    gain = np.asarray(cv2.resize(more - less, size, interpolation=cv2.INTER_AREA))
    mean, deviation = float(gain.mean()), float(gain.std())
    return mean * math.sqrt(gain.size) > _CLEARLY * deviation


def _nearest(place: Singles, frame: Singles) -> Floats:
    """Return the shift by full pixels at which a frame correlates most with its place."""
    reach = int(_FURTHEST * min(place.shape))
    middle = np.ascontiguousarray(place[reach:-reach, reach:-reach])
    alike = cv2.matchTemplate(frame, middle, cv2.TM_CCORR)
    down, right = np.unravel_index(int(alike.argmax()), alike.shape)
    return np.array([right - reach, down - reach], np.float64)


def find_registration(pictures: Bytes, each: Each = map) -> Registration | None:
    """Find the place of a scene, if the camera shakes.

    Frames, (n, h, w, 3) in order of time, are compared with one of them first. Where some seem to
    have moved, they are compared with their median at the place in their middle, which shows little
    of what passes. The place is worth having if what motions explain of the frames, each of which
    counts for one at most, is more than the frames that are not found: those of a camera that pans
    have none in common, and waves or leaves that fill a picture are found here and there by chance.

    None for a camera that stands still, for one that pans, and for pictures too small to tell.
    """
    height, width = pictures.shape[1:3]
    looks = np.linspace(0, len(pictures) - 1, min(len(pictures), _LOOKS)).astype(int)
    small = [shrunken(pictures[i]) for i in looks]
    size = small[0].shape
    if min(size) < COARSEST:
        return None
    factor = max(height, width) / max(size)
    least = _SHAKE_PX / factor
    many = _SHAKE_SHARE * len(small)
    place = Registration(small[len(small) // 2], factor)
    found = list(each(partial(place.find_small, everywhere=False), small))
    if sum(one.motion.furthest(*size) >= least for one in found) < many:
        return None
    for _ in range(2):
        place = Registration(_median_at_place(small, [one.motion for one in found]), factor)
        found = list(each(place.find_small, small))
    about = [(one.motion.furthest(*size) >= least, one.sure, one.explained) for one in found]
    far, sure, explained = np.array(about, float).T
    lost = far * (1 - sure)
    if (far * sure).sum() < many or (far * sure) @ explained <= lost.sum():
        return None
    kept = np.flatnonzero(lost == 0)
    motions = [found[i].motion for i in kept]
    return Registration(_median_at_place([small[i] for i in kept], motions), factor)


def _median_at_place(small: Sequence[Bytes], motions: Sequence[Motion]) -> Bytes:
    """Return the median of shrunken frames at the place of the one that lies in their middle.

    As much is then lost on one side as on the other, and frames that lie as that one does, all
    those of a camera at rest, need not be interpolated.
    """
    size = small[0].shape
    lying = np.array(motions)
    away = [Motion(*one).furthest(*size) for one in (lying - median(lying, axis=0)).tolist()]
    lying -= lying[int(np.argmin(away))]
    matrices = [Motion(*one).matrix(*size) for one in lying.tolist()]
    at_place = [warped(one, matrix) for one, matrix in zip(small, matrices, strict=True)]
    return median(np.stack(at_place), axis=0).astype(np.uint8)


def shrunken(picture: Bytes) -> Bytes:
    """Return the luma of a picture, its longer side shrunken to 160 pixels at most."""
    factor = min(1.0, _SIDE / max(picture.shape[:2]))
    if factor < 1:
        size = [max(1, round(factor * side)) for side in picture.shape[1::-1]]
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    return in_grey(picture)


def registration_in(arrays: Mapping[str, NDArray[Any]]) -> Registration | None:
    """Return the registration whose `arrays` these are, or None; ValueError if they cannot be."""
    if "camera_reference" not in arrays:
        return None
    reference, factor = arrays["camera_reference"], float(arrays["camera_factor"])
    sides = sorted(reference.shape)
    fits = reference.ndim == 2 and sides[0] >= COARSEST and sides[1] <= _SIDE
    if reference.dtype != np.uint8 or not fits or not 1 <= factor < math.inf:
        raise ValueError(reference.shape)
    return Registration(reference, factor)


class Aligned(NamedTuple):
    """A frame moved to the reference, and how it lay."""

    frame: Bytes
    motion: Motion = Motion()


def align(registration: Registration | None, frame: Bytes) -> Aligned:
    """Move a frame to the reference, if the camera shakes."""
    motion = Motion() if registration is None else registration.find(frame)
    return Aligned(moved(frame, motion), motion)


def moved(plane: NDArray[Any], motion: Motion, *, back: bool = False) -> NDArray[Any]:
    """Move a frame, (h, w) or (h, w, 3), to the reference, or what lies there `back` to it."""
    if motion == Motion():
        return plane
    matrix = motion.matrix(*plane.shape[:2])
    if back:
        return warped(plane, np.asarray(cv2.invertAffineTransform(matrix)))
    # Cubic, as linear interpolation leaves half of the sharpest edges between two pixels.
    if motion.grown or motion.turned:
        return warped(plane, matrix, cv2.INTER_CUBIC)
    # A shift by itself is a filter of rows and one of columns, in half of the time.
    full, beside = motion.parted()
    if full != Motion():
        plane = warped(plane, full.matrix(*plane.shape[:2]), cv2.INTER_NEAREST)
    if beside == Motion():
        return plane
    point = (np.arange(49) == 24).reshape(7, 7).astype(np.float32)
    weights = warped(point, beside.matrix(*point.shape), cv2.INTER_CUBIC)[::-1, ::-1]
    across, down = weights.sum(axis=0), weights.sum(axis=1)
    return cv2.sepFilter2D(plane, -1, across, down, borderType=cv2.BORDER_REPLICATE)
