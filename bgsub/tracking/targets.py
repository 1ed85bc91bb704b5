"""What is known of an object that is followed: its motion, its looks, and where it can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgsub.runtime.threads import import_each
from bgsub.tracking.detections import Box, Detection, center, positions
from bgsub.video.frames import Bytes, Pixels

# Standard deviations: of the change of velocity in a frame and of a measured centre, in sizes of
# the object, and the least of a measured centre in pixels. Outlines breathe.
_STEP, _MEASURED, _LEAST = 0.12, 0.06, 0.4
# Pixels of a patch above which it is reduced; root mean square difference in grey levels up to
# which a place may show the object; pixels by which outlines move from frame to frame.
_MOST_PIXELS, _ALIKE, _BREATH = 40_000, 35.0, 2
_DISTINCT = 20.0  # grey levels between colours of objects that their looks tell apart
_LEARNING = 0.12  # share by which a frame moves the usual size and colour of an object
_LONG, _RARELY = 8, 4  # frames hidden, from which it is looked for in every fourth one only
_OVER, _LEFT = 0.5, 0.3  # share covered by another, and left of a region, of one beside that other

# Pixels of objects below which they part a region by its pixels, share of their usual areas from
# which it shows them beside each other, and trust in a centre found so: outlines of larger ones
# overlap, and motion tells more.
_TINY, _SIDE_BY_SIDE, _PARTED = 100, 0.8, 0.4
# Costs of a pair that is out of the question, and of an object without a detection: above that of
# every pair, and below that of two poor ones.
FORBIDDEN, ALONE = 1e6, 2.0
# How far from its prediction an object is looked for: sizes, standard deviations, pixels; and most
# sizes by which an uncertain prediction reaches further (and 20 pixels).
_REACH, _FARTHEST = (0.6, 3.0, 2.0), 4.0
_AREA_COST = 0.3  # of twice (or half) the usual area
_COLOR_COST, _COLOR_SPAN = 0.6, 40.0  # of a colour that is so many grey levels off or more
_OTHER = 8  # factor between areas of other things, but where the border cut one

# Own sizes beyond the usual reach from which only what looks like an object is it: factor between
# areas and grey levels between colours.
_NEAR, _ALIKE_AREA, _ALIKE_COLOR = 1.5, 3.0, 40.0


class Motion:
    """Centre and velocity of an object by a Kalman filter; `size` scales both noises, in pixels.

    The state of an axis is (p, v) with the covariance [[a, b], [b, c]], which both axes share.
    """

    def __init__(self, x: float, y: float, size: float) -> None:
        self.x, self.y = x, y
        self.vx = self.vy = 0.0
        # Of the velocity nothing is known but that objects rarely move by their own size a frame.
        self._a, self._b, self._c = (_MEASURED * size + _LEAST) ** 2, 0.0, (size / 2) ** 2 + 1.0

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
        total = self._a + (_MEASURED * size + _LEAST) ** 2 / max(trust, 1e-3) ** 2
        gain_p, gain_v = self._a / total, self._b / total
        off_x, off_y = x - self.x, y - self.y
        self.x += gain_p * off_x
        self.y += gain_p * off_y
        self.vx += gain_v * off_x
        self.vy += gain_v * off_y
        self._c -= gain_v * self._b
        self._b *= 1 - gain_p
        self._a *= 1 - gain_p


class Appearance:
    """The pixels of an object when it was last seen alone, in a box of whole pixels."""

    def __init__(self, picture: Pixels, box: Box, inside: NDArray[np.bool_]) -> None:
        x, y, width, height = (int(value) for value in box)
        self._patch = picture[y : y + height, x : x + width].copy()
        self._inside = inside

    def locate(
        self, picture: Pixels, center: tuple[float, float], reach: float, within: Box
    ) -> tuple[float, float, float] | None:
        """Find the object at most `reach` pixels from a place, in a region of a box.

        Returns the centre of its box, and how alike it is, from 0 to 1; None if something hides it.
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
    """Return where an object may begin along an axis: near its place, in its region and frame."""
    at, margin = round(center - side / 2), math.ceil(reach)
    begin, end = int(within[0]), int(within[0] + within[1]) - side
    first = max(at - margin, min(begin, end) - _BREATH, 0)
    return range(first, min(at + margin, max(begin, end) + _BREATH, most - side) + 1)


