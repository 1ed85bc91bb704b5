"""Make pictures of the empty scene: background.png of a run, and those of `bgsub background`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgsub.background.composite import Plate, plates_of
from bgsub.background.plates import at_working_size
from bgsub.background.sample import MOST_FRAMES as SAMPLED
from bgsub.background.sample import full_frames
from bgsub.background.scene import Shown
from bgsub.errors import UsageError
from bgsub.options import SourceOptions
from bgsub.pipeline.loop import SceneFrame, Sink
from bgsub.pipeline.scene import LearnedScene
from bgsub.runtime.threads import Workers
from bgsub.segmenter.masks import MaskModel
from bgsub.segmenter.protocol import FrameView
from bgsub.video.frames import Bytes
from bgsub.video.images import write_image
from bgsub.video.seek import glimpse
from bgsub.video.selection import sample_rows
from bgsub.video.source import Footage, open_source

MOST_FRAMES = 300  # frames that `bgsub background` looks at, at most
_PICTURES = 70_000_000  # bytes of these frames, unless a model takes more


def empty_scene(
    footage: Footage,
    options: SourceOptions | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
) -> list[Plate]:
    """Look at frames of a film, and put together what lies behind the objects.

    Returns a picture for each state of the scene (lights on, lights off), that of most frames
    first. At most 300 frames are decoded where the film can be sought. UsageError for one frame.
    """
    plain = (options or SourceOptions()).to_json()
    source = open_source(footage, **plain, exact_color=True, threads=threads)
    height, width = source.layout.height, source.layout.width
    frames = glimpse(source, frames_looked_at(height, width), seed=seed)
    if len(frames) < 2:
        raise UsageError(f"{source.name}: has 1 frame, but a background takes 2")
    pictures = np.stack([frame.layout.to_bgr(frame.data) for frame in frames])
    del frames
    with Workers(threads) as workers:
        rows = sample_rows(len(pictures), SAMPLED, seed)
        small = np.stack([at_working_size(pictures[row]) for row in rows])
        model = MaskModel.learned(small, (height, width), None, workers.map)
        del small

        def look(picture: Bytes) -> tuple[NDArray[np.bool_], Shown | None]:
            seen = model.mask(FrameView.of(picture))
            return seen.mask == 0, seen.shown

        masks, shown = zip(*workers.map(look, pictures), strict=True)
        empty = np.stack(masks)
        del masks
    return plates_of(model.scene, pictures, empty, shown)


def frames_looked_at(height: int, width: int) -> int:
    """Return the most frames to look at: more of small ones, against flickering light."""
    return max(full_frames(height, width), min(MOST_FRAMES, _PICTURES // (3 * height * width)))


class StillOutput(Sink):
    """A sink that keeps some of the frames, spread over the film, and writes what they share."""

    needs = frozenset({"mask"})

    def __init__(self, path: Path, scene: LearnedScene) -> None:
        self._path, self._scene = path, scene
        self._pictures: Bytes | None = None
        self._empty: NDArray[np.bool_] = np.empty(0, np.bool_)
        self._shown: list[Shown | None] = []
        self._passed, self._kept, self._every = 0, 0, 1

    def write(self, frame: SceneFrame, prepared: None) -> None:
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
            self._shown = self._shown[::2]
            for kept in (self._pictures, self._empty):
                for i in range(1, self._kept):
                    kept[i] = kept[2 * i]
            if number % self._every:
                return
        self._pictures[self._kept] = frame.picture
        np.equal(frame.mask, 0, out=self._empty[self._kept])
        self._shown.append(frame.result.shown)
        self._kept += 1

    def close(self) -> None:
        """Write the picture."""
        if self._pictures is not None:
            pictures, empty = self._pictures[: self._kept], self._empty[: self._kept]
            shown = [one for one in self._shown if one is not None]
            write_image(self._path, self._scene.empty_scene(pictures, empty, shown))
        self._pictures = None
