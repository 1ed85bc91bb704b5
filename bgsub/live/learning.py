"""Hold the last minutes of a stream, and learn the scene from them."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import warnings
from collections import deque
from dataclasses import dataclass, replace
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from bgsub.background.sample import MOST_FRAMES as SAMPLE
from bgsub.errors import BgsubWarning
from bgsub.live.decoding import Kept, LearningSettings, NotLearned
from bgsub.outliers.own_light import shrink, shrinking
from bgsub.robustpca.checks import support_size
from bgsub.robustpca.online import OnlineTRPCA
from bgsub.robustpca.reweight import FOOTAGE_CUTOFF
from bgsub.runtime.messages import receive, send
from bgsub.runtime.signals import held_back_in_children
from bgsub.runtime.threads import Workers
from bgsub.segmenter.masks import MaskModel, MaskOptions
from bgsub.video.frames import Bytes, Layout

MOST_FRAMES = 500
"""Frames of a window."""

_COMPONENTS = 3

_FRAMES_A_COMPONENT = 3
"""Frames of the support for each component, at least: fewer fit but themselves."""


@dataclass(frozen=True, eq=False)
class LiveModel:
    """What was learned of a scene up to a moment.

    Attributes
    ----------
    masks : MaskModel
        Gives masks.
    learned_s : float
        Time of the latest frame in it; 0 for a model that was given.
    frames : int
        Of the window.
    center, components : ndarray, optional
        Of the fit to the window's luma, shrunk.
    location, scale : float
        Of √r in it, grey levels.
    """

    masks: MaskModel
    learned_s: float = 0.0
    frames: int = 0
    center: NDArray[np.float64] | None = None
    components: NDArray[np.float64] | None = None
    location: float = 0.0
    scale: float = 1.0

    def frame_score(self, luma: Bytes) -> float | None:
        """Give the robust z-score of a frame's error against the window; None without a fit."""
        if self.center is None or self.components is None:
            return None
        rest = _shrunk(luma).astype(np.float64).ravel() - self.center
        rest -= (self.components @ rest) @ self.components
        return float((np.sqrt(rest @ rest) - self.location) / max(self.scale, 1e-9))


def _shrunk(luma: Bytes) -> Bytes:
    factor = 2 * shrinking(*luma.shape)
    small: Bytes = np.clip(shrink(luma, factor) + 0.5, 0, 255).astype(np.uint8)
    return small


class Window:
    """The frames of the last minutes, and models of them; frames may come while it learns.

    Parameters
    ----------
    layout : Layout
        Of the frames.
    options : MaskOptions
    window_s : float
        Seconds; of more than 500 frames the oldest go.
    """

    def __init__(self, layout: Layout, options: MaskOptions, window_s: float) -> None:
        self._layout, self._options, self._window_s = layout, options, window_s
        self._frames: deque[tuple[float, Bytes]] = deque(maxlen=MOST_FRAMES)
        self._new: list[Bytes] = []
        self._lock = threading.Lock()
        self._fit = OnlineTRPCA(
            _COMPONENTS, window=MOST_FRAMES, random_state=0, reweight_cutoff=FOOTAGE_CUTOFF
        )

    @property
    def times(self) -> list[float]:
        """Of the frames, in seconds."""
        return [time_s for time_s, _ in self._frames]

    def add(self, row: Bytes, time_s: float) -> None:
        """Take in a frame, in order of time."""
        with self._lock:
            self._frames.append((time_s, row))
            self._new.append(row)
            while self._frames[0][0] < time_s - self._window_s:
                self._frames.popleft()

    def learn(self, workers: Workers) -> LiveModel:
        """Learn from the window as it is."""
        with self._lock:
            frames, new = list(self._frames), self._new
            self._new = []
        layout = self._layout
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BgsubWarning)
            self._fit.partial_fit(np.stack([_shrunk(layout.luma(row)).ravel() for row in new]))
        chosen = self._chosen(np.array([time_s for time_s, _ in frames]))
        pictures = np.stack([layout.to_bgr(frames[i][1]) for i in chosen])
        masks = MaskModel.fit(pictures, self._options, plates=False, each=workers.map)
        learned = LiveModel(masks, frames[-1][0], len(frames))
        if support_size(self._fit.errors_.size, None) < _FRAMES_A_COMPONENT * _COMPONENTS:
            return learned
        return replace(
            learned,
            center=self._fit.center_,
            components=self._fit.components_,
            location=self._fit.error_location_,
            scale=self._fit.error_scale_,
        )

    def _chosen(self, times: NDArray[np.float64]) -> list[int]:
        """Pick frames for mask models, spread evenly over the time of the window."""
        count = min(len(times), SAMPLE)
        wanted = np.linspace(times[0], times[-1], count)
        nearest = np.abs(times[:, None] - wanted).argmin(axis=0)
        return [int(i) for i in np.unique(nearest)]


_NICENESS = 10


def main() -> None:
    """Learn whenever it is due, until standard input ends."""
    # Ctrl-C, and what a supervisor sends to all, is for the parent to decide on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # Nothing that a library prints may get between the messages.
    models = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    settings = receive(sys.stdin.buffer)
    if not isinstance(settings, LearningSettings):
        return
    if settings.gives_way:
        os.nice(_NICENESS)
    window = Window(settings.layout, settings.options, settings.window_s)
    due = threading.Semaphore(0)
    threading.Thread(target=_take_in, args=(sys.stdin.buffer, window, due), daemon=True).start()
    with Workers(settings.threads) as workers:
        while due.acquire():
            send(models, _learn(window, workers))


def _learn(window: Window, workers: Workers) -> object:
    try:
        return window.learn(workers)
    except Exception as error:  # noqa: BLE001 - the last model goes on serving
        return NotLearned(str(error) or type(error).__name__)


def _take_in(pipe: BinaryIO, window: Window, due: threading.Semaphore) -> None:
    while isinstance(message := receive(pipe), Kept):
        window.add(np.frombuffer(message.row, np.uint8), message.time_s)
        if message.is_due:
            due.release()
    os._exit(0)


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
                    [sys.executable, "-c", "from bgsub.live.learning import main; main()"],
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
