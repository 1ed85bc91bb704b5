"""Let the states of a scene that share a place outvote who stands before it in one of them.

What is seen most in a state that lasts for a moment may be somebody who stood there meanwhile. A
place is there in all states, in another light: it is what the frames of all of them show most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.channels import largest_difference
from bgsub.local.clean_frames import coarseness
from bgsub.local.light import find_light, relight, thumbnail, tone_curve
from bgsub.local.light_field import even_out, find_light_field
from bgsub.local.params import LocalParams
from bgsub.local.positions import positions
from bgsub.local.recurrence import shown_medians
from bgsub.local.regions import large_parts
from bgsub.local.scene import Scene
from bgsub.video.frames import Bytes

Flags = NDArray[np.bool_]
Counts = NDArray[np.int16]

_SIGMAS, _LEVELS, _LIKE = 3.0, 30, 3
"""Noises up to which a frame shows a colour, and grey levels (or twice the noises) by which places
differ at least: then it shows it up to a third of that, as light differs from place to place."""

_FRAMES, _SHARE = 3, 0.1
"""Frames of a state, and share of them, that show what it has in common with another, at least:
lamps and screens that are on in one of them alone are shown while they go on."""

_OFTENER = 2
"""Times as many frames, of both states, that show what overrules."""

_DIFFERENT = 0.6
"""Share of the picture in which states differ, at most: they are told by the .4 that objects leave,
too."""

_PART = 1 << 12
"""Pixels whose colours in all frames are looked at in one go."""

_AROUND = 9
"""Pixels around of which most must agree."""


def with_common_places(
    scenes: list[Scene],
    pictures: Bytes,
    members: Sequence[NDArray[np.int64]],
    params: LocalParams,
) -> list[Scene]:
    """Give states of a scene the places that they have in common with others.

    A colour of one state is the place in another one, too, if frames of that one show it in their
    light, and frames of both show it more than twice as often as what that one has there. States
    that differ nearly everywhere, in any light, tell nothing of each other.

    Parameters
    ----------
    scenes : list of Scene
        One for each state.
    pictures : ndarray of shape (n, h, w, 3), uint8
        In the light of their state.
    members : sequence of ndarray of int64
        Those of each state.
    params : LocalParams

    Returns
    -------
    list of Scene

    Notes
    -----
    A few operations per pixel, picture, and other state.
    """
    found = scenes.copy()
    for pair in combinations(range(len(scenes)), 2):
        one, other = (_State(found[i], pictures, members[i]) for i in pair)
        there, here = one.compared(other, params), other.compared(one, params)
        apart = there.apart & here.apart
        if np.count_nonzero(apart) > _DIFFERENT * apart.size:
            continue  # their light is not understood
        for i, own, a, b in ((pair[0], one, there, here), (pair[1], other, here, there)):
            least = max(_SHARE * own.frames.size, _FRAMES)
            wins = apart & (a.other >= least) & (a.other + b.own > _OFTENER * (a.own + b.other))
            wins = _solid(wins, apart, params)
            if wins.any():
                found[i] = own.corrected(a.picture, wins)
    return found


class _Compared(NamedTuple):
    """A state of a scene compared with another one.

    `picture` is the place of the other one in the light of this (h, w, 3), `apart` where it differs
    (h, w), and `own` and `other` are the frames of this state that show the one and the other.
    """

    picture: Bytes
    apart: Flags
    own: Counts
    other: Counts


class _State:
    """A state of a scene and its frames, by their numbers among all pictures."""

    def __init__(self, scene: Scene, pictures: Bytes, frames: NDArray[np.int64]) -> None:
        self._scene, self._pictures, self.frames = scene, pictures, frames

    def compared(self, other: _State, params: LocalParams) -> _Compared:
        """Compare this state with another one, in the light of this."""
        own, sigma = self._scene.colors[0], self._scene.sigma
        place = _relit(other._scene.colors[0], own, sigma, params)
        apart = largest_difference(place, own)
        limit = np.maximum(apart // _LIKE, round(_SIGMAS * sigma))
        counts = np.zeros((2, *apart.shape), np.int16)
        for i in self.frames.tolist():
            for k, colors in enumerate((own, place)):
                counts[k] += largest_difference(self._pictures[i], colors) <= limit
        return _Compared(place, apart >= max(2 * _SIGMAS * sigma, _LEVELS), *counts)

    def corrected(self, place: Bytes, where: Flags) -> Scene:
        """Let the frames that show a place say what its colours are in this state."""
        colors = self._scene.colors.copy()
        rows, columns = positions(where)
        for start in range(0, rows.size, _PART):
            y, x = rows[start : start + _PART], columns[start : start + _PART]
            old, sought = colors[:, y, x], place[y, x]
            apart = _apart(sought[None], old[0])[0]
            values = self._pictures[self.frames[:, None], y, x]
            limit = np.maximum(apart // _LIKE, round(_SIGMAS * self._scene.sigma))
            shown = _apart(values, sought) <= limit
            fresh = np.where(shown.any(axis=0)[:, None], shown_medians(values, shown), sought)
            gone = _apart(old, old[0]) <= _SIGMAS * self._scene.sigma
            colors[:, y, x] = np.where(gone[..., None], fresh, old)
        return replace(self._scene, colors=colors)


def _apart(some: Bytes, colors: Bytes) -> Bytes:
    """Give the largest channel differences of colours (n, m, 3) to others (m, 3), (n, m)."""
    return np.asarray(cv2.absdiff(some, np.broadcast_to(colors, some.shape)).max(axis=2), np.uint8)


def _relit(picture: Bytes, like: Bytes, sigma: float, params: LocalParams) -> Bytes:
    """Put a picture into the light of another one, of all of it and of its parts."""
    seen, model = thumbnail(picture), thumbnail(like).astype(np.float32)
    light = find_light(seen, model, sigma, params=params)
    lit = relight(picture, tone_curve(seen, model, light, sigma))
    threshold = np.full(like.shape[:2], _SIGMAS * sigma, np.float32)
    differs = (largest_difference(lit, like) > threshold).view(np.uint8)
    step = coarseness(*like.shape[:2])
    field = find_light_field(
        lit, lambda *part: like[part], lambda *part: threshold[part], differs, step, params
    )
    return lit if field is None else even_out(lit, field, step, params)


def _solid(where: Flags, among: Flags, params: LocalParams) -> Flags:
    """Leave what most pixels around agree on and is as large as an object."""
    size = (_AROUND * coarseness(*where.shape) | 1,) * 2
    marked, asked = (cv2.blur(one.astype(np.float32), size) for one in (where, among))
    solid = among & (2 * marked > asked)
    return large_parts(solid, params.least_area)
