"""Learn the scene of a stream as it goes on, and find and follow the objects of its frames."""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import cv2
import numpy as np

from bgsub.background.model import BackgroundModel
from bgsub.background.plates import small_of
from bgsub.background.sample import MOST_FRAMES as SAMPLE
from bgsub.errors import BgsubWarning, InputError, UsageError
from bgsub.fit.store import FrameBlock
from bgsub.live.decoding import Header
from bgsub.live.options import WatchOptions
from bgsub.outliers.own_light import shrink, shrinking
from bgsub.pipeline.loop import Loop
from bgsub.pipeline.scene import LearnedScene
from bgsub.robustpca.conventions import support_size
from bgsub.robustpca.online import OnlineTRPCA
from bgsub.robustpca.reweight import FOOTAGE_CUTOFF
from bgsub.segmenter.masks import MaskModel
from bgsub.segmenter.protocol import MaskOptions
from bgsub.tracking.detections import find_detections, with_weak_regions
from bgsub.tracking.events import EventFilter
from bgsub.tracking.recorder import View
from bgsub.tracking.regions import Region
from bgsub.tracking.tracker import Followed, Observation, Tracker
from bgsub.video.frames import Bytes, Layout

MOST_FRAMES = 500  # of a window
_LEAST_FRAMES = 8
# Frames that the time before the first model is cut into, and any time since the beginning until
# the window is full.
_FIRST_FRAMES, _GROWTH = 40, 100
# Of the fit, and frames of its support for each at least: fewer fit but themselves.
_COMPONENTS, _FRAMES_A_COMPONENT = 3, 3
_NICENESS, _PATIENCE_S = 10, 5.0


class LiveModel(NamedTuple):
    """What was learned of a scene: masks, and perhaps a fit to the shrunk luma of the window."""

    masks: MaskModel
    fit: OnlineTRPCA | None = None

    def frame_score(self, luma: Bytes) -> float | None:
        """Return the robust z-score of a frame's error against the window; None without a fit."""
        if self.fit is None:
            return None
        error = float(np.sqrt(self.fit.reconstruction_error(_shrunk(luma)[None])[0]))
        return (error - self.fit.error_location_) / max(self.fit.error_scale_, 1e-9)


def _shrunk(luma: Bytes) -> Bytes:
    small = shrink(luma, 2 * shrinking(*luma.shape))
    return np.asarray(np.clip(small + 0.5, 0, 255), np.uint8).ravel()


