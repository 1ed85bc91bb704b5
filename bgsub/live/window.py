"""Hold the last minutes of a stream, and learn the scene from them."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import BgsubWarning
from bgsub.local.model import LocalModel
from bgsub.local.params import MaskOptions
from bgsub.local.sampling import sample_size
from bgsub.outliers.scorer_size import shrink, shrinking
from bgsub.robustpca.checks import support_size
from bgsub.robustpca.online import OnlineTRPCA
from bgsub.robustpca.reweight import FOOTAGE_CUTOFF
from bgsub.runtime.threads import Workers
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
        local = LocalModel.fit(pictures, workers=workers, options=self._options)
        learned = LiveModel(local, frames[-1][0], len(frames))
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
        """Pick frames for local models, spread evenly over the time of the window."""
        count = min(len(times), sample_size(self._layout.height, self._layout.width))
        wanted = np.linspace(times[0], times[-1], count)
        nearest = np.abs(times[:, None] - wanted).argmin(axis=0)
        return [int(i) for i in np.unique(nearest)]
