"""Make a picture of the empty scene: what is there when no object is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import UsageError
from bgsub.local.channels import distances_to, largest_difference
from bgsub.local.model import LocalModel
from bgsub.local.placing import at_place
from bgsub.local.recurrence import what_comes_back
from bgsub.local.sampling import sample_size
from bgsub.runtime.threads import Workers
from bgsub.source_options import SourceOptions
from bgsub.video.frames import Bytes
from bgsub.video.seek import glimpse
from bgsub.video.selection import sample_rows
from bgsub.video.source import Footage, open_source

MOST_FRAMES = 300
"""Frames that are looked at, at most."""


_PICTURES = 70_000_000
"""Bytes of the frames that are looked at, unless a model takes more."""

_ENOUGH = 3
"""Frames that must show a place for their median to be believed."""

_ROWS, _HIDDEN = 64, 255
"""Rows that are worked on at a time, and the level of what is hidden, which sorts last."""

_NEAR, _NOISE, _AROUND = 20, 3, (8, 8)
"""Grey levels from a colour of the background up to which a frame shows it, as visitors have other
colours as often as not; or so many times what the place around changes by from frame to frame, the
median over time: leaves are of all colours that they move between."""


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
    frames = glimpse(source, frames_looked_at(height, width), seed=seed)
    if len(frames) < 2:
        raise UsageError(f"{source.name}: has 1 frame, but a background takes 2")
    pictures = np.stack([frame.layout.to_bgr(frame.data) for frame in frames])
    learned = sample_rows(len(pictures), sample_size(height, width), seed)
    with Workers(threads) as workers:
        model = LocalModel.fit(pictures[learned], workers=workers, seed=seed)
    empty = np.stack([model.mask(picture) == 0 for picture in pictures])
    return plates_of(model, pictures, empty)


def frames_looked_at(height: int, width: int) -> int:
    """Give the number of frames that a picture of the empty scene is made of, at most.

    Those that a local model is fitted to, and more where they are small: they make the median of a
    place whose light flickers steadier.
    """
    return max(sample_size(height, width), min(MOST_FRAMES, _PICTURES // (3 * height * width)))


def plates_of(model: LocalModel, pictures: Bytes, empty: NDArray[np.bool_]) -> list[Plate]:
    """Put together what lies behind the objects of some frames.

    Parameters
    ----------
    model : LocalModel
    pictures : ndarray of shape (n, h, w) or (n, h, w, 3), uint8
        Overwritten: parts of a film in one light make one picture, those in several a patchwork.
    empty : ndarray of shape (n, h, w), bool
        Where they show no object.

    Returns
    -------
    list of Plate
        One for each state of the scene, that of most frames of the model first.
    """
    if model.registration is not None:
        moved = empty.copy()
        for picture, inside in zip(pictures, moved, strict=True):
            picture[:], inside[:], *_ = at_place(model.registration, picture, inside)
        empty = moved
    states = np.empty(len(pictures), np.int64)
    for i, picture in enumerate(pictures):
        states[i], pictures[i] = _in_usual_light(model, picture, empty[i])
    plates = []
    for state, scene in enumerate(model.scenes):
        # Most scenes have one state, whose frames need no copy.
        here = slice(None) if len(model.scenes) == 1 else states == state
        layers = scene.colors[..., 0] if pictures.ndim == 3 else scene.colors
        picture = _median_of_background(pictures[here], empty[here], layers)
        back = what_comes_back(pictures[here], picture, _overruled(model, state))
        _put_median(picture, pictures[here], back)
        seen = np.count_nonzero(empty[here], axis=0).astype(np.uint16)
        plates.append(Plate(picture, seen, len(states[here])))
    return plates


def _in_usual_light(
    model: LocalModel, picture: Bytes, empty: NDArray[np.bool_]
) -> tuple[int, Bytes]:
    """Give the state of the scene that a frame shows, and the frame in the light of that.

    In its own light where that is far from it, and the frame was never near the scene: darker, any
    crowd is like a dark room. And where it shows as much of the scene in its own.
    """
    state, lit = model.recognize(picture)
    own = model.scenes[state].colors[0]
    if picture.ndim == 2:
        lit, own = lit[..., 0], own[..., 0]
    near, lit_near, moved = (
        np.count_nonzero(empty & (largest_difference(*pair) <= _NEAR))
        for pair in ((picture, own), (lit, own), (picture, lit))
    )
    return state, lit if lit_near > near and 2 * moved > np.count_nonzero(empty) else picture


def _overruled(model: LocalModel, state: int) -> NDArray[np.bool_]:
    """Mark where what is seen most is not the background, as an object came or left, (h, w)."""
    decided = np.zeros(model.shape, np.bool_)
    for one in model.history.regions:
        if one["state"] == state and one["overruled_pixels"]:
            decided[one["y"] : one["y"] + one["height"], one["x"] : one["x"] + one["width"]] = True
    return decided


def seen_in_all(plates: Sequence[Plate]) -> NDArray[np.uint16]:
    """Give the number of frames, of all states of a scene, that show each pixel's background."""
    return np.asarray(np.sum([plate.seen for plate in plates], axis=0), dtype=np.uint16)


