"""Finding an object by its looks."""

import cv2
import numpy as np
import pytest

from bgsub.tracking.targets import Appearance

EVERYWHERE = (0, 0, 120, 80)


@pytest.fixture
def pictures():
    rng = np.random.default_rng(3)
    scene = rng.integers(90, 110, (80, 120, 3)).astype(np.uint8)
    thing = rng.integers(0, 255, (20, 12, 3)).astype(np.uint8)
    before, after = scene.copy(), scene.copy()
    before[30:50, 40:52] = thing
    after[33:53, 45:57] = thing
    return before, after


def test_it_is_found_where_it_went(pictures):
    before, after = pictures
    looks = Appearance(before, (40, 30, 12, 20), np.ones((20, 12), bool))
    assert looks.locate(after, (46, 40), 8, EVERYWHERE) == (51, 43, 1)


def test_it_is_not_found_where_it_is_not(pictures):
    before, after = pictures
    looks = Appearance(before, (40, 30, 12, 20), np.ones((20, 12), bool))
    assert looks.locate(after, (100, 60), 5, EVERYWHERE) is None
    assert looks.locate(after, (-30, -30), 2, EVERYWHERE) is None


def test_it_is_looked_for_within_its_region_and_where_outlines_breathe(pictures):
    before, after = pictures  # it is at (45, 33) and 12 wide now
    looks = Appearance(before, (40, 30, 12, 20), np.ones((20, 12), bool))
    for left, width in ((40, 30), (47, 30), (20, 35), (47, 8), (45, 3)):
        assert looks.locate(after, (46, 40), 8, (left, 30, width, 25)) == (51, 43, 1)
    for left, width in ((48, 30), (20, 34), (20, 5)):
        assert looks.locate(after, (46, 40), 8, (left, 30, width, 25)) is None


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_it_is_told_from_what_is_as_bright_by_its_colour(channel):
    rng = np.random.default_rng(5)
    scene = rng.integers(115, 125, (60, 90, 3)).astype(np.uint8)
    scene[20:40, 20:32] = (120, 120, 120)
    scene[20:40, 20:32, channel] = 220
    looks = Appearance(scene, (20, 20, 12, 20), np.ones((20, 12), bool))
    after = np.roll(scene, 14, axis=1)
    after[20:40, 20:32] = scene[20:40, 20:32, ::-1] if channel != 1 else 160
    assert looks.locate(after, (30, 30), 16, (0, 0, 90, 60)) == (40, 30, 1)


def test_large_ones_are_looked_for_at_a_reduced_size():
    rng = np.random.default_rng(3)
    coarse = rng.integers(0, 255, (10, 12), np.uint8)
    thing = cv2.resize(coarse, (500, 400), interpolation=cv2.INTER_CUBIC)
    picture = np.full((600, 800), 100, np.uint8)
    picture[50:450, 60:560] = thing
    looks = Appearance(picture, (60, 50, 500, 400), np.ones((400, 500), bool))
    moved = np.roll(picture, (6, 12), (0, 1))
    x, y, alike = looks.locate(moved, (310, 250), 20, (40, 40, 600, 500))
    assert (x, y) == pytest.approx((322, 256), abs=3)
    assert alike > 0.5
