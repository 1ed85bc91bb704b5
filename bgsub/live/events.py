"""Run a command of the user's at every event, without a shell and without waiting for it."""

from __future__ import annotations

import contextlib
import json
import math
import shlex
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

from bgsub.errors import OutputError, UsageError
from bgsub.runtime.files import write_file
from bgsub.tracking.detections import Box, surround
from bgsub.tracking.regions import Region
from bgsub.tracking.tracker import SMALL_LASTING_S, Observation

_MOST = 4
"""Commands that run at the same time; of more, events have nothing run."""


class EventHook:
    """A command that is started with what has happened.

    Parameters
    ----------
    command : str
        Parted into arguments as a shell would, but no shell runs it. ``{event}``, ``{id}`` and
        ``{file}`` are replaced; the JSON line is its standard input.

    Attributes
    ----------
    left_out : int
        Events for which it was not started, as four of it were running or it could not be.

    Raises
    ------
    UsageError
        If it has no argument, or a quote is not closed.
    """

    def __init__(self, command: str) -> None:
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--on-event {command}: {error}") from error
        if not self._arguments:
            raise UsageError("--on-event: a command is needed")
        self._running: list[subprocess.Popen[bytes]] = []
        self.left_out = 0

    def start(self, line: str, facts: dict[str, Any]) -> None:
        """Start the command for an event."""
        self._running = [each for each in self._running if each.poll() is None]
        if len(self._running) >= _MOST:
            self.left_out += 1
            return
        values = {name: str(facts.get(name) or "") for name in ("event", "id", "file")}
        arguments = []
        for argument in self._arguments:
            for name, value in values.items():
                argument = argument.replace(f"{{{name}}}", value)  # noqa: PLW2901 - one after the other
            arguments.append(argument)
        try:
            process = subprocess.Popen(  # noqa: S603 - what the user asked for, without a shell
                arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
            )
        except OSError:
            self.left_out += 1
            return
        self._running.append(process)
        with contextlib.suppress(OSError):  # a line is shorter than a pipe; nobody may read it
            if process.stdin is not None:
                process.stdin.write(line.encode())
                process.stdin.close()


@dataclass
class Status:
    """How watching goes.

    Attributes
    ----------
    state : str
        ``connecting``, ``learning``, ``watching``, ``lost`` or ``ended``.
    frames, dropped : int
        Frames that were analysed, and that came but were not.
    events, connections, clips_failed : int
    models : int
        Learned so far.
    uptime_s, time_s : float
        Since the start; and time of the frame analysed last.
    latency_s : float
        From the arrival of that frame to its result.
    event_open : bool
    """

    state: str = "connecting"
    frames: int = 0
    dropped: int = 0
    events: int = 0
    connections: int = 0
    clips_failed: int = 0
    models: int = 0
    uptime_s: float = 0.0
    time_s: float = 0.0
    latency_s: float = 0.0
    event_open: bool = False

    def write(self, path: Path) -> None:
        """Write it as JSON, complete at every moment.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        write_file(path, (json.dumps(asdict(self)) + "\n").encode())

    def metrics(self) -> str:
        """Give it as Prometheus text."""
        lines = []
        for name, value in asdict(self).items():
            if name == "state":
                lines += ["# TYPE bgsub_up gauge", f"bgsub_up {int(value in _UP)}"]
                continue
            is_count = name in {"frames", "dropped", "events", "connections", "models"}
            is_count = is_count or name == "clips_failed"
            kind, full = ("counter", f"{name}_total") if is_count else ("gauge", name)
            lines += [f"# TYPE bgsub_{full} {kind}", f"bgsub_{full} {float(value):g}"]
        return "\n".join(lines) + "\n"


_UP = {"learning", "watching"}


class MetricsServer:
    """Serves a status on http://127.0.0.1:PORT/metrics; a context manager.

    Parameters
    ----------
    status : Status
    port : int
        0 is any that is free.

    Attributes
    ----------
    port : int

    Raises
    ------
    OutputError
        If the port is taken.
    """

    def __init__(self, status: Status, port: int) -> None:
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
                """Say nothing on stderr."""

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            raise OutputError(f"--metrics {port}: cannot be served ({error.strerror})") from error
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])

    def __enter__(self) -> MetricsServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


What = Literal["start", "update", "end"]
Reason = Literal["gone", "lost", "changed", "over", "stopped"]
"""Why an event ended: nothing was seen any more; the stream was lost, or its pictures changed size;
it came to its end; or watching was stopped."""


@dataclass
class LiveEvent:
    """Something that is in sight.

    Attributes
    ----------
    number : int
        From 1.
    start_s, last_s : float
        When it was first and last seen.
    box : Box
        Where it was last seen, in pixels of the stream.
    tracks : set of int
    score : float
        Highest so far, in thresholds.
    frame_score : float or None
        Highest robust z-score of a whole frame so far.
    regions : set of str
        Names of those that it has been in.
    files : list of str
        Its clips: one, and another for each time that the stream was lost meanwhile.
    """

    number: int
    start_s: float
    last_s: float
    box: Box
    tracks: set[int] = field(default_factory=set)
    score: float = 0.0
    frame_score: float | None = None
    regions: set[str] = field(default_factory=set)
    files: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Give what a line says of it."""
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


