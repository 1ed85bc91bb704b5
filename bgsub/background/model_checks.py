"""Check what a model.npz holds before anything is made of it: header, types and values."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from bgsub.background.tiles import Singles
from bgsub.rules import POSITIVE, Choice, Facts, Integer, ListOf, Nullable, Number
from bgsub.video.arrays import ArrayArchive
from bgsub.video.frames import LayoutKind, Matrix

# A grey level of a film is 255 at most; a colour may follow a luma that hardly changes.
_LARGEST_LEVEL = 1e6
_UNIT = 1.01

_LEVEL = Number("a number of grey levels from 0 to 1e6", 0.0, 1e6)
HEADER = Facts(
    {
        "model_version": Integer(1),
        "layout": Choice(get_args(LayoutKind)),
        "matrix": Choice(get_args(Matrix)),
        "height": Integer(1),
        "width": Integer(1),
        "threshold": _LEVEL,
        "error_location": Number("a number from 0 to 1e12", 0.0, 1e12),
        "error_scale": Number("a number from 0 to 1e12", 0.0, 1e12),
        "cutoff": Number("a number from -1e9 to 1e9", -1e9, 1e9),
        "geometry": Facts(
            {
                "input_size": ListOf(Integer(1), 2),
                "roi": Nullable(ListOf(Integer(0), 4)),
                "scale": POSITIVE,
            },
            frozenset({"input_size", "roi", "scale"}),
        ),
        "facts": Facts({}),
    }
)
"""What the header of a model.npz holds."""


def read_array(arrays: ArrayArchive, name: str, kinds: str) -> NDArray[Any]:
    """Read an array of one of some kinds of numbers; ValueError for another kind."""
    found: NDArray[Any] = arrays[name]
    if found.dtype.kind not in kinds:
        raise ValueError(f"{name} is {found.dtype}")
    return found


def check_frames(support: NDArray[np.bool_], numbers: NDArray[np.int64]) -> None:
    """Raise ValueError unless frames have rising numbers from 1, and some were fitted."""
    if support.ndim != 1 or support.shape != numbers.shape or not support.any():
        raise ValueError(support.shape)
    if (np.diff(numbers, prepend=0) < 1).any():
        raise ValueError("frame numbers rise from 1")


def check_values(
    center: Singles,
    noise: Singles,
    components: Singles,
    luma: Singles,
    fitted: NDArray[np.bool_] | None,
) -> None:
    """Raise ValueError for numbers that no fit gives, and that would overflow in a run.

    Parameters
    ----------
    center, noise, components : ndarray of float32
        See `bgsub.background.model.BackgroundModel`.
    luma : ndarray of shape (k, h·w)
        The part of the components that is of unit length over the fitted pixels.
    fitted : ndarray of shape (h·w,), bool, or None
        Those pixels; None for all.
    """
    # Comparisons that NaN fails.
    for levels in (center, noise, components):
        if not (np.abs(levels) <= _LARGEST_LEVEL).all():
            raise ValueError(f"a value beyond {_LARGEST_LEVEL:g}")
    inside = (luma if fitted is None else luma[:, fitted]).astype(np.float64)
    if not (np.einsum("ij,ij->i", inside, inside) <= _UNIT).all():
        raise ValueError("components that are not orthonormal")
    if (noise < 0).any():
        raise ValueError("a negative noise")
