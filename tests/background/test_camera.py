"""Frames of a camera that shakes are found where they lie, whatever the light and what moves."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.background.camera import (
    Motion,
    Registration,
    find_registration,
    moved,
    registration_in,
    shrunken,
)
from tests.conftest import make_scene

HEIGHT, WIDTH, ROOM = 120, 160, 12


@pytest.fixture(scope="module")
def wide() -> np.ndarray:
    """Give a textured place, larger than the picture by 12 pixels on each side."""
    rng = np.random.default_rng(3)
    size = HEIGHT + 2 * ROOM, WIDTH + 2 * ROOM
    picture = np.full((*size, 3), 90, np.float32)
    for scale in (3, 9, 27):
        rough = rng.normal(0, 1, (size[0] // scale + 2, size[1] // scale + 2, 3))
        picture += 18 * cv2.resize(rough.astype(np.float32), size[::-1], interpolation=1)
    return np.clip(picture, 20, 220).astype(np.uint8)


def lies_at(place, frame, right, down):
    """Say whether a frame is found so far to the right and below."""
    motion = place.find(frame)
    apart = motion._replace(right=motion.right - right, down=motion.down - down)
    return apart.furthest(*frame.shape[:2]) < 0.5


def seen_at(wide, right, down):
    """Cut the picture out whose scene lies so far to the right and down."""
    top, left = ROOM - down, ROOM - right
    return wide[top : top + HEIGHT, left : left + WIDTH].copy()


@settings(max_examples=20, deadline=None)
@given(
    right=st.integers(-8, 8),
    down=st.integers(-8, 8),
    gain=st.floats(0.5, 1.3),
    offset=st.integers(-15, 25),
    x=st.integers(0, WIDTH - 60),
    y=st.integers(0, HEIGHT - 50),
    seed=st.integers(0, 9),
)
def test_a_frame_is_found_in_any_light_and_behind_an_object(
    wide, right, down, gain, offset, x, y, seed
):
    frame = seen_at(wide, right, down)
    rng = np.random.default_rng(seed)
    frame[y : y + 50, x : x + 60] = rng.integers(0, 256, (50, 60, 3))
    frame = np.clip(
        gain * frame.astype(np.float32) + offset + rng.normal(0, 2, frame.shape), 0, 255
    )
    place = Registration(shrunken(seen_at(wide, 0, 0)), 1.0)
    assert lies_at(place, frame.astype(np.uint8), right, down)


def test_a_larger_picture_is_found_to_the_pixel(wide):
    large = cv2.resize(wide, None, fx=4, fy=4, interpolation=cv2.INTER_CUBIC)
    still = large[48:-48, 48:-48]
    place = Registration(shrunken(still), still.shape[1] / 160)
    for right, down in ((0, 0), (1, -2), (-7, 5), (18, 11)):
        frame = large[48 - down : -48 - down, 48 - right : -48 - right]
        assert lies_at(place, frame, right, down)


def test_what_shows_something_else_stays_where_it_is(wide):
    place = Registration(shrunken(seen_at(wide, 0, 0)), 1.0)
    other = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    assert place.find(other) == Motion()
    assert place.find(np.full((HEIGHT, WIDTH, 3), 77, np.uint8)) == Motion()
    assert Registration(np.full((HEIGHT, WIDTH), 77, np.uint8), 1.0).find(other) == Motion()


def film(wide, shifts):
    rng = np.random.default_rng(1)
    frames = np.stack([seen_at(wide, *shift) for shift in shifts]).astype(np.float32)
    frames[10:20, 40:80, 30:50] += 60  # somebody stays for a while
    return np.clip(frames + rng.normal(0, 2, frames.shape), 0, 255).astype(np.uint8)


def test_a_camera_that_stands_still_has_no_place_to_be_found(wide):
    assert find_registration(film(wide, [(0, 0)] * 40)) is None


def test_a_single_bump_is_no_shaking(wide):
    shifts = [(0, 0)] * 120
    shifts[7] = (5, 3)
    assert find_registration(film(wide, shifts)) is None


def test_a_camera_that_pans_has_no_place(wide):
    panning = np.concatenate([wide] * 8, axis=1)
    frames = [panning[ROOM:-ROOM, 25 * i : 25 * i + WIDTH] for i in range(8)]
    assert find_registration(np.stack(frames)[:, ::2, ::2]) is None


@pytest.mark.parametrize(
    ("reach", "others", "has_place"), [(5, 4, True), (5, 6, False), (0, 4, False)]
)
def test_frames_that_show_something_else_weigh_against_a_place(wide, reach, others, has_place):
    rng = np.random.default_rng(5)
    shifts = rng.integers(-reach, reach + 1, (10, 2)).tolist()
    frames = [seen_at(wide, right, down) for right, down in shifts]
    for i in rng.permutation([*range(5), *range(6, 10)])[:others]:
        rough = rng.integers(0, 256, (HEIGHT // 4, WIDTH // 4, 3), dtype=np.uint8)
        frames[i] = cv2.resize(rough, (WIDTH, HEIGHT))
    assert (find_registration(np.stack(frames)[:, ::2, ::2]) is not None) == has_place


@pytest.mark.parametrize(("seed", "n"), [(0, 102), (1, 126), (2, 72), (2, 174)])
def test_waves_that_fill_a_small_picture_are_no_camera_that_shakes(seed, n):
    frames = make_scene(n, 36, 48, seed=seed, visit=n, texture=0)[..., ::-1]
    assert find_registration(frames) is None


def test_a_camera_that_shakes_is_found_in_small_pictures_too(wide):
    rng = np.random.default_rng(0)
    top, left = rng.integers(0, 60, 2)
    shifts = rng.integers(-2, 3, (24, 2))
    frames = np.stack([wide[top + y :, left + x :][3:39, 3:51] for y, x in shifts + 3])
    place = find_registration(frames)
    assert place is not None
    apart = np.array([place.find(frame)[1::-1] for frame in frames]) + shifts
    assert np.abs(apart - np.median(apart, axis=0)).max() < 0.5


def test_a_camera_that_shakes_is_brought_to_the_middle(wide):
    rng = np.random.default_rng(2)
    shifts = rng.integers(-5, 6, (30, 2)) + np.array([3, -2])
    frames = film(wide, [tuple(map(int, shift)) for shift in shifts])
    place = find_registration(frames)
    assert place is not None
    found = np.array([place.find(frame)[:2] for frame in frames])
    apart = found - shifts
    assert np.abs(apart - np.median(apart, axis=0)).max() < 0.3
    assert np.abs(np.median(found, axis=0)).max() <= 2  # of some frames' shifts, not of all


def turned(wide, degrees):
    """Cut the picture out of the place turned about its middle."""
    size = wide.shape[1::-1]
    matrix = cv2.getRotationMatrix2D((size[0] / 2, size[1] / 2), degrees, 1)
    return seen_at(cv2.warpAffine(wide, matrix, size, flags=cv2.INTER_CUBIC), 0, 0)


def test_a_camera_that_turns_is_brought_to_the_middle(wide):
    angles = np.random.default_rng(0).uniform(-1.5, 1.5, 20)
    frames = np.stack([turned(wide, angle) for angle in angles])
    place = find_registration(frames)
    assert place is not None
    found = np.rad2deg([-place.find(frame).turned for frame in frames])
    apart = found - angles
    assert np.abs(apart - np.median(apart)).max() < 0.2


def test_a_camera_that_trembles_by_less_than_a_pixel_is_found(wide):
    rng = np.random.default_rng(4)
    large = cv2.resize(wide, None, fx=4, fy=4, interpolation=cv2.INTER_CUBIC)
    frames = [
        cv2.resize(
            large[4 * ROOM - y : 4 * (ROOM + HEIGHT) - y, 4 * ROOM - x : 4 * (ROOM + WIDTH) - x],
            (WIDTH, HEIGHT),
            interpolation=cv2.INTER_AREA,
        )
        for x, y in rng.integers(-3, 4, (40, 2))
    ]
    noisy = np.stack(frames) + rng.normal(0, 2, (40, HEIGHT, WIDTH, 3))
    assert find_registration(np.clip(noisy, 0, 255).astype(np.uint8)) is not None


def test_who_stands_before_two_fifths_of_a_shaking_picture_does_not_hide_that_it_shakes(wide):
    rng = np.random.default_rng(2)
    shifts = rng.integers(-5, 6, (16, 2))
    frames = np.stack([seen_at(wide, *shift) for shift in shifts.tolist()])
    body = rng.integers(0, 256, (24, 18, 3), dtype=np.uint8)
    body = cv2.resize(body, (64, HEIGHT), interpolation=cv2.INTER_LINEAR)
    for frame, x in zip(frames, rng.integers(0, 96, 16).tolist(), strict=True):
        frame[:, x : x + 64] = body
    place = find_registration(frames)
    assert place is not None
    apart = np.array([place.find(frame)[:2] for frame in frames]) - shifts
    apart = np.abs(apart - np.median(apart, axis=0)).max(axis=1)
    assert np.median(apart) < 0.3


def test_arrays_keep_a_place(wide):
    place = Registration(shrunken(seen_at(wide, 0, 0)), 1.0)
    again = registration_in(place.arrays())
    assert again is not None
    assert lies_at(again, seen_at(wide, 4, -3), 4, -3)
    assert registration_in({}) is None


@pytest.mark.parametrize(
    ("reference", "factor"),
    [
        (np.zeros((4, 4), np.float32), 1.0),
        (np.zeros((4, 400), np.uint8), 1.0),
        (np.zeros((0, 4), np.uint8), 1.0),
        (np.zeros((4, 4, 3), np.uint8), 1.0),
        (np.zeros((40, 40), np.uint8), 0.0),
        (np.zeros((40, 40), np.uint8), np.inf),
        (np.zeros((40, 40), np.uint8), np.nan),
    ],
)
def test_arrays_of_no_place_are_refused(reference, factor):
    with pytest.raises((ValueError, KeyError)):
        registration_in({"camera_reference": reference, "camera_factor": np.array(factor)})


@pytest.mark.parametrize("size", [(1, 500), (500, 2), (3, 3), (20, 160), (1, 1)])
def test_pictures_too_small_to_tell_stay_where_they_are(size):
    pictures = np.random.default_rng(0).integers(0, 256, (20, *size, 3), dtype=np.uint8)
    assert find_registration(pictures) is None


@pytest.mark.parametrize("shift", [(0.7, -0.4), (5.3, -2.4), (-3.0, 4.0), (0.0, 0.5)])
def test_a_shift_alone_moves_a_picture_as_a_warp_does(wide, shift):
    warped = moved(wide, Motion(*shift, turned=1e-9)).astype(int)
    inner = np.s_[8:-8, 8:-8]  # borders are continued before full pixels are left, and after
    assert np.abs(moved(wide, Motion(*shift)) - warped)[inner].max() <= 1


def test_a_turn_that_no_pixel_shows_is_none(wide):
    frame, place = seen_at(wide, 3, -2), Registration(shrunken(seen_at(wide, 0, 0)), 1.0)
    assert place.find(frame) == Motion(3, -2)
