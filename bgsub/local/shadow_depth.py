"""Learn how deep the shadows of a scene are."""

from __future__ import annotations

import numpy as np

from bgsub.local.cleanup import mean_score, vote
from bgsub.local.marked import MarkedPixels
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


def darkest_shadow(
    matcher: SceneMatcher, pictures: Bytes, step: int, params: LocalParams = DEFAULTS
) -> float:
    """Share of the light that the deepest shadows of a scene leave.

    One sun and one sky light all of a scene, so all shadows of a film leave about the same share of
    the light; things have any colour and show all shares. So the shares of what is marked and keeps
    the colour of its place are counted, from .2 to 1, in bins of a tenth of the logarithm. Where
    two bins side by side hold `LocalParams.shadow_mode` of them, they are the shadows', and the
    bound lies two bins below. Otherwise, and at most, it is `LocalParams.shadow_darkest`.

    Parameters
    ----------
    matcher : SceneMatcher
    pictures : ndarray of uint8, shape (n, h, w, 3)
        In the scene's light.
    step : int
        Every so many pixels are looked at, down and across.
    params : LocalParams, optional

    Returns
    -------
    float
    """
    scene = matcher.scene
    noise = scene.grain_by_level
    counts = np.zeros(_BINS, np.int64)
    chosen = np.linspace(0, len(pictures) - 1, min(len(pictures), _FRAMES)).round().astype(int)
    for j in chosen.tolist():
        score, _, index = matcher.score(pictures[j], scene.sigma)
        mask = thinned(vote(mean_score(score, params.vote_most), params.vote_level), step)
        marked = MarkedPixels(mask)
        if not marked.count:
            continue
        every = slice(None, None, step)
        behind = matcher.background(index, every, every)
        light = light_of(marked, marked.of(thinned(pictures[j], step)), marked.of(behind))
        keeps_color = light.chroma < params.shadow_chroma * noise_of(light, noise)
        plain = keeps_color & (light.share > _WHOLE)
        found, _ = np.histogram(light.ratio[plain], _BINS, (-_BIN * _BINS, 0))
        counts += found
    return _below_mode(counts, params)


def _below_mode(counts: np.ndarray, params: LocalParams) -> float:
    """Give the share of light two bins below the mode of a histogram, or the usual bound."""
    within = np.convolve(counts, np.ones(_WIDTH, np.int64), "valid")
    at = int(np.argmax(within))
    if counts.sum() < _LEAST or within[at] < params.shadow_mode * counts.sum():
        return params.shadow_darkest
    return min(float(np.exp(_BIN * (at - 2 - _BINS))), params.shadow_darkest)
