"""Hold what is known of an object that is followed: its motion, its looks, its usual size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.tracking.detections import Box, Detection, center, positions
from bgsub.video.frames import Bytes

_STEP = 0.12
"""Standard deviation of the change of velocity in a frame, in sizes of the object a frame."""

_MEASURED = 0.06
"""Standard deviation of a measured centre, in sizes of the object: outlines breathe."""

_LEAST = 0.4
"""Least standard deviation of a measured centre in pixels."""


class Motion:
    """Centre and velocity of an object, each axis by itself.

    The state of an axis is (p, v) with the covariance [[a, b], [b, c]]; both axes share it, for
    they are measured together and with the same noise.

    Parameters
    ----------
    x, y : float
        First measured centre in pixels.
    size : float
        Size of the object in pixels, the scale of both noises.
    """

    def __init__(self, x: float, y: float, size: float) -> None:
        self.x, self.y = x, y
        self.vx = self.vy = 0.0
        noise = self._noise(size)
        # Of the velocity nothing is known but that objects rarely move by their own size a frame.
        self._a, self._b, self._c = noise, 0.0, (0.5 * size) ** 2 + 1.0

    @staticmethod
    def _noise(size: float) -> float:
        return (_MEASURED * size + _LEAST) ** 2

    @property
    def speed(self) -> float:
        """Pixels a frame."""
        return math.hypot(self.vx, self.vy)

    @property
    def spread(self) -> float:
        """Standard deviation of the centre along one axis, in pixels."""
        return math.sqrt(self._a)

    def predict(self, frames: float, size: float) -> None:
        """Move on by so many frames."""
        self.x += frames * self.vx
        self.y += frames * self.vy
        step = (_STEP * size + 0.05) ** 2
        self._a += frames * (2 * self._b + frames * self._c) + step * frames**3 / 3
        self._b += frames * self._c + step * frames**2 / 2
        self._c += step * frames

    def correct(self, x: float, y: float, size: float, trust: float = 1.0) -> None:
        """Take in a measured centre; `trust` below 1 makes its noise larger."""
        total = self._a + self._noise(size) / max(trust, 1e-3) ** 2
        gain_p, gain_v = self._a / total, self._b / total
        off_x, off_y = x - self.x, y - self.y
        self.x += gain_p * off_x
        self.y += gain_p * off_y
        self.vx += gain_v * off_x
        self.vy += gain_v * off_y
        self._c -= gain_v * self._b
        self._b *= 1 - gain_p
        self._a *= 1 - gain_p


_MOST_PIXELS = 40_000
"""Pixels of a patch above which it is reduced before it is looked for."""

_ALIKE = 35.0
"""Root mean square difference in grey levels up to which a place may show the object."""

_BREATH = 2
"""Pixels by which outlines move from frame to frame."""


class Appearance:
    """The pixels of an object when it was last seen alone.

    Parameters
    ----------
    picture : ndarray of shape (h, w) or (h, w, 3), uint8
    box : tuple of four ints
        x, y, width and height within the picture.
    inside : ndarray of shape (height, width), bool
        Which pixels of the box belong to the object.
    """

    def __init__(
        self, picture: Bytes, box: tuple[int, int, int, int], inside: NDArray[np.bool_]
    ) -> None:
        x, y, width, height = box
        self._patch = picture[y : y + height, x : x + width].copy()
        self._inside = inside

    def locate(
        self, picture: Bytes, center: tuple[float, float], reach: float, within: Box
    ) -> tuple[float, float, float] | None:
        """Find the object near a place, in a region that it shares with others.

        Parameters
        ----------
        picture : ndarray of shape (h, w) or (h, w, 3), uint8
        center : tuple of float
            Where the centre of its box is expected, in pixels.
        reach : float
            How far from there it may be, in pixels.
        within : Box
            What the region covers: the object reaches out of it by no more than outlines breathe.

        Returns
        -------
        tuple of float, or None
            The centre of its box, and how alike the place is, from 0 to 1. None where no place
            shows it, because something is before it.

        Notes
        -----
        O(patch · places), the patch being reduced to 40,000 pixels at most.
        """
        height, width = self._inside.shape
        across = _places(center[0], width, reach, within[::2], picture.shape[1])
        down = _places(center[1], height, reach, within[1::2], picture.shape[0])
        if not across or not down:
            return None
        left, top = across[0], down[0]
        window = picture[top : down[-1] + height, left : across[-1] + width]
        shrink = max(1, math.ceil(math.sqrt(height * width / _MOST_PIXELS)))
        patch, inside = self._patch, self._inside.view(np.uint8)
        if shrink > 1:
            window, patch = window[::shrink, ::shrink], patch[::shrink, ::shrink]
            inside = np.ascontiguousarray(inside[::shrink, ::shrink])
        least, (column, row) = _least_squares(window, patch, inside)
        count = cv2.countNonZero(inside) * (3 if patch.ndim == 3 else 1)
        rms = math.sqrt(least / max(count, 1))
        if rms > _ALIKE:
            return None
        found = (left + shrink * column + width / 2, top + shrink * row + height / 2)
        return *found, 1 - rms / _ALIKE


def _places(center: float, side: int, reach: float, within: tuple[float, ...], most: int) -> range:
    """Give where an object may begin along one axis: near its place, in its region and picture."""
    at, margin = round(center - side / 2), math.ceil(reach)
    begin, end = int(within[0]), int(within[0] + within[1]) - side
    first = max(at - margin, min(begin, end) - _BREATH, 0)
    return range(first, min(at + margin, max(begin, end) + _BREATH, most - side) + 1)


def _least_squares(window: Bytes, patch: Bytes, inside: Bytes) -> tuple[float, tuple[int, int]]:
    """Find where a patch differs least from a window; the sum of squares, and x and y there.

    Σ(w − p)² = Σw² − 2Σwp + Σp² over the pixels inside. `cv2.matchTemplate` has a way to do that
    with a mask, in double precision, which takes more than twice the time. Of colours the channel
    is compared in which the object stands out most, a third of the work; all of them are in the
    sum.
    """
    one, two = window, patch
    if window.ndim == 3:
        apart = np.abs(np.subtract(cv2.mean(patch, inside), cv2.mean(window)))
        channel = int(apart.argmax())
        one = np.asarray(cv2.extractChannel(window, channel), dtype=np.uint8)
        two = np.asarray(cv2.extractChannel(patch, channel), dtype=np.uint8)
    energy = np.square(one, dtype=np.float32)
    there = cv2.matchTemplate(energy, inside.astype(np.float32), cv2.TM_CCORR)
    common = cv2.matchTemplate(one, cv2.copyTo(two, inside), cv2.TM_CCORR)
    _, _, (x, y), _ = cv2.minMaxLoc(cv2.scaleAdd(common, -2, there))
    high, wide = inside.shape
    return cv2.norm(window[y : y + high, x : x + wide], patch, cv2.NORM_L2SQR, inside), (x, y)


_DISTINCT = 20.0
"""Grey levels between the colours of objects from which their looks tell them apart."""

_LEARNING = 0.12
"""Share by which a frame moves the usual size and colour of an object."""

_LONG, _RARELY = 8, 4
"""Frames from which something has been hidden for long, and is looked for in every fourth one."""

_OVER, _LEFT = 0.5, 0.3
"""Share of a box that another covers, and of an object that a region leaves, from which it is not
behind that other but beside it."""


_TINY = 100
"""Pixels of objects below which a region that they share is parted by its pixels: outlines of
larger ones overlap and breathe, and motion tells more."""

_SIDE_BY_SIDE = 0.8
"""Share of their usual areas together from which a region shows them beside each other."""

_PARTED = 0.4
"""Trust in a centre that was found by parting a region."""


@dataclass(eq=False)
class Target:
    """An object that is being followed.

    Its usual size is that of a part where the border of the picture cut it when it was last seen
    alone (`is_cut`). `hidden` counts the frames in a row in which its looks were not found. The
    last fields are the evidence that it is an object: where and when it was first seen, its largest
    area and highest probability, and whether it touched the border. One that turns out to be a part
    of another has `joined` it.
    """

    motion: Motion
    width: float
    height: float
    area: float
    color: NDArray[np.float64] | tuple[()]
    number: int = 0
    hits: int = 1
    alone: int = 1
    missed: float = 0.0
    ended: bool = False
    is_cut: bool = False
    looks: Appearance | None = None
    hidden: int = 0
    first: tuple[float, float] = (0.0, 0.0)
    first_s: float = 0.0
    began: int = 0
    largest: float = 0.0
    best: float = 0.0
    met_border: bool = False
    joined: Target | None = None

    @property
    def identity(self) -> Target:
        """The object that this is, or is a part of."""
        return self if self.joined is None else self.joined.identity

    @property
    def size(self) -> float:
        """Side of a square of the area of its usual box, in pixels."""
        return math.sqrt(self.width * self.height)

    @property
    def box(self) -> Box:
        """Where it is predicted, at its usual size."""
        left, top = self.motion.x - self.width / 2, self.motion.y - self.height / 2
        return left, top, self.width, self.height

    def learn(self, detection: Detection, picture: Bytes | None) -> None:
        """Move the usual size and colour towards those of a frame in which it was seen alone."""
        share = max(_LEARNING, 1 / self.hits)
        self.width += share * (detection.box[2] - self.width)
        self.height += share * (detection.box[3] - self.height)
        self.area += share * (detection.area - self.area)
        if len(self.color) and len(detection.color):
            old = np.asarray(self.color)
            self.color = old + share * (np.asarray(detection.color) - old)
        if picture is not None and detection.inside is not None:
            x, y, width, height = (int(value) for value in detection.box)
            self.looks = Appearance(picture, (x, y, width, height), detection.inside)
            self.hidden = 0


def _is_distinct(track: Target, others: Sequence[Target]) -> bool:
    """Say whether an object can be told from those that it has merged with by its colour."""
    if not len(track.color):
        return False
    own = np.asarray(track.color)
    apart = [np.abs(own - other.color).max() for other in others if other is not track]
    return bool(min(apart) >= _DISTINCT)


def find_shares(tracks: Sequence[Target], region: Detection, picture: Bytes | None) -> list[Box]:
    """Find objects that have merged within the region that they share.

    Each is where its looks or its motion say. Of two, one whose looks are not found does not lie
    over the other while enough of the region is left beside that. Tiny ones that look alike part
    the region among them. One that was cut by the border when it was seen alone has no known size:
    it is what the others leave of the region.
    """
    boxes = [
        _find_share(track, region.box, picture if _is_distinct(track, tracks) else None)
        for track in tracks
    ]
    unseen = [i for i, track in enumerate(tracks) if track.hidden and track.looks is not None]
    if len(tracks) == 2 and len(unseen) == 1 and region.inside is not None:
        own = unseen[0]
        left = _left_over(region.inside, region.box, [boxes[1 - own]])
        if left is not None and _is_beside(tracks[own], boxes[own], boxes[1 - own], left):
            boxes[own] = _placed(tracks[own], *center(left), region.box)
            tracks[own].motion.correct(*center(boxes[own]), tracks[own].size, trust=0.5)
    if _lie_side_by_side(tracks, region):
        for i, (x, y) in _part(region, boxes).items():
            if not _is_distinct(tracks[i], tracks):
                boxes[i] = _placed(tracks[i], x, y, region.box)
                tracks[i].motion.correct(*center(boxes[i]), tracks[i].size, trust=_PARTED)
    cut = [i for i, track in enumerate(tracks) if track.is_cut]
    if len(cut) == 1 and region.inside is not None:
        own = cut[0]
        others = [box for i, box in enumerate(boxes) if i != own]
        left = _left_over(region.inside, region.box, others)
        if left is not None and left[2] * left[3] > boxes[own][2] * boxes[own][3]:
            boxes[own] = left
            tracks[own].width, tracks[own].height = left[2:]
            tracks[own].motion.correct(*center(left), tracks[own].size, trust=0.5)
    return boxes


def _lie_side_by_side(tracks: Sequence[Target], region: Detection) -> bool:
    """Say whether objects are tiny, and their region large enough to show all of each."""
    areas = [track.area for track in tracks]
    return max(areas) < _TINY and region.area >= _SIDE_BY_SIDE * sum(areas)


def _part(region: Detection, boxes: Sequence[Box]) -> dict[int, tuple[float, float]]:
    """Give each pixel of a region to the nearest box, in its sizes; the means of what each has."""
    if region.inside is None:
        return {}
    rows, columns = positions(region.inside)
    pixels = np.stack([columns + region.box[0] + 0.5, rows + region.box[1] + 0.5], axis=1)
    middles = np.array([center(box) for box in boxes])
    sizes = np.array([max(box[2] * box[3], 1.0) for box in boxes])
    owners = np.zeros(len(pixels), np.intp)
    for _ in range(3):  # they move little: a step or two is enough
        off = np.square(pixels[:, None] - middles).sum(axis=2) / sizes
        owners = off.argmin(axis=1)
        for i in np.unique(owners).tolist():
            middles[i] = pixels[owners == i].mean(axis=0)
    return {i: (float(middles[i, 0]), float(middles[i, 1])) for i in np.unique(owners).tolist()}


def _is_beside(track: Target, box: Box, other: Box, left: Box) -> bool:
    """Say whether an object is in what another leaves of their region, and not behind that one."""
    (x, y, width, height), (left_x, top, wide, high) = box, other
    across = min(x + width, left_x + wide) - max(x, left_x)
    down = min(y + height, top + high) - max(y, top)
    is_over = max(across, 0) * max(down, 0) >= _OVER * width * height
    return is_over and left[2] * left[3] >= _LEFT * track.width * track.height


def _placed(track: Target, x: float, y: float, region: Box) -> Box:
    """Give the box of an object about a centre, moved into a region."""
    width, height = min(track.width, region[2]), min(track.height, region[3])
    left = min(max(x - width / 2, region[0]), region[0] + region[2] - width)
    top = min(max(y - height / 2, region[1]), region[1] + region[3] - height)
    return left, top, width, height


def _left_over(inside: NDArray[np.bool_], region: Box, others: Sequence[Box]) -> Box | None:
    """Give the box around the largest part of a region that lies in no other box."""
    left = inside.astype(np.uint8)
    for box in others:
        x, y = round(box[0] - region[0]), round(box[1] - region[1])
        left[max(y, 0) : max(y + round(box[3]), 0), max(x, 0) : max(x + round(box[2]), 0)] = 0
    count, _, stats, _ = cv2.connectedComponentsWithStats(left, connectivity=8)
    if count < 2:
        return None
    largest = 1 + int(stats[1:, cv2.CC_STAT_AREA].argmax())
    x, y, width, height = (int(value) for value in stats[largest, :4])
    return region[0] + x, region[1] + y, width, height


def _is_looked_for(hidden: int) -> bool:
    """Say whether to look for what has been hidden for so many frames: long ones now and then."""
    return hidden < _LONG or hidden % _RARELY == 0


def _find_share(track: Target, region: Box, picture: Bytes | None) -> Box:
    """Find an object within the region that it shares with others, by its looks or its motion."""
    motion = track.motion
    is_due, track.hidden = _is_looked_for(track.hidden), track.hidden + 1
    if picture is not None and track.looks is not None and is_due:
        reach = min(2 * motion.spread, track.size) + 2
        place = track.looks.locate(picture, (motion.x, motion.y), reach, region)
        if place is not None:
            track.hidden = 0
            motion.correct(*place[:2], track.size, trust=place[2])
    box = _placed(track, motion.x, motion.y, region)
    middle = center(box)
    if math.dist(middle, (motion.x, motion.y)) > 0:
        motion.correct(*middle, track.size, trust=0.5)
    return box
