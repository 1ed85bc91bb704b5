"""Make a picture of the empty scene: what is there when no object is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import UsageError
from bgsub.local.model import LocalModel
from bgsub.local.sampling import sample_size
from bgsub.options import SourceOptions
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes
from bgsub.video.glimpses import glimpse
from bgsub.video.source import Footage, open_source

MOST_FRAMES = 300
"""Frames that are looked at, at most."""


@dataclass(frozen=True, eq=False)
class Plate:
    """The empty scene in one of its states.

    Attributes
    ----------
    picture : ndarray of shape (h, w) or (h, w, 3), uint8
    seen : ndarray of shape (h, w), uint16
        Number of frames that show the background there; 0 where it was never seen, and is filled
        in from what lies around.
    frames : int
        Frames in this state.
    """

    picture: Bytes
    seen: NDArray[np.uint16]
    frames: int

    @property
    def never_seen(self) -> int:
        """Pixels whose background no frame shows."""
        return int(np.count_nonzero(self.seen == 0))


def empty_scene(
    footage: Footage,
    options: SourceOptions | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
) -> list[Plate]:
    """Look at frames of a film, and put together what lies behind the objects.

    Parameters
    ----------
    footage : str, Path or ndarray
    options : SourceOptions, optional
    seed : int
    threads : int, optional

    Returns
    -------
    list of Plate
        One for each state of the scene (lights on, lights off), that of most frames first.

    Raises
    ------
    BgsubError
        If the footage cannot be read, or has a single frame.

    Notes
    -----
    At most 300 frames are decoded where the film can be sought.
    """
    plain = (options or SourceOptions()).to_json()
    source = open_source(footage, **plain, exact_color=True, threads=threads)
    height, width = source.layout.height, source.layout.width
    count = min(MOST_FRAMES, sample_size(height, width))
    frames = glimpse(source, count, seed=seed)
    if len(frames) < 2:
        raise UsageError(f"{source.name}: has 1 frame, but a background takes 2")
    pictures = np.stack([frame.layout.to_bgr(frame.data) for frame in frames])
    with Workers(threads) as workers:
        model = LocalModel.fit(pictures.copy(), workers=workers, seed=seed)
    seen = [np.zeros((height, width), np.uint16) for _ in model.scenes]
    shown = [0] * len(model.scenes)
    for picture in pictures:
        state = model.state_of(picture)
        seen[state] += model.mask(picture) == 0
        shown[state] += 1
    is_grey = pictures.ndim == 3
    return [
        Plate(_picture(scene.colors[0], is_grey=is_grey), seen[i], shown[i])
        for i, scene in enumerate(model.scenes)
    ]


def _picture(colors: Bytes, *, is_grey: bool) -> Bytes:
    return np.ascontiguousarray(colors[..., 0] if is_grey else colors)