Announce = Callable[[What, LiveEvent, Reason | None], None]


class LiveEvents:
    """Form events of the objects of frames, one at a time: as in a film, an event is a time.

    An event begins when the first of its objects was first seen, which is known later.

    Parameters
    ----------
    announce : callable
        Called with what happens, the event, and for its end why.
    regions : sequence of Region
    after_s : float
        An event ends when nothing has been seen for so long.
    update_s : float
        Seconds between updates.
    lost_s : float
        Seconds for which an event survives the loss of the stream.
    """

    def __init__(
        self,
        announce: Announce,
        *,
        regions: Sequence[Region] = (),
        after_s: float = 2.0,
        update_s: float = 1.0,
        lost_s: float = 10.0,
    ) -> None:
        self._announce, self._regions = announce, regions
        self._after_s, self._update_s, self._lost_s = after_s, update_s, lost_s
        self._updated_s = 0.0
        self._lost_at_s: float | None = None
        self._back_s = -math.inf
        self.open: LiveEvent | None = None
        self.count = 0

    def see(self, objects: Sequence[Observation], frame_score: float | None) -> None:
        """Take in the objects of a frame, in pixels of the stream."""
        if not objects:
            return
        now_s, box = objects[0].time_s, surround(each.box for each in objects)
        if self.open is None:
            self.count += 1
            start_s = min(
                each.time_s if math.isnan(each.first_s) else each.first_s for each in objects
            )
            self.open = LiveEvent(self.count, start_s, now_s, box)
            self._add(self.open, objects, frame_score)
            self._updated_s = now_s
            self._announce("start", self.open, None)
            return
        event = self.open
        event.last_s, event.box = now_s, box
        self._add(event, objects, frame_score)
        if now_s - self._updated_s >= self._update_s:
            self._updated_s = now_s
            self._announce("update", event, None)

    def _add(
        self, event: LiveEvent, objects: Sequence[Observation], frame_score: float | None
    ) -> None:
        event.tracks.update(each.track for each in objects)
        event.regions.update(
            region.name
            for region in self._regions
            if any(region.holds(each.cx, each.cy) for each in objects)
        )
        scores = [each.score for each in objects if each.score == each.score]
        event.score = max([event.score, *scores])
        if frame_score is not None:
            before = event.frame_score
            event.frame_score = frame_score if before is None else max(before, frame_score)

    def pass_time(self, now_s: float) -> None:
        """Say that frames up to a time have been looked at."""
        if self.open is not None and now_s - max(self.open.last_s, self._back_s) > self._after_s:
            self.end("gone")

    def lose(self, now_s: float) -> None:
        """Say that the stream is lost at a time; called again while it is."""
        if self._lost_at_s is None:
            self._lost_at_s = now_s
        if self.open is not None and now_s - self._lost_at_s > self._lost_s:
            self.end("lost")

    def resume(self, now_s: float) -> None:
        """Say that a stream begins, or is back: what was in sight has time to be seen again."""
        if self._lost_at_s is not None:
            self._lost_at_s, self._back_s = None, now_s + SMALL_LASTING_S

    def end(self, reason: Reason) -> None:
        """End the event that is open, if there is one."""
        event, self.open = self.open, None
        if event is not None:
            self._announce("end", event, reason)
