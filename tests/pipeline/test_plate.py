"""The empty scene as a picture."""

from dataclasses import replace
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from bgsub.local.model import LocalModel
from bgsub.local.registration import Registration
from bgsub.local.sampling import sample_size

from bgsub.errors import UsageError
from bgsub.pipeline.plate import (
    MOST_FRAMES,
    _in_usual_light,
    _overruled,
    empty_scene,
    frames_looked_at,
    plates_of,
)
from bgsub.runtime.threads import Workers


def film(count=90, *, color=True, seed=2, walker=True):
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
    frames, place = film(color=color)
    (plate,) = empty_scene(frames[..., ::-1] if color else frames)
    assert plate.picture.shape == place.shape
    assert np.abs(plate.picture.astype(int) - place).max() <= 12
    assert plate.frames == 90
    assert plate.seen[24, 30] < plate.seen[4, 30] == 90
    assert plate.never_seen == 0


def test_people_in_dark_clothes_who_hide_a_place_by_turns_are_not_on_it():
    """Two thirds of the time, each of them with a look of his own."""
    frames, place = film(120, walker=False)
    rng = np.random.default_rng(5)
    for visit in range(12):
        coat = np.kron(rng.integers(0, 60, (6, 6, 3)), np.ones((4, 4, 1)))
        frames[10 * visit : 10 * visit + 7, 12:36, 16:40] = coat
    (plate,) = empty_scene(frames[..., ::-1])
    assert np.abs(plate.picture.astype(int) - place).mean() < 2.5


def test_leaves_have_the_median_of_all_that_they_show():
    frames, place = film(120, walker=False)
    rng = np.random.default_rng(5)
    frames[:, :20] = rng.integers(30, 150, frames[:, :20].shape)
    (plate,) = empty_scene(frames[..., ::-1])
    middle = np.median(frames[:, :20], axis=0)
    assert np.abs(plate.picture[:20].astype(int) - middle).mean() < 3
    assert np.abs(plate.picture[20:].astype(int) - place[20:]).mean() < 2


@pytest.mark.parametrize("color", [True, False])
def test_what_is_seen_in_another_light_is_no_patch(color):
    """Before who sits there in dark clothes the camera lets in more light, by a tenth."""
    frames, place = film(100, walker=False)
    rng = np.random.default_rng(5)
    bright = np.arange(100) % 10 < 6
    frames[bright] = np.minimum(frames[bright] * 1.1, 255)
    for visit in range(10):
        coat = np.kron(rng.integers(0, 40, (6, 6, 3)), np.ones((4, 4, 1)))
        frames[10 * visit : 10 * visit + 6, 12:36, 16:40] = coat
    if not color:
        frames, place = frames[..., 1].copy(), place[..., 1]
    (plate,) = empty_scene(frames[..., ::-1] if color else frames)
    light = plate.picture / place
    inside = np.zeros(light.shape[:2], bool)
    inside[12:36, 16:40] = True
    assert light[inside].mean() == pytest.approx(light[~inside].mean(), abs=0.02)


@pytest.mark.parametrize("color", [True, False])
@pytest.mark.parametrize(
    ("own", "lit", "taken"), [(128, 108, True), (129, 108, False), (120, 100, False)]
)
def test_a_frame_is_put_into_another_light_that_is_near_and_shows_more(color, own, lit, taken):
    """The place is of 100 levels: 20 from it are near; darker, any crowd is like a dark room."""
    shape = (6, 8, 3) if color else (6, 8)
    model = SimpleNamespace(
        scenes=[SimpleNamespace(colors=np.full((1, 6, 8, 3), 100, np.uint8))],
        recognize=lambda frame: (0, np.full((6, 8, 3), lit, np.uint8)),
    )
    empty = np.ones((6, 8), bool)
    empty[:2] = False
    state, shown = _in_usual_light(model, np.full(shape, own, np.uint8), empty)
    assert state == 0
    np.testing.assert_array_equal(shown, np.full(shape, lit if taken else own))


