import cv2
import numpy as np
import pytest

from bgsub.local.marked import MarkedPixels

SHAPE = (17, 23)


@pytest.fixture
def mask():
    return (np.random.default_rng(0).random(SHAPE) < 0.3).astype(np.uint8)


@pytest.mark.parametrize("planes", [2, 4])
def test_lists_are_laid_out_as_planes_and_gathered_again(mask, planes):
    marked = MarkedPixels(mask)
    values = np.random.default_rng(1).normal(size=(planes, marked.count)).astype(np.float32)
    laid = marked.lay_out(*values)
    assert laid.shape == (*SHAPE, planes)
    assert not laid[mask == 0].any()
    np.testing.assert_array_equal(laid[mask > 0], values.T)
    np.testing.assert_array_equal(marked.gather(laid), values)


def test_a_filter_of_planes_is_that_of_each(mask):
    marked = MarkedPixels(mask)
    values = np.random.default_rng(2).normal(size=(4, marked.count)).astype(np.float32)
    together = marked.gather(cv2.blur(marked.lay_out(*values), (5, 5)))
    for one, found in zip(values, together, strict=True):
        plane = np.zeros(SHAPE, np.float32)
        plane[mask > 0] = one
        np.testing.assert_allclose(found, cv2.blur(plane, (5, 5))[mask > 0], rtol=1e-5, atol=1e-6)


def test_values_of_a_picture_and_a_mask_of_some_pixels(mask):
    marked = MarkedPixels(mask)
    picture = np.random.default_rng(3).integers(0, 256, (*SHAPE, 3), dtype=np.uint8)
    np.testing.assert_array_equal(marked.of(picture), picture[mask > 0])
    chosen = marked.of(picture)[:, 0] > 100
    found = marked.mask_of(chosen)
    np.testing.assert_array_equal(found > 0, (mask > 0) & (picture[..., 0] > 100))


def test_a_mask_may_be_empty():
    marked = MarkedPixels(np.zeros(SHAPE, np.uint8))
    assert marked.count == 0
    assert marked.of(np.ones((*SHAPE, 3), np.uint8)).shape == (0, 3)
    assert not marked.mask_of(np.zeros(0, np.bool_)).any()


@pytest.mark.parametrize("side", [1, 5, 35])
def test_pixels_of_the_mask_are_counted_in_a_window_around_each(mask, side):
    reach = side // 2
    wide = np.pad(mask, reach).astype(int)
    sums = np.lib.stride_tricks.sliding_window_view(wide, (side, side)).sum(axis=(2, 3))
    np.testing.assert_array_equal(MarkedPixels(mask).count_around(side), sums[mask > 0])


def test_the_highest_around_is_that_of_the_marked_pixels_of_a_window():
    mask = np.zeros((5, 9), np.uint8)
    mask[2] = 1
    mask[2, 4] = 0
    values = np.array([1.5, 9, 0, 2, 300, 0, 0, 7], np.float32)
    highest = MarkedPixels(mask).highest_around(values, 3)
    assert highest.tolist() == [9, 9, 9, 2, 255, 255, 7, 7]
