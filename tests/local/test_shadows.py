from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.params import DEFAULTS
from bgsub.local.shadows import object_evidence


@pytest.fixture
def place():
    rng = np.random.default_rng(0)
    return rng.integers(90, 200, (30, 40, 3), dtype=np.uint8)


@pytest.fixture
def wall():
    """A place without texture, lighter towards one side."""
    return np.repeat(np.linspace(110, 130, 40)[None, :, None], 30, axis=0) * np.ones(3)


def share(place, seen, sigma=3.0):
    mask = np.zeros(place.shape[:2], np.uint8)
    mask[5:25, 5:35] = 1
    evidence = object_evidence(np.clip(seen, 0, 255).astype(np.uint8), place, mask, sigma)
    assert not evidence[mask == 0].any()
    return evidence[mask > 0].mean()


def test_less_light_of_the_same_colour_is_no_evidence(place):
    assert share(place, 0.6 * place) == 0
    assert share(place, 1.1 * place) == 0


def test_too_little_or_too_much_light_on_a_plain_place_is(wall):
    wall = wall.astype(np.uint8)
    assert share(wall, 0.2 * wall) == 1
    assert share(wall, 1.6 * wall) == 1


def test_other_colours_of_a_plain_place_are(wall):
    wall = wall.astype(np.uint8)
    assert share(wall, wall * (0.5, 0.7, 0.9)) > 0.95


def test_nothing_is_where_the_texture_of_the_place_is_still_seen(place):
    assert share(place, 0.2 * place) == 0
    assert share(place, place * (0.5, 0.7, 0.9)) == 0


def test_another_texture_is(place):
    other = np.random.default_rng(1).uniform(50, 120, (*place.shape[:2], 1)) * np.ones(3)
    assert share(place, other) > 0.95


def tinted(blue=0):
    """A flat place at level 100 and its shadow, which leaves .8 of the light, and more of blue."""
    place = np.full((30, 40, 3), 100, np.uint8)
    seen = np.full_like(place, 80)
    seen[..., 0] += np.uint8(blue)
    return place, seen


def test_a_tint_is_evidence_from_its_bound_on():
    place, seen = tinted(6)
    ratios = np.log((seen[0, 0] + 4.0) / 104)
    luma = round(seen[0, 0] @ [0.114, 0.587, 0.299]) + 4
    chroma = np.abs(ratios - ratios.mean()).max() * luma
    bound = chroma / DEFAULTS.shadow_chroma
    assert share(place, seen, 1.02 * bound) == 0
    assert share(place, seen, 0.98 * bound) == 1


@pytest.mark.parametrize(("blue", "expected"), [(6, 0), (10, 0), (14, 1), (24, 1)])
def test_the_sky_tints_a_shadow_a_little_and_a_jacket_more(blue, expected):
    assert share(*tinted(blue), 3.0) == expected


def test_texture_is_evidence_from_its_bound_on():
    """Stripes that a shadow does not have: the deviation of the logarithm times the level."""
    place, seen = tinted()
    seen[:, ::2] += np.uint8(8)
    ratio = np.log((seen[0, :2, 0] + 4.0) / 104)
    deviation = np.sqrt(0.24) * np.ptp(ratio)  # 2 or 3 of 5 columns
    bound = deviation * (seen[0, :2, 0].mean() + 4) / DEFAULTS.shadow_texture
    inner = np.s_[10:20, 12:28]
    mask = np.zeros(place.shape[:2], np.uint8)
    mask[5:25, 5:35] = 1
    assert not object_evidence(seen, place, mask, 1.02 * bound)[inner].any()
    assert object_evidence(seen, place, mask, 0.96 * bound)[inner].all()


@pytest.mark.parametrize(("level", "expected"), [(60, 0), (57, 1), (130, 0), (134, 1)])
def test_a_shadow_leaves_three_fifths_of_the_light_and_nothing_shines_back_by_more_than_a_third(
    level, expected
):
    place = np.full((30, 40, 3), 100, np.uint8)
    assert share(place, np.full_like(place, level)) == expected


