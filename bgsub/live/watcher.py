"""Watch a stream: learn, mask, follow objects, say what happens, and write clips of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from bgsub.errors import InputError, OutputError, cannot_write, plural, was_or_were
from bgsub.live.analysis import Analysis, Sought
from bgsub.live.clips import EventFiles, remove_oldest
from bgsub.live.decoding import Note
from bgsub.live.events import EventHook, LiveEvent, LiveEvents, MetricsServer, Reason, Status, What
from bgsub.live.feed import PAUSES_S, Feed, LiveSource, Lost, Opened, PacketRing, Seen
from bgsub.live.options import WatchOptions, parse_keep
from bgsub.tracking.feedback import Example, Feedback, read_feedback
from bgsub.tracking.tracker import Observation

_RING_SLACK_S = 15.0
"""Seconds that packets are kept beyond what clips begin with: what is small and weak must last to
be an event, and analysis comes a little later."""

_LATE_S = 20.0
"""Seconds beyond the warm-up in which a model should have been learned."""

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
    sought : Sought, optional
        What counts as an object.
    pauses_s : sequence of float
        As of `Feed`.

    Attributes
    ----------
    status : Status

    Raises
    ------
    UsageError
        If what is to be run at events is no command.
    """

    def __init__(
        self,
        source: LiveSource,
        out: Path,
        options: WatchOptions,
        *,
        say: Callable[[str], None],
        note: Callable[[str, Literal["note", "warning"]], None],
        sought: Sought | None = None,
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        self._source, self._out, self._options = source, out, options
        self._sought, self._pauses_s = sought or Sought(), pauses_s
        self._say, self._note = say, note
        self._hook = None if options.on_event is None else EventHook(options.on_event)
        self.status = Status()
        self._ring = PacketRing(options.before_s + _RING_SLACK_S)
        self._events = LiveEvents(
            self._announce, regions=self._sought.regions, after_s=options.after_s
        )
        self._files = EventFiles(out, self._ring, options, self._fail_clip)
        self._opened: Opened | None = None
        self._lost_since: float | None = None
        self._examples: list[Example] = []
        if options.feedback is not None:
            self._examples = read_feedback(Path(options.feedback))
        self._feedback: Feedback | None = None
        self._learns_late = False
        self._told = {"minute": 0.0, "status": 0.0}
        self._told_dropped = 0

    def run(self, stop: threading.Event) -> None:
        """Watch until the source ends for good, or `stop` is set.

        Raises
        ------
        InputError
            If the source cannot be opened, and is none that is tried again, or the model cannot.
        OutputError
            If the folder cannot be made, or the port is taken.
        """
        options, source = self._options, self._source
        drops = source.kind != "file" if options.drop is None else options.drop
        analysis = Analysis(options, self._sought, source.name, None if drops else stop)
        try:
            self._out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self._out, error, "choose another folder") from error
        began = time.monotonic()
        with (
            self._metrics(),
            Feed(
                source,
                self._ring,
                scale=analysis.scale,
                every_s=options.every_s or 0.0,
                sound=options.sound and options.clips,
                drops=drops,
                stall_s=options.stall_s,
                pauses_s=self._pauses_s,
            ) as feed,
        ):
            reason: Reason = "stopped"
            try:
                while not stop.is_set():
                    item = feed.get(0.1)
                    if isinstance(item, Opened):
                        self._open(item, analysis)
                    elif isinstance(item, Seen):
                        self._look(item, analysis)
                    elif isinstance(item, Note):
                        self._note(f"{source.name}: {item.text}", "warning")
                    elif isinstance(item, Lost):
                        self._lose(item)
                        if item.retry_s is None:
                            reason = "over"
                            break
                    self._attend(feed, time.monotonic() - began)
            finally:
                analysis.close()
                self._finish(reason, feed, analysis, time.monotonic() - began)

    def _metrics(self) -> AbstractContextManager[object]:
        """Serve the status, where a port says so."""
        if self._options.metrics is None:
            return nullcontext()
        server = MetricsServer(self.status, self._options.metrics)
        self._note(f"metrics are on http://127.0.0.1:{server.port}/metrics", "note")
        return server

    def _open(self, opened: Opened, analysis: Analysis) -> None:
        """Begin with a stream, or go on with one that is as it was."""
        before, self._opened = self._opened, opened
        header = opened.header
        if self._examples and (before is None or before.header.size != header.size):
            self._tell_dropped()
            self._feedback = Feedback(self._examples, header.size, self._options.feedback or "")
        self._files.close()
        if not analysis.open(header):
            self._events.end("changed")
        self._events.resume(opened.base_s)
        if self._events.open is not None:
            self._record(self._events.open, opened.base_s, opened.base_s)
        if before is None:
            codec, (width, height) = header.codec, header.size
            self._note(f"{self._source.name}: {codec}, {width}×{height} pixels", "note")
        elif self._lost_since is not None:
            self._note(f"{self._source.name}: is back", "note")
        self._lost_since = None

    def _look(self, seen: Seen, analysis: Analysis) -> None:
        """Analyse a frame, and tell what it shows."""
        found = analysis.look(seen.row, seen.time_s)
        status = self.status
        status.time_s, status.models = seen.time_s, analysis.models
        for text in analysis.complaints():
            self._note(f"{self._source.name}: {text}", "warning")
        if found is None:
            status.state = "learning"
            self._complain_late(seen.time_s)
            return
        status.state = "watching"
        for objects in found.frames:
            self._events.see(self._kept(objects), found.frame_score)
        self._files.add_mask(found.mask, seen.time_s)
        self._events.pass_time(seen.time_s)
        status.frames += 1
        status.latency_s = time.monotonic() - seen.came_s

    def _kept(self, objects: Sequence[Observation]) -> list[Observation]:
        """Leave out objects that are, so far, like what is none."""
        feedback = self._feedback
        return [each for each in objects if feedback is None or feedback.takes(each)]

    def _complain_late(self, now_s: float) -> None:
        """Say once that nothing can be reported yet, where a machine has no time to learn."""
        began_s = now_s if self._opened is None else self._opened.base_s
        if self._learns_late or now_s - began_s < self._options.warm_up_s + _LATE_S:
            return
        self._learns_late = True
        message = f"{self._source.name}: there is no model after {now_s - began_s:.0f} s"
        hint = "the machine is too busy to learn one; nothing is reported until there is one"
        self._note(f"{message}: {hint}", "warning")

    def _announce(self, what: What, event: LiveEvent, reason: Reason | None) -> None:
        """Say what happens to an event, and begin and end its clip."""
        if what == "start":
            self._record(event, event.start_s, event.start_s - self._options.before_s)
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
        # A pipe may bring at once what it has held back, with stamps that are ahead of the clock.
        return min(self._opened.wall_s + time_s - self._opened.base_s, time.time())

    def _record(self, event: LiveEvent, named_s: float, begin_s: float) -> None:
        """Begin a clip that is named by a time, with the key frame before another one."""
        if self._opened is None:
            return
        wall_s = self._wall_s(named_s)
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
                many = f"{plural(dropped, 'frame')} of the last minute {was_or_were(dropped)}"
                message = f"{many} not analysed for lack of time"
                self._note(f"{message}; clips have them all", "warning")
        if now_s - self._told["status"] >= _STATUS_S:
            self._told["status"] = now_s
            self._tell_status(feed, now_s)

    def _keep_few(self) -> None:
        if self._options.keep is not None:
            remove_oldest(self._out, parse_keep(self._options.keep), self._files.path)

    def _tell_status(self, feed: Feed, now_s: float) -> None:
        status = self.status
        status.uptime_s, status.dropped = now_s, feed.dropped
        status.connections = feed.connections
        if self._options.status is not None:
            try:
                status.write(Path(self._options.status))
            except OutputError as error:
                self._note(str(error), "warning")

    def _tell_dropped(self) -> None:
        if self._feedback is not None and self._feedback.dropped:
            self._note(f"{self._source.name}: {self._feedback.describe()}", "note")

    def _finish(self, reason: Reason, feed: Feed, analysis: Analysis, now_s: float) -> None:
        """End what is open; the clip first, as there may be little time."""
        if reason == "over":
            for objects in analysis.finish():
                self._events.see(self._kept(objects), None)
        self._events.end(reason)
        self._files.close()
        self._tell_dropped()
        self._keep_few()
        self.status.state = "ended"
        self._tell_status(feed, now_s)


def _iso(wall_s: float) -> str:
    moment = datetime.fromtimestamp(wall_s, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
