"""Watch a stream: form events of its objects, say what happens, and write clips of it."""

from __future__ import annotations

import contextlib
import json
import math
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bgsub.errors import InputError, OutputError, UsageError, plural, was_or_were, writing
from bgsub.live.analysis import Analysis, Sought
from bgsub.live.clips import EventFiles, remove_oldest
from bgsub.live.decoding import Note, Seen
from bgsub.live.feed import PAUSES_S, Feed, LiveSource, Lost, Opened
from bgsub.live.options import WatchOptions
from bgsub.runtime.files import write_file
from bgsub.tracking.detections import Box, surround
from bgsub.tracking.feedback import Feedback, read_feedback
from bgsub.tracking.regions import Region
from bgsub.tracking.tracker import LATEST, SMALL_LASTING_S, Observation

_MOST_COMMANDS = 4  # that run at the same time; of more, events have nothing run


class EventHook:
    """A command that is started at each event, without a shell and without waiting for it.

    ``{event}``, ``{id}`` and ``{file}`` are replaced, and the JSON line is its standard input. It
    is left out where four of it are running, or it cannot be started.
    """

    def __init__(self, command: str) -> None:
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--on-event {command}: {error}") from error
        if not self._arguments:
            raise UsageError("--on-event: a command is needed")
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, line: str, facts: dict[str, Any]) -> None:
        """Start the command for an event."""
        self._running = [each for each in self._running if each.poll() is None]
        if len(self._running) >= _MOST_COMMANDS:
            return
        arguments = self._arguments
        for name in ("event", "id", "file"):
            value = str(facts.get(name) or "")
            arguments = [each.replace(f"{{{name}}}", value) for each in arguments]
        with contextlib.suppress(OSError):  # a line is shorter than a pipe; nobody may read it
            process = subprocess.Popen(  # noqa: S603 - what the user asked for, without a shell
                arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
            )
            self._running.append(process)
            if process.stdin is not None:
                process.stdin.write(line.encode())
                process.stdin.close()


@dataclass
class Status:
    """How watching goes, in numbers so far."""

    state: str = "connecting"  # or learning, watching, lost or ended
    frames: int = 0  # that were analysed
    dropped: int = 0
    events: int = 0
    connections: int = 0
    clips_failed: int = 0
    models: int = 0
    uptime_s: float = 0.0
    time_s: float = 0.0  # of the last frame that was analysed
    latency_s: float = 0.0  # from its arrival to its result
    delay_frames: int = 0  # whose objects are not told yet
    event_open: bool = False

    def metrics(self) -> str:
        """Return it as Prometheus text."""
        is_up = self.state in {"learning", "watching"}
        counters = {"frames", "dropped", "events", "connections", "clips_failed", "models"}
        text = ""
        for name, value in [("up", is_up), *asdict(self).items()]:
            if name != "state":
                kind, full = ("counter", f"{name}_total") if name in counters else ("gauge", name)
                text += f"# TYPE bgsub_{full} {kind}\nbgsub_{full} {float(value):g}\n"
        return text


@contextlib.contextmanager
def served_metrics(status: Status, port: int) -> Iterator[int]:
    """Serve a status on http://127.0.0.1:PORT/metrics; yield the port. OutputError if taken."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_known = self.path in {"/", "/metrics"}
            body = status.metrics().encode() if is_known else b"try /metrics\n"
            self.send_response(200 if is_known else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - theirs
            """Log nothing on stderr."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise OutputError(f"--metrics {port}: cannot be served ({error.strerror})") from error
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()


What = Literal["start", "update", "end"]
# Why an event ended: nothing was seen any more; the stream was lost, or its frames changed size; it
# came to its end; or watching was stopped.
Reason = Literal["gone", "lost", "changed", "over", "stopped"]


