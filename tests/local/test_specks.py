"""Small regions that did not become objects: which are worth following."""

import numpy as np
import pytest

from bgsub.local.cleanup import mean_score, vote
from bgsub.local.scoring import UNIT
from bgsub.local.specks import find_specks

SIZE = (60, 80)
LEAST = 40


def scores(*things):
    """Scores of squares, each (x, y, side, thresholds)."""
    drawn = np.zeros(SIZE, np.uint8)
    for x, y, side, strength in things:
        drawn[y : y + side, x : x + side] = round(strength * UNIT)
    return drawn


def found(score, mask=None):
    mean = mean_score(score)
    objects = np.zeros(SIZE, np.uint8) if mask is None else mask
    return find_specks(vote(mean).copy(), objects, score, mean, LEAST)


def test_a_speck_is_found_at_its_place_with_its_strength():
    (speck,) = found(scores((20, 30, 5, 4)))
    assert speck.peak == pytest.approx(1.5 / 0.9, abs=0.03)  # of at most 1.5; .9 are the level
    y, x = np.nonzero(speck.inside)
    assert abs(x.mean() + speck.x - 22) < 1
    assert abs(y.mean() + speck.y - 32) < 1
    assert 2.5 < speck.strength <= 4


@pytest.mark.parametrize(
    "thing", [(20, 30, 5, 1.5), (20, 30, 2, 7), (20, 30, 12, 4)], ids=["faint", "tiny", "large"]
)
def test_what_is_faint_or_tiny_or_large_is_none(thing):
    assert found(scores(thing)) == ()


def test_what_touches_an_object_is_part_of_it():
    mask = np.zeros(SIZE, np.uint8)
    mask[30:34, 20:22] = 255
    assert found(scores((20, 30, 5, 4)), mask) == ()


def test_of_many_only_the_strong_count():
    weak = [(x, y, 5, 2.5) for x in range(2, 78, 9) for y in range(2, 56, 9)]
    assert len(found(scores(*weak[:20]))) == 20
    assert found(scores(*weak)) == ()
    (strong,) = found(scores(*weak[1:], (*weak[0][:2], 5, 7)))
    assert strong.strength > 3


def test_what_is_not_of_its_strength_is_no_part_of_a_speck():
    score = scores((20, 30, 6, 2), (20, 30, 3, 7), (20, 33, 3, 7))
    marked = vote(mean_score(score)) > 0
    (speck,) = found(score)
    high, wide = speck.inside.shape
    part = np.s_[speck.y : speck.y + high, speck.x : speck.x + wide]
    assert marked[part][score[part] < 3 * UNIT].any()
    assert np.array_equal(speck.inside > 0, marked[part] & (score[part] >= 3 * UNIT))


def one_blob(shape, values=4 * UNIT, at=(10, 10)):
    """A mask and scores of one blob, drawn as it is."""
    raw, score = np.zeros(SIZE, np.uint8), np.zeros(SIZE, np.uint8)
    part = np.s_[at[0] : at[0] + shape[0], at[1] : at[1] + shape[1]]
    raw[part], score[part] = 1, values
    return raw, score


def specks(raw, score, *, mask=None, least=LEAST):
    nothing = np.zeros(SIZE, np.uint8) if mask is None else mask
    return find_specks(raw, nothing, score, score, least)


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        ((2, 4), 0),
        ((3, 3), 1),
        ((1, 9), 1),
        ((8, 9), 1),
        ((79 // 2, 2), 0),  # longer than three sides of a square of the largest area
        ((8, 10), 0),
        ((26, 3), 1),
        ((27, 2), 0),
    ],
)
def test_sizes_of_specks(shape, count):
    """Nine pixels to less than twice the least area of 40, and 26.8 long at most."""
    assert len(specks(*one_blob(shape))) == count


@pytest.mark.parametrize(("peak", "count"), [(2 * UNIT - 1, 0), (2 * UNIT, 1)])
def test_the_strongest_pixel_has_two_thresholds(peak, count):
    raw, score = one_blob((4, 4), UNIT)
    score[11, 12] = peak
    assert len(specks(raw, score)) == count


def test_strength_is_the_mean_of_the_scores_in_thresholds():
    raw, score = one_blob((4, 4), 3 * UNIT)
    score[10, 10] = 7 * UNIT
    (speck,) = specks(raw, score)
    assert speck.strength == pytest.approx((15 * 3 + 7) / 16)
    assert (speck.x, speck.y, speck.inside.shape) == (10, 10, (4, 4))


def test_the_rim_of_another_blob_in_the_box_is_none_of_a_speck():
    """An L around a square: its box holds the square, which is no part of it."""
    raw, score = one_blob((12, 2), 4 * UNIT)
    raw[20:22, 10:22], score[20:22, 10:22] = 1, 4 * UNIT
    raw[11:15, 15:19], score[11:15, 15:19] = 1, 2 * UNIT
    found = specks(raw, score, least=60)
    assert sorted((one.inside.sum(), round(one.strength, 3)) for one in found) == [(16, 2), (44, 4)]


@pytest.mark.parametrize(("share", "kept"), [(0.61, 16), (0.59, 12)])
def test_a_pixel_of_a_speck_has_three_fifths_of_the_mean(share, kept):
    raw, score = one_blob((4, 4), 4 * UNIT)
    score[10, 10:14] = round(share * 3 * 4 * UNIT / (4 - share))  # that share of the mean of all 16
    (speck,) = specks(raw, score)
    assert speck.inside.sum() == kept


@pytest.mark.parametrize(("many", "weak"), [(50, True), (51, False)])
def test_up_to_fifty_count_however_weak(many, weak):
    raw, score = np.zeros((60, 120), np.uint8), np.zeros((60, 120), np.uint8)
    for i in range(many):
        y, x = 1 + 5 * (i // 20), 1 + 5 * (i % 20)
        raw[y : y + 3, x : x + 3] = 1
        score[y : y + 3, x : x + 3] = round(2.9 * UNIT) if i else 3 * UNIT
    found = find_specks(raw, np.zeros_like(raw), score, score, LEAST)
    assert len(found) == (many if weak else 1)
