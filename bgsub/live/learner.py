"""Have a scene learned from the last minutes, again and again, without anybody waiting for it."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import threading
from typing import BinaryIO, cast

import numpy as np

from bgsub.live.messages import Kept, LearningSettings, NotLearned
from bgsub.live.window import MOST_FRAMES, LiveModel
from bgsub.runtime.messages import receive, send
from bgsub.runtime.signals import held_back_in_children
from bgsub.video.frames import Bytes

_FIRST_FRAMES = 40
"""Frames that the time before the first model is cut into."""

_GROWTH = 100
"""Frames that any time since the beginning is cut into, until the window is full."""

_LEAST_FRAMES = 8
_AGAIN_S = 2.0
"""Before another process takes the place of one that died."""


class Schedule:
    """Which frames of a stream are learned from, and when.

    Parameters
    ----------
    window_s : float
        Seconds of the window, thinned to 500 frames.
    refresh_s : float
        Seconds after which a model is learned anew; the first ones sooner, when the time that they
        were learned from has doubled.
    warm_up_s : float
        Seconds before the first.
    """

    def __init__(self, *, window_s: float, refresh_s: float, warm_up_s: float) -> None:
        self._window_s, self._refresh_s, self._warm_up_s = window_s, refresh_s, warm_up_s
        self.begin()

    def begin(self) -> None:
        """Begin with an empty window."""
        self._began = self._learned_s = self._last_s = -np.inf
        self._frames = 0

    def wants(self, time_s: float) -> bool:
        """Say whether a frame is one of the window; in order of time, and once for each frame."""
        if not self._frames:
            self._began = self._learned_s = time_s
        elif time_s - self._last_s < self._step(time_s - self._began):
            return False
        self._last_s = time_s
        self._frames += 1
        return True

    def _step(self, age: float) -> float:
        """Seconds between frames that are kept: few at first, so that there are enough."""
        step = max(self._warm_up_s / _FIRST_FRAMES, age / _GROWTH)
        return min(step, self._window_s / MOST_FRAMES) if age > self._warm_up_s else step

    def is_due(self) -> bool:
        """Say whether a model is to be learned with the frame that was wanted last."""
        # Young models know little: they are replaced when the time that they knew has doubled.
        known = max(self._learned_s - self._began, self._warm_up_s)
        due = self._warm_up_s if self._learned_s == self._began else min(self._refresh_s, known)
        if self._frames < _LEAST_FRAMES or self._last_s - self._learned_s < due:
            return False
        self._learned_s = self._last_s
        return True


class Learner:
    """The newest model of a stream, which a process learns, from `start` to `close`.

    Parameters
    ----------
    settings : LearningSettings
    schedule : Schedule
    stop : threading.Event, optional
        Frames wait for a model that is due, until this is set: where nothing is lost by it, results
        do not depend on how quick the machine is. None to wait for nothing.

    Attributes
    ----------
    model : LiveModel or None
    complaints : SimpleQueue of str
        What a person should know.
    """

    def __init__(
        self,
        settings: LearningSettings,
        schedule: Schedule,
        stop: threading.Event | None = None,
    ) -> None:
        self._settings, self._schedule, self._stop = settings, schedule, stop
        self._kept: queue.SimpleQueue[Kept | None] = queue.SimpleQueue()
        self._is_due = False
        self._process: subprocess.Popen[bytes] | None = None
        self._closed, self._answered = threading.Event(), threading.Event()
        self.model: LiveModel | None = None
        self.complaints: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="bgsub-learner", daemon=True)

    def start(self) -> None:
        """Start the process."""
        self._thread.start()

    def close(self) -> None:
        """Learn no more: a fit takes seconds, and nobody wants what comes of it now."""
        self._closed.set()
        if self._process is not None:
            self._process.kill()
        self._thread.join(timeout=1.0)

    def offer(self, row: Bytes, time_s: float) -> None:
        """Show a frame, which is kept if it is time for one; in order of time."""
        if not self._schedule.wants(time_s):
            return
        self._is_due = self._schedule.is_due() or self._is_due
        # Where the process gets no time at all, frames do not pile up.
        if self._kept.qsize() > MOST_FRAMES:
            return
        kept, self._is_due = Kept(time_s, row.tobytes(), self._is_due), False
        self._answered.clear()
        self._kept.put(kept)
        if self._stop is not None and kept.is_due:
            while not (self._stop.is_set() or self._closed.is_set()):
                if self._answered.wait(0.1):
                    return

    def _run(self) -> None:
        while not self._closed.is_set():
            # A terminal sends Ctrl-C to all processes, to one that still imports its modules too.
            with held_back_in_children("SIGINT", "SIGTERM"):
                started = subprocess.Popen(
                    [sys.executable, "-m", "bgsub.live.learning"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            # Frames that it has not taken cannot be flushed to a process that is dead.
            with contextlib.suppress(BrokenPipeError), started as process:
                self._process = process
                if not self._closed.is_set():
                    self._talk(process)
                process.kill()
            self._answered.set()
            if not self._closed.wait(_AGAIN_S):
                self.complaints.put("the process that learns the scene died; another one begins")

    def _talk(self, process: subprocess.Popen[bytes]) -> None:
        """Pass frames on and take models, until the process ends."""
        kept, pipe = self._kept, cast("BinaryIO", process.stdin)
        feeder = threading.Thread(target=self._feed, args=(pipe, kept), daemon=True)
        feeder.start()
        self._listen(cast("BinaryIO", process.stdout))
        kept.put(None)
        feeder.join()
        # The window is lost with the process.
        self._kept = queue.SimpleQueue()
        self._schedule.begin()

    def _listen(self, pipe: BinaryIO) -> None:
        while (answer := receive(pipe)) is not None:
            if isinstance(answer, LiveModel):
                self.model = answer
            elif isinstance(answer, NotLearned):
                message = "a model could not be learned, and the last one is used further"
                self.complaints.put(f"{message} ({answer.reason})")
            self._answered.set()

    def _feed(self, pipe: BinaryIO, kept: queue.SimpleQueue[Kept | None]) -> None:
        with contextlib.suppress(OSError):
            send(pipe, self._settings)
            while (frame := kept.get()) is not None:
                send(pipe, frame)