def evidence_by_definition(picture, background, mask, sigma, params):
    """Chroma, texture and range of the ratios of light over 5×5 pixels of the mask."""
    inside = mask.astype(float)

    def mean(plane):
        wide = np.pad(plane * inside, 2, mode="reflect")
        sums = np.lib.stride_tricks.sliding_window_view(wide, (5, 5)).sum(axis=(2, 3))
        wide = np.pad(inside, 2, mode="reflect")
        count = np.lib.stride_tricks.sliding_window_view(wide, (5, 5)).sum(axis=(2, 3))
        return sums / np.maximum(count, 1e-9)

    ratios = np.log((picture + 4.0) / (background + 4.0))
    means = np.stack([mean(ratios[..., c]) for c in range(3)], axis=2)
    own = ratios.mean(axis=2)
    luma = np.rint(picture @ [0.114, 0.587, 0.299]) + 4
    chroma = np.abs(means - means.mean(axis=2, keepdims=True)).max(axis=2) * luma
    deviation = np.sqrt(np.maximum(mean(own**2) - mean(own) ** 2, 0)) * mean(luma)
    found = (chroma > 2.5 * sigma) | (deviation > 2.5 * sigma)
    found |= (mean(own) < np.log(params.shadow_darkest)) | (mean(own) > np.log(1.3))
    return found & (inside > 0)


def test_noise_by_level_is_that_of_what_is_seen():
    place, seen = tinted(10)
    noise = np.full(256, 1.0, np.float32)
    assert share(place, seen, noise) == 1
    noise[round(seen[0, 0] @ [0.114, 0.587, 0.299])] = 4.0
    assert share(place, seen, noise) == share(place, seen, 4.0) == 0


@pytest.mark.parametrize("seed", range(6))
def test_evidence_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    place = np.kron(rng.integers(20, 200, (3, 4, 3)), np.ones((10, 10, 1)))
    gains = np.kron(rng.uniform(0.35, 1.35, (3, 4, 1)), np.ones((10, 10, 1)))
    tint = np.kron(rng.normal(1, 0.04, (3, 4, 3)), np.ones((10, 10, 1)))
    seen = place * gains * tint + rng.normal(0, 3, place.shape)
    place, seen = (np.clip(np.rint(one), 0, 255).astype(np.uint8) for one in (place, seen))
    mask = np.zeros((30, 40), np.uint8)
    mask[2:27, 3:33] = rng.random((25, 30)) < 0.8
    params = replace(DEFAULTS, texture_kept=1.1)
    found = object_evidence(seen, place, mask, 2.0, params)
    expected = evidence_by_definition(seen, place, mask, 2.0, params)
    assert 0.2 < expected[mask > 0].mean() < 0.9
    assert np.count_nonzero(found != expected) <= 2  # single precision at a limit


def levels(single, shared):
    return np.stack([np.full(256, one, np.float32) for one in (single, shared)])


def noisy_object(tint, noise=3.0):
    """A faint plain object before a plain place, in noise that every pixel has by itself."""
    place = np.full((30, 40, 3), 120, np.uint8)
    seen = np.rint(place - tint + np.random.default_rng(2).normal(0, noise, place.shape))
    return place, seen


def test_noise_that_each_pixel_has_by_itself_hides_no_colour():
    """Nor does it make one: a grey shadow in such noise has none."""
    tinted, grey = noisy_object(np.array([2, 10, 14])), noisy_object(np.array([10, 10, 10]))
    assert share(*tinted, levels(3.0, 3.0)) < 0.3
    assert share(*tinted, levels(3.0, 0.7)) > 0.9
    assert share(*grey, levels(3.0, 0.7)) < 0.02


def test_nor_does_it_hide_a_texture():
    stripes = np.where(np.arange(40) % 8 < 4, 4, 18)[None, :, None] * np.ones((30, 1, 3))
    striped, plain = noisy_object(stripes), noisy_object(np.full((30, 40, 3), 11))
    assert share(*striped, levels(3.0, 3.0)) < 0.6
    assert share(*striped, levels(3.0, 0.7)) > share(*striped, levels(3.0, 3.0)) + 0.2
    assert share(*plain, levels(3.0, 0.7)) < 0.02


def test_a_deep_shadow_may_have_a_tint_that_no_noise_hides():
    """A part of its depth, as without noise that is known to be each pixel's own."""
    place, seen = tinted(10)
    deep = np.full_like(place, 65)
    deep[..., 0] += 6
    assert share(place, deep, levels(6.0, 0.7)) == share(place, deep, 6.0) == 0
    assert share(place, seen, levels(1.0, 0.7)) == 1


def test_a_darkest_shadow_of_nothing_is_never_passed():
    place = np.full((30, 40, 3), 250, np.uint8)
    none = replace(DEFAULTS, shadow_darkest=0.0, texture_kept=1.1)
    mask = np.ones((30, 40), np.uint8)
    assert object_evidence(np.full_like(place, 90), place, mask, 3.0).all()
    assert not object_evidence(np.zeros_like(place), place, mask, 3.0, none).any()


def test_an_empty_mask_holds_no_evidence():
    picture = np.full((9, 12, 3), 90, np.uint8)
    assert not object_evidence(picture, picture, np.zeros((9, 12), np.uint8), 3.0).any()
