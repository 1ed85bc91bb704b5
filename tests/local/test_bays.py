from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.bays import bays
from bgsub.local.params import DEFAULTS
from bgsub.local.scoring import UNIT


def faint(mask):
    """Some evidence everywhere, too little for a mask."""
    return np.full(mask.shape, UNIT // 2, np.uint8)


def test_the_ground_between_two_people_shows_nothing_and_is_no_bay():
    """Their heads and feet meet; what lies between has a third of a threshold in places alone."""
    mask = np.zeros((60, 60), np.uint8)
    mask[10:40, 10:50] = 255
    mask[16:40, 28:32] = 0
    score = faint(mask)
    assert bays(mask, score, 1, DEFAULTS).any()
    score[16:40, 28:32] = 0
    score[16:19, 28:32] = UNIT // 2
    assert not bays(mask, score, 1, DEFAULTS).any()
    assert bays(mask, score, 1, replace(DEFAULTS, bay_score=0.0)).any()


@pytest.mark.parametrize("step", [1, 2])
def test_bays_of_an_object_are_closed(step):
    mask = np.zeros((80, 120), np.uint8)
    mask[10 * step : 30 * step, 10 * step : 40 * step] = 255
    whole = mask.copy()
    mask[18 * step : 22 * step, 14 * step : 40 * step] = 0  # a bay that is open to the right
    found = bays(mask, faint(mask), step, DEFAULTS)
    assert found[18 * step : 22 * step, 18 * step : 34 * step].all()
    assert not (found & ~whole).any()
    assert not (found & mask).any()


def test_a_bay_is_closed_up_to_an_outline_between_the_pixels_that_are_looked_at():
    mask = np.full((81, 121), 255, np.uint8)
    mask[31:40, 51:90] = 0
    found = bays(mask, faint(mask), 2, DEFAULTS)
    np.testing.assert_array_equal(found > 0, mask == 0)


def test_straight_outlines_stay_and_so_do_gaps_between_two_objects():
    mask = np.zeros((60, 60), np.uint8)
    mask[:, 5:20] = mask[:, 32:50] = 255
    assert not bays(mask, faint(mask), 1, DEFAULTS).any()


def test_an_open_corner_is_no_bay():
    """Most of the 15×15 pixels in it are the mask's, but half of its outline is open."""
    mask = np.full((60, 60), 255, np.uint8)
    mask[30:, 30:] = 0
    assert bays(mask, faint(mask), 1, replace(DEFAULTS, bay_outline=0.0)).any()
    assert not bays(mask, faint(mask), 1, DEFAULTS).any()


def test_bays_at_the_border_of_a_picture_are_closed():
    mask = np.zeros((40, 60), np.uint8)
    mask[:30, 20:40] = 255
    mask[:10, 28:32] = 0
    assert bays(mask, faint(mask), 1, DEFAULTS)[:9, 28:32].any()


@pytest.mark.parametrize("across", [15, 17])
def test_so_many_bays_are_noise(across):
    """Of 15 times 15 openings all are closed, of 17 times 17 none."""
    mask = np.full((80, 80), 255, np.uint8)
    mask[2 : 2 + 4 * across : 4, 2 : 2 + 4 * across : 4] = 0
    found = bays(mask, faint(mask), 1, DEFAULTS)
    assert np.count_nonzero(found) == (across**2 if across == 15 else 0)