@dataclass
class LiveEvent:
    """Something that is in sight, with the highest scores so far."""

    number: int
    start_s: float
    last_s: float
    box: Box  # where it was last seen, in pixels of the stream
    tracks: set[int] = field(default_factory=set)
    score: float = 0.0
    frame_score: float | None = None
    regions: set[str] = field(default_factory=set)
    files: list[str] = field(default_factory=list)  # one, and one for each loss of the stream

    def to_json(self) -> dict[str, Any]:
        """Return what a line says of it."""
        return {
            "id": self.number,
            "time_s": round(self.last_s, 3),
            "start_s": round(self.start_s, 3),
            "box": [round(side, 1) for side in self.box],
            "tracks": sorted(self.tracks),
            "regions": sorted(self.regions),
            "score": round(self.score, 2),
            "frame_score": None if self.frame_score is None else round(self.frame_score, 1),
            "file": self.files[-1] if self.files else None,
            "files": list(self.files),
        }


_UPDATE_S, _LOST_S = 1.0, 10.0


class LiveEvents:
    """Form events of the objects of frames, one at a time: as in a video, an event is a time.

    It begins when the first of its objects was first seen, which is known later, and ends when
    nothing has been seen for `after_s`, or the stream was lost for 10 s; updates are a second
    apart. `announce` is called with what happens, the event, and for its end why.
    """

    def __init__(
        self,
        announce: Callable[[What, LiveEvent, Reason | None], None],
        *,
        regions: Sequence[Region] = (),
        after_s: float = 2.0,
    ) -> None:
        self._announce, self._regions, self._after_s = announce, regions, after_s
        self._updated_s, self._back_s = 0.0, -math.inf
        self.lost_at_s: float | None = None
        self.open: LiveEvent | None = None
        self.count = 0

    def see(self, objects: Sequence[Observation], frame_score: float | None) -> None:
        """Take in the objects of a frame, in pixels of the stream."""
        if not objects:
            return
        now_s, box = objects[0].time_s, surround(each.box for each in objects)
        event = self.open
        is_new = event is None
        if event is None:
            self.count += 1
            start_s = min(np.fmin(each.first_s, each.time_s) for each in objects)
            event = self.open = LiveEvent(self.count, float(start_s), now_s, box)
        event.last_s, event.box = now_s, box
        event.tracks |= {each.track for each in objects}
        for region in self._regions:
            if any(region.holds(each.cx, each.cy) for each in objects):
                event.regions.add(region.name)
        event.score = float(np.fmax.reduce([event.score, *(each.score for each in objects)]))
        scores = [score for score in (event.frame_score, frame_score) if score is not None]
        event.frame_score = max(scores, default=None)
        if is_new or now_s - self._updated_s >= _UPDATE_S:
            self._updated_s = now_s
            self._announce("start" if is_new else "update", event, None)

    def pass_time(self, now_s: float) -> None:
        """Note that all is known of the frames up to a time."""
        if self.open is not None and now_s - max(self.open.last_s, self._back_s) > self._after_s:
            self.end("gone")

    def lose(self, now_s: float) -> None:
        """Note that the stream is lost at a time; called again while it is."""
        if self.lost_at_s is None:
            self.lost_at_s = now_s
        if self.open is not None and now_s - self.lost_at_s > _LOST_S:
            self.end("lost")

    def resume(self, now_s: float) -> None:
        """Note that a stream begins, or is back: what was in sight has time to be seen again."""
        if self.lost_at_s is not None:
            self.lost_at_s, self._back_s = None, now_s + SMALL_LASTING_S

    def end(self, reason: Reason) -> None:
        """End the event that is open, if there is one."""
        event, self.open = self.open, None
        if event is not None:
            self._announce("end", event, reason)


_LATE_S = 20.0  # beyond the warm-up, in which a model should have been learned
_STATUS_S, _MINUTE_S = 2.0, 60.0


