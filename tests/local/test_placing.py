"""What is found at a scene's place comes back to where the frame lies."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bgsub.local.placing import Placed, at_place, moved
from bgsub.local.registration import Shift

SHIFTS = st.builds(Shift, st.integers(-9, 9), st.integers(-9, 9))


class At:
    """A registration that always finds one shift."""

    def __init__(self, shift):
        self.find = lambda _: shift


@given(shift=SHIFTS, seed=st.integers(0, 99), channels=st.sampled_from([(), (3,)]))
def test_a_picture_moves_there_and_back(shift, seed, channels):
    picture = np.random.default_rng(seed).integers(0, 256, (20, 24, *channels), dtype=np.uint8)
    right, down = shift
    there = moved(picture, shift)
    assert there.shape == picture.shape
    for y in range(20):
        for x in range(24):
            seen = picture[min(max(y + down, 0), 19), min(max(x + right, 0), 23)]
            assert (there[y, x] == seen).all()
    back = moved(there, Shift(-right, -down))
    rows = slice(max(0, down), 20 + min(0, down))
    columns = slice(max(0, right), 24 + min(0, right))
    assert (back[rows, columns] == picture[rows, columns]).all()


@given(shift=SHIFTS, seed=st.integers(0, 99))
def test_what_a_frame_does_not_show_does_not_count(shift, seed):
    picture = np.zeros((20, 24, 3), np.uint8)
    counts = np.random.default_rng(seed).random((20, 24)) < 0.5
    place = at_place(At(shift), picture, counts)
    everything = np.full((20, 24), 255, np.uint8)
    assert not place.back(everything)[~counts].any() or shift == Shift()
    inside = np.zeros((20, 24), bool) if place.inside is None else place.inside
    for y in range(20):
        for x in range(24):
            row, column = y + shift.down, x + shift.right
            shown = 0 <= row < 20 and 0 <= column < 24
            assert inside[y, x] == (shown and counts[row, column])


def test_frames_of_a_camera_that_stands_still_are_not_touched():
    picture = np.zeros((6, 8), np.uint8)
    assert at_place(None, picture) == Placed(picture, None)
    place = at_place(At(Shift()), picture)
    assert place.picture is picture
    assert place.inside is None
    assert place.back(picture) is picture
