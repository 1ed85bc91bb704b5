"""Find whether a camera shakes, and the place that its frames have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.alignment import COARSEST, Aligner, Found, Motion, warped
from bgsub.local.clean_frames import coarseness
from bgsub.local.params import LocalParams
from bgsub.robustpca.median import median
from bgsub.video.frames import Bytes

_SIDE = 160
"""Pixels of the shrunken pictures' longer side: a tenth of one is a part of a pixel at 640×360."""

_LOOKS = 16
"""Frames of a sample from which one sees whether a camera shakes."""

_PART = 1 / 8
"""Pixels by which a frame may lie beside full pixels, and be moved by these, which blurs nothing:
less than what it is found to."""


class Registration:
    """The place of a scene before a camera that shakes.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h', w')
        Luma of the scene at its place, shrunken so that its longer side has 160 pixels at most.
    factor : float
        Size of a pixel of it in pixels of the pictures.
    """

    def __init__(self, reference: Bytes, factor: float) -> None:
        self.reference = reference
        self._factor = factor
        self._aligner = Aligner(reference)

    def find(self, picture: Bytes) -> Motion:
        """Find how a frame lies; as the place does where nothing is sure.

        Parameters
        ----------
        picture : ndarray of uint8, shape (h, w, 3) BGR or (h, w)
        """
        found = self._aligner.find(shrunken(picture))
        motion = found.motion.enlarged(self._factor)
        if not found.sure:
            return Motion()
        full = Motion(round(motion.right), round(motion.down))
        beside = motion._replace(right=motion.right - full.right, down=motion.down - full.down)
        return full if beside.furthest(*picture.shape[:2]) < _PART else motion

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give it as arrays by name, for an .npz file."""
        return {"local_place": self.reference, "local_place_factor": np.array(self._factor)}


def find_registration(
    pictures: Bytes, params: LocalParams, each: Callable[..., Iterable[Found]] = map
) -> Registration | None:
    """Look whether a camera shakes, and if it does, find the place of its scene.

    Frames are compared with one of them first. Where some seem to have moved, they are compared
    with their median at the place in their middle, which shows little of what passes. The place is
    worth having if what motions explain of the frames, each of which counts for one at most, is
    more than the frames that are not found: those of a camera that pans have none in common, and
    waves or leaves that fill a picture are found here and there by chance.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
        In order of time.
    params : LocalParams
    each : callable, optional
        `map`, or what does the same in threads or processes.

    Returns
    -------
    Registration or None
        None for a camera that stands still, for one that pans, and for pictures too small to tell.
    """
    height, width = pictures.shape[1:3]
    looks = np.linspace(0, len(pictures) - 1, min(len(pictures), _LOOKS)).astype(int)
    small = [shrunken(pictures[i]) for i in looks]
    size = small[0].shape
    if min(size) < COARSEST:
        return None
    factor = max(height, width) / max(size)
    least = params.shake_px * coarseness(height, width) / factor
    many = params.shake_share * len(small)
    place = Aligner(small[len(small) // 2])
    found = list(each(partial(place.find, everywhere=False), small))
    if sum(one.motion.furthest(*size) >= least for one in found) < many:
        return None
    for _ in range(2):
        place = Aligner(_median_at_place(small, [one.motion for one in found]))
        found = list(each(place.find, small))
    is_far = [one.motion.furthest(*size) >= least for one in found]
    moved = [one.sure and far for one, far in zip(found, is_far, strict=True)]
    lost = [not one.sure and far for one, far in zip(found, is_far, strict=True)]
    gained = sum(one.explained for one, is_moved in zip(found, moved, strict=True) if is_moved)
    if sum(moved) < many or gained <= sum(lost):
        return None
    kept = [i for i, is_lost in enumerate(lost) if not is_lost]
    motions = [found[i].motion for i in kept]
    return Registration(_median_at_place([small[i] for i in kept], motions), factor)


def _median_at_place(small: Sequence[Bytes], motions: Sequence[Motion]) -> Bytes:
    """Give the median of shrunken frames at the place of the one that lies in their middle.

    As much is then lost on one side as on the other, and frames that lie as that one does, all
    those of a camera at rest, need not be interpolated.
    """
    size = small[0].shape
    lying = np.array(motions)
    away = [Motion(*one).furthest(*size) for one in (lying - median(lying, axis=0)).tolist()]
    lying -= lying[int(np.argmin(away))]
    matrices = [Motion(*one).matrix(*size) for one in lying.tolist()]
    at_place = [warped(one, matrix) for one, matrix in zip(small, matrices, strict=True)]
    return median(np.stack(at_place), axis=0).astype(np.uint8)


def shrunken(picture: Bytes) -> Bytes:
    """Give the luma of a picture, its longer side shrunken to 160 pixels at most."""
    factor = min(1.0, _SIDE / max(picture.shape[:2]))
    if factor < 1:
        height, width = (max(1, round(factor * side)) for side in picture.shape[:2])
        smaller = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
        picture = np.asarray(smaller, np.uint8)
    return np.asarray(
        cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY) if picture.ndim == 3 else picture, np.uint8
    )


def registration_in(arrays: Mapping[str, NDArray[Any]]) -> Registration | None:
    """Give the registration whose `arrays` these are; None if they are those of none.

    Raises
    ------
    ValueError
        If they cannot be those of one.
    """
    if "local_place" not in arrays:
        return None
    reference, factor = arrays["local_place"], float(arrays["local_place_factor"])
    sides = sorted(reference.shape)
    fits = reference.ndim == 2 and sides[0] >= COARSEST and sides[1] <= _SIDE
    if reference.dtype != np.uint8 or not fits or not 1 <= factor < math.inf:
        raise ValueError(reference.shape)
    return Registration(reference, factor)