def _median_of_background(pictures: Bytes, empty: NDArray[np.bool_], layers: Bytes) -> Bytes:
    """Give the median of the frames that show background, of the lower two in the middle.

    That is where no object is and the colour is near one that the model takes for the background.
    Where fewer than `_ENOUGH` frames do, it is the most frequent of these.
    """
    plate = np.array(layers[0], dtype=np.uint8)
    if not len(pictures):
        return plate
    near = _nearness(pictures)
    fits = np.stack(
        [seen & _is_near(one, layers, near) for one, seen in zip(pictures, empty, strict=True)]
    )
    _put_median(plate, pictures, fits)
    return plate


def _put_median(plate: Bytes, pictures: Bytes, fits: NDArray[np.bool_]) -> None:
    """Put the median of the frames that fit into a plate, where there are enough of them."""
    for start in range(0, pictures.shape[1], _ROWS):
        rows = slice(start, start + _ROWS)
        here = fits[:, rows] if pictures.ndim == 3 else fits[:, rows, :, None]
        counts = np.count_nonzero(here, axis=0)
        enough = counts >= _ENOUGH
        if not enough.any():
            continue
        shown = np.where(here, pictures[:, rows], np.uint8(_HIDDEN))
        middle = _of_rank(shown, (counts - 1) // 2)
        np.copyto(plate[rows], middle, where=enough)


def _of_rank(values: Bytes, ranks: NDArray[np.int64]) -> Bytes:
    """Give of each column of bytes the one that so many are smaller than, bit by bit.

    A tenth of the time that sorting takes. `values` are of shape (n, …), `ranks` broadcast to (…).
    """
    found = np.zeros(values.shape[1:], np.uint8)
    below = np.empty(found.shape, np.bool_)
    # Bytes are added to bytes in a fraction of the time that converting them takes.
    counts = np.uint8 if len(values) < 1 << 8 else np.uint16
    for bit in (128, 64, 32, 16, 8, 4, 2, 1):
        least = found | np.uint8(bit)
        smaller = np.zeros(found.shape, counts)
        for value in values:
            smaller += np.less(value, least, out=below).view(np.uint8)
        np.copyto(found, least, where=smaller <= ranks)
    return found


def _nearness(pictures: Bytes) -> Bytes:
    """Give how near to a colour of its place a pixel is, in grey levels, (h, w)."""
    if len(pictures) < 2:
        return np.full(pictures.shape[1:3], _NEAR, np.uint8)
    steps = np.stack([largest_difference(*pair) for pair in pairwise(pictures)])
    middle = np.full(steps.shape[1:], (len(steps) - 1) // 2)
    around = cv2.blur(_of_rank(steps, middle), _AROUND)
    return np.maximum(np.minimum(around, 255 // _NOISE) * np.uint8(_NOISE), np.uint8(_NEAR))


def _is_near(picture: Bytes, layers: Bytes, near: Bytes) -> NDArray[np.bool_]:
    """Say where a frame shows a colour of the background."""
    return np.asarray(distances_to(layers, picture).min(axis=0) <= near)
