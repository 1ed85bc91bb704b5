"""Link detections to tracks: prediction, assignment, merging and splitting of objects."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bgsub.tracking.association import assign, covered, is_other, pairing_costs
from bgsub.tracking.detections import Box, Detection, Sign, center, join, surround
from bgsub.tracking.motion import Motion
from bgsub.tracking.target import Target, find_shares
from bgsub.video.frames import Bytes

_MOST_DETECTIONS = 400
"""Regions of a frame that are followed, the largest ones: a mask of more is noise."""

_COVERED = 0.35
"""Share of an object's predicted box within a region from which it is taken to be part of it."""

_ROOM = 1.15
"""Usual areas of the largest of several objects from which a region is large enough to hold all."""

_FRAGMENT_GROWTH = 1.35
"""Factor on its usual sides up to which parts near an object are taken to be pieces of it."""


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
    cx, cy, area, score, sign
        As in `Detection`; of the whole region where objects have merged, but for the centre.
    merged : bool
        Whether its region holds another track too.
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

    def to_dict(self) -> dict[str, Any]:
        """Give the values by the names of the columns of objects.csv."""
        names = ("frame", "time_s", "track", "cx", "cy", "area", "score", "sign")
        x, y, width, height = self.box
        box = {"x": x, "y": y, "width": width, "height": height}
        return {name: getattr(self, name) for name in names} | box


@dataclass
class _Frame:
    """A frame some of whose tracks may yet turn out to be noise."""

    number: int
    time_s: float
    seen: list[tuple[Target, Box, float, float, Detection, bool]] = field(default_factory=list)


