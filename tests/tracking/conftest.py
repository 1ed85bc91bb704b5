"""Films of rectangles whose tracks are known."""

import numpy as np
import pytest

from bgsub.tracking.detections import find_detections
from bgsub.tracking.tracker import Tracker

SIZE = (160, 120)
RATE = 25.0


def draw(places, size=SIZE):
    """A mask and a picture with (x, y, width, height, grey level) each."""
    width, height = size
    mask = np.zeros((height, width), np.uint8)
    picture = np.full((height, width, 3), 100, np.uint8)
    for x, y, w, h, level in places:
        part = np.s_[
            max(round(y), 0) : max(round(y) + h, 0), max(round(x), 0) : max(round(x) + w, 0)
        ]
        mask[part] = 255
        picture[part] = level
    return mask, picture


def follow(frames, *, looks=True, rate=RATE, **options):
    """Objects by frame number, of frames that are lists of places."""
    tracker = Tracker(SIZE, rate=rate, **options)
    decided = []
    for number, places in enumerate(frames, start=1):
        mask, picture = draw(places)
        shown = picture if looks else None
        found = find_detections(mask, picture=shown)
        decided += tracker.update(number, (number - 1) / rate, found, shown).settled
    decided += tracker.finish().settled
    assert len(decided) == len(frames)
    return decided


@pytest.fixture(name="follow")
def _follow():
    return follow


@pytest.fixture(name="draw")
def _draw():
    return draw