def _least_squares(window: Bytes, patch: Bytes, inside: Bytes) -> tuple[float, tuple[int, int]]:
    """Find where a patch differs least from a window; the sum of squares, and x and y there.

    Of colours in the channel in which it stands out most. Σ(w − p)² = Σw² − 2Σwp + Σp² inside;
    `cv2.matchTemplate` with a mask takes more than twice the time.
    """
    one, two = window, patch
    if window.ndim == 3:
        channel = int(np.abs(np.subtract(cv2.mean(patch, inside), cv2.mean(window))).argmax())
        one = np.asarray(cv2.extractChannel(window, channel), dtype=np.uint8)
        two = np.asarray(cv2.extractChannel(patch, channel), dtype=np.uint8)
    energy = np.square(one, dtype=np.float32)
    there = cv2.matchTemplate(energy, inside.astype(np.float32), cv2.TM_CCORR)
    common = cv2.matchTemplate(one, cv2.copyTo(two, inside), cv2.TM_CCORR)
    _, _, (x, y), _ = cv2.minMaxLoc(cv2.scaleAdd(common, -2, there))
    high, wide = inside.shape
    return cv2.norm(window[y : y + high, x : x + wide], patch, cv2.NORM_L2SQR, inside), (x, y)


@dataclass(eq=False)
class Target:
    """An object that is being followed.

    Its usual size is that of a part where the border cut it when it was last seen alone (`is_cut`).
    `alone` counts the frames in which it had a region to itself, `hidden` those in a row in which
    its looks were not found. The last fields are the evidence that it is an object: where and when
    it was first seen, its largest area and highest probability, whether it touched the border. A
    part of another has `joined` it.
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

    def is_other_than(self, area: float) -> bool:
        """Return whether a region is too large or too small to be this object alone."""
        return not self.is_cut and not 1 / _OTHER <= area / max(self.area, 1.0) <= _OTHER

    def learn(self, detection: Detection, picture: Pixels | None) -> None:
        """Move the usual size and colour towards those of a frame in which it was seen alone."""
        share = max(_LEARNING, 1 / self.hits)
        self.width += share * (detection.box[2] - self.width)
        self.height += share * (detection.box[3] - self.height)
        self.area += share * (detection.area - self.area)
        if len(self.color) and len(detection.color):
            old = np.asarray(self.color)
            self.color = old + share * (np.asarray(detection.color) - old)
        if picture is not None and detection.inside is not None:
            self.looks = Appearance(picture, detection.box, detection.inside)
            self.hidden = 0

    def place(self, at: tuple[float, float], region: Box) -> Box:
        """Return its box about a centre, moved into a region."""
        width, height = min(self.width, region[2]), min(self.height, region[3])
        left = min(max(at[0] - width / 2, region[0]), region[0] + region[2] - width)
        top = min(max(at[1] - height / 2, region[1]), region[1] + region[3] - height)
        return left, top, width, height


def find_shares(tracks: Sequence[Target], region: Detection, picture: Pixels | None) -> list[Box]:
    """Find objects that have merged within the region that they share, by their looks or motion.

    Of two, one whose looks are not found does not lie over the other while enough of the region is
    left beside that. Tiny ones that look alike part the region among them. One that was cut by the
    border when it was seen alone has no known size: it is what the others leave of the region.
    """
    distinct = [_is_distinct(track, tracks) for track in tracks]
    boxes = [
        _find_share(track, region.box, picture if is_distinct else None)
        for track, is_distinct in zip(tracks, distinct, strict=True)
    ]
    unseen = [i for i, track in enumerate(tracks) if track.hidden and track.looks is not None]
    if len(tracks) == 2 and len(unseen) == 1:
        own = unseen[0]
        left = _left_over(region, [boxes[1 - own]])
        room = 0.0 if left is None else left[2] * left[3]
        is_over = float(covered(boxes[own], boxes[1 - own])) >= _OVER
        if left is not None and is_over and room >= _LEFT * tracks[own].size ** 2:
            boxes[own] = tracks[own].place(center(left), region.box)
            tracks[own].motion.correct(*center(boxes[own]), tracks[own].size, trust=0.5)
    areas = [track.area for track in tracks]
    if max(areas) < _TINY and region.area >= _SIDE_BY_SIDE * sum(areas):
        for i, middle in _part(region, boxes).items():
            if not distinct[i]:
                boxes[i] = tracks[i].place(middle, region.box)
                tracks[i].motion.correct(*center(boxes[i]), tracks[i].size, trust=_PARTED)
    cut = [i for i, track in enumerate(tracks) if track.is_cut]
    if len(cut) == 1:
        own = cut[0]
        left = _left_over(region, [box for i, box in enumerate(boxes) if i != own])
        if left is not None and left[2] * left[3] > boxes[own][2] * boxes[own][3]:
            boxes[own] = left
            tracks[own].width, tracks[own].height = left[2:]
            tracks[own].motion.correct(*center(left), tracks[own].size, trust=0.5)
    return boxes


def _is_distinct(track: Target, others: Sequence[Target]) -> bool:
    """Return whether its colour tells an object from those that it has merged with."""
    if not len(track.color):
        return False
    own = np.asarray(track.color)
    apart = [np.abs(own - other.color).max() for other in others if other is not track]
    return bool(min(apart) >= _DISTINCT)


def _find_share(track: Target, region: Box, picture: Pixels | None) -> Box:
    """Find an object within the region that it shares with others, by its looks or its motion."""
    motion = track.motion
    is_due = track.hidden < _LONG or track.hidden % _RARELY == 0
    track.hidden += 1
    if picture is not None and track.looks is not None and is_due:
        reach = min(2 * motion.spread, track.size) + 2
        place = track.looks.locate(picture, (motion.x, motion.y), reach, region)
        if place is not None:
            track.hidden = 0
            motion.correct(*place[:2], track.size, trust=place[2])
    box = track.place((motion.x, motion.y), region)
    middle = center(box)
    if math.dist(middle, (motion.x, motion.y)) > 0:
        motion.correct(*middle, track.size, trust=0.5)
    return box


def _part(region: Detection, boxes: Sequence[Box]) -> dict[int, tuple[float, float]]:
    """Return the mean place of the pixels of a region that are nearest to each box."""
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


def _left_over(region: Detection, others: Sequence[Box]) -> Box | None:
    """Return the box around the largest part of a region that lies in no other box."""
    if region.inside is None:
        return None
    left = region.inside.astype(np.uint8)
    for box in others:
        x, y = round(box[0] - region.box[0]), round(box[1] - region.box[1])
        left[max(y, 0) : max(y + round(box[3]), 0), max(x, 0) : max(x + round(box[2]), 0)] = 0
    count, _, stats, _ = cv2.connectedComponentsWithStats(left, connectivity=8)
    if count < 2:
        return None
    x, y, width, height = stats[1 + int(stats[1:, cv2.CC_STAT_AREA].argmax()), :4].tolist()
    return region.box[0] + x, region.box[1] + y, width, height


def covered(boxes: ArrayLike, by: ArrayLike) -> NDArray[np.float64]:
    """Share of each box that lies within another; shapes (..., 4), which broadcast."""
    one, two = np.asarray(boxes, float), np.asarray(by, float)
    ends = np.minimum(one[..., :2] + one[..., 2:], two[..., :2] + two[..., 2:])
    common = np.clip(ends - np.maximum(one[..., :2], two[..., :2]), 0, None).prod(axis=-1)
    return np.asarray(common / np.maximum(one[..., 2:].prod(axis=-1), 1e-9))


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
    ratio = found[j, 3] / np.maximum(own[i, 4], 1.0)
    growth = np.abs(np.log2(ratio))
    costs = (off[i, j] / reach[i, j]) ** 2 + _AREA_COST * np.minimum(1.0, growth)
    is_alike = growth <= math.log2(_ALIKE_AREA)
    colors = [track.color for track in tracks], [detection.color for detection in detections]
    if all(len(color) for some in colors for color in some):
        mine, theirs = (np.array(some) for some in colors)
        apart = np.abs(mine[i] - theirs[j]).max(axis=1)
        costs += _COLOR_COST * np.minimum(1.0, apart / _COLOR_SPAN)
        is_alike &= apart <= _ALIKE_COLOR
    is_far = off[i, j] > near[i, j] + _NEAR * own[i, 3]
    is_cut = np.array([track.is_cut for track in tracks])[i]
    is_other = ~is_cut & ((ratio < 1 / _OTHER) | (ratio > _OTHER))
    is_wrong = (is_far & ~is_alike) | is_other
    values[i, j] = np.where(is_wrong, FORBIDDEN, costs)
    return values


def assign(costs: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pair rows with columns at the least sum of costs, in order of the rows; none costs `ALONE`.

    Were as many pairs made as can be, a newcomer in a region could push the object that is there on
    to the next one's place, and that one to another's.
    """
    if not costs.size:
        return []
    for own in (costs, costs.T):
        rows = np.flatnonzero(own.min(axis=1) < ALONE)
        best = own[rows].argmin(axis=1)
        if np.unique(best).size == best.size:  # each has its cheapest for itself: no sum is less
            pairs = np.stack([rows, best] if own is costs else [best, rows])
            break
    else:  # Some films never come here: it takes .3 s to import, `scipy.optimize` takes .6.
        import_each(["scipy.sparse.csgraph"])
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import min_weight_full_bipartite_matching

        # Every row may stay alone in a column of its own; 1 is added as no entry may be 0.
        alone = (ALONE + 1) * np.eye(len(costs))
        values = csr_array(np.hstack([np.where(costs < ALONE, costs + 1, 0), alone]))
        pairs = np.stack(min_weight_full_bipartite_matching(values))
    return sorted((i, j) for i, j in pairs.T.tolist() if j < costs.shape[1])