class Tracker:
    """Follow the objects of a film from frame to frame.

    Parameters
    ----------
    size : tuple of int
        Width and height of the picture in pixels: who walks out of it has left.
    rate : float
        Frames a second, the unit of time of the motion.
    max_gap_s : float
        Seconds for which an object may be missed and keep its number.
    min_track : int
        Frames in which an object must have been seen to count.

    Notes
    -----
    Each frame: O(m·n) for m tracks and n detections, O(max(m, n)³) where they contest each other.
    """

    def __init__(
        self, size: tuple[int, int], *, rate: float, max_gap_s: float = 1.0, min_track: int = 3
    ) -> None:
        self._width, self._height = size
        self._rate = rate
        self._max_gap = max_gap_s * rate
        self._min_track = min_track
        self._tracks: list[Target] = []
        self._pending: deque[_Frame] = deque()
        self._numbers = 0
        self._last: float | None = None

    def update(
        self,
        frame: int,
        time_s: float,
        detections: Sequence[Detection],
        picture: Bytes | None = None,
    ) -> list[list[Observation]]:
        """Take in the detections of the next frame.

        Parameters
        ----------
        frame : int
            Its number, from 1.
        time_s : float
        detections : sequence of Detection
        picture : ndarray of shape (h, w) or (h, w, 3), uint8, optional
            The frame itself: with it, objects that have merged are told apart by their looks, and
            without it by their motion alone.

        Returns
        -------
        list of list of Observation
            The objects of the frames that are decided by now, frame by frame; a frame waits until
            each of its objects has lasted long enough to count, or is gone.
        """
        step = 1.0 if self._last is None else max((time_s - self._last) * self._rate, 1e-3)
        self._last = time_s
        now = _Frame(frame, time_s)
        largest = sorted(detections, key=lambda each: -each.area)[:_MOST_DETECTIONS]
        if self._tracks or largest:
            self._link(largest, step, now, picture)
        self._pending.append(now)
        return self._decided()

    def finish(self) -> list[list[Observation]]:
        """End all tracks and give the objects of the frames that were not decided."""
        for track in self._tracks:
            track.ended = True
        self._tracks = []
        return self._decided()

    def _link(
        self, detections: list[Detection], step: float, now: _Frame, picture: Bytes | None
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
            whole = join([detections[j], *(detections[piece] for piece in pieces.get(j, []))])
            self._see(self._present(tracks, whole, step), whole, now, picture)
        taken = {*holders, *(piece for claimed in pieces.values() for piece in claimed)}
        found = {id(track) for tracks in holders.values() for track in tracks}
        self._tracks = [track for track in self._tracks if not track.ended]
        self._miss([t for t in self._tracks if id(t) not in found], step)
        for j, detection in enumerate(detections):
            if j not in taken:
                self._begin(detection, now)

    def _merge(
        self, lost: list[Target], detections: list[Detection], holders: dict[int, list[Target]]
    ) -> None:
        """Look for tracks without a detection within the region of another."""
        boxes = [detection.box for detection in detections]
        for track in lost:
            if track.hits < self._min_track or not boxes:
                continue
            shares = covered(track.box, boxes)
            j = int(np.argmax(shares))
            if shares[j] < _COVERED:
                continue
            if j in holders or not is_other(track, detections[j]):
                holders.setdefault(j, []).append(track)

    def _claim_pieces(
        self, detections: list[Detection], holders: dict[int, list[Target]]
    ) -> dict[int, list[int]]:
        """Give detections without a track to the object of which they are pieces."""
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
        """Leave those of a region's tracks that can be there.

        In a region no larger than one of them the others are hidden behind it, or gone: they are
        missed. Which one has the region alone is decided anew in every frame, so the one that has
        it now is not seen for certain.
        """
        is_large = len(tracks) == 1 or region.area >= _ROOM * max(each.area for each in tracks)
        present = []
        for i, track in enumerate(tracks):
            track.missed = 0.0 if is_large else track.missed + step * (i > 0)
            track.ended = i > 0 and track.missed > self._max_gap
            if not track.ended:
                present.append(track)
        return present

    def _see(
        self, tracks: list[Target], detection: Detection, now: _Frame, picture: Bytes | None
    ) -> None:
        for track in tracks:
            track.hits += 1
        if len(tracks) > 1:
            boxes = find_shares(tracks, detection, picture)
            for track, box in zip(tracks, boxes, strict=True):
                now.seen.append((track, box, *center(box), detection, True))
            return
        (track,), box = tracks, detection.box
        track.motion.correct(*center(box), track.size)
        track.learn(detection, picture)
        track.is_cut = self._is_at_border(box)
        now.seen.append((track, box, detection.cx, detection.cy, detection, False))

    def _is_at_border(self, box: Box) -> bool:
        right, bottom = self._width - box[0] - box[2], self._height - box[1] - box[3]
        return min(box[0], box[1], right, bottom) <= 0

    def _miss(self, tracks: list[Target], step: float) -> None:
        for track in tracks:
            track.missed += step
            x, y = track.motion.x, track.motion.y
            is_outside = not (0 <= x < self._width and 0 <= y < self._height)
            is_fleeting = track.hits < self._min_track and track.missed > 2
            if track.missed > self._max_gap or is_outside or is_fleeting:
                track.ended = True
        self._tracks = [track for track in self._tracks if not track.ended]

    def _begin(self, detection: Detection, now: _Frame) -> None:
        _, _, width, height = detection.box
        motion = Motion(*center(detection.box), math.sqrt(width * height))
        track = Target(motion, width, height, detection.area, detection.color)
        self._tracks.append(track)
        seen = (track, detection.box, detection.cx, detection.cy, detection, False)
        now.seen.append(seen)

    def _decided(self) -> list[list[Observation]]:
        """Take the frames off the queue all of whose tracks are known to count, or not to."""
        decided = []
        while self._pending:
            first = self._pending[0]
            if any(self._undecided(track) for track, *_ in first.seen):
                break
            decided.append(self._observations(self._pending.popleft()))
        return decided

    def _undecided(self, track: Target) -> bool:
        return track.hits < self._min_track and not track.ended

    def _observations(self, frame: _Frame) -> list[Observation]:
        seen = []
        for track, box, cx, cy, detection, merged in frame.seen:
            if track.hits < self._min_track:
                continue
            if not track.number:
                self._numbers += 1
                track.number = self._numbers
            kept = (detection.area, detection.score, detection.sign, merged)
            seen.append(Observation(frame.number, frame.time_s, track.number, box, cx, cy, *kept))
        return sorted(seen, key=lambda each: each.track)
