"""Lasting changes of a scene, and what is none."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from bgsub.segments.changes import Film, find_changes, reason_of
from bgsub.video.source import open_source

FPS = 5
SIZE = 60, 80


def still(n, seed=0, noise=1.5):
    """n frames of a room: large surfaces, some texture, noise."""
    rng = np.random.default_rng(seed)
    room = cv2.resize(rng.uniform(40, 200, (12, 16)), SIZE[::-1], interpolation=cv2.INTER_CUBIC)
    texture = rng.normal(size=(SIZE[0] // 2, SIZE[1] // 2))
    room = room + 10 * cv2.resize(texture, SIZE[::-1], interpolation=cv2.INTER_CUBIC)
    return room + np.random.default_rng(seed + 1).normal(0, noise, (n, *SIZE))


def changes_of(frames):
    clipped = np.clip(frames, 0, 255).astype(np.uint8)
    return find_changes(Film(open_source(clipped, fps=FPS)))


def test_a_quiet_room_does_not_change():
    assert changes_of(still(300)) == []


def test_a_thing_that_was_moved_is_found_to_the_frame_with_its_place():
    frames = still(300)
    frames[:141, 20:34, 10:20] = 20
    frames[141:, 20:34, 40:50] = 20
    (change,) = changes_of(frames)
    assert change.first == 142
    place = [int(number) for number in change.reason.removeprefix("a change at ").split(",")]
    np.testing.assert_allclose(place, [10, 20, 40, 14], atol=3)


def test_a_place_is_not_displaced_by_taking_specks_out():
    frames = still(300)
    frames[141:, 20:34, 40:50] = 20
    frames[141:, 5, 5] = 255
    (change,) = changes_of(frames)
    assert change.reason == "a change at 40,20,10,14"


def test_where_somebody_stands_in_front_it_is_found_when_he_goes():
    frames = still(400)
    frames[:150, 20:34, 10:20] = 20
    frames[150:, 20:34, 40:50] = 20
    rng = np.random.default_rng(5)
    for at in range(130, 200):
        left = int(rng.integers(2, 6))
        frames[at, 10:58, left : left + 52] = rng.uniform(0, 255, (48, 52))
    (change,) = changes_of(frames)
    assert change.first == 201


@pytest.mark.parametrize("lamp", ["on", "off"])
def test_a_lamp_is_found_to_the_frame(lamp):
    frames = still(300)
    dark = frames[:, :, :] * 0.3
    at = 170
    light, other = (dark, frames) if lamp == "on" else (frames, dark)
    (change,) = changes_of(np.concatenate([light[:at], other[at:]]))
    assert change.first == at + 1
    assert change.reason == ("it became brighter" if lamp == "on" else "it became darker")


def test_a_knock_of_the_camera_is_known_as_such():
    frames = still(300)
    frames[120:] = np.roll(frames[120:], (2, 3), axis=(1, 2))
    (change,) = changes_of(frames)
    assert change.first == 121
    assert change.reason in {"the camera moved by 3 pixels", "the camera moved by 4 pixels"}


def test_daylight_that_grows_slowly_is_none():
    frames = still(600)
    assert changes_of(frames * np.linspace(0.5, 1.1, 600)[:, None, None]) == []


def test_a_visitor_who_fidgets_is_none():
    frames = still(400)
    rng = np.random.default_rng(9)
    for at in range(100, 250):
        frames[at, 15:50, 30:55] = 60
        head = int(rng.integers(0, 4))
        frames[at, 5:22, 30 + head : 51 + head] = rng.uniform(0, 255, (17, 21))
    assert changes_of(frames) == []


def test_a_short_change_is_none():
    frames = still(300)
    frames[150:180, 20:34, 10:20] = 20
    assert changes_of(frames) == []


def test_moving_water_is_none():
    frames = still(300)
    x = np.arange(SIZE[1])
    for at in range(300):
        frames[at, 30:] += 30 * np.sin((x + 3 * at) / 5)
    assert changes_of(frames) == []


def test_several_changes_come_in_order():
    frames = still(600)
    frames[200:, 20:34, 10:20] = 20
    frames[400:] *= 0.4
    assert [change.first for change in changes_of(frames)] == [201, 401]


SMALL = 36, 64


@pytest.fixture
def room():
    """A smooth room of 36×64 pixels, as a day is generated."""
    coarse = np.random.default_rng(0).uniform(60, 220, (9, 16)).astype(np.float32)
    return cv2.resize(coarse, SMALL[::-1], interpolation=cv2.INTER_CUBIC)


def noisy(picture, noise=0.7):
    """A median of some frames: little noise."""
    added = picture + np.random.default_rng(1).normal(0, noise, picture.shape)
    return added.astype(np.float32)


def reason(before, after, scale=1):
    mask = np.abs(after - before) > 12
    height, width = before.shape
    return reason_of(before, after, mask, (scale * width, scale * height))


@pytest.mark.parametrize("light", [0.2, 0.4, 1.0])
@pytest.mark.parametrize("falls", [1.0, 0.9, 0.75])
def test_a_knock_is_known_in_failing_light(room, light, falls):
    after = falls * light * np.roll(room, (2, 3), axis=(0, 1))
    assert reason(noisy(light * room), noisy(after)) == "the camera moved by 4 pixels"


@pytest.mark.parametrize("x", [-0.6, 0.5, 1.4, 4.5])
def test_a_displacement_is_given_in_pixels_of_the_film(room, x):
    matrix = np.array([[1, 0, x], [0, 1, 0.0]])
    after = cv2.warpAffine(room, matrix, SMALL[::-1], borderMode=cv2.BORDER_REFLECT)
    words = reason(noisy(room), noisy(after), scale=20).split()
    assert words[:4] == ["the", "camera", "moved", "by"]
    assert float(words[4]) == pytest.approx(20 * abs(x), abs=2)


def test_light_from_a_side_is_no_displacement(room):
    lamp = np.linspace(0.4, 0.9, SMALL[1])[None, :]
    assert reason(noisy(room), noisy(lamp * room)) == "it became darker"
    assert reason(noisy(lamp * room), noisy(room)) == "it became brighter"


def test_another_scene_is_no_displacement(room):
    other = np.random.default_rng(7).uniform(60, 220, (9, 16)).astype(np.float32)
    other = cv2.resize(other, SMALL[::-1], interpolation=cv2.INTER_CUBIC)
    assert reason(noisy(room), noisy(other)) == "most of the picture changed"


def test_a_thing_that_was_moved_is_a_place(room):
    before, after = room.copy(), room.copy()
    before[10:20, 10:20], after[10:20, 14:24] = 255, 255
    assert reason(before, after) == "a change at 10,10,14,10"


@pytest.mark.parametrize("size", [(1, 1), (4, 4), (4, 60), (60, 4), (36, 64)])
def test_pictures_of_any_size_and_without_contrast(size):
    before, after = np.full(size, 90, np.float32), np.full(size, 30, np.float32)
    assert reason(before, after) == "it became darker"
