import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.local.outlines import Colors, redraw_outlines
from bgsub.local.scoring import UNIT

PLACE = 20


def of(scores):
    """Give the scores of some pixels."""
    return lambda at: scores.reshape(-1)[at]


def under_a_lens(true, contrast, blur=1.0):
    """Something before a dark place, grey levels above it, and its scores at 8 a threshold."""
    share = cv2.GaussianBlur(true.astype(np.float32), (0, 0), blur)
    levels = np.rint(PLACE + contrast * share).astype(np.uint8)
    behind = np.full((*true.shape, 3), PLACE, np.uint8)
    colors = Colors(cv2.merge([levels] * 3), behind)
    score = np.minimum((levels - PLACE) * (UNIT / 8.0), 255).astype(np.uint8)
    return colors, of(score), (levels > PLACE + 8).astype(np.uint8)


def square():
    true = np.zeros((40, 40), np.uint8)
    true[10:30, 10:30] = 1
    return true


@pytest.mark.parametrize("contrast", [40, 90, 220])
def test_an_edge_is_halfway_at_every_contrast(contrast):
    true = square()
    colors, score, mask = under_a_lens(true, contrast)
    assert mask.sum() > 1.1 * true.sum()
    found = redraw_outlines(mask, mask, score, colors)
    assert not found[true == 0].any()
    assert found[cv2.erode(true, np.ones((3, 3), np.uint8)) > 0].all()
    assert found.sum() > 0.97 * true.sum()  # its corners are rounded by the lens


def test_legs_of_four_pixels_keep_to_their_width():
    true = np.zeros((50, 60), np.uint8)
    true[10:40, 20:24] = true[10:40, 34:38] = 1
    colors, score, mask = under_a_lens(true, 220, blur=1.2)
    assert mask[25, :29].sum() >= 8
    found = redraw_outlines(mask, mask, score, colors)
    np.testing.assert_array_equal(found[15:35], true[15:35])


def test_where_objects_are_weak_inside_one_pixel_may_go():
    true = square()
    colors, score, mask = under_a_lens(true, 220, blur=1.6)
    mask = cv2.dilate(mask, np.ones((3, 3), np.uint8))
    first, second = (redraw_outlines(mask, mask, score, colors, depth=one) for one in (1, 2))
    assert true.sum() < second.sum() < first.sum() < mask.sum()
    assert first[cv2.erode(mask, np.ones((3, 3), np.uint8)) > 0].all()


def test_a_side_in_the_colour_of_the_place_is_lost_no_further_than_asked():
    true = square()
    colors, score, mask = under_a_lens(true, 220)
    colors.seen[8:32, 8:20] = PLACE
    found = redraw_outlines(mask, mask, score, colors, depth=2)
    deep = cv2.erode(mask, np.ones((5, 5), np.uint8))
    assert found[deep > 0].all()
    assert found[:, :20].sum() == deep[:, :20].sum()


def test_a_thin_object_gets_back_what_the_vote_took_but_no_shadow():
    true = np.zeros((40, 40), np.uint8)
    true[8:30, 18:21] = 1
    levels = PLACE + 100 * true
    colors = Colors(cv2.merge([levels] * 3), np.full((40, 40, 3), PLACE, np.uint8))
    score = 3 * UNIT * true
    mask = np.zeros_like(true)
    mask[9:29, 19] = 1
    np.testing.assert_array_equal(redraw_outlines(mask, mask, of(score), colors), true)
    raw = mask.copy()
    raw[:, 20] = 1
    assert not redraw_outlines(mask, raw, of(score), colors)[:, 20].any()
    faint = np.minimum(score, np.uint8(1.4 * UNIT))
    np.testing.assert_array_equal(redraw_outlines(mask, mask, of(faint), colors), mask)


def around(plane, reach, outside, function):
    """Some function of the pixels within a reach of each."""
    wide = np.pad(plane, reach, constant_values=outside)
    side = 2 * reach + 1
    return function(np.lib.stride_tricks.sliding_window_view(wide, (side, side)), axis=(2, 3))


def by_definition(mask, raw, score, colors, edge, depth):
    """Weak pixels go as long as they are outermost; strong, clear ones come, if no shadow was."""
    seen, behind = (one.astype(np.float64) for one in colors)
    solid = around(mask, 1, 1, np.min)
    known = solid | mask & (around(solid, 3, 0, np.max) == 0)
    count = around(known, 3, 0, np.sum)
    mean = np.stack([around(known * seen[..., c], 3, 0, np.sum) for c in range(3)], axis=-1)
    mean /= np.maximum(count, 1)[..., None]
    own, beside = (np.abs(one - behind).max(axis=-1) for one in (seen, mean))
    strong = (count > 0) & (own > edge * beside + 1e-9)
    found = mask > 0
    for _ in range(depth):
        found &= strong | (around(found, 1, True, np.min))
    near = (around(mask, 1, 0, np.max) > 0) & (raw == 0) & (score >= 1.5 * UNIT)
    return found | near & strong


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    edge=st.sampled_from([0.0, 0.5, 0.9]),
    depth=st.integers(1, 3),
)
def test_outlines_are_their_definition(seed, edge, depth):
    rng = np.random.default_rng(seed)
    raw = np.repeat(np.repeat(rng.integers(0, 2, (8, 9), np.uint8), 5, axis=0), 5, axis=1)
    raw &= rng.random(raw.shape) < 0.98
    mask = raw.copy()
    mask[:, 30:] = 0
    colors = Colors(*rng.integers(0, 256, (2, *raw.shape, 3), np.uint8))
    score = rng.integers(0, 256, raw.shape, np.uint8)
    found = redraw_outlines(mask, raw, of(score), colors, edge, depth)
    expected = by_definition(mask, raw, score, colors, edge, depth)
    np.testing.assert_array_equal(found > 0, expected)


def test_of_large_pictures_every_second_pixel_tells_the_colours_of_an_object():
    true = np.zeros((81, 83), np.uint8)  # neither side is a multiple of the step
    true[20:60, 20:60] = 1
    colors, score, mask = under_a_lens(true, 90)
    one, two = (redraw_outlines(mask, mask, score, colors, step=step) for step in (1, 2))
    assert mask.sum() > 1.05 * true.sum()
    assert np.count_nonzero(one != two) < 0.01 * true.sum()
    assert abs(two.sum() - true.sum()) < 0.02 * true.sum()
