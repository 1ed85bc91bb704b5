"""Windows of a picture against their definition, place by place."""

import numpy as np
import pytest

from bgsub.outliers.false_alarms import CleanLevel
from bgsub.outliers.windows import Window, excess, highest, restlessness, windowed

rng = np.random.default_rng(0)


def window_of(shape, side=5, factor=1, restless=1.0):
    usual = rng.uniform(0.5, 1.5, shape).astype(np.float32)
    spread = rng.uniform(0.1, 0.6, shape).astype(np.float32)
    return Window(side, factor, usual, spread, restless, CleanLevel(0.0, 1.0))


@pytest.mark.parametrize(("side", "factor", "size"), [(5, 1, 5), (10, 2, 5), (20, 4, 5), (7, 2, 3)])
def test_a_window_is_the_mean_around_a_pixel_of_the_shrunk_picture(side, factor, size):
    picture = rng.uniform(0, 9, (12 * factor, 13 * factor)).astype(np.float32)
    small = picture.reshape(12, factor, 13, factor).mean(axis=(1, 3))
    half, means = size // 2, windowed(picture, side, factor)
    assert means.shape == (12, 13)
    for y in range(half, 12 - half):
        for x in range(half, 13 - half):
            around = small[y - half : y + half + 1, x - half : x + half + 1]
            assert means[y, x] == pytest.approx(around.mean(), rel=1e-5)


@pytest.mark.parametrize(
    ("shape", "factor", "rows", "columns"),
    [
        ((9, 30), 1, slice(2, 7), slice(2, 28)),
        ((8, 9), 1, slice(0, 8), slice(2, 7)),
        ((5, 4), 2, slice(1, 4), slice(0, 4)),
        ((5, 6), 4, slice(0, 5), slice(0, 6)),
    ],
)
def test_two_pixels_of_the_picture_are_left_out_at_its_border(shape, factor, rows, columns):
    window, means = window_of(shape, 5 * factor, factor), rng.uniform(0, 3, shape)
    direct = ((means - window.usual) / window.spread)[rows, columns]
    np.testing.assert_allclose(excess(means[None], window), direct[None], rtol=1e-6)


@pytest.mark.parametrize(("step", "factor", "every"), [(1, 1, 1), (3, 1, 3), (4, 2, 2), (1, 4, 1)])
def test_restlessness_is_what_a_fifth_of_the_places_exceed(step, factor, every):
    pictures = rng.normal(size=(3, 13, 17)).astype(np.float32)
    found = restlessness(pictures, window_of((13, 17), factor=factor), step)
    for above, value in zip(pictures, found, strict=True):
        values = np.sort(above[::every, ::every].ravel())
        assert value == values[int(0.8 * (len(values) - 1))]


@pytest.mark.parametrize(("restless", "divisor"), [(1e-3, 2.0), (None, 1.6), (1e3, 1.0)])
def test_a_restless_picture_counts_less_up_to_twice(restless, divisor):
    shape = (20, 24)
    window = window_of(shape)
    picture = rng.uniform(1, 4, shape).astype(np.float32)
    above = excess(windowed(picture, 5, 1)[None], window)
    restless = restless or float(restlessness(above, window, 1)[0]) / 1.6
    window = Window(5, 1, window.usual, window.spread, restless, window.level)
    assert highest(picture[None], window, 1) == pytest.approx([above.max() / divisor], rel=1e-5)
