"""Find where a frame still shows the texture of its background, which any object would hide."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.marked import MarkedPixels
from bgsub.local.params import DEFAULTS, LocalParams

# Pixels: detail is what differs from the mean of so many; it is compared over larger windows, as
# in few pixels chance makes any two textures alike.
_DETAIL, _WINDOW = 9, 35

_LEAST = 200
"""Pixels of the mask within a window: of fewer, chance decides, and light is not so small."""

_LEFT = 0.5
"""Share of the energy of a texture in some light that codecs and tremor leave of it."""

TEXTURE_REACH = _DETAIL // 2 + _WINDOW // 2
"""Pixels around one that `shows_texture` looks at."""


def shows_texture(
    level: Singles,
    behind: Singles,
    marked: MarkedPixels,
    params: LocalParams = DEFAULTS,
    asked: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Mark where a mask still shows the fine texture of the background.

    Light that changes, shadows however deep, and a camera that trembles by less than the texture is
    wide leave the texture of a place as it was, up to a factor; an opaque object hides it. With d
    and e the detail of frame and background within the mask, what they differ from their mean over
    9×9 pixels by, the texture is there where over 35×35 pixels
    Σ d e > 0.4 √(Σ (d² + t²) Σ (e² + t²)).  t is the texture that noise and codecs leave of any;
    where there is less, or where the mask has fewer than 200 pixels, nothing tells.  Light that
    makes the mask g times as bright does so with its texture too: Σ d² counts for ½ g² Σ e² at
    least.  A plain object has less, so the rim of background around it in the mask says nothing.

    Parameters
    ----------
    level, behind : ndarray of float32, shape (m,)
        Luma of the frame and of its background at the pixels of the mask.
    marked : MarkedPixels
        The mask.
    params : LocalParams, optional
    asked : ndarray of bool, shape (m,), optional
        Pixels of which somebody wants to know; of the others the answer may be no.

    Returns
    -------
    ndarray of bool, shape (m,)
    """
    if marked.count < _LEAST:
        return np.zeros(marked.count, np.bool_)
    size = marked.count_around(_WINDOW)
    enough = size >= np.float32(_LEAST)
    if asked is not None and not (enough & asked).any():
        return np.zeros_like(asked)
    together, seen, there = compared_texture(level, behind, marked, _WINDOW)
    least = size * np.float32(params.texture_least**2)
    light = cv2.mean(level)[0] / max(cv2.mean(behind)[0], 1.0)
    seen = np.maximum(seen, np.float32(_LEFT * light**2) * there)
    both = (seen + least) * (there + least)
    # Running sums of what is 0 may be a little less.
    kept = together > np.float32(params.texture_kept) * np.sqrt(np.maximum(both, 0))
    return np.asarray(kept & enough)


def compared_texture(
    level: Singles, behind: Singles, marked: MarkedPixels, side: int
) -> tuple[Singles, Singles, Singles]:
    """Compare the fine texture of a frame with that of its background.

    Parameters
    ----------
    level, behind : ndarray of float32, shape (m,)
        Luma of the frame and of its background at the pixels of the mask.
    marked : MarkedPixels
        The mask.
    side : int
        Of the windows, in pixels.

    Returns
    -------
    together, seen, there : ndarray of float32, shape (m,)
        Σ d e, Σ d² and Σ e² over the pixels of the mask within a window, with d and e what frame
        and background differ from their mean over 9×9 pixels by.
    """
    seen, there = marked.gather(_sums(marked.lay_out(level, behind), _DETAIL))
    count = marked.count_around(_DETAIL)
    around, place = level - seen / count, behind - there / count
    none = np.zeros(marked.count, np.float32)
    planes = marked.lay_out(around * place, around * around, place * place, none)
    together, seen, there, _ = marked.gather(_sums(planes, side))
    return together, seen, there


def _sums(planes: Singles, side: int) -> Singles:
    size = (side, side)
    sums = cv2.boxFilter(planes, -1, size, normalize=False, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(sums, dtype=np.float32)
