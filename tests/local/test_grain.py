"""How much noise the pixels of a film have at rest, each by itself and together."""

import numpy as np
import pytest

from bgsub.local.clean_frames import find_clean_frames, trimmed_mean
from bgsub.local.grain import SHADOW_WINDOW, measure_noise
from bgsub.robustpca.median import NORMAL_MAD

N = 60


@pytest.mark.parametrize("noise", [1.0, 4.0, 8.0])
def test_the_noise_is_that_of_the_pixels(scenes, noise):
    pictures = scenes.finish([scenes.place()] * N, noise)
    center = trimmed_mean(pictures, find_clean_frames(pictures[..., 1]))
    assert measure_noise(pictures, center) == pytest.approx(noise, rel=0.12)


def test_noise_is_the_median_deviation_of_every_other_pixel_of_up_to_a_hundred_frames():
    """To an eighth of a grey level; what is in between is not looked at."""
    chosen = np.linspace(0, 129, 100).astype(int)
    deviation = np.full(130, 90)
    deviation[chosen] = np.random.default_rng(0).normal(20, 4, 100).round()
    pictures = np.full((130, 6, 8, 3), 250, np.uint8)
    pictures[:, ::2, ::2] = (100 + deviation)[:, None, None, None]
    center = np.full(pictures.shape[1:], 119.7, np.float32)
    eighths = np.sort(np.floor(8 * np.abs(deviation[chosen] - 19.7)))[49]
    expected = (eighths + 0.5) / 8 / NORMAL_MAD
    assert measure_noise(pictures, center) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("covered", "most"), [(0, 1.2), (60, 2), (90, 4), (105, 6)])
def test_noise_is_that_of_places_that_are_covered_for_most_of_the_time(covered, most):
    """In so many of 180 frames each place is hidden, by something else each time."""
    rng = np.random.default_rng(1)
    pictures = rng.normal(120, 4.0, (180, 24, 32, 3))
    for down, right in np.ndindex(24, 32):
        hidden = rng.permutation(180)[:covered]
        pictures[hidden, down, right] = rng.uniform(0, 250, (covered, 3))
    pictures = np.clip(np.rint(pictures), 0, 255).astype(np.uint8)
    center = trimmed_mean(pictures, find_clean_frames(pictures[..., 1]))
    assert 0.8 * 4 < measure_noise(pictures, center) < most * 4


def test_noise_beyond_counting_is_as_large_as_can_be_counted():
    pictures = np.repeat(np.arange(90, 250, 4, dtype=np.uint8), 48).reshape(-1, 4, 4, 3)
    center = np.zeros(pictures.shape[1:], np.float32)
    assert measure_noise(pictures, center) == pytest.approx(255.5 / 8 / NORMAL_MAD)


def test_what_each_pixel_has_by_itself_is_no_noise_of_a_window():
    rng = np.random.default_rng(0)
    size = (60, 48, 64, 3)
    own = rng.normal(120, 4.0, size)
    of_all = np.repeat(rng.normal(120, 4.0, (60, 1, 1, 1)), 48, axis=1) * np.ones((1, 1, 64, 3))
    center = np.full(size[1:], 120, np.float32)
    for levels, expected in ((own, 4.0 / SHADOW_WINDOW), (of_all, 4.0)):
        pictures = np.clip(np.rint(levels), 0, 255).astype(np.uint8)
        assert measure_noise(pictures, center) == pytest.approx(4.0, rel=0.15)
        shared = measure_noise(pictures, center, side=SHADOW_WINDOW)
        assert shared == pytest.approx(expected, rel=0.15, abs=0.25)


def test_a_picture_of_one_pixel_has_noise_too():
    pictures = np.array([119, 121] * 10, np.uint8).reshape(20, 1, 1, 1).repeat(3, axis=3)
    center = np.full((1, 1, 3), 120, np.float32)
    assert measure_noise(pictures, center, side=SHADOW_WINDOW) == measure_noise(pictures, center)
