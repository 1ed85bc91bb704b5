import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.local.regions import boxes_of, thinned

BLOBS = st.lists(
    st.tuples(st.integers(0, 180), st.integers(0, 240), st.integers(1, 60)), max_size=8
)


def drawn(blobs, shape=(190, 250)):
    mask = np.zeros(shape, np.uint8)
    for top, left, side in blobs:
        mask[top : top + side, left : left + side // 2 + 1] = 1
    return mask


@given(blobs=BLOBS, step=st.integers(1, 3), reach=st.integers(1, 12))
def test_boxes_hold_the_mask_and_what_is_around_it_and_are_disjoint(blobs, step, reach):
    mask = drawn(blobs)
    covered = np.zeros(mask.shape, int)
    for top, bottom, left, right in boxes_of(mask, reach, step):
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
    assert boxes_of(np.zeros(shape, np.uint8), 8) == []


def test_what_is_too_small_to_stay_has_no_box():
    mask = drawn([(10, 10, 3), (100, 100, 20)])
    assert boxes_of(mask, 8, 1, 60) == [(92, 128, 92, 119)]
    assert len(boxes_of(mask, 8)) == 2


def test_parts_beyond_counting_are_one():
    mask = np.zeros((600, 800), np.uint8)
    mask[::40, ::40] = 1
    assert boxes_of(mask, 8) == [(0, 569, 0, 769)]


@pytest.mark.parametrize("shape", [(12, 18), (13, 18, 3), (12, 18, 3), (1, 2, 3)])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_thinned_pictures_have_every_so_many_pixels(shape, step):
    picture = np.random.default_rng(0).integers(
        0, 256, (*np.add(shape[:2], 4), *shape[2:]), np.uint8
    )
    part = picture[2 : 2 + shape[0], 1 : 1 + shape[1]]
    np.testing.assert_array_equal(thinned(part, step), part[::step, ::step])
