"""Arrivals and departures: where, when, and what outline and motion say of them."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.changes import UNKNOWN, find_changes
from bgsub.local.layers import find_layers
from bgsub.local.params import DEFAULTS

N = 60
OUTLINE_ALONE = replace(DEFAULTS, color_balance=2.1, walk_weight=0.0, return_weight=0.0)


def changes(scenes, workers, there, *, sways=False, params=OUTLINE_ALONE, height=24):
    """What is found where somebody stands in the frames of `there`, at rest or swaying."""
    rng, frames = np.random.default_rng(3), []
    for i in range(N):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        if there[0] <= i < there[1]:
            left = 40 + (int(rng.integers(-1, 2)) if sways else 0)
            scenes.put(frame, truth, 30, left, scenes.thing()[:height])
        frames.append(frame)
    pictures = scenes.finish(frames)
    first = np.rint(pictures.mean(axis=0)).astype(np.uint8)
    layers = find_layers(pictures, first, 12, seed=0, workers=workers)
    return layers, find_changes(pictures, layers, 3.0, params)


@pytest.mark.parametrize(("there", "sign"), [((0, 35), 1), ((25, 60), -1)])
def test_the_outline_tells_who_was_there(scenes, workers, there, sign):
    layers, (found,) = changes(scenes, workers, there)
    body = np.zeros(scenes.shape, bool)
    body[30:54, 40:54] = True
    assert found.region[body].mean() > 0.8
    assert (found.region & ~body).sum() < 0.2 * body.sum()
    assert found.frame == pytest.approx(35 if sign > 0 else 25, abs=3)
    assert sign * found.balance > 0.5
    y, x = np.nonzero(found.region & body)
    before, after = (layers.colors[side[y, x], y, x] for side in (found.before, found.after))
    shown = (before if sign > 0 else after).astype(float)
    assert np.abs(shown.mean(axis=0) - (40, 60, 215)).max() < 15
    # The textured one is at rest; of the place no edges but those of its patches are there to tell.
    assert found.motion[0 if sign > 0 else 1] < 0.1


@pytest.mark.parametrize("there", [(0, 35), (25, 60)])
def test_who_sways_is_the_object_a_little_more_than_who_rests(scenes, workers, there):
    """The motion of the edges is worth 0.2 at most, a quarter of it a factor of two."""
    (rests,) = changes(scenes, workers, there)[1]
    (sways,) = changes(scenes, workers, there, sways=True)[1]
    more = abs(sways.balance) - abs(rests.balance)
    assert 0.15 < more < 0.45


def test_what_is_there_for_a_moment_has_no_motion_that_is_known(scenes, workers):
    found = changes(scenes, workers, (0, 12), params=replace(OUTLINE_ALONE, still_share=0.5))[1]
    assert found
    assert all(UNKNOWN not in one.motion for one in found)
    assert not changes(scenes, workers, (28, 31))[1]


@pytest.mark.parametrize(("area", "count"), [(0.03, 1), (0.06, 0)])
def test_small_places_are_left_alone(scenes, workers, area, count):
    """The body covers 4.9 % of the picture."""
    params = replace(OUTLINE_ALONE, change_area=area)
    assert len(changes(scenes, workers, (0, 35), params=params)[1]) == count


def test_nothing_changes_where_nobody_comes(scenes, workers):
    assert changes(scenes, workers, (0, 0))[1] == []
    assert changes(scenes, workers, (0, N))[1] == []
