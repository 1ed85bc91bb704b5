"""Regions of a mask."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bgsub.tracking.detections import Detection, center, find_detections, join, with_weak_regions


def test_a_rectangle_is_where_it_was_drawn(draw):
    mask, picture = draw([(10, 20, 8, 5, 200)])
    (found,) = find_detections(mask, picture=picture)
    assert found.box == (10, 20, 8, 5)
    assert (found.cx, found.cy) == (14, 22.5)
    assert found.area == 40
    assert list(found.color) == [200, 200, 200]
    assert found.inside is not None
    assert found.inside.all()


def test_small_and_large_ones_are_left_out(draw):
    mask, _ = draw([(10, 20, 8, 5, 200), (50, 50, 2, 2, 0), (80, 10, 30, 30, 9)])
    assert [each.area for each in find_detections(mask, min_area=5, max_area=100)] == [40]


@pytest.mark.parametrize(
    ("levels", "sign"), [((20, 20), "brighter"), ((-20, -20), "darker"), ((20, -20), "mixed")]
)
def test_the_sign_is_against_the_background(draw, levels, sign):
    mask, _ = draw([(10, 20, 8, 6, 200)])
    luma = np.full(mask.shape, 100, np.uint8)
    luma[20:23, 10:18], luma[23:26, 10:18] = 100 + levels[0], 100 + levels[1]
    for shape in (mask.shape, (*mask.shape, 3)):
        background = np.full(shape, 100, np.uint8).__getitem__
        (found,) = find_detections(mask, luma=luma, background=background)
        assert found.sign == sign


def test_some_rows_tell_the_colour_and_the_sign_of_a_large_region():
    rng = np.random.default_rng(3)
    rows, columns = np.mgrid[:300, :200]
    picture = np.clip(rng.normal(60 + rows[..., None] / 4, 15, (300, 200, 3)), 0, 255)
    picture = picture.astype(np.uint8)
    mask = np.where((rows - 150) ** 2 + (columns - 100) ** 2 < 90**2, 255, 0).astype(np.uint8)
    luma = picture[..., 0]
    for level, sign in ((40, "brighter"), (97, "mixed"), (200, "darker")):
        background = np.full(luma.shape, level, np.uint8).__getitem__
        (found,) = find_detections(mask, picture=picture, luma=luma, background=background)
        assert found.sign == sign
        assert np.allclose(found.color, picture[mask > 0].mean(axis=0), atol=1)
    assert found.area == np.count_nonzero(mask)


def test_the_score_is_the_mean_probability_within(draw):
    mask, _ = draw([(10, 20, 8, 6, 200)])
    chance = np.full(mask.shape, 255, np.uint8)
    chance[20:26, 10:14] = 51
    (found,) = find_detections(mask, scores=chance)
    assert found.score == pytest.approx(0.6)


def test_the_threshold_is_a_probability_of_a_half(draw):
    mask, _ = draw([(10, 20, 8, 6, 200)])
    found = [
        find_detections(mask, scores=np.full(mask.shape, s, np.uint16), score_level=100)[0].score
        for s in (90, 100, 150, 350)
    ]
    assert found[1] == 0.5
    assert sorted(found) == found
    assert found[0] < 0.5
    assert found[3] == 1


@given(hnp.arrays(np.uint8, (9, 11), elements=st.sampled_from([0, 255])))
def test_regions_are_those_that_labels_tell_apart(mask):
    # Regions in the hole of another are regions of their own.
    count, labels, stats, centers = cv2.connectedComponentsWithStats(mask, connectivity=8)
    found = sorted(find_detections(mask), key=lambda each: labels[_a_pixel_of(each)])
    assert len(found) == count - 1
    for label, each in enumerate(found, 1):
        assert [*each.box, each.area] == stats[label].tolist()
        assert (each.cx, each.cy) == pytest.approx(centers[label] + 0.5)
        assert set(labels[_box(each)][each.inside]) == {label}


def _box(found):
    x, y, width, height = map(int, found.box)
    return slice(y, y + height), slice(x, x + width)


def _a_pixel_of(found):
    rows, columns = np.nonzero(found.inside)
    return rows[0] + int(found.box[1]), columns[0] + int(found.box[0])


def test_pieces_join_to_what_they_cover_together():
    one = Detection((0, 0, 4, 4), 2, 2, 16, 0.6, "darker", np.array([10.0]))
    two = Detection((8, 4, 4, 12), 10, 10, 48, 0.8, "darker", np.array([50.0]))
    both = join([one, two])
    assert both.box == (0, 0, 12, 16)
    assert (both.cx, both.cy) == (8, 8)
    assert (both.area, both.score, both.sign) == (64, pytest.approx(0.75), "darker")
    assert list(both.color) == [40]
    assert center(both.box) == (6, 8)


def test_weak_regions_join_a_mask_where_they_are_alone_and_small():
    mask, scores = np.zeros((2, 120, 160), np.uint8)
    mask[40:60, 40:60] = 255
    scores[40:60, 40:63] = 200
    scores[90:94, 90:94] = scores[10:40, 100:140] = 180
    found = with_weak_regions(mask, scores)
    assert (found[90:94, 90:94] == 255).all()
    assert not found[10:40, 100:140].any()
    np.testing.assert_array_equal(found[30:70, 30:70], mask[30:70, 30:70])
    assert with_weak_regions(mask, scores * 0) is mask
