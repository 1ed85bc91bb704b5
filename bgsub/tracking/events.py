"""Group tracks and outlier frames into events: when something was there, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from bgsub.outliers.events import Event
from bgsub.tracking.detections import Box, surround
from bgsub.tracking.flicker import FlickerSieve
from bgsub.tracking.tracker import Observation

Kind = Literal["object", "frame", "both"]


@dataclass(frozen=True)
class SceneEvent:
    """A time in which objects were in sight, or whole frames stood out, or both.

    Attributes
    ----------
    number : int
        From 1, in order of time.
    kind : {"object", "frame", "both"}
    first_frame, last_frame : int
        Both included.
    start_s, end_s : float
    peak_frame : int
        The frame with the largest area of objects; of a frame event, that with the highest score.
    peak_s : float
    area : float
        Pixels of all objects in the peak frame; 0 for a frame event.
    tracks : tuple of int
        Their numbers.
    box : tuple of four floats, optional
        x, y, width and height around all that was seen; None for a frame event.
    region : str, optional
        Where its objects were, of events that are listed by region.
    """

    number: int
    kind: Kind
    first_frame: int
    last_frame: int
    start_s: float
    end_s: float
    peak_frame: int
    peak_s: float
    area: float = 0.0
    tracks: tuple[int, ...] = ()
    box: Box | None = None
    region: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give all values as plain JSON, without a region where none was asked for."""
        plain = asdict(self) | {"tracks": list(self.tracks), "box": self.box and list(self.box)}
        return {name: each for name, each in plain.items() if name != "region" or each is not None}


@dataclass
class _Open:
    """An event that may go on."""

    first: Observation
    last: Observation
    peak: Observation
    area: float
    box: Box
    tracks: set[int] = field(default_factory=set)


class EventCollector:
    """Group the objects of frames into events, as the frames come.

    Parameters
    ----------
    merge_gap_s : float
        Events with at most so many seconds between them become one.
    small_area : float
        Pixels from which an object makes an event at once, see `FlickerSieve`.
    """

    def __init__(self, merge_gap_s: float = 1.0, small_area: float = 0.0) -> None:
        self._gap, self._sieve = merge_gap_s, FlickerSieve(small_area)
        self._open: _Open | None = None
        self._done: list[SceneEvent] = []

    def add(self, objects: Sequence[Observation]) -> None:
        """Take in the objects of the next frame."""
        sifted = self._sieve.sift(objects)
        for first, now in sifted.since:
            self._extend([first])
            if self._open is not None:
                self._open.last = now  # it has been there since
        if sifted.counted:
            self._extend(sifted.counted)

    def _extend(self, objects: Sequence[Observation]) -> None:
        """Let the event go on to objects of a frame, which may be an earlier one, or begin one."""
        first = objects[0]
        now = self._open
        if now is not None and not self._goes_on(now.last, first):
            self._close()
            now = None
        area = _total_area(objects)
        box = surround(each.box for each in objects)
        if now is None:
            now = self._open = _Open(first, first, first, area, box)
        elif area > now.area:
            now.peak, now.area = first, area
        now.first = min(now.first, first, key=lambda one: one.frame)
        now.last = max(now.last, first, key=lambda one: one.frame)
        now.box = surround([now.box, box])
        now.tracks.update(each.track for each in objects)

    def _goes_on(self, last: Observation, first: Observation) -> bool:
        """Say whether there is no gap between two frames, or one that does not count."""
        return first.frame - last.frame <= 1 or first.time_s - last.time_s <= self._gap

    def _close(self) -> None:
        now, self._open = self._open, None
        if now is None:
            return
        self._done.append(
            SceneEvent(
                number=len(self._done) + 1,
                kind="object",
                first_frame=now.first.frame,
                last_frame=now.last.frame,
                start_s=now.first.time_s,
                end_s=now.last.time_s,
                peak_frame=now.peak.frame,
                peak_s=now.peak.time_s,
                area=now.area,
                tracks=tuple(sorted(now.tracks)),
                box=now.box,
            )
        )

    def finish(self) -> list[SceneEvent]:
        """End the event that is going on, and give all in order of time."""
        self._close()
        return self._done


def with_frame_events(objects: Sequence[SceneEvent], frames: Sequence[Event]) -> list[SceneEvent]:
    """Join events of objects with those of whole frames that overlap them in time.

    Parameters
    ----------
    objects : sequence of SceneEvent
    frames : sequence of Event
        Those of `bgsub.outliers.events.find_events`.

    Returns
    -------
    list of SceneEvent
        In order of time, numbered anew; events that a frame event bridges become one.
    """
    plain = [
        SceneEvent(
            number=0,
            kind="frame",
            first_frame=event.first_frame,
            last_frame=event.last_frame,
            start_s=event.start_s,
            end_s=event.end_s,
            peak_frame=event.peak_frame,
            peak_s=event.peak_time_s,
        )
        for event in frames
    ]
    joined: list[SceneEvent] = []
    for event in sorted([*objects, *plain], key=lambda each: (each.first_frame, each.last_frame)):
        if joined and event.first_frame <= joined[-1].last_frame:
            joined[-1] = _join(joined[-1], event)
        else:
            joined.append(event)
    return [replace(event, number=number) for number, event in enumerate(joined, start=1)]


def _join(one: SceneEvent, two: SceneEvent) -> SceneEvent:
    peak = max(one, two, key=lambda each: each.area)
    last = max(one, two, key=lambda each: each.last_frame)
    boxes = [event.box for event in (one, two) if event.box is not None]
    return replace(
        one,
        kind=one.kind if one.kind == two.kind else "both",
        last_frame=last.last_frame,
        end_s=last.end_s,
        peak_frame=peak.peak_frame,
        peak_s=peak.peak_s,
        area=peak.area,
        tracks=tuple(sorted({*one.tracks, *two.tracks})),
        box=surround(boxes) if boxes else None,
    )


def _total_area(objects: Sequence[Observation]) -> float:
    """Add up areas; objects that have merged share a region, which counts once."""
    merged = {each.area for each in objects if each.merged}
    return sum(merged) + sum(each.area for each in objects if not each.merged)
