"""Pixels within an outline, counted by hand and by OpenCV."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.video.frames import pixels_within


def outline_of(mask):
    (outline,), _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return outline


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 5), (4, 1), (3, 3), (7, 4)])
def test_rectangles(height, width):
    mask = np.zeros((12, 12), np.uint8)
    mask[2 : 2 + height, 3 : 3 + width] = 1
    assert pixels_within(outline_of(mask)) == height * width


@given(st.integers(1, 15), st.integers(1, 15))
def test_ellipses_with_their_holes(a, b):
    mask = np.zeros((40, 40), np.uint8)
    cv2.ellipse(mask, (20, 20), (a, b), 0, 0, 360, 1, cv2.FILLED)
    filled = int(mask.sum())
    mask[20, 20] = 0 if min(a, b) > 2 else 1
    assert pixels_within(outline_of(mask)) == filled
