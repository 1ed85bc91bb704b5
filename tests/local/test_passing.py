"""What passes covers the pixels around together; leaves move on their own, lamps where they are."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.layers import LAYERS, UNSEEN, Layers
from bgsub.local.params import DEFAULTS
from bgsub.local.passing import is_passed

SHAPE = (60, 90)
MIDDLE = np.s_[15:45, 20:70]


def layers_of(away):
    """Layers of which the second is shown where a place is away, (n, h, w)."""
    nothing = np.zeros((LAYERS, *away.shape[1:]), np.uint8)
    return Layers(np.zeros((*nothing.shape, 3), np.uint8), nothing, nothing, nothing, away)


def cars(n=120):
    """A road that is covered by something 24 pixels wide in a third of the frames."""
    away = np.zeros((n, *SHAPE), np.uint8)
    for shown, left in zip(away, np.random.default_rng(0).integers(-24, 90, n), strict=True):
        shown[:, max(left, 0) : left + 24] = 1
    return away


def leaves(n=120):
    """Patches of 3×3 pixels, each of which shows something else in a third of the frames."""
    away = np.random.default_rng(1).random((n, 20, 30)) < 1 / 3
    return np.kron(away, np.ones((1, 3, 3), np.uint8)).astype(np.uint8)


def lamp(n=120):
    away = np.zeros((n, *SHAPE), np.uint8)
    away[::3][:, *MIDDLE] = 1
    return away


def test_cars_pass_and_leaves_and_lamps_do_not():
    assert is_passed(layers_of(cars()))[MIDDLE].mean() > 0.95
    assert is_passed(layers_of(leaves()))[MIDDLE].mean() < 0.01
    assert not is_passed(layers_of(lamp())).any()


def test_edges_that_tremble_do_not_hide_that_cars_pass():
    away = cars()
    trembling = np.random.default_rng(3).random((len(away), 12, 90)) < 0.7
    for row in (2, 3):  # lines across the road
        away[:, row::5] |= trembling.astype(np.uint8)
    assert is_passed(layers_of(away), is_shaken=True)[MIDDLE].mean() > 0.8
    assert is_passed(layers_of(away))[MIDDLE].mean() < 0.5


def test_it_does_not_matter_which_layer_is_shown_instead():
    seen = cars()
    some = np.where(seen, np.random.default_rng(2).choice([1, 3, UNSEEN], seen.shape), 0)
    found = is_passed(layers_of(some.astype(np.uint8)))
    np.testing.assert_array_equal(found, is_passed(layers_of(seen)))


def test_a_place_that_never_changes_is_not_passed_and_the_rule_can_be_left_out():
    assert not is_passed(layers_of(np.zeros((20, *SHAPE), np.uint8))).any()
    assert not is_passed(layers_of(cars()), replace(DEFAULTS, passing_share=0)).any()


@pytest.mark.parametrize("shape", [(719, 1279), (720, 1280)])
def test_large_pictures_are_looked_at_more_coarsely(shape):
    away = np.zeros((30, *shape), np.uint8)
    for shown, left in zip(away, np.random.default_rng(0).integers(0, 1200, 30), strict=True):
        shown[:, left : left + 80] = 1
    found = is_passed(layers_of(away))
    assert found.shape == shape
    assert found.any()