def test_each_state_has_its_picture():
    day, by_day = film()
    night, by_night = film(40, seed=9)
    plates = empty_scene(np.concatenate([day, night // 3])[..., ::-1])
    assert [plate.frames for plate in plates] == [90, 40]
    assert np.abs(plates[0].picture.astype(int) - by_day).mean() < 4
    assert np.abs(plates[1].picture.astype(int) - by_night // 3).mean() < 6


@pytest.fixture(scope="module")
def model():
    frames, _ = film(60, walker=False)
    with Workers(1) as workers:
        return LocalModel.fit(frames.copy(), workers=workers)


@pytest.mark.parametrize(
    ("levels", "shown"), [((9, 9), 0), ((9, 9, 9), 9), ((0, 4, 8, 12), 4), ((12, 0, 8, 4, 16), 8)]
)
def test_a_place_has_the_lower_median_of_the_frames_that_show_it_from_three_on(
    model, levels, shown
):
    usual = model.scenes[0].colors[0]
    frames = np.stack([usual] * len(levels))
    frames[:, 16:24, 16:24] += np.array(levels, np.uint8)[:, None, None, None]
    empty = np.ones(frames.shape[:3], bool)
    (plate,) = plates_of(model, frames, empty)
    expected = usual.copy()
    expected[16:24, 16:24] += np.uint8(shown)
    np.testing.assert_array_equal(plate.picture, expected)


def test_a_state_without_frames_has_the_colours_of_the_model(model):
    none = np.zeros((0, 48, 64, 3), np.uint8)
    (plate,) = plates_of(model, none, none[..., 0] > 0)
    np.testing.assert_array_equal(plate.picture, model.scenes[0].colors[0])
    assert (plate.frames, plate.never_seen) == (0, 48 * 64)


def test_what_a_state_overruled_is_known_in_that_state_alone(model):
    box = {"x": 3, "y": 5, "width": 7, "height": 2}
    regions = [
        {**box, "state": 1, "overruled_pixels": 4},
        {**box, "state": 0, "overruled_pixels": 0},
    ]
    told = LocalModel(model.scenes, [1.0], history=replace(model.history, regions=tuple(regions)))
    assert not _overruled(told, 0).any()
    where = _overruled(told, 1)
    assert where[5:7, 3:10].all()
    assert np.count_nonzero(where) == 14


def test_more_frames_than_a_model_is_fitted_to_make_the_median():
    frames, place = film(330)
    (plate,) = empty_scene(frames[..., ::-1])
    assert plate.frames == MOST_FRAMES == 300
    assert plate.seen[4, 30] > sample_size(*place.shape[:2])


@pytest.mark.parametrize(
    ("height", "width", "frames"),
    [(120, 160, 300), (240, 320, 300), (360, 640, 101), (720, 1280, 25)],
)
def test_the_frames_that_are_looked_at_take_about_as_much_memory_whatever_their_size(
    height, width, frames
):
    assert frames_looked_at(height, width) == frames
    assert frames >= sample_size(height, width)


def test_one_frame_is_no_background():
    with pytest.raises(UsageError, match="takes 2"):
        empty_scene(film()[0][:1])


def test_frames_of_a_camera_that_shakes_are_put_at_their_place_once(monkeypatch):
    rng = np.random.default_rng(0)
    room = cv2.GaussianBlur(rng.uniform(0, 255, (100, 130, 3)).astype(np.uint8), (0, 0), 1.5)
    shifts = rng.integers(0, 9, (30, 2))
    pictures = np.stack([room[y : y + 90, x : x + 120] for y, x in shifts.tolist()])
    with Workers(1) as workers:
        model = LocalModel.fit(pictures.copy(), workers=workers)
    assert model.registration is not None
    found = []
    find = Registration.find
    monkeypatch.setattr(Registration, "find", lambda *seen: found.append(find(*seen)) or found[-1])
    plates_of(model, pictures, np.ones(pictures.shape[:3], bool))
    assert len(found) == len(pictures)
    inner = pictures[:, 12:-12, 12:-12].astype(int)
    assert np.abs(inner - np.median(inner, axis=0)).mean() < 3
