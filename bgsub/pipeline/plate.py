"""Make a picture of the empty scene: what is there when no object is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.camera import moved
from bgsub.background.composite import ENOUGH, inpainted, put_median
from bgsub.background.light import lit
from bgsub.background.plates import at_working_size
from bgsub.background.sample import MOST_FRAMES as SAMPLED
from bgsub.background.sample import full_frames
from bgsub.errors import UsageError
from bgsub.options import SourceOptions
from bgsub.runtime.threads import Workers
from bgsub.segmenter.masks import MaskModel
from bgsub.video.frames import Bytes
from bgsub.video.seek import glimpse
from bgsub.video.selection import sample_rows
from bgsub.video.source import Footage, open_source

MOST_FRAMES = 300
"""Frames that are looked at, at most."""


_PICTURES = 70_000_000
"""Bytes of the frames that are looked at, unless a model takes more."""


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
    def hardly_seen(self) -> float:
        """Share of the pixels whose background fewer than three frames show, or no frame."""
        return float((self.seen < min(ENOUGH, max(self.frames, 1))).mean())


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
    frames = glimpse(source, frames_looked_at(height, width), seed=seed)
    if len(frames) < 2:
        raise UsageError(f"{source.name}: has 1 frame, but a background takes 2")
    pictures = np.stack([frame.layout.to_bgr(frame.data) for frame in frames])
    del frames
    with Workers(threads) as workers:
        rows = sample_rows(len(pictures), SAMPLED, seed)
        small = np.stack([at_working_size(pictures[row]) for row in rows])
        model = MaskModel.learned(small, (height, width), each=workers.map)
        del small
        empty = np.stack(list(workers.map(lambda one: model.mask(one) == 0, pictures)))
    return plates_of(model, pictures, empty)


def frames_looked_at(height: int, width: int) -> int:
    """Give the number of frames that a picture of the empty scene is made of, at most.

    More where they are small: they make the median of a place whose light flickers steadier.
    """
    return max(full_frames(height, width), min(MOST_FRAMES, _PICTURES // (3 * height * width)))


def plates_of(model: MaskModel, pictures: Bytes, empty: NDArray[np.bool_]) -> list[Plate]:
    """Compose what lies behind the objects of some frames.

    Parameters
    ----------
    model : MaskModel
    pictures : ndarray of shape (n, h, w) or (n, h, w, 3), uint8
        Overwritten: they are moved to one place and brought into one light.
    empty : ndarray of shape (n, h, w), bool
        Where they show no object.

    Returns
    -------
    list of Plate
        One for each state of the scene, that of most frames of the model first.
    """
    shown = np.empty_like(empty)
    states = np.empty(len(pictures), np.int64)
    scene = model.scene
    for i, (picture, free) in enumerate(zip(pictures, empty, strict=True)):
        states[i], light, motion = scene.state_of(picture)
        shown[i] = moved(free.view(np.uint8), motion) > 0
        placed = moved(picture, motion)
        if placed.ndim == 3:
            placed = lit(placed, light.inverse())
        elif not light.is_usual:
            placed = cv2.LUT(placed, light.inverse().table()[0, :, 1])
        pictures[i] = placed
    plates = []
    for state, learned in enumerate(scene.background.states):
        here = states == state
        members = pictures if here.all() else pictures[here]  # mostly one state: no copy
        size = scene.shape[::-1]
        plate = cv2.resize(learned.colors[0], size, interpolation=cv2.INTER_CUBIC)
        if pictures.ndim == 3:
            plate = cv2.cvtColor(plate, cv2.COLOR_BGR2GRAY)
        picture = np.asarray(plate, np.uint8)
        free = shown if here.all() else shown[here]
        seen = np.count_nonzero(free, axis=0).astype(np.uint16)
        if len(members):
            picture = inpainted(picture, seen == 0)
            put_median(picture, members, free, min(ENOUGH, len(members)))
        plates.append(Plate(picture, seen, len(members)))
    return plates


def seen_in_all(plates: Sequence[Plate]) -> NDArray[np.uint16]:
    """Give the number of frames, of all states of a scene, that show each pixel's background."""
    return np.asarray(np.sum([plate.seen for plate in plates], axis=0), dtype=np.uint16)
