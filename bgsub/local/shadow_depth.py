"""Learn how deep the shadows of a scene are."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from bgsub.local.cleanup import mean_score, vote
from bgsub.local.marked import MarkedPixels
from bgsub.local.noise import PassTo
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.regions import thinned
from bgsub.local.scoring import SceneMatcher
from bgsub.local.shadows import light_of, noise_of
from bgsub.video.frames import Bytes

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
    the colour of its place are counted, from .2 to 1, in bins of a tenth of the logarithm. Where
    two bins side by side hold `LocalParams.shadow_mode` of them, they are the shadows', and the
    bound lies two bins below. Otherwise, and at most, it is `LocalParams.shadow_darkest`.

    Two things are no shadows. Where most of a frame is marked, the light has changed. And what lies
    in one place for the most part, a third of the picture's width and height, are the clothes of
    somebody who stays: shadows come with all that moves.

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
    scene = matcher.scene
    noise = scene.grain_by_level
    every = slice(None, None, step)
    cells = _cells(*scene.restless[every, every].shape)
    counts = np.zeros(_BINS * _CELLS**2, np.int64)
    chosen = np.linspace(0, len(pictures) - 1, min(len(pictures), _FRAMES)).round().astype(int)

    def count(j: int) -> NDArray[np.int64] | None:
        score, _, index = matcher.score(pictures[j], scene.sigma)
        mask = thinned(vote(mean_score(score, params.vote_most), params.vote_level), step)
        marked = MarkedPixels(mask)
        if not 0 < marked.count <= _IN_LIGHT * mask.size:
            return None
        behind = matcher.background(index, every, every)
        light = light_of(marked, marked.of(thinned(pictures[j], step)), marked.of(behind))
        keeps_color = light.chroma < params.shadow_chroma * noise_of(light, noise)
        bins = np.floor(light.ratio / _BIN).astype(np.int64) + _BINS
        plain = keeps_color & (light.share > _WHOLE) & (bins >= 0) & (bins < _BINS)
        found = bins[plain] * _CELLS**2 + marked.of(cells)[plain]
        return np.bincount(found, minlength=counts.size)

    for found in each(count, chosen.tolist()):
        if found is not None:
            counts += found
    return _below_mode(counts.reshape(_BINS, _CELLS, _CELLS), params)


def _cells(height: int, width: int) -> NDArray[np.int64]:
    """Number the cells of a picture, from 0, at all of its pixels."""
    down, across = (np.arange(side) * _CELLS // side for side in (height, width))
    return np.asarray(down[:, None] * _CELLS + across)


def _below_mode(counts: NDArray[np.int64], params: LocalParams) -> float:
    """Give the share of light two bins below the mode of a histogram, or the usual bound.

    Parameters
    ----------
    counts : ndarray of int64, shape (16, 9, 9)
        Of every bin, in every cell of the picture.
    params : LocalParams
    """
    total = counts.sum()
    within = np.convolve(counts.sum(axis=(1, 2)), np.ones(_WIDTH, np.int64), "valid")
    at = int(np.argmax(within))
    if total < _LEAST or within[at] < params.shadow_mode * total:
        return params.shadow_darkest
    places = sliding_window_view(counts[at : at + _WIDTH].sum(axis=0), (_PLACE, _PLACE))
    if places.sum(axis=(2, 3)).max() > _IN_ONE_PLACE * within[at]:
        return params.shadow_darkest
    return min(float(np.exp(_BIN * (at - 2 - _BINS))), params.shadow_darkest)
