import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.local.regions import boxes_of, large_parts, repeated, thinned

BLOBS = st.lists(
    st.tuples(st.integers(0, 180), st.integers(0, 240), st.integers(1, 60)), max_size=8
)


def drawn(blobs, shape=(190, 250)):
    mask = np.zeros(shape, np.uint8)
    for top, left, side in blobs:
        mask[top : top + side, left : left + side // 2 + 1] = 1
    return mask


def boxes(mask, reach, step=1, least_area=0):
    return [box for box, _ in boxes_of(mask, reach, reach, step, least_area)]


@given(blobs=BLOBS, step=st.integers(1, 3), reach=st.integers(1, 12))
def test_boxes_hold_the_mask_and_what_is_around_it_and_are_disjoint(blobs, step, reach):
    mask = drawn(blobs)
    covered = np.zeros(mask.shape, int)
    for top, bottom, left, right in boxes(mask, reach, step):
        assert top % step == left % step == 0
        covered[top:bottom, left:right] += 1
        y, x = np.nonzero(mask[top:bottom, left:right])
        assert top == 0 or y.min() >= reach
        assert left == 0 or x.min() >= reach
        assert bottom == len(mask) or bottom - top - y.max() > reach
        assert right == mask.shape[1] or right - left - x.max() > reach
    assert covered.max(initial=0) <= 1
    assert (covered[mask > 0] == 1).all()


@pytest.mark.parametrize("shape", [(40, 50), (200, 300), (1, 1)])
def test_an_empty_mask_has_no_boxes(shape):
    assert boxes(np.zeros(shape, np.uint8), 8) == []


def test_what_is_too_small_to_stay_has_no_box():
    mask = drawn([(10, 10, 3), (100, 100, 20)])
    assert boxes(mask, 8, 1, 60) == [(92, 128, 92, 119)]
    assert len(boxes(mask, 8)) == 2


def test_parts_beyond_counting_are_one():
    mask = np.zeros((600, 800), np.uint8)
    mask[::40, ::40] = 1
    assert boxes(mask, 8) == [(0, 569, 0, 769)]


@pytest.mark.parametrize("shape", [(12, 18), (13, 18, 3), (12, 18, 3), (1, 2, 3)])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_thinned_pictures_have_every_so_many_pixels(shape, step):
    picture = np.random.default_rng(0).integers(
        0, 256, (*np.add(shape[:2], 4), *shape[2:]), np.uint8
    )
    part = picture[2 : 2 + shape[0], 1 : 1 + shape[1]]
    np.testing.assert_array_equal(thinned(part, step), part[::step, ::step])


def test_the_box_of_what_is_alone_is_the_least_one():
    mask = np.zeros((90, 120), np.uint8)
    mask[33:41, 50:57] = 1
    assert boxes(mask, 5) == [(28, 46, 45, 62)]
    assert boxes(mask, 5, 3) == [(27, 48, 45, 63)]
    assert boxes(mask, 60) == [(0, 90, 0, 117)]
    mask[:] = 0
    mask[0, 0] = mask[89, 119] = 1
    assert sorted(boxes(mask, 3)) == [(0, 4, 0, 4), (86, 90, 116, 120)]


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize(("gap", "more"), [(10, 0), (40, 0), (41, 1)])
def test_parts_that_are_nearer_than_both_reaches_are_one(gap, more, step, across):
    """A block and a line, so that room is lost by taking them as one."""
    mask = np.zeros((140, 400), np.uint8)
    mask[10:110, 10:110] = 1
    mask[60:64, 110 + gap + step - 1 : 390] = 1
    found = boxes(np.ascontiguousarray(mask.T) if across else mask, 20, step)
    assert len(found) == 1 + more


@pytest.mark.parametrize(("height", "count"), [(24, 1), (26, 2)])
def test_parts_are_one_where_that_spares_beginning_another(height, count):
    """Two of 20 pixels, 60 apart in the same rows: 2,500 pixels more are the price of a part."""
    mask = np.zeros((200, 300), np.uint8)
    mask[20 : 20 + height, 20:40] = mask[20 : 20 + height, 140:160] = 1
    assert 100 * 24 <= 2500 < 100 * 26
    assert len(boxes(mask, 8)) == count


@pytest.mark.parametrize(("side", "count"), [(6, 0), (7, 1)])
def test_a_part_stays_whose_box_and_a_pixel_around_has_the_least_area(side, count):
    mask = np.zeros((60, 60), np.uint8)
    mask[20 : 20 + side, 30:38] = 1
    assert len(boxes(mask, 4, 1, 90)) == count  # (side + 2) · 10


def test_small_parts_that_belong_together_count_together():
    mask = np.zeros((60, 200), np.uint8)
    mask[20:24, 30:34] = mask[20:24, 36:40] = 1
    mask[20:24, 150:154] = 1
    assert boxes(mask, 6, 1, 60) == [(14, 30, 24, 46)]


@pytest.mark.parametrize(("many", "count"), [(100, 100), (101, 1)])
def test_more_than_a_hundred_parts_are_the_picture(many, count):
    mask = np.zeros((1300, 1300), np.uint8)
    for i in range(many):
        y, x = 120 * (i // 11) + 10, 117 * (i % 11) + 10
        mask[y : y + 60, x : x + 60] = 1
    assert len(boxes(mask, 4)) == count


@given(blobs=BLOBS, step=st.integers(1, 2), near=st.integers(1, 12), more=st.integers(0, 20))
def test_boxes_of_what_looks_less_far_lie_in_the_others_and_hold_the_mask_too(
    blobs, step, near, more
):
    mask = drawn(blobs)
    covered = np.zeros(mask.shape, int)
    found = boxes_of(mask, near + more, near, step)
    assert [box for box, _ in found] == boxes(mask, near + more, step)
    for (top, bottom, left, right), inner in found:
        for box in inner:
            assert box[0] % step == box[2] % step == 0
            assert top <= box[0] < box[1] <= bottom
            assert left <= box[2] < box[3] <= right
            covered[box[0] : box[1], box[2] : box[3]] += 1
            y, x = np.nonzero(mask[box[0] : box[1], box[2] : box[3]])
            assert box[0] == 0 or y.min() >= near
            assert box[2] == 0 or x.min() >= near
            assert box[1] == len(mask) or box[1] - box[0] - y.max() > near
            assert box[3] == mask.shape[1] or box[3] - box[2] - x.max() > near
    assert covered.max(initial=0) <= 1
    assert (covered[mask > 0] == 1).all()


def test_what_looks_less_far_tells_two_parts_apart():
    mask = np.zeros((200, 200), np.uint8)
    mask[20:90, 20:90] = mask[120:190, 120:190] = 1
    [(_, inner)] = boxes_of(mask, 30, 8)
    assert sorted(inner) == [(12, 98, 12, 98), (112, 198, 112, 198)]


@pytest.mark.parametrize(("least", "more"), [(79, 1), (80, 0)])
def test_there_is_no_box_for_what_has_not_the_least_area_with_a_pixel_around(least, more):
    """A line across a square: its box is large enough, but not the line."""
    mask = np.zeros((200, 300), np.uint8)
    mask[range(20, 35), range(20, 35)] = 1  # 15 pixels, and with those around them 79
    mask[100:110, 200:210] = 1
    assert len(boxes_of(mask, 8, 8, 1, least)) == 1 + more
    assert sum(len(inner) for _, inner in boxes_of(mask, 60, 8, 1, least)) == 1 + more


@pytest.mark.parametrize("step", [1, 2, 3])
def test_what_is_known_of_every_so_many_pixels_is_said_of_those_after_them(step):
    known = np.random.default_rng(6).random((2, 11, 10)) < 0.5
    said = repeated(known[:, ::step, ::step], step, 11, 10)
    assert said.shape == known.shape
    y, x = np.arange(11) // step * step, np.arange(10) // step * step
    np.testing.assert_array_equal(said, known[:, y[:, None], x])


def test_large_parts_hang_together():
    where = np.zeros((20, 20), np.bool_)
    where[2:5, 2:5] = where[5, 5] = True  # by a corner
    where[12:14, 12:15] = True
    found = large_parts(where, 10 / 400)
    assert found[2:6, 2:6].sum() == 10
    assert not found[10:].any()
    assert not large_parts(np.zeros_like(where), 0).any()