class Watcher:
    """Watch one stream until it ends or somebody stops it; clips go into the folder `out`.

    `say` takes each JSON line, and `note` what a person should know and whether it is a warning.
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
        regions, after_s = self._sought.regions, options.after_s
        self._events = LiveEvents(self._announce, regions=regions, after_s=after_s)
        self._files = EventFiles(out, options, self._fail_clip)
        self._drops = source.kind != "file" if options.drop is None else options.drop
        self._opened: Opened | None = None
        self._examples = read_feedback(Path(options.feedback)) if options.feedback else []
        self._feedback: Feedback | None = None
        self._learns_late = False
        self._minute_s = self._status_s = 0.0
        self._dropped = 0

    def run(self, stop: threading.Event) -> None:
        """Watch until the source ends for good, or `stop` is set.

        InputError if the source, where it is not tried again, or the model cannot be opened;
        OutputError if the folder cannot be made, or the port is taken.
        """
        options, source = self._options, self._source
        is_file, waits = source.kind == "file", not self._drops
        analysis = Analysis(options, self._sought, source.name, waits=waits, looks_back=is_file)
        with writing(self._out, "choose another folder"):
            self._out.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            if options.metrics is not None:
                port = stack.enter_context(served_metrics(self.status, options.metrics))
                self._note(f"metrics are on http://127.0.0.1:{port}/metrics", "note")
            scale, drops, pauses_s = analysis.scale, self._drops, self._pauses_s
            opened = Feed(source, options, scale=scale, drops=drops, pauses_s=pauses_s)
            feed = stack.enter_context(opened)
            reason: Reason = "stopped"
            try:
                while not stop.is_set():
                    item = feed.get(0.1)
                    if isinstance(item, Opened):
                        self._open(item, analysis)
                    elif isinstance(item, Seen):
                        self._look(item, analysis)
                    elif isinstance(item, Note):
                        self._warn(item.text)
                    elif isinstance(item, Lost):
                        self._lose(item)
                        if item.retry_s is None:
                            reason = "over"
                            break
                    self._attend(feed, time.monotonic() - began)
            finally:
                analysis.close()
                self._finish(reason, feed, analysis, time.monotonic() - began)

    def _open(self, opened: Opened, analysis: Analysis) -> None:
        """Begin with a stream, or go on with one that is as it was."""
        before, self._opened, header = self._opened, opened, opened.header
        if self._examples and (before is None or before.header.size != header.size):
            self._tell_dropped()
            self._feedback = Feedback(self._examples, header.size, self._options.feedback or "")
        self._files.close()
        if not analysis.open(header):
            self._events.end("changed")
        was_lost = self._events.lost_at_s is not None
        self._events.resume(opened.base_s)
        if self._events.open is not None:
            self._record(self._events.open, opened.base_s, opened.base_s)
        if before is None:
            shown = "{}, {}×{} pixels".format(header.codec, *header.size)
            if self._source.kind != "file":
                shown += f"; objects are told up to {LATEST} frames late"
            self._note(f"{self._source.name}: {shown}", "note")
        elif was_lost:
            self._note(f"{self._source.name}: is back", "note")

    def _warn(self, text: str) -> None:
        self._note(f"{self._source.name}: {text}", "warning")

    def _look(self, seen: Seen, analysis: Analysis) -> None:
        """Analyse a frame, and tell what it shows."""
        found = analysis.look(seen.row, seen.time_s)
        status = self.status
        status.time_s, status.models = seen.time_s, analysis.models
        for text in analysis.complaints():
            self._warn(text)
        status.state = "learning" if found is None else "watching"
        if found is None:
            waited_s = seen.time_s - (seen.time_s if self._opened is None else self._opened.base_s)
            if not self._learns_late and waited_s >= self._options.warm_up_s + _LATE_S:
                self._learns_late = True
                why = "the machine is too busy to learn one; nothing is reported until there is one"
                self._warn(f"there is no model after {waited_s:.0f} s: {why}")
            return
        self._see(found.frames, found.frame_score)
        self._files.add_mask(found.mask, seen.time_s)
        self._events.pass_time(analysis.known_s)
        status.frames, status.delay_frames = status.frames + 1, analysis.delay
        status.latency_s = time.monotonic() - seen.came_s

    def _see(self, frames: Sequence[Sequence[Observation]], frame_score: float | None) -> None:
        """Take in the objects of frames, but for what is like that which is none."""
        takes = None if self._feedback is None else self._feedback.takes
        for objects in frames:
            self._events.see(list(filter(takes, objects)), frame_score)

    def _announce(self, what: What, event: LiveEvent, reason: Reason | None) -> None:
        """Report what happens to an event, and begin and end its clip."""
        if what == "start":
            self._record(event, event.start_s, event.start_s - self._options.before_s)
        elif what == "end":
            self._files.close()
        wall_s = self._wall_s(event.last_s)
        moment = None if wall_s is None else datetime.fromtimestamp(wall_s, UTC)
        shown = moment and moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"event": what, "time": shown, **event.to_json()}
        if what == "end":
            line |= {"duration_s": round(event.last_s - event.start_s, 3), "reason": reason}
        self.status.events, self.status.event_open = self._events.count, what != "end"
        text = json.dumps(line)
        self._say(text)
        if self._hook is not None:
            self._hook.start(text + "\n", line)

    def _wall_s(self, time_s: float) -> float | None:
        """Return a time on the clock of the system; None for a file, which is of any day."""
        if self._opened is None or self._source.kind == "file":
            return None
        # A pipe may bring at once what it has held back, with stamps that are ahead of the clock.
        return min(self._opened.wall_s + time_s - self._opened.base_s, time.time())

    def _record(self, event: LiveEvent, named_s: float, begin_s: float) -> None:
        """Begin a clip that is named by a time, with the key frame before another one."""
        if self._opened is None:
            return
        wall_s = self._wall_s(named_s)
        named = time.time() if wall_s is None else wall_s
        if path := self._files.begin(self._opened, begin_s, named, event.number):
            event.files.append(str(path))

    def _fail_clip(self, error: OutputError) -> None:
        """Go on without a clip: what is in sight is said in any case."""
        self.status.clips_failed += 1
        self._note(str(error), "warning")

    def _lose(self, lost: Lost) -> None:
        if lost.retry_s is None:
            if self._opened is None or lost.reason:
                reason = lost.reason or "it holds no picture"
                raise InputError(f"{self._source.name}: cannot be read ({reason})")
            return
        self._events.lose(time.monotonic())
        self.status.state = "lost"
        self._warn(f"{lost.reason}; trying again in {lost.retry_s:g} s")

    def _attend(self, feed: Feed, now_s: float) -> None:
        """Do what is due whether or not a frame has come."""
        self._files.write()
        if self._events.lost_at_s is not None:
            self._events.lose(time.monotonic())
        if now_s - self._minute_s >= _MINUTE_S:
            self._minute_s = now_s
            remove_oldest(self._out, self._options.keep, self._files.path)
            dropped, self._dropped = feed.dropped - self._dropped, feed.dropped
            if dropped:
                many = f"{plural(dropped, 'frame')} of the last minute {was_or_were(dropped)}"
                why = "not analysed for lack of time; clips have them all"
                self._note(f"{many} {why}", "warning")
        if now_s - self._status_s >= _STATUS_S:
            self._status_s = now_s
            self._tell_status(feed, now_s)

    def _tell_status(self, feed: Feed, now_s: float) -> None:
        status = self.status
        status.uptime_s, status.dropped, status.connections = now_s, feed.dropped, feed.connections
        if self._options.status is not None:
            try:
                text = json.dumps(asdict(status)) + "\n"
                write_file(Path(self._options.status), text.encode())
            except OutputError as error:
                self._note(str(error), "warning")

    def _tell_dropped(self) -> None:
        if self._feedback is not None and self._feedback.dropped:
            self._note(f"{self._source.name}: {self._feedback.describe()}", "note")

    def _finish(self, reason: Reason, feed: Feed, analysis: Analysis, now_s: float) -> None:
        """End what is open; the clip first, as there may be little time."""
        if reason == "over":
            self._see(analysis.finish(), None)
        self._events.end(reason)
        self._files.close()
        self._tell_dropped()
        remove_oldest(self._out, self._options.keep, self._files.path)
        self.status.state, self.status.delay_frames = "ended", 0
        self._tell_status(feed, now_s)
