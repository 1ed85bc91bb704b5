import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.local.outlines import redraw_outlines, without_blur
from bgsub.local.scoring import UNIT


def blurred(score):
    """A square of 20 pixels under a lens, all that deviates visibly, and the square itself."""
    true = np.zeros((40, 40), np.uint8)
    true[10:30, 10:30] = 1
    seen = cv2.GaussianBlur(true.astype(np.float32) * score, (0, 0), 1.0).astype(np.uint8)
    return (seen > 16).astype(np.uint8), seen, true


def test_a_strong_object_loses_the_blur_around_it():
    mask, seen, true = blurred(240)
    assert mask.sum() > 1.2 * true.sum()
    assert not redraw_outlines(mask, mask, seen)[true == 0].any()
    assert redraw_outlines(mask, mask, seen).sum() > 0.7 * true.sum()


def test_a_faint_object_keeps_its_outline():
    mask, seen, _ = blurred(24)
    kept = redraw_outlines(mask, mask, np.where(mask > 0, np.maximum(seen, 20), seen))
    np.testing.assert_array_equal(kept, mask)


def test_only_the_outermost_pixels_may_go():
    mask, seen, _ = blurred(240)
    seen[18:22, 18:22] = 0
    inner = cv2.erode(mask, np.ones((3, 3), np.uint8))
    assert redraw_outlines(mask, mask, seen)[inner > 0].all()


def test_a_thin_object_gets_back_what_the_vote_took_but_no_shadow():
    seen = np.zeros((40, 40), np.uint8)
    seen[8:30, 18:21] = 3 * UNIT
    mask = np.zeros_like(seen)
    mask[9:29, 19] = 1
    np.testing.assert_array_equal(redraw_outlines(mask, mask, seen), seen // (3 * UNIT))
    raw = mask.copy()
    raw[:, 20] = 1
    assert not redraw_outlines(mask, raw, seen)[:, 20].any()


def kept_by_definition(mask, raw, score, edge=0.6):
    """Inner pixels, strong ones at the rim, and clear ones just beyond it that no shadow was."""

    def over(plane, low, high, outside, function):
        wide = np.pad(plane, (-low, high), constant_values=outside)
        size = high - low + 1
        return function(np.lib.stride_tricks.sliding_window_view(wide, (size, size)), axis=(2, 3))

    inner = over(mask, -1, 1, 1, np.min)
    solid = over(np.where(mask, score, 0), -2, 1, 255, np.min)
    strong = score >= np.rint(edge * over(solid, -4, 4, 0, np.max))
    beyond = (over(mask, -1, 1, 0, np.max) > 0) & ~(raw > 0) & (score >= 1.5 * UNIT)
    return (mask > 0) & ((inner > 0) | strong) | beyond & strong


@pytest.mark.parametrize("seed", range(6))
def test_outlines_are_their_definition(seed):
    rng = np.random.default_rng(seed)
    raw = np.zeros((40, 50), np.uint8)
    for _ in range(4):
        top, left = rng.integers(0, 34), rng.integers(0, 44)
        raw[top : top + rng.integers(3, 14), left : left + rng.integers(3, 14)] = 1
    score = cv2.GaussianBlur(raw * np.float32(200), (0, 0), 2.0)
    score = np.clip(score + rng.normal(0, 25, raw.shape), 0, 255).astype(np.uint8)
    mask = raw.copy()
    mask[:, 30:] = 0
    found = redraw_outlines(mask, raw, score)
    np.testing.assert_array_equal(found > 0, kept_by_definition(mask, raw, score))


def test_thin_objects_lose_the_blur_that_the_weakest_of_4x4_pixels_allows():
    """Two legs of 4 pixels under a lens, in a mask of all that deviates at all."""
    true = np.zeros((50, 60), np.uint8)
    true[10:40, 20:24] = true[10:40, 34:38] = 1
    seen = cv2.GaussianBlur(true.astype(np.float32) * 240, (0, 0), 1.6).astype(np.uint8)
    mask = (seen > 8).astype(np.uint8)
    once = 255 * redraw_outlines(mask, mask, seen)
    twice = without_blur(once, seen, 0.25)
    beside = true == 0
    assert np.count_nonzero(twice[beside]) < 0.7 * np.count_nonzero(once[beside])
    assert once[~beside].all()
    assert twice[~beside].all()


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.0, 0.25, 0.9]))
def test_blur_is_what_the_definition_says(seed, share):
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 2, (8, 9)).astype(np.uint8)
    mask = 255 * np.repeat(np.repeat(coarse, 4, axis=0), 4, axis=1)
    score = rng.integers(0, 256, mask.shape).astype(np.uint8)

    def over(plane, low, high, outside, function):
        wide = np.pad(plane, (-low, high), constant_values=outside)
        size = high - low + 1
        return function(np.lib.stride_tricks.sliding_window_view(wide, (size, size)), axis=(2, 3))

    wide = np.pad(score, 1, mode="edge")
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(wide, (3, 3)), axis=(2, 3))
    pairs = over(np.where(mask, smooth, 0), -1, 0, 255, np.min)
    strong = smooth >= np.rint(share * over(pairs, -4, 4, 0, np.max))
    expected = mask
    for _ in range(2):
        inner = over(expected, -1, 1, 255, np.min) > 0
        expected = np.where((expected > 0) & (strong | inner), 255, 0)
    np.testing.assert_array_equal(without_blur(mask, score, share), expected)
