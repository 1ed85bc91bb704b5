"""What is found at a scene's place comes back to where the frame lies."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bgsub.local.alignment import Motion
from bgsub.local.placing import Placed, at_place, moved

SHIFTS = st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(lambda one: Motion(*one))


class At:
    """A registration that always finds one motion."""

    def __init__(self, motion):
        self.find = lambda _: motion


@given(shift=SHIFTS, seed=st.integers(0, 99), channels=st.sampled_from([(), (3,)]))
def test_a_picture_moves_there_and_back(shift, seed, channels):
    picture = np.random.default_rng(seed).integers(0, 256, (20, 24, *channels), dtype=np.uint8)
    right, down = shift[:2]
    there = moved(picture, shift)
    assert there.shape == picture.shape
    for y in range(20):
        for x in range(24):
            seen = picture[min(max(y + down, 0), 19), min(max(x + right, 0), 23)]
            assert (there[y, x] == seen).all()
    back = Placed(there, None, shift).back(there)
    rows = slice(max(0, down), 20 + min(0, down))
    columns = slice(max(0, right), 24 + min(0, right))
    assert (back[rows, columns] == picture[rows, columns]).all()


@given(shift=SHIFTS, seed=st.integers(0, 99))
def test_what_a_frame_does_not_show_does_not_count(shift, seed):
    picture = np.zeros((20, 24, 3), np.uint8)
    counts = np.random.default_rng(seed).random((20, 24)) < 0.5
    place = at_place(At(shift), picture, counts)
    everything = np.full((20, 24), 255, np.uint8)
    assert not place.back(everything)[~counts].any() or shift == Motion()
    inside = np.zeros((20, 24), bool) if place.inside is None else place.inside
    for y in range(20):
        for x in range(24):
            row, column = y + int(shift.down), x + int(shift.right)
            shown = 0 <= row < 20 and 0 <= column < 24
            assert inside[y, x] == (shown and counts[row, column])


def test_frames_of_a_camera_that_stands_still_are_not_touched():
    picture = np.zeros((6, 8), np.uint8)
    assert at_place(None, picture) == Placed(picture, None)
    place = at_place(At(Motion()), picture)
    assert place.picture is picture
    assert place.inside is None
    assert place.back(picture) is picture


def test_what_is_found_in_a_turned_frame_lies_where_it_is_seen():
    height, width = 60, 80
    down, right = np.indices((height, width))
    place = np.hypot(right - 55, down - 20) < 9
    motion = Motion(2.3, -1.6, 0.01, 0.05)
    matrix = motion.matrix(height, width)
    x, y = matrix @ (55, 20, 1)
    frame = np.hypot(right - x, down - y) < 9 * 1.01
    picture = frame.astype(np.uint8) * np.uint8(200)
    placed = at_place(At(motion), picture)
    assert ((placed.picture > 100) != place).sum() <= 8
    back = placed.back(place.view(np.uint8))
    assert (back.view(bool) != frame).sum() <= 12
    assert placed.inside is not None
    outside = np.argwhere(~placed.inside)
    assert outside.size
    for row, column in outside.tolist():
        there = matrix @ (column, row, 1)
        assert not (0.5 < there[0] < width - 1.5 and 0.5 < there[1] < height - 1.5)
