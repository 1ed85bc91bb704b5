"""Judge which layers were people who stood there, and which things that were put there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.changes import LIVELIER, Change, find_changes
from bgsub.local.clean_frames import Singles
from bgsub.local.layers import LAYERS, Layers, color_of
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.positions import positions
from bgsub.local.presence import SHADES, lies_between, share_among
from bgsub.local.shadows import object_evidence
from bgsub.local.telling import UNKNOWN
from bgsub.robustpca.median import median
from bgsub.runtime.threads import Share, alone
from bgsub.video.frames import Bytes

OWN = 0.65
"""Share of the frames on either side of a change that the layers of that side explain, at least."""

_OFTENER = 1.5
"""Factor by which a place is seen oftener than what else is there, for its visits to tell."""

_LARGEST = 1 / 3
"""Share of the picture above which what changes at one time is the light of the room."""


_MEANWHILE = 0.1
"""Share of the film within which a thing is taken from its place and put down in another one."""

_KNOWN = 0.25
"""Share of the colours of a thing that other things may have, which were there before."""

_MOST_OF_IT = 0.5

_SPECK = (5, 5)
"""Pixels that are looked at around one whose votes cancel."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the arrivals and departures say of every layer.

    Attributes
    ----------
    is_object : ndarray of bool, shape (K, h, w)
        The layer is somebody who stood there.
    is_thing : ndarray of bool, shape (K, h, w)
        The layer is of a thing that was put there or taken, and so background.
    changes : list of Change
    breaks : ndarray of bool, shape (h, w)
        Somebody took a break there: he came back as his place did.
    """

    is_object: NDArray[np.bool_]
    is_thing: NDArray[np.bool_]
    changes: list[Change]
    breaks: NDArray[np.bool_]


def judge_changes(
    pictures: Bytes,
    layers: Layers,
    sigma: float,
    params: LocalParams = DEFAULTS,
    share: Share = alone,
    *,
    is_frozen: bool = False,
) -> Verdict:
    """Find arrivals and departures, and let each vote on the layers before and after it.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
    layers : Layers
        Of these pictures.
    sigma : float
        Noise in grey levels.
    params : LocalParams, optional
    share : callable, optional
        `Workers.share`.
    is_frozen : bool, optional
        Whether a codec freezes the film, see `frozen_noise`.

    Returns
    -------
    Verdict
    """
    changes = find_changes(pictures, layers, sigma, params, share, is_frozen=is_frozen)
    return weigh_changes(changes, layers, sigma, params)


def weigh_changes(
    changes: list[Change], layers: Layers, sigma: float, params: LocalParams = DEFAULTS
) -> Verdict:
    """Let arrivals and departures vote on the layers before and after them; see `judge_changes`."""
    shape = layers.colors.shape[:3]
    votes, cast = (np.zeros(shape, np.float32) for _ in range(2))
    is_thing, breaks = np.zeros(shape, np.bool_), np.zeros(shape[1:], np.bool_)
    if not changes:
        return Verdict(np.zeros(shape, np.bool_), is_thing, changes, breaks)
    changes = [_with_news(change, changes, layers, params) for change in changes]
    for change in changes:
        visitor = {-1: 1, 0: None, 1: 0}[change.visitor]
        evidence, is_light = _evidence(change, layers, params)
        rests = change.region & ~evidence if is_light else change.region
        for side, label in enumerate((change.before, change.after)):
            if change.is_rigid(side, params) and side != visitor:
                for k in range(LAYERS):
                    is_thing[k] |= rests & (label == k)
        if not is_light:
            _vote(change, layers, votes, cast, params)
        if change.took_break:
            breaks |= change.region
    votes[np.abs(votes) < 0.5 * cast] = 0  # what comes and goes both ways is no object
    is_object = _with_shades(votes > 0, layers.colors, sigma)
    is_object[0] &= votes[0] >= 0  # likeness alone does not overrule what is seen most
    is_object[0] &= ~_places_of_several(is_object, layers, sigma)
    _fill_specks(is_object, layers, sigma)
    return Verdict(is_object, is_thing, changes, breaks)


def _with_news(
    change: Change, changes: list[Change], layers: Layers, params: LocalParams
) -> Change:
    """Take for a visitor what was brought, or taken away, however still it is.

    A thing that was only moved within the picture leaves a place and comes to another one: its
    colours were there before. Those of what was brought were in no place that changed meanwhile.
    Then the outline alone tells: things do not move, and of who carries them some colours may be
    those of the place.
    """
    news = replace(change, balance=change.outline)
    if change.visitor or abs(news.balance) < params.edge_balance + _prior(news, layers, params):
        return change
    left = news.balance > 0
    near = _MEANWHILE * len(layers.labels)
    meanwhile = [one for one in changes if abs(one.frame - change.frame) <= near]
    there = np.concatenate([_colors(one, layers, before=not left) for one in meanwhile])
    if share_among(_colors(change, layers, before=left), there) > _KNOWN:
        return change
    return replace(news, visitor=1 if left else -1)


def _colors(change: Change, layers: Layers, *, before: bool) -> Bytes:
    """Give the colours of a place before it changed, or after, (m, 3)."""
    y, x = positions(change.region)
    state = change.before if before else change.after
    return np.asarray(layers.colors[state[y, x], y, x], dtype=np.uint8)


def _places_of_several(
    is_object: NDArray[np.bool_], layers: Layers, sigma: float
) -> NDArray[np.bool_]:
    """Mark what is seen most and was taken for an object, though several came and left before it.

    One decision for all pixels that hang together, by most of them.
    """
    y, x = positions(is_object[0])
    rivals = ~is_object[:, y, x]
    often = (layers.counts[:, y, x] * rivals).max(axis=0)
    place = lies_between(layers, y, x, rivals, sigma)
    place &= layers.counts[0, y, x] >= _OFTENER * often
    solid = is_object[0].astype(np.uint8)
    solid = cv2.morphologyEx(solid, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    _, parts = cv2.connectedComponents(solid, connectivity=8)
    part = parts[y, x]
    found = np.zeros(is_object.shape[1:], np.bool_)
    found[y, x] = (2 * np.bincount(part, place) > np.bincount(part))[part] if part.size else False
    return found


def _fill_specks(is_object: NDArray[np.bool_], layers: Layers, sigma: float) -> None:
    """Let a pixel or two whose votes cancel follow those around them that show the same object."""
    left = ~is_object & (layers.counts > 0)
    overruled = is_object[0] & left.any(axis=0)
    if not overruled.any():
        return
    solid = cv2.morphologyEx(overruled.view(np.uint8), cv2.MORPH_CLOSE, np.ones(_SPECK, np.uint8))
    y, x = positions((solid > 0) & ~overruled)
    near = overruled.astype(np.float32)
    sums = cv2.blur(layers.colors[0] * near[..., None], _SPECK)[y, x]
    around = sums / np.maximum(cv2.blur(near, _SPECK)[y, x], 1e-6)[:, None]
    alike = np.abs(layers.colors[:, y, x] - around).max(axis=2) < SHADES * sigma
    others = ~alike & (layers.counts[:, y, x] > 0)
    same = alike[0] & others.any(axis=0)
    y, x, others = y[same], x[same], others[:, same]
    is_object[0, y, x] = True
    is_object[:, y, x] &= ~others


def _evidence(
    change: Change, layers: Layers, params: LocalParams
) -> tuple[NDArray[np.bool_], bool]:
    """Mark what of a change cannot be light, and say whether it is light for the most part."""
    before, after = (color_of(layers.colors, label) for label in (change.before, change.after))
    region = change.region.view(np.uint8)
    # Layers are means of many frames: how noisy one frame is makes no difference to them.
    found = object_evidence(after, before, region, params.least_noise, params)
    is_light = np.count_nonzero(found) < _MOST_OF_IT * np.count_nonzero(region)
    return found > 0, bool(is_light)


def _vote(
    change: Change,
    layers: Layers,
    votes: Singles,
    cast: Singles,
    params: LocalParams,
) -> None:
    """Vote for one side of a change as the object and for the other as the place."""
    weight = abs(change.balance)
    if weight < params.edge_balance + _prior(change, layers, params):
        return
    region = change.region
    if np.count_nonzero(region) > _LARGEST * region.size:
        return
    left = change.balance > 0
    thing, place = (change.before, change.after) if left else (change.after, change.before)
    if not change.visitor:
        moves, rests = change.motion if left else change.motion[::-1]
        if change.is_rigid(0 if left else 1, params):
            return
        if max(params.rigid_motion, LIVELIER * moves) < rests < UNKNOWN:
            return  # people move more than their places: what else speaks for it is in doubt
    y, x = positions(region)
    label, shown = thing[y, x], layers.labels[:, y, x]
    outside = shown[change.frame :] if left else shown[: change.frame]
    if change.took_break:  # he is there again
        outside = outside[(outside == label).mean(axis=1) <= _MOST_OF_IT]
    stray = (outside == label).sum(axis=0) / np.maximum(layers.counts[label, y, x], 1)
    keep = stray < params.stray_share  # an object that came had not been there before
    y, x = y[keep], x[keep]
    votes[thing[y, x], y, x] += weight
    votes[place[y, x], y, x] -= weight
    cast[thing[y, x], y, x] += weight
    cast[place[y, x], y, x] += weight
    moves, rests = change.motion if left else change.motion[::-1]
    if LIVELIER * rests < moves < UNKNOWN:
        _vote_around(change, layers, votes, cast, params)


def _prior(change: Change, layers: Layers, params: LocalParams) -> float:
    """Balance that is asked for in addition, as what would be the object is seen more often."""
    y, x = positions(change.region)
    before, after = (
        max(float(median(layers.counts[side[y, x], y, x])), 1.0)
        for side in (change.before, change.after)
    )
    ratio = before / after if change.balance > 0 else after / before
    return params.majority_weight * max(float(np.log(ratio)), 0.0)


def _vote_around(
    change: Change, layers: Layers, votes: Singles, cast: Singles, params: LocalParams
) -> None:
    """Let a change vote on what is around it and changed with it, though not from one colour.

    Of somebody who sways few pixels show one colour for long. All his layers are those that are
    seen on his side of the change only.
    """
    y, x = positions(change.region)
    size = int(max(np.ptp(y), np.ptp(x))) + 1
    rows = slice(max(int(y.min()) - size, 0), int(y.max()) + size + 1)
    columns = slice(max(int(x.min()) - size, 0), int(x.max()) + size + 1)
    shown, region = layers.labels[:, rows, columns], change.region[rows, columns]
    sides = shown[: change.frame], shown[change.frame :]
    inside, outside = sides if change.balance > 0 else sides[::-1]
    here, away = (
        np.stack([np.count_nonzero(side == k, axis=0) for k in range(LAYERS)])
        for side in (inside, outside)
    )
    own = away < params.stray_share * (here + away)
    changed = (here * own).sum(axis=0) > OWN * len(inside)
    changed &= (away * ~own).sum(axis=0) > OWN * len(outside)
    solid = cv2.morphologyEx(changed.view(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    _, parts = cv2.connectedComponents(solid, connectivity=8)
    fresh = changed & np.isin(parts, parts[region & (solid > 0)]) & ~region
    weight = np.float32(abs(change.balance))
    votes[:, rows, columns] += np.where(own, weight, -weight) * fresh
    cast[:, rows, columns] += weight * fresh


def _with_shades(is_object: NDArray[np.bool_], colors: Bytes, sigma: float) -> NDArray[np.bool_]:
    """Let shades of an object's colour count as the object."""
    shaded = is_object.copy()
    y, x = positions(np.asarray(is_object.any(axis=0)))
    own, voted = colors[:, y, x].astype(np.int16), is_object[:, y, x]
    result = voted.copy()
    for k in range(LAYERS):
        for other in range(LAYERS):
            alike = np.abs(own[k] - own[other]).max(axis=1) < SHADES * sigma
            result[k] |= alike & voted[other]
    shaded[:, y, x] = result
    return shaded
