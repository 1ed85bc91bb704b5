"""Link detections to tracks, and tell from a track whether it is an object.

A track is tentative until it has shown to be an object; then the frames in which it was tentative
get it too. So frames are settled some time after they were seen.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from bgsub.tracking.detections import LEAST_SHARE, Box, Detection, Sign, center, join, surround
from bgsub.tracking.targets import Motion, Target, assign, covered, find_shares, pairing_costs
from bgsub.video.frames import Pixels

_MOST_DETECTIONS = 400  # the largest of a frame that are followed: a mask of more is noise
_COVERED = 0.35  # share of an object's predicted box within a region that is taken to hold it
_ROOM = 1.15  # usual areas of the largest of several objects, in a region that is to hold them all
_FRAGMENT_GROWTH = 1.35  # usual sides of an object, up to which what lies near are its pieces
_SMALL = 4 * LEAST_SHARE  # share of the picture below which an object is small
_CLEAR, _CERTAIN = 0.6, 0.75  # probability in one frame of an object, and of one that need not last

# An object is seen for long or moves: waves and halos do neither. Something small moves further:
# leaves turn where they are.
_LASTING_FRAMES = 8
_WAY, _SMALL_WAY = 1.0, 1.5  # own sizes
SMALL_LASTING_S = 2.0  # for which something small is seen that does not move
_WEAKER, _SEEN = 5, 0.75  # times as long if not clear; share of frames in which it is seen
_APART_S = 0.15  # between two frames from which nothing can be followed from one to the next
_FORGOTTEN_FRAMES = 12  # for which a tentative track may be missed
_BORDER_PIXELS = 2  # from the border, from which something may have come
LATEST = 8  # frames after which a frame is shown with what is known by then
_LONGEST_S = 30.0  # after which a frame is settled: what is never clear would keep all waiting

# What a region swallows was a piece of it and no object, if it has less than this share of it (the
# latter if it came from the border) and was seen alone in fewer frames.
_PIECE, _CUT_PIECE, _YOUNG_FRAMES = 0.5, 0.1, 25

_GROWN = 2.5  # usual areas of all its objects, from which a region shows one that they are parts of
_SURE_PART = 16  # the score is halved at this part, 1/16, of the least area that is not small,
_SURE_FRAMES = 2  # and where something was seen in so many frames
_SUREST = 0.985  # probability of its pixels above which nothing is more certain

# Parts of one silhouette: above each other with little between, and at the same distance while they
# move sideways. Cars in a row are above each other too, but drive that way.
_OVERLAP = 0.5  # of the lesser width
_GAP = 0.25  # of the height of both; they may also overlap by so much of the lesser height
_TALLEST = 5.0  # height of both for their width
_STEADY, _SIDEWAYS = 0.12, 0.5  # change of their distance and way, in heights of both
_TOGETHER_FRAMES, _PATIENCE_FRAMES = 8, 16  # to be seen together; to wait for that with a number
_MOST_PARTS = 30  # tracks of a frame, beyond which none are joined


@dataclass(frozen=True)
class Observation:
    """An object in a frame.

    Attributes
    ----------
    frame : int
        From 1.
    time_s : float
    track : int
        Number of its track, from 1.
    box : tuple of four floats
        x, y, width and height in pixels; where objects have merged, an estimate of its share.
    cx, cy, area, sign
        As in `Detection`; of the whole region where objects have merged, but for the centre.
    score : float
        Probability that this is an object, by its pixels', its size and how often it was seen.
    merged : bool
        Whether its region holds another track too.
    first_s : float
        When it was first seen; NaN where that is not known.
    """

    frame: int
    time_s: float
    track: int
    box: Box
    cx: float
    cy: float
    area: float
    score: float
    sign: Sign
    merged: bool = False
    first_s: float = field(default=math.nan, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the values by the names of the columns of objects.csv."""
        names = ("frame", "time_s", "track", "cx", "cy", "area", "score", "sign")
        x, y, width, height = self.box
        box = {"x": x, "y": y, "width": width, "height": height}
        return {name: getattr(self, name) for name in names} | box


