"""The empty scene as a picture."""

import cv2
import numpy as np
import pytest

from bgsub.background.composite import plates_of
from bgsub.background.sample import MOST_FRAMES as MOST_SAMPLED
from bgsub.background.sample import Sample
from bgsub.errors import UsageError
from bgsub.pipeline.still import MOST_FRAMES, empty_scene, frames_looked_at
from bgsub.segmenter.masks import MaskModel


def film(count=45, *, color=True, seed=2, walker=True):
    """A place through which somebody walks in most frames, and the place itself."""
    rng = np.random.default_rng(seed)
    place = np.kron(rng.integers(60, 180, (6, 8, 3)), np.ones((8, 8, 1)))
    frames = np.clip(place + rng.normal(0, 2, (count, 48, 64, 3)), 0, 255).astype(np.uint8)
    for t in range(count if walker else 0):
        left = (17 * t) % 60
        figure = frames[t, 8:40, left : left + 9]
        figure[:] = rng.integers(0, 255, figure.shape)
    place = place.astype(np.uint8)
    return (frames, place) if color else (frames[..., 1].copy(), place[..., 1].copy())


@pytest.mark.parametrize("color", [True, False])
def test_nobody_is_on_it(color):
    frames, place = film(20, color=color)
    (plate,) = empty_scene(frames[..., ::-1] if color else frames)
    assert plate.picture.shape == place.shape
    assert np.abs(plate.picture.astype(int) - place).max() <= 12
    assert plate.frames == 20
    assert plate.seen[24, 30] < plate.seen[4, 30] == 20
    assert plate.hardly_seen == plate.doubtful == 0


def test_it_is_the_median_of_what_is_seen():
    frames, _ = film(21, walker=False)
    (plate,) = empty_scene(frames[..., ::-1])
    assert np.abs(plate.picture - np.median(frames, axis=0)).max() <= 0.5


def test_places_where_a_queue_never_ends_are_told():
    frames, _ = film(18, walker=False)
    rng = np.random.default_rng(1)
    for t in range(0, 18, 3):  # another car every third frame, the road is never seen
        frames[t : t + 3, 12:36, 16:48] = rng.integers(0, 255, (4, 4, 3)).repeat(6, 0).repeat(8, 1)
    (plate,) = empty_scene(frames[..., ::-1])
    assert plate.hardly_seen + plate.doubtful == pytest.approx(24 * 32 / (48 * 64), abs=0.02)


def test_people_in_dark_clothes_who_hide_a_place_by_turns_are_not_on_it():
    """Two thirds of the time, each of them with a look of his own."""
    frames, place = film(24, walker=False)
    rng = np.random.default_rng(5)
    for visit in range(8):
        coat = np.kron(rng.integers(0, 60, (6, 6, 3)), np.ones((4, 4, 1)))
        frames[3 * visit : 3 * visit + 2, 12:36, 16:40] = coat
    (plate,) = empty_scene(frames[..., ::-1])
    assert np.abs(plate.picture.astype(int) - place).mean() < 8


def test_a_state_without_frames_has_the_colours_of_the_model():
    frames, _ = film(60, walker=False)
    model = MaskModel.fit(Sample.of(frames))
    none = np.zeros((0, 48, 64, 3), np.uint8)
    (plate,) = plates_of(model.scene, none, none[..., 0] > 0, [])
    np.testing.assert_array_equal(plate.picture, model.scene.plate())
    assert (plate.frames, plate.hardly_seen) == (0, 1)


def test_more_frames_than_a_model_is_fitted_to_make_the_median():
    frames, _ = film(310)
    (plate,) = empty_scene(frames[:, ::4, ::4, ::-1])
    assert plate.frames == MOST_FRAMES == 300
    assert plate.seen[1, 7] > MOST_SAMPLED


@pytest.mark.parametrize(
    ("height", "width", "frames"),
    [(120, 160, 300), (240, 320, 300), (360, 640, 101), (720, 1280, 25)],
)
def test_the_frames_that_are_looked_at_take_about_as_much_memory_whatever_their_size(
    height, width, frames
):
    assert frames_looked_at(height, width) == frames


def test_one_frame_is_no_background():
    with pytest.raises(UsageError, match="takes 2"):
        empty_scene(film()[0][:1])


def test_frames_of_a_camera_that_shakes_are_put_at_their_place():
    rng = np.random.default_rng(0)
    room = cv2.GaussianBlur(rng.uniform(0, 255, (100, 130, 3)).astype(np.uint8), (0, 0), 1.5)
    shifts = rng.integers(0, 9, (12, 2))
    pictures = np.stack([room[y : y + 90, x : x + 120] for y, x in shifts.tolist()])
    model = MaskModel.fit(Sample.of(pictures))
    shown = [model.scene.shown_in(one) for one in pictures]
    plates_of(model.scene, pictures, np.ones(pictures.shape[:3], bool), shown)
    inner = pictures[:, 12:-12, 12:-12].astype(int)
    assert np.abs(inner - np.median(inner, axis=0)).mean() < 3
