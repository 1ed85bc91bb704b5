"""A shadow on texture is taken out of a residual; an object stays, in pictures of any size."""

import cv2
import numpy as np
import pytest

from bgsub.outliers.sweeping_shadow import SweepingShadow

SIZES = [(60, 80), (61, 81), (240, 320), (241, 321)]
sizes = pytest.mark.parametrize("size", SIZES)


def textured(size, seed=0):
    rng = np.random.default_rng(seed)
    texture = cv2.GaussianBlur(rng.normal(0, 60, size), (0, 0), 1.5)
    return np.clip(115 + 2.5 * texture, 30, 190).astype(np.float32)


def noisy(picture):
    noise = np.random.default_rng(1).normal(0, 1, picture.shape)
    return (picture + noise).astype(np.float32)


def without(picture, center, inside=None):
    inside = np.ones(center.shape, bool) if inside is None else inside
    residual = (picture - center) * inside
    noise = np.full(center.shape, 1.5, np.float32)
    return residual, SweepingShadow(center, inside).taken_out(picture, center, residual, noise)


@sizes
@pytest.mark.parametrize("gain", [0.55, 1.5])
def test_light_that_falls_on_a_part_of_the_texture_is_taken_out(size, gain):
    center = textured(size)
    picture, edge = center.copy(), size[1] // 2
    picture[:, edge:] *= gain
    residual, left = without(noisy(picture), center)
    assert np.abs(residual[:, edge + 2 :]).mean() > 20
    assert np.abs(left).mean() < 1.5
    assert np.quantile(np.abs(left), 0.99) < 6


@sizes
def test_an_object_of_another_texture_stays(size):
    center = textured(size)
    picture = noisy(center)
    part = (slice(size[0] // 6, size[0] // 2), slice(size[1] // 6, size[1] // 2))
    picture[part] = textured(size, 7)[part] * 0.7
    residual, left = without(picture, center)
    np.testing.assert_array_equal(left, residual)


@sizes
def test_few_pixels_are_never_a_shadow(size):
    center = textured(size)
    picture = noisy(center)
    picture[20:26, 20:26] *= 0.5
    residual, left = without(picture, center)
    assert left is residual


@sizes
def test_a_shadow_s_edge_does_not_count(size):
    center = textured(size)
    light = 1 - 0.4 / (1 + np.exp((np.arange(size[1]) - size[1] / 2) / 1.5))
    picture = noisy(center * light)
    _, left = without(picture, center)
    middle = size[1] // 2
    assert not left[:, middle - 2 : middle + 2].any()


def test_what_does_not_count_stays_out():
    center = textured((60, 80))
    picture = center.copy()
    picture[:, 40:] *= 0.6
    inside = np.ones(center.shape, bool)
    inside[:20] = False
    _, left = without(noisy(picture), center, inside)
    assert not left[:20].any()
