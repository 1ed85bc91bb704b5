"""Find what every part of a picture comes back to: its place, as no two visitors look alike.

Colours of single pixels do not tell a place that is seen for a fifth of the time from people in
dark clothes who hide it by turns. Small blocks of pixels do: a place looks the same each time that
it is seen, and a block that is put together of several people was never seen at all.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.channels import distances_to, largest_difference, squared_distance
from bgsub.local.clean_frames import Singles, coarseness
from bgsub.local.layers import Layers
from bgsub.local.params import LocalParams
from bgsub.local.positions import positions
from bgsub.local.regions import enlarged, shrunk, thinned
from bgsub.local.shadows import object_evidence
from bgsub.robustpca.median import median
from bgsub.video.frames import Bytes

Flags = NDArray[np.bool_]

# Blocks of so many pixels of a picture at half of the size (a quarter at 1280×720), so far apart.
SCALE, BLOCK, _APART = 2, 4, 2
_COMPARED = 100
"""Frames that are compared with each other, at most."""

_STRETCHES = 20
"""Stretches of a film in which a look counts once: who stands still is not seen again."""

_OFTEN, _LONG = 0.25, 0.1
"""Shares of the film in which a place is seen, and for which what is on a plate was seen, at least;
as long was something else there for a place to have come back. Somebody leans aside for less."""

_ALIKE, LEAST_NOISE = 2.0, 2.5
"""Times the noise of a place by which its looks differ, and grey levels that all places have."""

_WHILE, _AGAIN = 0.02, 2
"""Share of the film that a visit takes, and how many times more than once a place comes back where
somebody who stood there may have come back as well."""

_NOISES = 3.0
"""Noises by which colours differ, as those of layers do."""


class Film:
    """The frames of a film that are compared with each other, and its stretches.

    Parameters
    ----------
    count : int
        Frames.

    Attributes
    ----------
    compared, stretch : ndarray of shape (m,)
        Frames that are compared, and the stretch that each belongs to.
    starts : ndarray
        The first of `compared` of each stretch.
    least : float
        Frames that take long.
    """

    def __init__(self, count: int) -> None:
        self.count, self.least = count, max(_LONG * count, 2)
        spread = np.linspace(0, count - 1, min(count, _COMPARED))
        self.compared = spread.round().astype(np.int64)
        stretch = self.compared * min(_STRETCHES, self.compared.size) // count
        begins = np.diff(stretch, prepend=-1) > 0
        self.starts, self.stretch = np.flatnonzero(begins), np.cumsum(begins) - 1

    def stretches(self, share: float) -> int:
        """Give so large a share of the stretches, two at least."""
        return min(max(round(share * self.starts.size), 2), self.starts.size)


class _Looks(NamedTuple):
    """The blocks of a row, (b, n, d), less their mean, and how they differ from each other.

    `alike` is how far they may differ (b,), and `rarity` how far frames that are compared are from
    the nearest look of as many stretches as a place is seen in (b, m).
    """

    levels: Singles
    alike: Singles
    rarity: Singles


def what_comes_back(pictures: Bytes, plate: Bytes, decided: Flags | None = None) -> Flags:
    """Find the frames that show a place where a plate does not.

    A block of the plate stands if frames look like it for long enough. Otherwise the place is the
    look that is seen again in most stretches of the film, if something else was there in between.

    Parameters
    ----------
    pictures : ndarray of shape (n, h, w) or (n, h, w, 3), uint8
        In order of time.
    plate : ndarray of shape (h, w) or (h, w, 3), uint8
    decided : ndarray of shape (h, w), bool, optional
        Where it is known that somebody stood there for most of the time, who may have come back
        himself: only what does so again and again is the place there.

    Returns
    -------
    ndarray of shape (n, h, w), bool
        Frames that show what each pixel comes back to; none where the plate stands.

    Notes
    -----
    As much memory as the pictures. For 75 of 320×240 .7 s at most, .07 s where the plate stands.
    """
    votes = _votes_for_frames(pictures, plate, decided)
    return np.asarray(votes == np.maximum(votes.max(axis=0, initial=0), 1))


def _votes_for_frames(pictures: Bytes, plate: Bytes, decided: Flags | None = None) -> Bytes:
    """Count the blocks at each pixel whose place each frame shows, (n, h, w); 0 where none does."""
    count, height, width = pictures.shape[:3]
    film, scale = Film(count), SCALE * coarseness(height, width)
    if count < 3 or min(height, width) < BLOCK * scale:  # nothing comes back, or has a look
        return np.zeros((count, height, width), np.uint8)
    small = np.stack([shrunk(picture, scale) for picture in pictures])
    own = shrunk(plate, scale)[None]
    rows, columns = ([*range(0, side - BLOCK + 1, _APART)] for side in small.shape[1:3])
    noise = median(differences(small[1:], small[:-1]), axis=0)
    doubted = ~_stands(differences(small[film.compared], own), noise, film)
    votes = np.zeros((count, height, width), np.uint8)
    for top in rows:
        lefts = [left for left in columns if doubted[top, left]]
        if not lefts:
            continue
        lines = slice(top, top + BLOCK)
        levels, planned = (_blocks(one[:, lines], lefts) for one in (small, own))
        mean = levels.mean(axis=1, keepdims=True)
        looks = _look_at(levels - mean, noise[top, lefts], film)
        again = np.ones(len(lefts))
        if decided is not None:
            again += _AGAIN * decided[top * scale, [left * scale for left in lefts]]
        shown = _frames_of_place(looks, planned - mean, film, again)
        for left, frames in zip(lefts, shown, strict=True):
            if frames.any():
                part = (slice(start * scale, (start + BLOCK) * scale) for start in (top, left))
                votes[(frames, *part)] += 1
    return votes


def colors_that_come_back(
    pictures: Bytes,
    plate: Bytes,
    layers: Layers,
    is_object: Flags,
    sigma: float,
    params: LocalParams,
) -> Bytes | None:
    """Put what places come back to into a picture of them, but for what was judged an object.

    Parameters
    ----------
    pictures : ndarray of shape (n, h, w, 3), uint8
        In order of time.
    plate : ndarray of shape (h, w, 3), uint8
    layers : Layers
        Of the pictures.
    is_object : ndarray of shape (K, h, w), bool
        Layers of somebody who came or left. What is like them stays out, and where most of what
        hangs together is, all of it.
    sigma : float
        Noise in grey levels.
    params : LocalParams

    Returns
    -------
    ndarray of shape (h, w, 3), uint8, or None
        None where the plate stands everywhere.
    """
    votes = _votes_for_frames(pictures, plate)
    most = votes.max(axis=0, initial=0)
    if not most.any():
        return None
    found, (y, x) = plate.copy(), positions(most)
    found[y, x] = shown_medians(pictures[:, y, x], votes[:, y, x] == most[y, x])
    solid = np.minimum(most, 1)
    differs = np.asarray(largest_difference(plate, found) > _NOISES * sigma)
    if not differs.any():
        return None
    at = positions(differs)
    like = distances_to(layers.colors[:, *at, None], found[*at, None])[..., 0] <= _NOISES * sigma
    objects = np.zeros(solid.shape, np.bool_)
    objects[at] = (like & is_object[:, *at]).any(axis=0)
    count, parts = cv2.connectedComponents(solid, connectivity=8)
    step = coarseness(*solid.shape)
    there, seen, mask = (thinned(one, step) for one in (plate, found, differs.view(np.uint8)))
    hidden = enlarged(object_evidence(there, seen, mask, sigma, params), step, solid.shape) > 0
    different, doubtful, told = (
        np.bincount(parts[one], minlength=count)
        for one in (differs, differs & objects, differs & hidden)
    )
    kept = (2 * doubtful < different) & (different >= params.least_area * solid.size)
    kept &= 2 * told >= different  # light that drifts comes back, too
    where = differs & ~objects & kept[parts]
    return np.where(where[..., None], found, plate) if where.any() else None


def shown_medians(values: Bytes, shown: Flags) -> Bytes:
    """Medians of the frames that are shown, of colours (n, m, 3) and (n, m); the lower of two."""
    ordered = np.sort(np.where(shown[..., None], values, np.uint8(255)), axis=0)
    middle = (np.count_nonzero(shown, axis=0) - 1) // 2
    return np.asarray(np.take_along_axis(ordered, middle[None, :, None], axis=0)[0], np.uint8)


def _blocks(lines: Bytes, columns: list[int]) -> Singles:
    """Cut the blocks of a row out of all frames, (b, n, d)."""
    cut = [lines[:, :, left : left + BLOCK].reshape(len(lines), -1) for left in columns]
    return np.asarray(np.stack(cut), dtype=np.float32)


def differences(some: Bytes, others: Bytes) -> Singles:
    """Root mean square differences of all blocks, by their upper left corners, (n, h, w)."""
    pairs = zip(*np.broadcast_arrays(some, others), strict=True)
    means = np.empty((max(len(some), len(others)), *some.shape[1:3]), np.float32)
    for (one, other), mean in zip(pairs, means, strict=True):
        squares = squared_distance(one, other) / np.float32(one.shape[2])
        cv2.boxFilter(squares, cv2.CV_32F, (BLOCK, BLOCK), dst=mean, anchor=(0, 0))
    return np.sqrt(means, out=means)


def _stands(apart: Singles, noise: Singles, film: Film) -> Flags:
    """Say where a plate stands for certain, in a fraction of the time of comparing all looks."""
    like = apart <= _ALIKE * np.maximum(noise, LEAST_NOISE)
    seen = np.logical_or.reduceat(like, film.starts, axis=0)
    return np.asarray(np.count_nonzero(seen, axis=0) >= film.stretches(_LONG))


def _distances(some: Singles, others: Singles) -> Singles:
    """Root mean square differences of blocks, (b, i, d) and (b, j, d), in grey levels."""
    squares = np.square(some).sum(axis=2)[:, :, None] + np.square(others).sum(axis=2)[:, None]
    squares -= 2 * some @ others.transpose(0, 2, 1)
    return np.asarray(np.sqrt(np.maximum(squares, 0) / some.shape[2]), dtype=np.float32)


def _farthest(nearest: Singles, number: int) -> Singles:
    """Give how far the farthest of so many stretches is, of those that are nearest."""
    return np.asarray(np.partition(nearest, number - 1, axis=-1)[..., number - 1])


def _look_at(levels: Singles, noise: Singles, film: Film) -> _Looks:
    """Compare the blocks of a row with themselves at other times."""
    compared = levels[:, film.compared]
    nearest = np.minimum.reduceat(_distances(compared, compared), film.starts, axis=2)
    nearest[:, np.arange(film.compared.size), film.stretch] = 0
    rarity = _farthest(nearest, film.stretches(_OFTEN))
    alike = _ALIKE * np.maximum(np.maximum(rarity.min(axis=1), noise), LEAST_NOISE)
    return _Looks(levels, alike, rarity)


def _frames_of_place(
    looks: _Looks, planned: Singles, film: Film, again: NDArray[np.float64]
) -> Flags:
    """Find the frames that show the places of a row of blocks, (b, n); none where a plate does.

    They must come back so many times, (b,).
    """
    from_plate = _distances(planned, looks.levels[:, film.compared])[:, 0]
    nearest = np.minimum.reduceat(from_plate, film.starts, axis=1)
    usual = _frames_like(looks, looks.rarity.argmin(axis=1), film)
    unseen = _farthest(nearest, film.stretches(_LONG)) > looks.alike
    unseen &= (_absence(usual) >= film.least) & (returns(usual, film) >= again)
    return usual & unseen[:, None]


def _frames_like(looks: _Looks, which: NDArray[np.int64], film: Film) -> Flags:
    """Find the frames that look like one of those that are compared, of each block, (b, n)."""
    one = looks.levels[np.arange(which.size), film.compared[which]][:, None]
    return np.asarray(_distances(one, looks.levels)[:, 0] <= looks.alike[:, None])


def returns(shown: Flags, film: Film) -> NDArray[np.int64]:
    """Count how often a look comes back after something else was there for a while, (b,)."""
    found, since = (np.zeros(len(shown), np.int64) for _ in range(2))
    ever = np.zeros(len(shown), np.bool_)
    for here in shown.T:
        found += here & ever & (since >= max(_WHILE * film.count, 2))
        ever |= here
        since = np.where(here, 0, since + 1)
    return found


def _absence(shown: Flags) -> NDArray[np.int64]:
    """Count the frames without a look between the first with it and the last, (b,)."""
    since, until = (np.maximum.accumulate(one, axis=1) for one in (shown, shown[:, ::-1]))
    return np.asarray(np.count_nonzero(since & until[:, ::-1] & ~shown, axis=1), np.int64)
