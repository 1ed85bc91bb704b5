from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.marked import MarkedPixels
from bgsub.local.params import DEFAULTS
from bgsub.local.texture import TEXTURE_REACH, shows_texture

SHAPE = (60, 80)


@pytest.fixture
def place():
    return np.random.default_rng(0).uniform(60, 190, SHAPE).astype(np.float32)


def kept(seen, place, mask=None):
    return shown(seen, place, np.ones(SHAPE, np.bool_) if mask is None else mask)


def shown(seen, place, mask, params=DEFAULTS):
    """Where texture is shown, as a picture."""
    marked = MarkedPixels(mask.astype(np.uint8))
    seen, behind = (marked.of(one.astype(np.float32)) for one in (seen, place))
    return marked.mask_of(shows_texture(seen, behind, marked, params)) > 0


@pytest.mark.parametrize("gain", [0.15, 0.5, 1.6])
def test_light_and_shadow_leave_the_texture(place, gain):
    noise = np.random.default_rng(1).normal(0, 3, SHAPE)
    assert kept(gain * place + noise, place).all()


def test_half_of_a_pixel_of_tremor_leaves_it(place):
    assert kept((place + np.roll(place, 1, axis=1)) / 2, place).all()


@pytest.mark.parametrize("seed", range(1, 6))
def test_an_object_hides_it_whatever_its_texture_is(place, seed):
    thing = np.random.default_rng(seed).uniform(20, 230, SHAPE)
    assert not kept(thing, place).any()
    assert not kept(np.full(SHAPE, 90.0), place).any()


def test_an_object_hides_it_in_a_place_whose_light_has_changed(place):
    seen = 1.5 * place
    seen[10:50, 20:60] = np.random.default_rng(2).uniform(60, 190, (40, 40))
    found = kept(seen, place)
    assert not found[26:34, 38:42].any()
    assert found[:, :10].all()
    assert found[:, 70:].all()


def test_a_plain_place_tells_nothing():
    place = 120 + np.random.default_rng(0).normal(0, 1, SHAPE).astype(np.float32)
    assert not kept(0.6 * place, place).any()


def test_only_the_mask_is_looked_at(place):
    mask = np.zeros(SHAPE, bool)
    mask[10:40, 10:40] = True
    seen = np.full(SHAPE, 240.0)
    seen[mask] = 0.4 * place[mask]
    assert kept(seen, place, mask)[mask].all()


def test_the_level_is_a_parameter(place):
    noisy = place + np.random.default_rng(3).normal(0, 90, SHAPE).astype(np.float32)
    inside = np.ones(SHAPE, np.bool_)
    assert DEFAULTS.texture_kept <= 1
    assert shown(noisy, place, inside).mean() > 0.5
    strict = replace(DEFAULTS, texture_kept=0.9)
    assert not shown(noisy, place, inside, strict).any()


def test_the_mask_of_a_small_thing_tells_nothing(place):
    """A patch that is brighter than its place, as a small thing can be by chance."""
    seen, small = place.copy(), np.zeros(SHAPE, np.bool_)
    small[20:32, 30:42] = True
    seen[small] += 30
    assert not kept(seen, place, small).any()
    small[10:40, 20:60] = True
    assert kept(seen, place, small)[20:32, 30:42].all()


def test_the_rim_of_background_around_a_plain_thing_says_nothing_of_it(place):
    """Masks reach two pixels beyond an object: a quarter of this one shows the background."""
    mask = np.zeros(SHAPE, np.bool_)
    mask[12:46, 20:50] = True
    seen = place.copy()
    seen[14:44, 22:48] = 125 + np.random.default_rng(4).normal(0, 2, (30, 26))
    assert not kept(seen, place, mask)[26:32, 32:38].any()


def windows(plane, side):
    """Sums over the windows of so many pixels around each; 0 beyond the picture."""
    wide = np.pad(plane.astype(float), side // 2)
    sums = np.lib.stride_tricks.sliding_window_view(wide, (side, side))
    return sums.sum(axis=(2, 3))


def kept_by_definition(level, behind, inside):
    count = np.maximum(windows(inside, 9), 1)
    d, e = ((one - windows(one * inside, 9) / count) * inside for one in (level, behind))
    size = windows(inside, 35)
    light = level[inside > 0].mean() / max(behind[inside > 0].mean(), 1)
    seen, there = windows(d * d, 35), windows(e * e, 35)
    seen = np.maximum(seen, light**2 / 2 * there)
    least = 4.0**2 * size
    kept = windows(d * e, 35) > 0.4 * np.sqrt((seen + least) * (there + least))
    return kept & (size >= 200)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("gain", [0.3, 1.0, 1.4])
def test_it_is_its_definition(seed, gain):
    """Up to a few pixels at the limit, where single precision decides."""
    rng = np.random.default_rng(seed)
    behind = 110 + rng.normal(0, rng.choice([4, 8, 20]), SHAPE)
    level = gain * behind + rng.normal(0, rng.choice([3, 9, 18]), SHAPE)
    mask = np.zeros(SHAPE)
    for _ in range(3):
        top, left = rng.integers(0, 50), rng.integers(0, 70)
        mask[top : top + rng.integers(6, 40), left : left + rng.integers(6, 40)] = 1
    found = kept(level, behind.astype(np.float32), mask)
    expected = kept_by_definition(level.astype(np.float32), behind.astype(np.float32), mask)
    assert np.count_nonzero((found != expected)[mask > 0]) <= 12


def test_a_black_place_is_divided_by_as_if_it_had_one_level(place):
    assert not kept(place, np.zeros(SHAPE, np.float32)).any()


def test_no_pixel_farther_than_its_reach_counts(place):
    """Windows of windows: 17 pixels, and 4 more."""
    assert TEXTURE_REACH == 21
    noisy = place + np.random.default_rng(1).normal(0, 25, SHAPE).astype(np.float32)
    at = 30, 40
    for reach, same in ((TEXTURE_REACH, True), (6, False)):
        near = np.zeros(SHAPE, bool)
        near[at[0] - reach : at[0] + reach + 1, at[1] - reach : at[1] + reach + 1] = True
        other = np.where(near, noisy, np.random.default_rng(2).uniform(0, 255, SHAPE))
        assert (kept(other, place)[at] == kept(noisy, place)[at]) == same


def test_where_it_is_asked_for_the_answer_is_that_of_all(place):
    """Elsewhere it may be no; and it is where too few pixels are near any that are asked for."""
    mask = np.zeros(SHAPE, np.uint8)
    mask[5:45, 5:35] = mask[50:54, 70:74] = 1
    marked = MarkedPixels(mask)
    behind = marked.of(place)
    everywhere = shows_texture(0.5 * behind, behind, marked)
    assert everywhere.any()
    large = marked.of(np.arange(SHAPE[1])[None].repeat(SHAPE[0], axis=0)) < 40
    for asked in (large, ~large, np.zeros_like(large)):
        found = shows_texture(0.5 * behind, behind, marked, DEFAULTS, asked)
        np.testing.assert_array_equal(found & asked, everywhere & asked)
    assert not shows_texture(0.5 * behind, behind, marked, DEFAULTS, ~large).any()
