"""Boxes on pictures."""

import numpy as np
import pytest

from bgsub.tracking.drawing import draw_objects, enlargement
from bgsub.tracking.tracker import Observation


def seen(track, box):
    return Observation(1, 0.0, track, box, 0, 0, 1, 1.0, "")


@pytest.mark.parametrize(("width", "factor"), [(160, 3), (320, 2), (640, 1), (3840, 1)])
def test_small_pictures_grow(width, factor):
    assert enlargement(width, width * 3 // 4) == factor
    picture = np.full((width * 3 // 4, width), 90, np.uint8)
    drawn = draw_objects(picture, [])
    assert drawn.shape == (factor * picture.shape[0], factor * width, 3)
    assert (drawn == 90).all()


@pytest.mark.parametrize("size", [(120, 160), (2160, 3840)])
def test_a_box_and_its_number_can_be_seen(size):
    height, width = size
    picture = np.full((height, width, 3), 90, np.uint8)
    box = (width // 4, height // 4, width // 8, height // 4)
    drawn = draw_objects(picture, [seen(12, box)])
    factor = enlargement(width, height)
    x, y, w, h = (factor * value for value in box)
    assert (drawn[y + h // 2, x] != 90).any()
    assert (drawn[y + h // 2, x + w // 2] == 90).all()
    plate = drawn[: y - 2] != 90
    rows, _, _ = np.nonzero(plate)
    assert np.ptp(rows) >= 11
    assert (picture == 90).all()


def test_boxes_at_the_border_keep_their_number_within():
    picture = np.full((120, 160), 90, np.uint8)
    for box in ((0, 0, 30, 20), (150, 110, 30, 30), (-5, -5, 500, 500)):
        drawn = draw_objects(picture, [seen(7, box)])
        assert (drawn != 90).sum() > 200
