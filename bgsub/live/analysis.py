"""Find and follow the objects of a stream's frames, with the newest model of its scene."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import cv2
import numpy as np

from bgsub.background.model import BackgroundModel
from bgsub.background.plates import at_working_size
from bgsub.errors import InputError, UsageError
from bgsub.live.decoding import Header, LearningSettings
from bgsub.live.learning import Learner, LiveModel, Schedule
from bgsub.live.options import WatchOptions
from bgsub.segmenter.masks import SCORE_LEVEL, MaskModel
from bgsub.segmenter.protocol import MaskOptions, MaskResult
from bgsub.tracking.detections import find_detections, with_weak_regions
from bgsub.tracking.events import EventFilter
from bgsub.tracking.recorder import View
from bgsub.tracking.regions import Region
from bgsub.tracking.tracker import Observation, Tracker
from bgsub.video.frames import Bytes, Layout

_RATE = 25.0
_NO_MODEL = "a frame is segmented before anything is learned"


@dataclass(frozen=True, kw_only=True)
class Sought:
    """What counts as an object, and where.

    Attributes
    ----------
    masks : MaskOptions
        Those of a model that is learned, and of one that is given.
    min_area : int, optional
        Pixels of the stream that an object covers at least.
    counted : EventFilter
        Which objects make events; of it, their largest area and the places.
    regions : tuple of Region
        Whose names are said of what was in them.
    """

    masks: MaskOptions = field(default_factory=MaskOptions)
    min_area: int | None = None
    counted: EventFilter = field(default_factory=EventFilter)
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True)
class Found:
    """What a frame shows.

    Attributes
    ----------
    mask : ndarray of shape (h, w), uint8
    frames : list of list of Observation
        Objects of the frames that are decided by now, in pixels of the stream.
    frame_score : float or None
        Robust z-score of this frame, where it shows something.
    """

    mask: Bytes
    frames: list[list[Observation]]
    frame_score: float | None


class Analysis:
    """Finds and follows the objects of a stream, over all its connections.

    Parameters
    ----------
    options : WatchOptions
    sought : Sought
    name : str
        Of the stream, for messages.
    stop : threading.Event, optional
        Where frames wait for models, until this is set; see `Learner`.

    Attributes
    ----------
    models : int
        Learned so far.

    Raises
    ------
    UsageError
        If the model that is to be used can make no masks of a stream.
    InputError
        If it cannot be read.
    """

    def __init__(
        self, options: WatchOptions, sought: Sought, name: str, stop: threading.Event | None
    ) -> None:
        self._options, self._sought, self._name, self._stop = options, sought, name, stop
        self._learner: Learner | None = None
        self._model: LiveModel | None = None
        self._header: Header | None = None
        self._number = self._first_track = self._last_track = 0
        self.models = 0
        self._given = None if options.model is None else BackgroundModel.load(options.model)
        if self._given is not None:
            if self._given.local is None:
                raise UsageError(
                    "the model makes masks by the paper's formula; make one with `bgsub run`"
                )
            if self._given.geometry.get("roi"):
                raise UsageError(
                    "the model is of a part of the picture (--roi); watch needs a whole one"
                )

    @property
    def scale(self) -> float | None:
        """Of the pictures that it wants; None to choose."""
        if self._given is None:
            return self._options.scale
        return float(self._given.geometry.get("scale", 1.0))

    def open(self, header: Header) -> bool:
        """Begin with a connection; gives whether the scene is as it was before.

        Raises
        ------
        InputError
            If the model that is to be used is of another size.
        """
        before, self._header = self._header, header
        layout = header.layout
        is_same = before is not None and before.layout == layout
        if not is_same:
            self._begin_learning(layout)
        self._counted = _fitted(self._sought.counted, header.size)
        self._view = View(header.size, (0, 0, *header.size), (layout.width, layout.height))
        self._first_track = self._last_track
        self._before: Bytes | None = None
        self._tracker = Tracker(
            (layout.width, layout.height),
            rate=_RATE,
            min_track=self._options.min_track,
            takes_all=self._sought.min_area is not None,
        )
        return is_same

    def _begin_learning(self, layout: Layout) -> None:
        options, given, masks = self._options, self._given, self._sought.masks
        self.close()
        self._model = None
        if given is not None and given.local is not None:
            theirs = given.layout
            if (theirs.height, theirs.width) != (layout.height, layout.width):
                size = f"{layout.width}×{layout.height}"
                message = f"{self._name}: its pictures are analysed at {size}"
                raise InputError(f"{message}, but the model is of {theirs.width}×{theirs.height}")
            self._model = LiveModel(MaskModel(given.local, masks))
            return
        settings = LearningSettings(
            layout,
            masks,
            options.window_s,
            options.threads,
            gives_way=self._stop is None,
        )
        schedule = Schedule(
            window_s=options.window_s, refresh_s=options.refresh_s, warm_up_s=options.warm_up_s
        )
        self._learner = Learner(settings, schedule, self._stop)
        self._learner.start()

    def look(self, data: bytes, time_s: float) -> Found | None:
        """Analyse a frame, as it comes from a feed; None while there is no model."""
        if self._header is None:
            return None
        layout = self._header.layout
        row: Bytes = np.frombuffer(data, np.uint8)
        self._number += 1
        if self._learner is not None:
            self._learner.offer(row, time_s)
            if self._learner.model is not None and self._learner.model is not self._model:
                self._model = self._learner.model
                self.models += 1
        if self._model is None:
            return None
        picture = layout.to_bgr(row)
        seen = self._segment(picture)
        mask = seen.mask
        if self._sought.min_area is None and seen.scores is not None:
            mask = with_weak_regions(mask, seen.scores, SCORE_LEVEL)
        found = find_detections(
            mask,
            min_area=self._least_area(),
            picture=picture,
            scores=seen.scores,
            score_level=SCORE_LEVEL,
        )
        frame_score = self._model.frame_score(layout.luma(row)) if found else None
        followed = self._tracker.update(self._number, time_s, found, picture if found else None)
        return Found(seen.mask, self._placed(followed.shown), frame_score)

    def _segment(self, frame: Bytes) -> MaskResult:
        """Segment a frame beside the one before it: what comes next nobody knows yet."""
        if self._model is None:
            raise RuntimeError(_NO_MODEL)
        small = at_working_size(frame)
        before, self._before = self._before, small
        return self._model.masks.look(frame, small=small, before=before)

    def _least_area(self) -> int:
        least = self._sought.min_area
        if least is None:
            return 1
        across, down = self._view.scale
        return max(1, round(least / (across * down)))

    def _placed(self, frames: list[list[Observation]]) -> list[list[Observation]]:
        """Give the objects that count, in pixels of the stream, numbered over all connections."""
        placed = []
        for objects in frames:
            now = []
            for seen in objects:
                number = seen.track + self._first_track
                self._last_track = max(self._last_track, number)
                at = replace(self._view.place(seen), track=number)
                now += [at] * self._counted.takes(at)
            placed.append(now)
        return placed

    def finish(self) -> list[list[Observation]]:
        """Give the objects of the last frames, which were not decided."""
        return [] if self._header is None else self._placed(self._tracker.finish().shown)

    def complaints(self) -> list[str]:
        """Say what a person should know since this was asked last."""
        said: list[str] = []
        while self._learner is not None and not self._learner.complaints.empty():
            said.append(self._learner.complaints.get())
        return said

    def close(self) -> None:
        """Learn no more."""
        if self._learner is not None:
            self._learner.close()
            self._learner = None


def _fitted(counted: EventFilter, size: tuple[int, int]) -> EventFilter:
    """Bring the picture of what is ignored to the size of the stream, which may change."""
    if counted.ignored is None:
        return counted
    ignored = cv2.resize(counted.ignored.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)
    return replace(counted, ignored=ignored > 0)
