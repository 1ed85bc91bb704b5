"""Gain, offset and tremor are no visitors; a visitor is what is left."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.outliers.own_light import OwnLight

HEIGHT, WIDTH = 60, 80
INSIDE = np.ones((HEIGHT, WIDTH), bool)


def textured(seed=0):
    rng = np.random.default_rng(seed)
    texture = cv2.GaussianBlur(rng.normal(0, 60, (HEIGHT, WIDTH)), (0, 0), 1.5)
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


def plain_regression(terms, difference):
    """Tukey's biweight by repeated least squares, one frame at a time."""
    solution, scale_before = np.zeros(len(terms)), np.inf
    ordered = np.sort(difference)
    left = difference - ordered[len(ordered) // 2]
    for _ in range(5):
        magnitudes = np.sort(np.abs(left))
        scale = magnitudes[len(magnitudes) // 2] / 0.6745 + 0.01
        if abs(scale - scale_before) < 0.01 * scale_before:
            break
        scale_before = scale
        weights = np.maximum(0, 1 - (left / (4.685 * scale)) ** 2) ** 2
        normal = (terms * weights) @ terms.T
        normal += np.diag(1e-6 * np.diag(normal) + 1e-3)
        solution = np.linalg.solve(normal, (terms * weights) @ difference)
        left = difference - solution @ terms
    return solution


@pytest.mark.parametrize("noise", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("k", [0, 2])
def test_the_light_is_that_of_its_definition(noise, k):
    rng = np.random.default_rng(3)
    inside = INSIDE.copy()
    inside[:7, 11:] = False
    components = rng.normal(size=(k, inside.size)).astype(np.float32) / np.sqrt(inside.size)
    light = OwnLight(CENTER, components, inside)
    pictures = np.stack([gain * CENTER + 4 for gain in (0.8, 1.0, 1.1, 1.25)])
    pictures += rng.normal(0, noise, pictures.shape)
    pictures[1, 20:40, 30:70] += 90
    pictures[2, 10:50, :40] = rng.uniform(0, 255, (40, 40))
    pictures = (pictures * inside).astype(np.float32)
    given = rng.normal(0, 3, (4, k)).astype(np.float32)
    changes = light.regress(pictures, given)

    center = CENTER * inside
    own = (components * inside.ravel()).astype(float)
    whole = cv2.erode(inside.astype(np.float32), np.ones((3, 3), np.uint8))
    fixed = [center, np.ones_like(center)]
    fixed += [cv2.Scharr(center, -1, *axis) / 32 * whole for axis in ((1, 0), (0, 1))]
    fixed = np.stack(fixed).reshape(4, -1) * inside.ravel()
    for component in own:
        fixed = fixed - np.outer(fixed @ component / (component @ component), component)
    assert k == 0 or abs(own[0] @ own[1]) < 0.05
    terms = np.concatenate([fixed, own])
    some = light.chosen
    for picture, start, change in zip(pictures, given, changes, strict=True):
        fitted = np.concatenate([np.zeros(4), start]) @ terms
        left = picture.ravel() - center.ravel() - fitted
        plain = np.concatenate([np.zeros(4), start]) + plain_regression(terms[:, some], left[some])
        expected = center.ravel() + plain @ terms
        np.testing.assert_allclose(light.expected(change).ravel(), expected, atol=0.05 + noise / 40)


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
