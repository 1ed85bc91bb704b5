"""Learn a scene from the last minutes, again and again, without anybody waiting for it."""

from __future__ import annotations

import logging
import threading
import warnings
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import BgsubWarning
from bgsub.local.model import LocalModel
from bgsub.local.params import MaskOptions
from bgsub.local.sampling import sample_size
from bgsub.outliers.frame_scorer import shrink
from bgsub.outliers.scorer_size import shrinking
from bgsub.robustpca.online import OnlineTRPCA
from bgsub.robustpca.reweight import FOOTAGE_CUTOFF
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes, Layout

logger = logging.getLogger(__name__)

MOST_FRAMES = 500
"""Frames of a window."""

_FIRST_FRAMES = 40
"""Frames that the time before the first model is cut into."""

_GROWTH = 100
"""Frames that any time since the beginning is cut into, until the window is full."""

_LEAST_FRAMES = 8
_COMPONENTS = 3


@dataclass(frozen=True, eq=False)
class LiveModel:
    """What was learned of a scene up to a moment.

    Attributes
    ----------
    local : LocalModel
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

    local: LocalModel
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


class Learner:
    """The window of a stream, and the newest model of it.

    A context manager: a thread learns until its end.

    Parameters
    ----------
    layout : Layout
        Of the frames.
    options : MaskOptions
    workers : Workers
    window_s : float
        Seconds of the window, thinned to 500 frames.
    refresh_s : float
        Seconds after which a model is learned anew; the first ones sooner, when the time that they
        were learned from has doubled.
    warm_up_s : float
        Seconds before the first.
    is_patient : bool
        Whether frames wait for a model that is due: where nothing is lost by it, results do not
        depend on how quick the machine is.
    """

    def __init__(
        self,
        layout: Layout,
        options: MaskOptions,
        workers: Workers,
        *,
        window_s: float,
        refresh_s: float,
        warm_up_s: float,
        is_patient: bool = False,
    ) -> None:
        self._layout, self._options, self._workers = layout, options, workers
        self._window_s, self._refresh_s, self._warm_up_s = window_s, refresh_s, warm_up_s
        self._is_patient = is_patient
        self._frames: deque[tuple[float, Bytes]] = deque(maxlen=MOST_FRAMES)
        self._new: list[Bytes] = []
        self._lock = threading.Lock()
        self._due = threading.Event()
        self._stop = False
        self._began: float | None = None
        self._learned_s: float | None = None
        self._fit = OnlineTRPCA(
            _COMPONENTS, window=MOST_FRAMES, random_state=0, reweight_cutoff=FOOTAGE_CUTOFF
        )
        self.model: LiveModel | None = None
        self._thread = threading.Thread(target=self._run, name="bgsub-learner", daemon=True)

    def __enter__(self) -> Learner:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Learn no more."""
        self._stop = True
        self._due.set()
        # A fit takes seconds, and nobody wants what comes of it now.
        self._thread.join(timeout=0.1)

    def offer(self, row: Bytes, time_s: float) -> None:
        """Show a frame, which is kept if it is time for one; in order of time."""
        began = self._began = time_s if self._began is None else self._began
        with self._lock:
            last = self._frames[-1][0] if self._frames else -np.inf
            if time_s - last < self._step(time_s - began):
                return
            self._frames.append((time_s, row))
            self._new.append(row)
            while self._frames[0][0] < time_s - self._window_s:
                self._frames.popleft()
            is_enough = len(self._frames) >= _LEAST_FRAMES
        since = time_s - (began if self._learned_s is None else self._learned_s)
        # Young models know little: they are replaced when the time that they knew has doubled.
        due = self._warm_up_s
        if self._learned_s is not None:
            due = min(self._refresh_s, max(self._learned_s - began, self._warm_up_s))
        if is_enough and since >= due:
            self._learned_s = time_s
            if self._is_patient:
                self._learn()
            else:
                self._due.set()

    def _step(self, age: float) -> float:
        """Seconds between frames that are kept: few at first, so that there are enough."""
        step = max(self._warm_up_s / _FIRST_FRAMES, age / _GROWTH)
        return min(step, self._window_s / MOST_FRAMES) if age > self._warm_up_s else step

    def _run(self) -> None:
        while True:
            self._due.wait()
            self._due.clear()
            if self._stop:
                return
            try:
                self._learn()
            except Exception:  # the last model goes on serving
                logger.exception("a model could not be learned; the last one is used further")

    def _learn(self) -> None:
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
        local = LocalModel.fit(pictures, workers=self._workers, options=self._options)
        self.model = LiveModel(
            local.with_options(self._options),
            frames[-1][0],
            len(frames),
            self._fit.center_,
            self._fit.components_,
            self._fit.error_location_,
            self._fit.error_scale_,
        )

    def _chosen(self, times: NDArray[np.float64]) -> list[int]:
        """Pick frames for local models, spread evenly over the time of the window."""
        count = min(len(times), sample_size(self._layout.height, self._layout.width))
        wanted = np.linspace(times[0], times[-1], count)
        nearest = np.abs(times[:, None] - wanted).argmin(axis=0)
        return [int(i) for i in np.unique(nearest)]
