"""Pick the frames that a local model is fitted to out of a film as it passes by."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bgsub.local.clean_frames import coarseness
from bgsub.local.history import Moment
from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes, Layout
from bgsub.video.selection import sample_rows

_SAMPLE_BYTES = 70_000_000
# Measured: the layers, as they are settled; the layers and the history of every place; threads.
_SETTLED, _PER_PIXEL, _PER_PLACE, _SCRATCH = 140, 60, 450, 24_000_000
_MOST_SAMPLE, _LEAST_SAMPLE = 150, 24
_SMALL = 160 * 120


def sample_bytes(frames: int, height: int, width: int) -> int:
    """Memory of the pictures that a model is fitted to."""
    return 3 * height * width * min(frames, sample_size(height, width))


def fit_bytes(frames: int, height: int, width: int) -> int:
    """Memory that fitting a model to a film of so many frames takes at most, its pictures too."""
    pixels, taken = height * width, min(frames, sample_size(height, width))
    places = pixels / coarseness(height, width) ** 2
    labels = taken * pixels
    stages = max(_SETTLED * pixels, int(_PER_PIXEL * pixels + (_PER_PLACE + taken) * places))
    return sample_bytes(frames, height, width) + labels + stages + _SCRATCH


def sample_size(height: int, width: int) -> int:
    """Frames that a model is fitted to, if there are so many.

    150 of up to 160×120, 75 from 320×240 on, fewer of more than 558×558: where pixels are few, each
    is a larger part of a person, and needs more frames to tell people from the place.
    """
    pixels = height * width
    wanted = round(_MOST_SAMPLE * min(1.0, math.sqrt(_SMALL / pixels)))
    return max(_LEAST_SAMPLE, min(max(wanted, _MOST_SAMPLE // 2), _SAMPLE_BYTES // (3 * pixels)))


class PictureSample:
    """A seeded sample of a film: one frame of each of equal stretches, as pictures.

    Parameters
    ----------
    layout : Layout
    frames : int
        Of the film.
    seed : int
    """

    def __init__(self, layout: Layout, frames: int, seed: int) -> None:
        self._layout, self._seed = layout, seed
        count = min(frames, sample_size(layout.height, layout.width))
        self._chosen = sample_rows(frames, count, seed)
        self._pictures = np.empty((count, layout.height, layout.width, 3), np.uint8)

    def add(self, start: int, rows: Bytes) -> None:
        """Pass the frames start, start + 1, …; shape (m, size)."""
        inside = np.flatnonzero((self._chosen >= start) & (self._chosen < start + len(rows)))
        for i in inside.tolist():
            picture = self._layout.seen(rows[self._chosen[i] - start])
            self._pictures[i] = picture if picture.ndim == 3 else picture[..., None]

    @property
    def pictures(self) -> Bytes:
        """The sample, shape (n, h, w, 3)."""
        return self._pictures

    def fit(
        self,
        workers: Workers,
        moments: Sequence[Moment] | None = None,
        params: LocalParams = DEFAULTS,
    ) -> LocalModel:
        """Learn the scene; the pictures are used up.

        Parameters
        ----------
        workers : Workers
        moments : sequence of (int, float), optional
            Number and time of each frame that was passed; see `LocalModel.fit`.
        params : LocalParams, optional
        """
        own = None if moments is None else self._own(moments)
        return LocalModel.fit(
            self._pictures, workers=workers, seed=self._seed, moments=own, params=params
        )

    def _own(self, moments: Sequence[Moment]) -> list[Moment]:
        return [moments[i] for i in self._chosen.tolist()]
