"""Gain, offset and tremor are no visitors; a visitor is what is left."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.outliers.own_light import OwnLight, SweepingShadow

HEIGHT, WIDTH = 60, 80
INSIDE = np.ones((HEIGHT, WIDTH), bool)


def textured(size=(60, 80), seed=0):
    rng = np.random.default_rng(seed)
    texture = cv2.GaussianBlur(rng.normal(0, 60, size), (0, 0), 1.5)
    return np.clip(115 + 2.5 * texture, 30, 190).astype(np.float32)


CENTER = textured()
LIGHT = OwnLight(CENTER, np.zeros((0, HEIGHT * WIDTH), np.float32), INSIDE)


def left_of(picture, light=LIGHT):
    picture = np.asarray(picture, np.float32)
    coefficients = np.zeros((1, len(light.components)), np.float32)
    (change,) = light.regress(picture[None], coefficients)
    expected = light.expected(change)
    return expected, light.residual(picture, expected)


def noisy(picture, seed=1):
    return picture + np.random.default_rng(seed).normal(0, 1, picture.shape)


class TestRegress:
    @settings(max_examples=25)
    @given(st.floats(0.6, 1.3), st.floats(-15, 15))
    def test_gain_and_offset_leave_nothing(self, gain, offset):
        _, left = left_of(np.clip(gain * CENTER + offset, 0, 255))  # as bright as a picture can be
        assert np.abs(left).max() < 0.1

    @settings(max_examples=15)
    @given(st.floats(0.8, 1.2), st.integers(0, 40), st.integers(0, 60), st.floats(-60, 60))
    def test_whatever_a_visitor_covers_the_light_is_found(self, gain, top, left, level):
        picture = noisy(gain * CENTER)
        picture[top : top + 18, left : left + 18] = 100 + level
        expected, residual = left_of(picture)
        outside = np.ones_like(INSIDE)
        outside[top : top + 18, left : left + 18] = False
        assert np.abs(expected - gain * CENTER)[outside].mean() < 0.5
        assert np.abs(residual)[outside].mean() < 1.2

    def test_a_tremor_of_a_fraction_of_a_pixel_is_taken_out(self):
        shift = np.float32([[1, 0, 0.2], [0, 1, -0.15]])
        moved = cv2.warpAffine(CENTER, shift, (WIDTH, HEIGHT), borderMode=cv2.BORDER_REPLICATE)
        inner = (slice(3, -3), slice(3, -3))
        _, left = left_of(moved)
        assert np.abs(left[inner]).mean() < 0.35 * np.abs(moved - CENTER)[inner].mean()

    def test_components_take_part(self):
        wave = np.sin(np.arange(HEIGHT * WIDTH) / 37).astype(np.float32)
        wave /= np.linalg.norm(wave)
        light = OwnLight(CENTER, wave[None], INSIDE)
        _, left = left_of(CENTER + 900 * wave.reshape(CENTER.shape), light)
        assert np.abs(left).max() < 0.2

    def test_nothing_is_left_outside(self):
        inside = INSIDE.copy()
        inside[:, :40] = False
        light = OwnLight(CENTER, np.zeros((0, HEIGHT * WIDTH), np.float32), inside)
        picture = CENTER.copy()
        picture[:, :40] = 255
        _, left = left_of(picture, light)
        assert not left[:, :40].any()
        assert np.abs(left).max() < 0.1


def test_what_the_camera_clips_is_no_difference():
    _, left = left_of(np.clip(1.6 * CENTER, 0, 255))
    assert np.abs(left).mean() < 0.5


@pytest.mark.parametrize("size", [(40, 50), (240, 320), (720, 1280)])
def test_a_statistic_of_a_picture_takes_some_thousand_pixels(size):
    light = OwnLight(
        np.zeros(size, np.float32),
        np.zeros((0, size[0] * size[1]), np.float32),
        np.ones(size, bool),
    )
    assert 1500 < light.chosen.size < 4500


@pytest.mark.parametrize(("shape", "step"), [((40, 50), 1), ((60, 80), 1), ((120, 160), 3)])
def test_a_statistic_looks_at_a_grid_of_what_counts(shape, step):
    inside = np.random.default_rng(0).random(shape) < 0.7
    light = OwnLight(np.ones(shape, np.float32), np.zeros((0, inside.size), np.float32), inside)
    assert light.step == step
    rows, columns = np.nonzero(inside)
    grid = (rows % step == 0) & (columns % step == 0)
    np.testing.assert_array_equal(light.chosen, rows[grid] * shape[1] + columns[grid])


def test_where_the_grid_meets_nothing_that_counts_all_of_it_is_looked_at():
    inside = np.zeros((120, 160), bool)
    inside[1, 1:3] = True
    light = OwnLight(np.ones((120, 160), np.float32), np.zeros((0, inside.size)), inside)
    assert light.chosen.tolist() == [161, 162]


SIZES = [(60, 80), (61, 81), (240, 320), (241, 321)]
sizes = pytest.mark.parametrize("size", SIZES)


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
    residual, left = without(np.float32(noisy(picture)), center)
    assert np.abs(residual[:, edge + 2 :]).mean() > 20
    assert np.abs(left).mean() < 1.5
    assert np.quantile(np.abs(left), 0.99) < 6


@sizes
def test_an_object_of_another_texture_stays(size):
    center = textured(size)
    picture = np.float32(noisy(center))
    part = (slice(size[0] // 6, size[0] // 2), slice(size[1] // 6, size[1] // 2))
    picture[part] = textured(size, 7)[part] * 0.7
    residual, left = without(picture, center)
    np.testing.assert_array_equal(left, residual)


@sizes
def test_few_pixels_are_never_a_shadow(size):
    center = textured(size)
    picture = np.float32(noisy(center))
    picture[20:26, 20:26] *= 0.5
    residual, left = without(picture, center)
    assert left is residual


@sizes
def test_a_shadow_s_edge_does_not_count(size):
    center = textured(size)
    light = 1 - 0.4 / (1 + np.exp((np.arange(size[1]) - size[1] / 2) / 1.5))
    picture = np.float32(noisy(center * light))
    _, left = without(picture, center)
    middle = size[1] // 2
    assert not left[:, middle - 2 : middle + 2].any()


def test_what_does_not_count_stays_out():
    center = textured((60, 80))
    picture = center.copy()
    picture[:, 40:] *= 0.6
    inside = np.ones(center.shape, bool)
    inside[:20] = False
    _, left = without(np.float32(noisy(picture)), center, inside)
    assert not left[:20].any()


@pytest.mark.parametrize(
    ("light", "is_taken_out"), [(0.35, True), (0.2, False), (2.8, True), (3.6, False)]
)
def test_light_is_between_three_tenths_and_three_times_the_ground_s(light, is_taken_out):
    center = (textured((60, 80)) / 4 + 8).astype(np.float32)
    picture = center.copy()
    picture[:, 40:] *= light
    residual, left = without(picture, center)
    bright = np.s_[10:50, 58:]
    assert (np.abs(left[bright]).mean() < 0.1 * np.abs(residual[bright]).mean()) == is_taken_out


def test_a_picture_of_one_row_is_not_halved():
    center = np.repeat(textured((1, 500)), 100, axis=1)
    picture = 0.6 * center
    residual, left = without(picture, center)
    assert left.shape == residual.shape == (1, 50_000)
    assert np.isfinite(left).all()
