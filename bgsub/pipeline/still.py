"""Make background.png of the frames of a run: one picture of the scene without its objects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgsub.background.sample import full_frames
from bgsub.pipeline.consumers import Need
from bgsub.pipeline.frames import SceneFrame
from bgsub.pipeline.masker import Masker
from bgsub.video.frames import Bytes
from bgsub.video.images import write_image

_PICTURE = 4
"""Bytes that are kept of a pixel: its colours, and whether an object is there."""


def still_bytes(frames: int, height: int, width: int) -> int:
    """Give the memory that a `StillOutput` takes."""
    return _PICTURE * height * width * min(frames, full_frames(height, width))


class StillOutput:
    """A consumer that keeps some of the frames, spread over the film, and writes what they share.

    Parameters
    ----------
    path : Path
        Of the picture.
    masker : Masker
        Says what lies behind the objects.
    """

    needs: frozenset[Need] = frozenset({"mask"})

    def __init__(self, path: Path, masker: Masker) -> None:
        self._path, self._masker = path, masker
        self._pictures: Bytes | None = None
        self._empty: NDArray[np.bool_] = np.empty(0, np.bool_)
        self._passed, self._kept, self._every = 0, 0, 1

    def prepare(self, frame: SceneFrame) -> None:
        """Nothing can be done for one frame alone."""

    def take(self, frame: SceneFrame, prepared: None) -> None:
        """Keep a frame if it is one of every so many, of which ever fewer are kept."""
        del prepared
        number, self._passed = self._passed, self._passed + 1
        if number % self._every:
            return
        if self._pictures is None:
            most = full_frames(frame.layout.height, frame.layout.width)
            self._pictures = np.empty((most, *frame.picture.shape), np.uint8)
            self._empty = np.empty((most, *frame.mask.shape), np.bool_)
        if self._kept == len(self._pictures):
            self._kept, self._every = (self._kept + 1) // 2, 2 * self._every
            for kept in (self._pictures, self._empty):
                for i in range(1, self._kept):
                    kept[i] = kept[2 * i]
            if number % self._every:
                return
        self._pictures[self._kept] = frame.picture
        np.equal(frame.mask, 0, out=self._empty[self._kept])
        self._kept += 1

    def close(self) -> None:
        """Write the picture."""
        if self._pictures is not None:
            pictures, empty = self._pictures[: self._kept], self._empty[: self._kept]
            write_image(self._path, self._masker.empty_scene(pictures, empty))
        self._pictures = None

    def abort(self) -> None:
        """Let go of the frames."""
        self._pictures = None