class Learner:
    """The frames of the last minutes, thinned to 500, and the newest model of them.

    A model is due after `warm_up_s`, when the time that is known has doubled, and then every
    `refresh_s`. With `waits`, frames wait for it, and results do not depend on how quick the
    machine is; else it is learned in a thread that gives way.
    """

    def __init__(
        self, layout: Layout, masks: MaskOptions, options: WatchOptions, *, waits: bool
    ) -> None:
        self._layout, self._masks, self._options = layout, masks, options
        self._frames: deque[tuple[float, Bytes]] = deque(maxlen=MOST_FRAMES)
        self._new: deque[Bytes] = deque(maxlen=MOST_FRAMES)
        self._began = self._learned_s = -np.inf
        self._count = 0
        self._lock = threading.Lock()
        self._fit = OnlineTRPCA(
            _COMPONENTS,
            window=MOST_FRAMES,
            random_state=0,
            reweight_cutoff=FOOTAGE_CUTOFF,
            threads=options.threads,
        )
        self._due: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._is_closed = False
        self.model: LiveModel | None = None
        self.models = 0
        self.complaints: deque[str] = deque()
        self._thread: threading.Thread | None = None
        if not waits:
            self._thread = threading.Thread(target=self._run, name="bgsub-learner", daemon=True)
            self._thread.start()

    @property
    def times(self) -> list[float]:
        """Of the frames in the window, in seconds."""
        return [time_s for time_s, _ in self._frames]

    def offer(self, row: Bytes, time_s: float) -> None:
        """Show a frame, in order of time."""
        if not self.add(row, time_s):
            return
        if self._thread is None:
            self._renew()
        elif self._due.empty():  # one that waits knows of this frame too
            self._due.put(True)

    def add(self, row: Bytes, time_s: float) -> bool:
        """Take in the next frame if it is time for one; return whether a model is due."""
        warm_up_s, age_s = self._options.warm_up_s, time_s - self._began
        if not self._frames:
            self._began = self._learned_s = time_s
        else:  # few are kept at first, but enough
            step, full = max(warm_up_s / _FIRST_FRAMES, age_s / _GROWTH), self._options.window_s
            step = min(step, full / MOST_FRAMES) if age_s > warm_up_s else step
            if time_s - self._frames[-1][0] < step:
                return False
        with self._lock:
            self._frames.append((time_s, row.copy()))
            self._new.append(self._frames[-1][1])
            while self._frames[0][0] < time_s - self._options.window_s:
                self._frames.popleft()
        self._count += 1
        # Young models know little: they are replaced when the time that they knew has doubled.
        known_s = self._learned_s - self._began
        due_s = min(self._options.refresh_s, max(known_s, warm_up_s)) if known_s else warm_up_s
        if self._count < _LEAST_FRAMES or time_s - self._learned_s < due_s:
            return False
        self._learned_s = time_s
        return True

    def learn(self, each: Callable[..., Iterable[Any]] = map) -> LiveModel:
        """Learn from the window as it is; frames may come meanwhile."""
        with self._lock:
            frames, new = list(self._frames), list(self._new)
            self._new.clear()
        layout, fit = self._layout, self._fit
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BgsubWarning)
            fit.partial_fit(np.stack([_shrunk(layout.luma(row)) for row in new]))
        # For masks frames that are spread evenly over the time of the window.
        times = np.array([time_s for time_s, _ in frames])
        wanted = np.linspace(times[0], times[-1], min(len(times), SAMPLE))
        chosen = np.unique(np.abs(times[:, None] - wanted).argmin(axis=0))
        small = np.stack([small_of(layout, frames[i][1]) for i in chosen])
        masks = MaskModel.learned(small, (layout.height, layout.width), self._masks, each)
        is_many = support_size(len(frames), None) >= _FRAMES_A_COMPONENT * _COMPONENTS
        return LiveModel(masks, copy(fit) if is_many else None)  # which goes on to learn

    def close(self) -> None:
        """Learn no more, and wait until what is being learned is given up."""
        self._is_closed = True
        self._due.put(False)
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        if sys.platform == "linux":  # elsewhere it would be the priority of all threads
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        while self._due.get() and not self._is_closed:
            self._renew()

    def _renew(self) -> None:
        try:
            with ThreadPoolExecutor(self._options.threads) as pool:
                self.model = self.learn(partial(self._each, pool))
            self.models += 1
        except Exception as error:  # noqa: BLE001 - the last model goes on serving
            message = "a model could not be learned, and the last one is used further"
            self.complaints.append(f"{message} ({str(error) or type(error).__name__})")

    def _each(
        self, pool: ThreadPoolExecutor, function: Callable[..., Any], *items: Iterable[Any]
    ) -> Iterator[Any]:
        """Map a function over items, until nobody wants the model any more."""
        on_one = self._options.threads == 1
        for value in map(function, *items) if on_one else pool.map(function, *items):
            if self._is_closed:
                raise InterruptedError("nobody wants it any more")
            yield value


@dataclass(frozen=True, kw_only=True)
class Sought:
    """What counts as an object, and where."""

    masks: MaskOptions = field(default_factory=MaskOptions)
    min_area: int | None = None  # in pixels of the stream
    counted: EventFilter = field(default_factory=EventFilter)  # which make events
    regions: tuple[Region, ...] = ()  # whose names are said of what was in them


class Found(NamedTuple):
    """The mask of a frame, and the objects of frames that are decided by now, in stream pixels."""

    mask: Bytes
    frames: list[list[Observation]]
    frame_score: float | None  # robust z-score of this frame, where it shows something


