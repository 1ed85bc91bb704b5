"""Frames that are moved, turned or nearer are found where they lie."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.local.alignment import Aligner, Motion, warped

HEIGHT, WIDTH = 120, 160
ROOM = 24


@pytest.fixture(scope="module")
def wide() -> np.ndarray:
    """Give a textured place, larger than the picture by 24 pixels on each side."""
    rng = np.random.default_rng(5)
    size = HEIGHT + 2 * ROOM, WIDTH + 2 * ROOM
    picture = np.full(size, 110, np.float32)
    for scale in (4, 9, 27):
        rough = rng.normal(0, 1, (size[0] // scale + 2, size[1] // scale + 2))
        picture += 20 * cv2.resize(rough.astype(np.float32), size[::-1], interpolation=1)
    return np.clip(picture, 0, 255).astype(np.uint8)


def seen(wide, motion):
    """Show the place as a frame with a motion does."""
    there = cv2.invertAffineTransform(motion.matrix(*wide.shape))
    return warped(wide, there, cv2.INTER_CUBIC)[ROOM:-ROOM, ROOM:-ROOM].copy()


def apart(one, other):
    """Give the pixels by which two motions differ anywhere in a picture, at most."""
    difference = np.array(one) - np.array(other)
    return Motion(*difference.tolist()).furthest(HEIGHT, WIDTH)


MOTIONS = st.builds(
    Motion,
    st.floats(-7, 7),
    st.floats(-7, 7),
    st.floats(-0.01, 0.01),
    st.floats(-0.03, 0.03),
)


@settings(max_examples=30, deadline=None)
@given(motion=MOTIONS)
def test_a_frame_is_found_to_a_part_of_a_pixel(wide, motion):
    found = Aligner(seen(wide, Motion())).find(seen(wide, motion))
    assert apart(found.motion, motion) < 0.35


def test_half_a_pixel_is_sure_in_noise(wide):
    motion = Motion(0.5, -0.4)
    noise = np.random.default_rng(0).normal(0, 3, (HEIGHT, WIDTH))
    frame = np.clip(seen(wide, motion) + noise, 0, 255).astype(np.uint8)
    found = Aligner(seen(wide, Motion())).find(frame)
    assert found.sure
    assert apart(found.motion, motion) < 0.25


def test_what_covers_more_than_half_of_a_frame_does_not_lead_astray(wide):
    motion = Motion(4.0, -3.0, 0.0, 0.01)
    frame = seen(wide, motion)
    rng = np.random.default_rng(1)
    coarse = rng.integers(0, 256, (12, 10), dtype=np.uint8)
    frame[:, 30:120] = cv2.resize(coarse, (90, HEIGHT), interpolation=cv2.INTER_LINEAR)
    found = Aligner(seen(wide, Motion())).find(frame)
    assert found.sure
    assert apart(found.motion, motion) < 1


def test_a_frame_that_was_not_found_is_looked_for_from_more_starts(wide):
    rng = np.random.default_rng(0)
    place = Aligner(wide[ROOM:-ROOM, ROOM:-ROOM].copy())
    found = np.zeros((20, 2), bool)
    for each in found:
        right, down = rng.integers(-14, 15, 2)
        frame = wide[ROOM - down :, ROOM - right :][:HEIGHT, :WIDTH].astype(np.float32)
        left = rng.integers(0, WIDTH - 112)
        rough = rng.uniform(0, 255, (12, 11)).astype(np.float32)
        frame[:, left : left + 112] = cv2.resize(rough, (112, HEIGHT))
        dim = np.clip(0.3 * frame + rng.normal(20, 4, frame.shape), 0, 255).astype(np.uint8)
        for i, everywhere in enumerate((False, True)):
            motion = place.find(dim, everywhere=everywhere).motion
            each[i] = max(abs(motion.right - right), abs(motion.down - down)) < 1
    few, many = found.sum(axis=0)
    assert few <= 13
    assert many >= 15


def test_what_moves_by_itself_is_no_motion_of_the_frame(wide):
    frame = seen(wide, Motion())
    frame[40:80, 50:90] = seen(wide, Motion(3, 2))[40:80, 50:90]
    found = Aligner(seen(wide, Motion())).find(frame)
    assert found.motion.furthest(HEIGHT, WIDTH) < 0.25


@pytest.mark.parametrize("other", ["noise", "plain"])
def test_what_shows_something_else_is_not_sure(wide, other):
    shown = np.full((HEIGHT, WIDTH), 77, np.uint8)
    if other == "noise":
        shown = np.random.default_rng(0).integers(0, 256, shown.shape, dtype=np.uint8)
    assert not Aligner(seen(wide, Motion())).find(shown).sure
    assert not Aligner(np.full((HEIGHT, WIDTH), 90, np.uint8)).find(seen(wide, Motion())).sure


@given(motion=MOTIONS, x=st.floats(0, WIDTH - 1), y=st.floats(0, HEIGHT - 1))
def test_nothing_moves_by_more_than_the_furthest(motion, x, y):
    moved = motion.matrix(HEIGHT, WIDTH) @ (x, y, 1)
    assert np.abs(moved - (x, y)).max() <= motion.furthest(HEIGHT, WIDTH) + 1e-9


def test_a_larger_picture_moves_by_more_and_turns_by_as_much():
    motion = Motion(1, -2, 0.01, 0.02).enlarged(2)
    assert motion == Motion(2, -4, 0.01, 0.02)
    np.testing.assert_allclose(motion.matrix(11, 21) @ (10, 5, 1), (12, 1))
