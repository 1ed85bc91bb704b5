"""Hold what is known of an object that is being followed, and find it among others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.positions import positions
from bgsub.tracking.appearance import Appearance
from bgsub.tracking.detections import Box, Detection, center
from bgsub.tracking.motion import Motion
from bgsub.video.frames import Bytes

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
    alone (`is_cut`). `hidden` counts the frames in a row in which its looks were not found.
    """

    motion: Motion
    width: float
    height: float
    area: float
    color: NDArray[np.float64] | tuple[()]
    number: int = 0
    hits: int = 1
    missed: float = 0.0
    ended: bool = False
    is_cut: bool = False
    looks: Appearance | None = None
    hidden: int = 0

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