class Analysis:
    """Find and follow the objects of a stream, over all its connections.

    With `waits`, frames wait for models. With `looks_back`, objects of a frame are told when all is
    known of them, as in a run; else at most `LATEST` frames later, with what is known by then.
    UsageError if the model that is to be used can make no masks of a stream.
    """

    def __init__(
        self, options: WatchOptions, sought: Sought, name: str, *, waits: bool, looks_back: bool
    ) -> None:
        self._options, self._sought, self._name = options, sought, name
        self._waits, self._looks_back = waits, looks_back
        self._learner: Learner | None = None
        self._masks: MaskModel | None = None
        self._loop: Loop | None = None
        self._header: Header | None = None
        self._number = self._first_track = self._last_track = self._models = 0
        self._untold: deque[float] = deque()
        self.known_s = 0.0  # of the last frame whose objects were told
        self._given = None if options.model is None else BackgroundModel.load(options.model)
        self.scale = options.scale  # of the frames that it wants; None to choose
        if self._given is not None:
            self.scale = float(self._given.geometry.get("scale", 1.0))
            if self._given.local is None:
                formula = "the model makes masks by the paper's formula"
                raise UsageError(f"{formula}; make one with `bgsub run`")
            if self._given.geometry.get("roi"):
                part = "the model is of a part of the picture (--roi)"
                raise UsageError(f"{part}; watch needs a whole one")

    @property
    def models(self) -> int:
        """Learned so far."""
        return self._models + (0 if self._learner is None else self._learner.models)

    @property
    def delay(self) -> int:
        """Frames that were analysed and whose objects are not told yet."""
        return len(self._untold)

    def open(self, header: Header) -> bool:
        """Begin a connection; return if the scene is as before; InputError for another size."""
        before, self._header, layout = self._header, header, header.layout
        size = layout.width, layout.height
        self._view = View(header.size, (0, 0, *header.size), size)
        is_same = before is not None and before.layout == layout
        if not is_same:
            self.close()
            masks, least = self._sought.masks, self._sought.min_area
            self._least_area = 1
            if least is not None:
                across, down = self._view.scale
                self._least_area = max(1, round(least / (across * down)))
                masks = replace(masks, min_area=self._least_area)
            if self._given is None:
                self._learner = Learner(layout, masks, self._options, waits=self._waits)
            else:
                theirs = self._given.layout
                if (theirs.width, theirs.height) != size:
                    message = f"{self._name}: its pictures are analysed at {size[0]}×{size[1]}"
                    model = f"the model is of {theirs.width}×{theirs.height}"
                    raise InputError(f"{message}, but {model}")
                self._masks = MaskModel.fit(None, masks, model=self._given)
        self._counted = self._sought.counted
        if self._counted.ignored is not None:
            ignored = self._counted.ignored.astype(np.uint8)
            fitted = cv2.resize(ignored, header.size, interpolation=cv2.INTER_NEAREST)
            self._counted = replace(self._counted, ignored=fitted > 0)
        self._first_track, self._loop = self._last_track, None
        self._untold.clear()
        least, takes_all = self._options.min_track, self._sought.min_area is not None
        self._tracker = Tracker(size, rate=header.rate, min_track=least, takes_all=takes_all)
        return is_same

    def look(self, data: bytes, time_s: float) -> Found | None:
        """Analyse a frame, as it comes from a feed; None while there is no model."""
        if self._header is None:
            return None
        row = np.frombuffer(data, np.uint8)
        self._number += 1
        model = None
        if self._learner is not None:
            self._learner.offer(row, time_s)
            model = self._learner.model
        masks = self._masks if model is None else model.masks
        if masks is None:
            return None
        if self._loop is None:
            inside = None if self._given is None else self._given.inside
            scene = LearnedScene(self._header.layout, inside, segmenter=masks)
            self._loop = Loop(scene, None, needs={"mask", "scores"})
        elif self._loop.scene.segmenter is not masks:
            self._loop.scene = replace(self._loop.scene, segmenter=masks)
        block = FrameBlock(row[None], np.array([self._number]), np.array([time_s]))
        (frame,) = self._loop.frames([block])
        mask, shown, scores, level = frame.mask, frame.seen, frame.scores, masks.score_level
        if self._sought.min_area is None:
            mask = with_weak_regions(mask, scores, level)
        found = find_detections(
            mask, min_area=self._least_area, picture=shown, scores=scores, score_level=level
        )
        score = model.frame_score(frame.layout.luma(row)) if found and model is not None else None
        followed = self._tracker.update(frame.number, time_s, found, frame.seen if found else None)
        self._untold.append(time_s)
        return Found(frame.mask, self._told(followed), score)

    def _told(self, followed: Followed) -> list[list[Observation]]:
        """Return the objects that count, in pixels of the stream, numbered over connections."""
        told = []
        for objects in followed.settled if self._looks_back else followed.shown:
            self.known_s, now = self._untold.popleft(), []
            for seen in objects:
                number = seen.track + self._first_track
                self._last_track = max(self._last_track, number)
                placed = replace(self._view.place(seen), track=number)
                now += [placed] * self._counted.takes(placed)
            told.append(now)
        return told

    def finish(self) -> list[list[Observation]]:
        """Return the objects of the last frames, which were not decided."""
        return [] if self._header is None else self._told(self._tracker.finish())

    def complaints(self) -> list[str]:
        """Return what a person should know since this was asked last."""
        if self._learner is None:
            return []
        said = self._learner.complaints  # to which its thread may add meanwhile
        return [said.popleft() for _ in range(len(said))]

    def close(self) -> None:
        """Learn no more."""
        if self._learner is not None:
            self._learner.close()
            self._models, self._learner = self.models, None
