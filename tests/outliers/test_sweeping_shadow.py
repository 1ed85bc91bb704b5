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


def plain_gain(picture, model, side):
    """Gain of the square around every pixel, of that side, from 0.3 to 3."""
    sums = [
        cv2.blur(np.asarray(one, np.float32), (side, side))
        for one in (picture * model, model * model)
    ]
    return np.clip(sums[0] / sums[1], 0.3, 3.0)


def upper_median(values):
    return np.sort(values)[len(values) // 2]


def variation(values):
    middle = upper_median(values)
    return upper_median(np.abs(values - middle)) / max(abs(middle), 1e-6)


def plainly_without(picture, expected, center, inside, noise):
    """The residual without a shadow as the module describes it, and whether there is one."""
    residual = (picture - expected) * inside
    height, width = picture.shape
    at = np.argwhere(np.abs(residual) > 4 * noise)
    if len(at) < max(1, round(0.01 * inside.sum())):
        return residual, None
    best, best_gain, best_offset = np.abs(residual), np.abs(residual), np.abs(residual)
    left = residual
    steadier = False
    for model in (expected, center):
        floored = np.maximum(model, 1)
        gain = plain_gain(picture, floored, 15)
        offset = cv2.blur((picture - floored).astype(np.float32), (15, 15))
        steadier |= variation(gain[tuple(at.T)] - 1) < 0.6 * variation(offset[tuple(at.T)])
        rows, columns = np.mgrid[:height, :width]
        for down in (-7, 0, 7):
            for right in (-7, 0, 7):
                there = np.clip(rows + down, 0, height - 1), np.clip(columns + right, 0, width - 1)
                by_gain = picture - gain[there] * model
                best_gain = np.minimum(best_gain, np.abs(by_gain))
                best_offset = np.minimum(best_offset, np.abs(picture - model - offset[there]))
                left = np.where(np.abs(by_gain) < best, by_gain, left)
                best = np.minimum(best, np.abs(by_gain))
    squares = [
        (np.minimum(one / noise, 20)[tuple(at.T)] ** 2).mean() for one in (best_gain, best_offset)
    ]
    if not (squares[0] < 8 and (steadier or squares[0] < 0.6 * squares[1])):
        return residual, False
    gain = plain_gain(picture, np.maximum(center, 1), 7).astype(np.float32)
    around = np.ones((7, 7), np.uint8)
    edge = cv2.dilate(gain, around) - cv2.erode(gain, around) > 0.1
    return left * (inside & ~edge), True


def test_a_shadow_is_its_definition():
    """Scenes on both sides of every bound, small enough for all that deviates to be looked at."""
    verdicts = []
    for seed in range(90):
        rng = np.random.default_rng(seed)
        size = (28, 34)
        center = np.clip(
            rng.uniform(60, 160) + rng.uniform(5, 40) * textured(size, seed) / 60, 2, 240
        )
        center = center.astype(np.float32)
        inside = np.ones(size, bool)
        inside[:, : seed % 3] = False
        expected = (center * rng.uniform(0.9, 1.1) + rng.normal(0, 1)).astype(np.float32)
        picture = expected.copy()
        part = np.s_[: rng.integers(1, 28), : rng.integers(2, 34)]
        other = textured(size, seed + 100)
        blend = rng.uniform(0, 0.5) * (seed % 2)
        picture[part] = (rng.uniform(0.4, 1.4) * ((1 - blend) * picture + blend * other))[part]
        picture[part] += rng.uniform(-25, 25) * (seed % 5 == 0)
        picture = (picture + rng.normal(0, 1.2, size)).astype(np.float32)
        noise = np.full(size, rng.uniform(0.8, 2.5), np.float32)
        residual = ((picture - expected) * inside).astype(np.float32)
        left = SweepingShadow(center, inside).taken_out(picture, expected, residual, noise)
        plain, verdict = plainly_without(picture, expected, center, inside, noise)
        assert (left is residual) == (not verdict), seed
        np.testing.assert_allclose(left, plain, atol=0.02, err_msg=str(seed))
        verdicts.append(verdict)
    assert min(verdicts.count(verdict) for verdict in (None, False, True)) >= 5, verdicts


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


def test_pictures_in_which_a_hundredth_deviates_are_candidates():
    """By four standard deviations, of the pixels that count; here 6 of 600."""
    inside = np.ones((20, 40), bool)
    inside[:, 30:] = False
    noises = np.full((5, 20, 40), 2.0, np.float32)
    residuals = np.zeros_like(noises)
    for picture, count in enumerate((0, 5, 6, 7, 600)):
        residuals[picture].reshape(-1)[:count] = -8.1
    shadow = SweepingShadow(textured((20, 40)), inside)
    assert shadow.candidates(residuals, noises).tolist() == [2, 3, 4]
    residuals *= 0.98
    assert not shadow.candidates(residuals, noises).size
    for residual, noise in zip(residuals, noises, strict=True):
        picture = shadow._center + residual
        assert shadow.taken_out(picture, shadow._center, residual, noise) is residual


def test_a_picture_of_one_row_is_not_halved():
    center = np.repeat(textured((1, 500)), 100, axis=1)
    picture = 0.6 * center
    residual, left = without(picture, center)
    assert left.shape == residual.shape == (1, 50_000)
    assert np.isfinite(left).all()
