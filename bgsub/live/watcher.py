"""Watch a stream: learn, mask, follow objects, say what happens, and write clips of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np

from bgsub.errors import InputError, OutputError, UsageError, cannot_write
from bgsub.live.clips_folder import Keep, remove_oldest
from bgsub.live.event_files import EventFiles
from bgsub.live.events import LiveEvent, LiveEvents, Reason, What
from bgsub.live.feed import Feed, Lost, Opened, Seen
from bgsub.live.hooks import EventHook
from bgsub.live.learner import Learner, Schedule
from bgsub.live.messages import LearningSettings, Note
from bgsub.live.options import WatchOptions
from bgsub.live.ring import PacketRing
from bgsub.live.source import LiveSource
from bgsub.live.status import Status
from bgsub.live.window import LiveModel
from bgsub.local.cleanup import SCORE_LEVEL
from bgsub.tracking.detections import find_detections
from bgsub.tracking.recorder import View
from bgsub.tracking.tracker import Observation, Tracker
from bgsub.video.frames import Bytes

_RING_SLACK_S = 5.0
"""Seconds that packets are kept beyond what clips begin with: analysis comes a little later."""

_RATE = 25.0
_STATUS_S = 2.0
_MINUTE_S = 60.0


class Watcher:
    """Watches one stream until it ends or somebody stops it.

    Parameters
    ----------
    source : LiveSource
    out : Path
        The folder of the clips; made if it is not there.
    options : WatchOptions
    say : callable
        Takes each JSON line.
    note : callable
        Takes what a person should know, and whether it is a warning.
    hook : EventHook, optional

    Attributes
    ----------
    status : Status
    """

    def __init__(
        self,
        source: LiveSource,
        out: Path,
        options: WatchOptions,
        *,
        say: Callable[[str], None],
        note: Callable[[str, Literal["note", "warning"]], None],
        hook: EventHook | None = None,
    ) -> None:
        self._source, self._out, self._options = source, out, options
        self._say, self._note, self._hook = say, note, hook
        self.status = Status()
        self._ring = PacketRing(options.before_s + _RING_SLACK_S)
        self._events = LiveEvents(self._announce, after_s=options.after_s)
        self._files = EventFiles(out, self._ring, options, self._fail_clip)
        self._opened: Opened | None = None
        self._learner: Learner | None = None
        self._model: LiveModel | None = None
        self._tracker: Tracker | None = None
        self._view: View | None = None
        self._number = self._first_track = self._last_track = 0
        self._frame_score: float | None = None
        self._lost_since: float | None = None
        self._told = {"minute": 0.0, "status": 0.0}
        self._told_dropped = 0

    def run(self, stop: threading.Event) -> None:
        """Watch until the source ends for good, or `stop` is set.

        Raises
        ------
        InputError
            If the source cannot be opened, and is none that is tried again.
        OutputError
            If the folder cannot be made.
        """
        options, source = self._options, self._source
        try:
            self._out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self._out, error) from error
        drops = source.kind != "file" if options.drops is None else options.drops
        began = time.monotonic()
        with ExitStack() as stack:
            self._stack = stack
            feed = stack.enter_context(
                Feed(
                    source,
                    self._ring,
                    scale=self._scale(),
                    every_s=options.every_s,
                    drops=drops,
                    stall_s=options.stall_s,
                    pauses_s=options.pauses_s,
                )
            )
            self._drops, self._stop = drops, stop
            reason: Reason = "stopped"
            try:
                while not stop.is_set():
                    item = feed.get(0.1)
                    if isinstance(item, Opened):
                        self._open(item)
                    elif isinstance(item, Seen):
                        self._look(item)
                    elif isinstance(item, Note):
                        self._note(f"{source.name}: {item.text}", "warning")
                    elif isinstance(item, Lost):
                        self._lose(item)
                        if item.retry_s is None:
                            reason = "over"
                            break
                    self._attend(feed, time.monotonic() - began)
            finally:
                self._finish(reason, feed, time.monotonic() - began)

    def _scale(self) -> float | None:
        model = self._options.model
        if model is None:
            return self._options.scale
        if model.local is None:
            raise UsageError("the model has no local masks; make one with `bgsub run`")
        if model.geometry.get("roi"):
            raise UsageError(
                "the model is of a part of the picture (--roi); watch needs a whole one"
            )
        return float(model.geometry.get("scale", 1.0))

    def _open(self, opened: Opened) -> None:
        """Begin with a stream, or go on with one that is as it was."""
        before, self._opened = self._opened, opened
        header = opened.header
        is_same = before is not None and before.header.layout == header.layout
        self._files.close()
        if not is_same:
            self._events.end("changed")
            self._begin_learning(opened)
        width, height = header.size
        self._view = View(
            header.size, (0, 0, width, height), (header.layout.width, header.layout.height)
        )
        self._first_track = self._last_track
        self._tracker = Tracker(
            (header.layout.width, header.layout.height),
            rate=_RATE,
            min_track=self._options.min_track,
        )
        self._events.resume(opened.base_s)
        if self._events.open is not None:
            self._record(self._events.open, opened.base_s)
        if self._lost_since is not None:
            self._note(f"{self._source.name}: is back", "note")
        elif before is None:
            codec = header.codec
            self._note(f"{self._source.name}: {codec}, {width}×{height} pixels", "note")
        self._lost_since = None

    def _begin_learning(self, opened: Opened) -> None:
        options, layout = self._options, opened.header.layout
        if self._learner is not None:
            self._learner.close()
            self._learner = None
        self._model = None
        if options.model is not None and options.model.local is not None:
            theirs = options.model.layout
            if (theirs.height, theirs.width) != (layout.height, layout.width):
                size = f"{layout.width}×{layout.height}"
                message = f"{self._source.name}: its pictures are analysed at {size}"
                raise InputError(f"{message}, but the model is of {theirs.width}×{theirs.height}")
            self._model = LiveModel(options.model.local.with_options(options.masks))
            return
        settings = LearningSettings(
            layout,
            options.masks,
            options.window_s,
            options.threads or 1,
            gives_way=self._drops,
        )
        schedule = Schedule(
            window_s=options.window_s, refresh_s=options.refresh_s, warm_up_s=options.warm_up_s
        )
        self._learner = self._stack.enter_context(
            Learner(settings, schedule, None if self._drops else self._stop)
        )

    def _look(self, seen: Seen) -> None:
        """Analyse a frame with the newest model."""
        if self._opened is None or self._tracker is None:
            return
        layout = self._opened.header.layout
        row: Bytes = np.frombuffer(seen.row, np.uint8)
        self._number += 1
        if self._learner is not None:
            self._learner.offer(row, seen.time_s)
            if self._learner.model is not None and self._learner.model is not self._model:
                self._model = self._learner.model
                self.status.models += 1
            while not self._learner.complaints.empty():
                self._note(f"{self._source.name}: {self._learner.complaints.get()}", "warning")
        self.status.time_s = seen.time_s
        if self._model is None:
            self.status.state = "learning"
            return
        self.status.state = "watching"
        picture = layout.to_bgr(row)
        mask, scores = self._model.local.mask_and_scores(picture)
        found = find_detections(
            mask,
            min_area=self._least_area(),
            picture=picture,
            scores=np.divide(scores, SCORE_LEVEL, dtype=np.float32),
        )
        self._frame_score = self._model.frame_score(layout.luma(row)) if found else None
        self._report(
            self._tracker.update(self._number, seen.time_s, found, picture if found else None)
        )
        self._files.add_mask(mask, seen.time_s)
        self._events.pass_time(seen.time_s)
        self.status.frames += 1
        self.status.latency_s = time.monotonic() - seen.came_s

    def _least_area(self) -> int:
        least = self._options.min_area
        if least is None or self._view is None:
            return 1
        across, down = self._view.scale
        return max(1, round(least / (across * down)))

    def _report(self, frames: list[list[Observation]]) -> None:
        """Pass on the objects of frames, in pixels of the stream and numbered over connections."""
        for objects in frames:
            placed = []
            for seen in objects:
                number = seen.track + self._first_track
                self._last_track = max(self._last_track, number)
                if self._view is not None:
                    placed.append(replace(self._view.place(seen), track=number))
            self._events.see(placed, self._frame_score)

    def _announce(self, what: What, event: LiveEvent, reason: Reason | None) -> None:
        """Say what happens to an event, and begin and end its clip."""
        if what == "start":
            self._record(event, event.start_s - self._options.before_s)
        elif what == "end":
            self._files.close()
        wall_s = self._wall_s(event.last_s)
        line = {"event": what, "time": None if wall_s is None else _iso(wall_s), **event.to_json()}
        if what == "end":
            line |= {"duration_s": round(event.last_s - event.start_s, 3), "reason": reason}
        self.status.events = self._events.count
        self.status.event_open = what != "end"
        text = json.dumps(line)
        self._say(text)
        if self._hook is not None:
            self._hook.start(text + "\n", line)

    def _wall_s(self, time_s: float) -> float | None:
        """Give a time on the clock of the system; None for a file, which is of any day."""
        if self._opened is None or self._source.kind == "file":
            return None
        return self._opened.wall_s + time_s - self._opened.base_s

    def _record(self, event: LiveEvent, begin_s: float) -> None:
        if self._opened is None:
            return
        wall_s = self._wall_s(event.last_s)
        path = self._files.begin(
            self._opened, begin_s, time.time() if wall_s is None else wall_s, event.number
        )
        if path is not None:
            event.files.append(str(path))

    def _fail_clip(self, error: OutputError) -> None:
        """Go on without a clip: what is in sight is said in any case."""
        self.status.clips_failed += 1
        self._note(str(error), "warning")

    def _lose(self, lost: Lost) -> None:
        """Take note that the stream is gone."""
        name = self._source.name
        if lost.retry_s is None:
            if self._opened is None or lost.reason:
                raise InputError(f"{name}: cannot be read ({lost.reason or 'it holds no picture'})")
            return
        if self._lost_since is None:
            self._lost_since = time.monotonic()
        self.status.state = "lost"
        self._note(f"{name}: {lost.reason}; trying again in {lost.retry_s:g} s", "warning")

    def _attend(self, feed: Feed, now_s: float) -> None:
        """Do what is due whether or not a frame has come."""
        self._files.write()
        if self._lost_since is not None:
            self._events.lose(time.monotonic())
        if now_s - self._told["minute"] >= _MINUTE_S:
            self._told["minute"] = now_s
            self._keep_few()
            dropped = feed.dropped - self._told_dropped
            self._told_dropped = feed.dropped
            if dropped:
                message = f"{dropped} frames of the last minute were not analysed for lack of time"
                self._note(f"{message}; clips have them all", "warning")
        if now_s - self._told["status"] >= _STATUS_S:
            self._told["status"] = now_s
            self._tell_status(feed, now_s)

    def _keep_few(self) -> None:
        keep = self._options.keep
        if keep != Keep():
            remove_oldest(self._out, keep, self._files.path)

    def _tell_status(self, feed: Feed, now_s: float) -> None:
        status = self.status
        status.uptime_s, status.dropped = now_s, feed.dropped
        status.connections = feed.connections
        if self._options.status is not None:
            try:
                status.write(self._options.status)
            except OutputError as error:
                self._note(str(error), "warning")

    def _finish(self, reason: Reason, feed: Feed, now_s: float) -> None:
        """End what is open; the clip first, as there may be little time."""
        if reason == "over" and self._tracker is not None:
            self._report(self._tracker.finish())
        self._events.end(reason)
        self._files.close()
        self._keep_few()
        self.status.state = "ended"
        self._tell_status(feed, now_s)


def _iso(wall_s: float) -> str:
    moment = datetime.fromtimestamp(wall_s, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
