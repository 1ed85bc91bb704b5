"""Why the scene is another one: a knock of the camera, light, or a place."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from bgsub.segments.changes import reason_of

SIZE = 36, 64


@pytest.fixture
def room():
    """A smooth room of 36×64 pixels, as a day is generated."""
    coarse = np.random.default_rng(0).uniform(60, 220, (9, 16)).astype(np.float32)
    return cv2.resize(coarse, SIZE[::-1], interpolation=cv2.INTER_CUBIC)


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
    after = cv2.warpAffine(room, matrix, SIZE[::-1], borderMode=cv2.BORDER_REFLECT)
    words = reason(noisy(room), noisy(after), scale=20).split()
    assert words[:4] == ["the", "camera", "moved", "by"]
    assert float(words[4]) == pytest.approx(20 * abs(x), abs=2)


def test_light_from_a_side_is_no_displacement(room):
    lamp = np.linspace(0.4, 0.9, SIZE[1])[None, :]
    assert reason(noisy(room), noisy(lamp * room)) == "it became darker"
    assert reason(noisy(lamp * room), noisy(room)) == "it became brighter"


def test_another_scene_is_no_displacement(room):
    other = np.random.default_rng(7).uniform(60, 220, (9, 16)).astype(np.float32)
    other = cv2.resize(other, SIZE[::-1], interpolation=cv2.INTER_CUBIC)
    assert reason(noisy(room), noisy(other)) == "most of the picture changed"


def test_a_thing_that_was_moved_is_a_place(room):
    before, after = room.copy(), room.copy()
    before[10:20, 10:20], after[10:20, 14:24] = 255, 255
    assert reason(before, after) == "a change at 10,10,14,10"


@pytest.mark.parametrize("size", [(1, 1), (4, 4), (4, 60), (60, 4), (36, 64)])
def test_pictures_of_any_size_and_without_contrast(size):
    before, after = np.full(size, 90, np.float32), np.full(size, 30, np.float32)
    assert reason(before, after) == "it became darker"


@pytest.mark.parametrize("size", [(36, 64), (60, 80)])
def test_the_pictures_are_left_as_they_are(size):
    rng = np.random.default_rng(3)
    before, after = (rng.uniform(0, 255, size).astype(np.float32) for _ in range(2))
    pictures = before.copy(), after.copy()
    reason(before, after)
    assert np.array_equal(before, pictures[0])
    assert np.array_equal(after, pictures[1])