class _Row(NamedTuple):
    """A track in a frame, and what is seen of it."""

    track: Target
    seen: Detection
    merged: bool


class _Frame(NamedTuple):
    """A frame some of whose tracks may yet turn out to be noise."""

    number: int
    time_s: float
    rows: list[_Row]


@dataclass(eq=False)
class _Pair:
    """Two tracks above each other: since when, where, and how far their distance has varied."""

    at: tuple[float, float]
    low: tuple[float, float]
    high: tuple[float, float]
    frames: int = 0


class Followed(NamedTuple):
    """Objects of frames: shown at most `LATEST` frames late, by what is known, or settled."""

    shown: list[list[Observation]]
    settled: list[list[Observation]]


class Tracker:
    """Follow the objects of a video from frame to frame.

    A track is tentative until it was seen in `min_track` frames and has shown to be an object:
    something small by moving on or staying for long, anything else by lasting, moving, coming from
    the border, or by being large and clear. Tracks that move together above each other are one.

    `size` is width and height of the picture: who walks out of it has left. `rate`, frames a
    second, is the unit of time of the motion. An object may be missed for `max_gap_s` and keep its
    number; with `takes_all` everything that was seen in `min_track` frames is one.

    The score is s·h / (1 + exp(-z)), where s and h fall with a small area and with few frames, and
    z = 1.5·logit(p) + log₂(usual area / area of the region) - 5·overlap + 6·(share of its frames in
    which it was alone) - 6.9. p is the mean probability of its pixels and overlap the largest share
    of its box within another or the other way round: merged, split and doubtful objects score less.
    """

    def __init__(
        self,
        size: tuple[int, int],
        *,
        rate: float,
        max_gap_s: float = 1.0,
        min_track: int = 3,
        takes_all: bool = False,
    ) -> None:
        self._width, self._height = size
        self._small = _SMALL * size[0] * size[1]
        self._rate, self._max_gap = rate, max_gap_s * rate
        self._min_track, self._takes_all = min_track, takes_all
        self._tracks: list[Target] = []
        self._pending: deque[_Frame] = deque()
        self._shown = 0
        self._pairs: dict[tuple[Target, Target], _Pair] = {}
        self._numbers = self._count = 0
        self._last: float | None = None
        self._step_s = 0.0

    def update(
        self,
        frame: int,
        time_s: float,
        detections: Sequence[Detection],
        picture: Pixels | None = None,
    ) -> Followed:
        """Take in the next frame, from 1; by its picture, merged objects are told apart."""
        self._step_s = 0.0 if self._last is None else time_s - self._last
        step = 1.0 if self._last is None else max(self._step_s * self._rate, 1e-3)
        self._last = time_s
        self._count += 1
        now = _Frame(frame, time_s, [])
        largest = sorted(detections, key=lambda each: -each.area)[:_MOST_DETECTIONS]
        if self._tracks or largest:
            self._link(largest, step, now, picture)
            self._join_parts(now)
            for row in now.rows:
                if self._is_confirmed(row.track, time_s):
                    self._number(row.track)
        self._pending.append(now)
        return self._decided()

    def finish(self) -> Followed:
        """End all tracks and return the objects of the remaining frames."""
        for track in self._tracks:
            is_cut_short = track.largest >= self._small and track.best >= _CLEAR
            if not track.number and track.hits >= self._min_track and is_cut_short:
                self._number(track)
            track.ended = True
        self._tracks = []
        return self._decided()

    def _link(
        self, detections: list[Detection], step: float, now: _Frame, picture: Pixels | None
    ) -> None:
        for track in self._tracks:
            track.motion.predict(step, track.size)
        pairs = assign(pairing_costs(self._tracks, detections))
        holders: dict[int, list[Target]] = {j: [self._tracks[i]] for i, j in pairs}
        linked = {i for i, _ in pairs}
        lost = [track for i, track in enumerate(self._tracks) if i not in linked]
        self._merge(lost, detections, holders)
        pieces = self._claim_pieces(detections, holders)
        for j, tracks in holders.items():
            claimed = [detections[piece] for piece in pieces.get(j, [])]
            whole = join([detections[j], *claimed])
            present = self._present(tracks, whole, step)
            self._see(present, whole, now, picture, in_pieces=bool(claimed))
        taken = {*holders, *(piece for claimed in pieces.values() for piece in claimed)}
        found = {id(track) for tracks in holders.values() for track in tracks}
        for track in self._tracks:
            if track.ended or id(track) in found:
                continue
            track.missed += step
            x, y = track.motion.x, track.motion.y
            is_outside = not (0 <= x < self._width and 0 <= y < self._height)
            patience = 2 if track.hits < self._min_track else _FORGOTTEN_FRAMES
            is_fleeting = not track.number and track.missed > patience
            track.ended = track.missed > self._max_gap or is_outside or is_fleeting
        self._tracks = [track for track in self._tracks if not track.ended]
        for j, detection in enumerate(detections):
            if j not in taken:
                self._begin(detection, now)

    def _merge(
        self, lost: list[Target], detections: list[Detection], holders: dict[int, list[Target]]
    ) -> None:
        """Look for tracks without a detection within the region of another."""
        lost = [track for track in lost if track.hits >= self._min_track]
        if not lost or not detections:
            return
        boxes = np.array([track.box for track in lost], float)
        shares_of_all = covered(boxes[:, None], [detection.box for detection in detections])
        for track, shares in zip(lost, shares_of_all, strict=True):
            j = int(np.argmax(shares))
            piece = (_CUT_PIECE if track.met_border else _PIECE) * detections[j].area
            if shares[j] < _COVERED or (track.alone < _YOUNG_FRAMES and track.area < piece):
                continue
            if j in holders or not track.is_other_than(detections[j].area):
                holders.setdefault(j, []).append(track)

    def _claim_pieces(
        self, detections: list[Detection], holders: dict[int, list[Target]]
    ) -> dict[int, list[int]]:
        """Add detections without a track to the object of which they are pieces."""
        pieces: dict[int, list[int]] = {}
        boxes = {
            j: detections[j].box
            for j, (track, *others) in holders.items()
            if not others and track.hits >= self._min_track
        }
        for j, detection in enumerate(detections):
            if j in holders:
                continue
            for own, box in boxes.items():
                track, around = holders[own][0], surround([box, detection.box])
                if all(
                    side <= _FRAGMENT_GROWTH * max(usual, 3.0)
                    for side, usual in zip(around[2:], (track.width, track.height), strict=True)
                ):
                    pieces.setdefault(own, []).append(j)
                    boxes[own] = around
                    break
        return pieces

    def _present(self, tracks: list[Target], region: Detection, step: float) -> list[Target]:
        """Return those of a region's tracks that can be there.

        In a region no larger than one of them the others are hidden behind it, or gone: they are
        missed. In one that is far larger than all of them they were pieces of what was known first.
        """
        if len(tracks) > 1 and region.area > _GROWN * sum(track.area for track in tracks):
            first, *pieces = sorted(tracks, key=_seniority)
            for piece in pieces:
                piece.ended = True
            tracks = [first]
        is_large = len(tracks) == 1 or region.area >= _ROOM * max(each.area for each in tracks)
        present = []
        for i, track in enumerate(tracks):
            track.missed = 0.0 if is_large else track.missed + step * (i > 0)
            track.ended = i > 0 and track.missed > self._max_gap
            if not track.ended and (i == 0 or is_large):
                present.append(track)
        return present

    def _see(
        self,
        tracks: list[Target],
        detection: Detection,
        now: _Frame,
        picture: Pixels | None,
        *,
        in_pieces: bool,
    ) -> None:
        for track in tracks:
            track.hits += 1
        if len(tracks) > 1:
            boxes = find_shares(tracks, detection, picture)
            for track, box in zip(tracks, boxes, strict=True):
                cx, cy = center(box)
                part = replace(detection, box=box, cx=cx, cy=cy, inside=None)
                now.rows.append(_Row(track, part, merged=True))
            return
        (track,), box = tracks, detection.box
        track.motion.correct(*center(box), track.size)
        if not in_pieces:  # or it would grow by what is near, and claim what is near that
            track.learn(detection, picture)
        track.alone += 1
        track.is_cut = self._is_at_border(box)
        self._add(now, track, detection)

    def _add(self, now: _Frame, track: Target, seen: Detection) -> None:
        """Add a track that was seen alone to a frame, and to what speaks for it."""
        track.largest = max(track.largest, seen.area)
        track.best = max(track.best, 1.0 if math.isnan(seen.score) else seen.score)
        track.met_border |= self._is_at_border(seen.box, _BORDER_PIXELS)
        now.rows.append(_Row(track, replace(seen, inside=None), merged=False))

    def _is_at_border(self, box: Box, near: float = 0) -> bool:
        right, bottom = self._width - box[0] - box[2], self._height - box[1] - box[3]
        return min(box[0], box[1], right, bottom) <= near

    def _begin(self, detection: Detection, now: _Frame) -> None:
        _, _, width, height = detection.box
        middle = center(detection.box)
        motion = Motion(*middle, math.sqrt(width * height))
        track = Target(motion, width, height, detection.area, detection.color)
        track.first, track.first_s, track.began = middle, now.time_s, self._count
        self._tracks.append(track)
        self._add(now, track, detection)

    def _join_parts(self, now: _Frame) -> None:
        """Join tracks that have moved together for long enough, as parts of one silhouette."""
        rows = [row for row in now.rows if not row.merged]
        if len(rows) > _MOST_PARTS:
            return
        stacked = [(rows[i], rows[j]) for i, j in _stacked([row.seen.box for row in rows])]
        near = {(upper.track, lower.track) for upper, lower in stacked}
        present = {row.track for row in rows}
        for key in list(self._pairs):
            is_apart = present.issuperset(key) and key not in near
            if is_apart or key[0].ended or key[1].ended:
                del self._pairs[key]
        for upper, lower in stacked:
            key = upper.track, lower.track
            (x, y), (x_below, y_below) = center(upper.seen.box), center(lower.seen.box)
            off, middle = (x_below - x, y_below - y), ((x + x_below) / 2, (y + y_below) / 2)
            pair = self._pairs.setdefault(key, _Pair(middle, off, off))
            pair.low = min(pair.low[0], off[0]), min(pair.low[1], off[1])
            pair.high = max(pair.high[0], off[0]), max(pair.high[1], off[1])
            pair.frames += 1
            box = surround([upper.seen.box, lower.seen.box])
            way = abs(middle[0] - pair.at[0]), abs(middle[1] - pair.at[1])
            varied = max(high - low for high, low in zip(pair.high, pair.low, strict=True))
            if varied > max(_STEADY * box[3], 3.0):
                del self._pairs[key]
            elif pair.frames >= _TOGETHER_FRAMES and way[0] >= max(_SIDEWAYS * box[3], 2 * way[1]):
                self._join(upper, lower, box)

    def _join(self, one: _Row, two: _Row, box: Box) -> None:
        """Make two tracks one, that which was known first."""
        if one.track.ended or two.track.ended:
            return
        whole, part = sorted((one.track, two.track), key=_seniority)
        whole.motion.x, whole.motion.y = center(box)
        whole.width, whole.height = box[2:]
        whole.area = one.seen.area + two.seen.area
        whole.largest = max(whole.largest, whole.area)
        whole.looks = None
        part.joined, part.ended = whole, True
        self._tracks.remove(part)

    def _number(self, track: Target) -> None:
        self._numbers += 1
        track.number = self._numbers

    def _is_confirmed(self, track: Target, now_s: float) -> bool:
        """Return whether a tentative track has just shown to be an object."""
        if track.ended or track.number or track.hits < self._min_track:
            return False
        if track.hits < _PATIENCE_FRAMES and any(track in pair for pair in self._pairs):
            return False
        if self._takes_all or track.best < _CLEAR:
            return self._takes_all
        way = math.dist(track.first, (track.motion.x, track.motion.y)) / max(track.size, 1.0)
        if track.largest < self._small:
            lasting = SMALL_LASTING_S * (1 if track.best >= _CERTAIN else _WEAKER)
            is_seen = track.hits >= _SEEN * (self._count - track.began + 1)
            return way >= _SMALL_WAY or (is_seen and now_s - track.first_s >= lasting)
        return (
            track.hits >= _LASTING_FRAMES
            or way >= _WAY
            or track.met_border
            or track.began == 1
            or self._step_s > _APART_S
            or (track.largest >= 2 * self._small and track.best >= _CERTAIN)
        )

    def _decided(self) -> Followed:
        """Take the frames off the queue all of whose tracks are known to be objects, or noise."""
        shown: list[list[Observation]] = []
        settled: list[list[Observation]] = []
        first = self._shown
        while self._shown < len(self._pending):
            frame = self._pending[self._shown]
            if len(self._pending) - self._shown <= LATEST and self._is_open(frame):
                break
            shown.append(self._observations(frame))
            self._shown += 1
        while self._shown and not self._is_open(self._pending[0]):
            frame, place = self._pending.popleft(), len(settled) - first
            settled.append(shown[place] if place >= 0 else self._observations(frame))
            self._shown -= 1
        return Followed(shown, settled)

    def _is_open(self, frame: _Frame) -> bool:
        """Return whether a frame waits for a track that is still tentative."""
        if self._pending[-1].time_s - frame.time_s > _LONGEST_S:
            return False
        owners = (row.track.identity for row in frame.rows)
        return any(not owner.number and not owner.ended for owner in owners)

    def _observations(self, frame: _Frame) -> list[Observation]:
        objects: dict[int, list[_Row]] = {}
        for row in frame.rows:
            if row.track.identity.number:
                objects.setdefault(row.track.identity.number, []).append(row)
        whole = [  # an object whose parts have joined is all of them
            _Row(rows[0].track.identity, join([r.seen for r in rows]), any(r.merged for r in rows))
            for _, rows in sorted(objects.items())
        ]
        common = [0.0] * len(whole)
        if len(whole) > 1:
            boxes = np.array([row.seen.box for row in whole])
            shares = covered(boxes[:, None], boxes[None])
            np.fill_diagonal(shares, 0)
            common = np.maximum(shares, shares.T).max(axis=0).tolist()
        found = []
        for (track, seen, merged), part in zip(whole, common, strict=True):
            x, y, width, height = seen.box
            box = (float(x), float(y), float(width), float(height))
            kept = (seen.cx, seen.cy, float(seen.area), self._score(track, seen, part), seen.sign)
            about = frame.number, frame.time_s, track.number, box, *kept
            found.append(Observation(*about, merged, track.first_s))
        return found

    def _score(self, track: Target, seen: Detection, common: float) -> float:
        """Compute the probability that this is an object, whose box shares so much with another."""
        p = min(max(1.0 if math.isnan(seen.score) else seen.score, 0.5), _SUREST)
        share = min(max(math.log2(max(track.area, 1.0) / seen.area), -4.0), 1.0)
        odds = 1.5 * math.log(p / (1 - p)) + share - 5 * common + 6 * track.alone / track.hits - 6.9
        size = seen.area / (seen.area + self._small / _SURE_PART)
        return size * track.hits / (track.hits + _SURE_FRAMES) / (1 + math.exp(-odds))


def _seniority(track: Target) -> tuple[float, int]:
    """Return what sorts tracks by when they were known."""
    return track.number or math.inf, track.began


def _stacked(boxes: Sequence[Box]) -> list[tuple[int, int]]:
    """Return which boxes lie above which, near enough to be parts of one silhouette."""
    if len(boxes) < 2:
        return []
    x, y, width, height = np.array(boxes, float).T
    right, bottom = x + width, y + height
    wide = np.maximum.outer(right, right) - np.minimum.outer(x, x)
    high = np.maximum.outer(bottom, bottom) - np.minimum.outer(y, y)
    common = np.minimum.outer(right, right) - np.maximum.outer(x, x)
    gap = y - bottom[:, None]
    is_near = (gap >= -_GAP * np.minimum.outer(height, height)) & (gap <= _GAP * high)
    is_upright = (wide <= high) & (high <= _TALLEST * wide)
    found = is_near & is_upright & (common >= _OVERLAP * np.minimum.outer(width, width))
    np.fill_diagonal(found, val=False)
    return [(int(i), int(j)) for i, j in np.argwhere(found)]
