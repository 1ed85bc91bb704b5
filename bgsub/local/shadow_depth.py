"""Learn how deep the shadows of a scene are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from bgsub.local.cleanup import mean_score, vote
from bgsub.local.marked import MarkedPixels
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.regions import thinned
from bgsub.local.scoring import SceneMatcher
from bgsub.local.shadows import bounds_of, light_of
from bgsub.local.texture import compared_texture
from bgsub.video.frames import Bytes

PassTo = Callable[[Callable[..., Any], Iterable[Any]], Iterable[Any]]
"""`map`, or what does the same in threads."""

_FRAMES = 15
_LOWEST, _BIN = 0.2, 0.1  # share of light; logarithm of a ratio
_BINS = round(-np.log(_LOWEST) / _BIN)
_WIDTH = 2  # bins of a mode: light of one source varies by so much over a picture
_WHOLE = 0.99
_LEAST = 2000
"""Pixels that are looked at in all frames together: fewer say nothing."""

_IN_LIGHT = 0.4
"""Share of a frame that is marked, at most: more is no shadow but another light."""

_CELLS, _PLACE = 9, 3  # of a picture, down and across, and of them in one place
_IN_ONE_PLACE = 2 / 3
"""Share of a mode that one place holds, at most: shadows come with all that moves."""

_TEXTURE = 15
"""Side in pixels of the window over which a place has texture or not."""

_TOLD = 0.3
"""Share of a mode whose places have texture, from which it tells, and of those that show it."""


class _Darkened(NamedTuple):
    """What is marked and keeps colour and texture, by the share of light it has of its place's.

    Attributes
    ----------
    counts : ndarray of int64, shape (16, 9, 9)
        Pixels of every bin, in every cell of the picture.
    known : ndarray of int64, shape (16,)
        Those of every bin whose place has texture that such light would leave.
    kept : ndarray of int64, shape (16,)
        Those of them that show it.
    """

    counts: NDArray[np.int64]
    known: NDArray[np.int64]
    kept: NDArray[np.int64]


def darkest_shadow(
    matcher: SceneMatcher,
    pictures: Bytes,
    step: int,
    params: LocalParams = DEFAULTS,
    each: PassTo = map,
) -> float:
    """Share of the light that the deepest shadows of a scene leave.

    One sun and one sky light all of a scene, so all shadows of a film leave about the same share of
    the light; things have any colour and show all shares. So the shares of what is marked and keeps
    colour and texture of its place, within 5×5 pixels, are counted, from .2 to 1, in bins of a
    tenth of the logarithm. Where two bins side by side hold `LocalParams.shadow_mode` of them, they
    are the shadows', and the bound lies two bins below. Otherwise, and at most, it is
    `LocalParams.shadow_darkest`.

    Three things are no shadows. Where most of a frame is marked, the light has changed. What lies
    in one place for the most part, a third of the picture's width and height, are the clothes of
    somebody who stays: shadows come with all that moves. And plain dark clothes before a plain
    place keep colour and texture, too, in grey film always; but before one that has texture they
    hide it. Where the places of .3 of the two bins have so much that over 15×15 pixels
    `LocalParams.texture_least` is left in that light, .3 of these show it, or they are no shadows.

    Parameters
    ----------
    matcher : SceneMatcher
    pictures : ndarray of uint8, shape (n, h, w, 3)
        In the scene's light.
    step : int
        Every so many pixels are looked at, down and across.
    params : LocalParams, optional
    each : callable, optional
        Calls a function for each of some items, as `map` does.

    Returns
    -------
    float
    """
    chosen = np.linspace(0, len(pictures) - 1, min(len(pictures), _FRAMES)).round().astype(int)
    frames = (pictures[j] for j in chosen.tolist())
    darkened = each(partial(_darkened, matcher, step, params), frames)
    found = [one for one in darkened if one is not None]
    if not found:
        return params.shadow_darkest
    counts, known, kept = (np.sum(part, axis=0) for part in zip(*found, strict=True))
    return _below_mode(_Darkened(counts, known, kept), params)


def _darkened(
    matcher: SceneMatcher, step: int, params: LocalParams, picture: Bytes
) -> _Darkened | None:
    """Count what is marked in a frame and keeps its colour; None where that is nothing or most."""
    scene = matcher.scene
    every = slice(None, None, step)
    cells = _cells(*scene.restless[every, every].shape)
    if matcher.is_glanced_at:
        _, index, mean = matcher.glance(picture, scene.sigma)
    else:
        score, _, index = matcher.score(picture, scene.sigma)
        mean = mean_score(score, params.vote_most)
    mask = thinned(vote(mean, params.vote_level), step)
    marked = MarkedPixels(mask)
    if not 0 < marked.count <= _IN_LIGHT * mask.size:
        return None
    behind = matcher.background(index, every, every)
    light = light_of(marked, marked.of(thinned(picture, step)), marked.of(behind))
    chroma, texture = bounds_of(light, marked, scene.noise_by_level, params)
    bins = np.floor(light.ratio / _BIN).astype(np.int64) + _BINS
    plain = (light.share > _WHOLE) & (bins >= 0) & (bins < _BINS)
    plain &= light.chroma < chroma
    plain &= light.texture < texture
    if not plain.any():
        return None
    bins, ratio = bins[plain], light.ratio[plain]
    alone = MarkedPixels(marked.mask_of(plain))
    together, seen, there = compared_texture(
        light.level[plain], light.place[plain], alone, _TEXTURE
    )
    least = alone.count_around(_TEXTURE) * params.texture_least**2
    known = there * np.exp(2 * ratio) > least
    kept = known & (together > params.texture_kept * np.sqrt(np.maximum(seen * there, 0)))
    found = np.bincount(bins * _CELLS**2 + marked.of(cells)[plain], minlength=_BINS * _CELLS**2)
    return _Darkened(
        found.reshape(_BINS, _CELLS, _CELLS),
        np.bincount(bins[known], minlength=_BINS),
        np.bincount(bins[kept], minlength=_BINS),
    )


def _cells(height: int, width: int) -> NDArray[np.int64]:
    """Number the cells of a picture, from 0, at all of its pixels."""
    down, across = (np.arange(side) * _CELLS // side for side in (height, width))
    return np.asarray(down[:, None] * _CELLS + across)


def _below_mode(found: _Darkened, params: LocalParams) -> float:
    """Give the share of light two bins below the mode of a histogram, or the usual bound."""
    total = found.counts.sum()
    within = np.convolve(found.counts.sum(axis=(1, 2)), np.ones(_WIDTH, np.int64), "valid")
    at = int(np.argmax(within))
    if total < _LEAST or within[at] < params.shadow_mode * total or at == 0:
        return params.shadow_darkest  # what lies at the end may be most below it
    mode = slice(at, at + _WIDTH)
    places = sliding_window_view(found.counts[mode].sum(axis=0), (_PLACE, _PLACE))
    if places.sum(axis=(2, 3)).max() > _IN_ONE_PLACE * within[at]:
        return params.shadow_darkest
    known = found.known[mode].sum()
    if known >= _TOLD * within[at] and found.kept[mode].sum() < _TOLD * known:
        return params.shadow_darkest
    return min(float(np.exp(_BIN * (at - 2 - _BINS))), params.shadow_darkest)
