"""A camera that pans or shakes is noticed, and a fixed one with much going on is not."""

import cv2
import numpy as np
import pytest

from bgsub.pipeline.camera import CameraWatch
from bgsub.pipeline.loop import SceneFrame
from bgsub.pipeline.run import run
from bgsub.video.frames import Layout


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    return cv2.GaussianBlur(rng.integers(0, 256, (300, 1200), dtype=np.uint8), (9, 9), 0)


def watch(frames):
    camera = CameraWatch()
    for number, picture in enumerate(frames, 1):
        layout = Layout("gray", *picture.shape)
        frame = SceneFrame(layout, picture.ravel(), number, number / 25, None)
        camera.write(frame, camera.prepare(frame))
    return camera


def cut(wide, x, y=0):
    matrix = np.float32([[1, 0, -x], [0, 1, -y]])
    return cv2.warpAffine(wide, matrix, (320, 200))


@pytest.mark.parametrize("speed", [0.5, 2, 7])
def test_a_pan(wide, speed):
    assert watch([cut(wide, speed * i) for i in range(100)]).is_moving


def noisy(picture, rng):
    return np.clip(picture + rng.normal(0, 3, picture.shape), 0, 255).astype(np.uint8)


def seldom(picture_of, n):
    """Every eighth frame of a film, which is what is looked at, eight times."""
    rng = np.random.default_rng(3)
    pictures = [noisy(picture_of(i), rng) for i in range(0, n, 8)]
    return [picture for picture in pictures for _ in range(8)]


@pytest.mark.parametrize(("share", "n"), [(0.0002, 320), (0.0005, 160)])
def test_a_pan_too_slow_to_be_seen_from_one_frame_to_the_next(wide, share, n):
    camera = watch(seldom(lambda i: cut(wide, share * 320 * i), n))
    assert camera.drifts
    assert not camera.is_moving


def test_what_goes_one_way_in_front_of_a_fixed_camera_is_no_drift(wide):
    y, x = np.mgrid[:200, :320]
    for picture_of in (
        lambda i: np.where((x - 0.2 * i) % 80 < 30, 230, cut(wide, 0)),  # a slow procession
        lambda i: cut(wide, 0) * (0.7 + 0.3 * np.sin((x + y) / 90 - i / 60)),  # light that wanders
        lambda i: cut(wide, 7 if i > 150 else 0),  # a jolt
    ):
        camera = watch(seldom(picture_of, 300))
        assert not camera.drifts
        assert not camera.is_moving


def test_a_shaking_hand(wide):
    rng = np.random.default_rng(1)
    assert watch([cut(wide, *rng.uniform(0, 20, 2)) for _ in range(100)]).is_moving


def test_a_fixed_camera_with_objects_that_pass_and_noise(wide):
    rng = np.random.default_rng(2)
    frames = []
    for i in range(100):
        frame = np.clip(cut(wide, 100) + rng.normal(0, 4, (200, 320)), 0, 255).astype(np.uint8)
        for top in (20, 120):
            left = (4 * i + top) % 240
            frame[top : top + 60, left : left + 80] = 240
        frames.append(frame)
    camera = watch(frames)
    assert camera.pairs == 12
    assert not camera.is_moving


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (2, 2)])
def test_pictures_of_any_size_and_without_contrast(size):
    assert not watch([np.full(size, 90, np.uint8)] * 60).is_moving


@pytest.mark.parametrize("size", [(36, 48), (20, 24), (64, 64), (120, 160)])
def test_noise_does_not_move(size):
    """Nothing but noise is in common with itself nowhere, and by chance anywhere."""
    rng = np.random.default_rng(6)
    for seed in range(6):
        frames = [noisy(np.full(size, 90 + seed), rng) for _ in range(0, 240, 8)]
        camera = watch([frame for frame in frames for _ in range(8)])
        assert camera.moved <= 2
        assert not camera.drifts


@pytest.mark.parametrize(("light", "speed"), [(0.1, 0.12), (0.2, 1.5), (0.4, 0.25), (1.0, 0.5)])
def test_a_visitor_of_strong_texture_in_a_smooth_room_is_no_pan(light, speed):
    rng = np.random.default_rng(0)
    coarse = rng.uniform(60, 220, (9, 16)).astype(np.float32)
    room = cv2.resize(coarse, (64, 36), interpolation=cv2.INTER_CUBIC)
    visitor = rng.uniform(0, 255, (16, 8))
    frames = []
    for left in np.arange(-8, 64, speed).astype(int):
        picture = room.copy()
        x0, x1 = max(left, 0), min(left + 8, 64)
        picture[14:30, x0:x1] = visitor[:, x0 - left : x1 - left]
        picture = light * picture + rng.normal(0, 2, room.shape)
        frames.append(np.clip(picture, 0, 255).astype(np.uint8))
    camera = watch(frames)
    assert not camera.drifts
    assert not camera.is_moving


@pytest.mark.parametrize("speed", [0.15, 2])
def test_a_pan_over_a_smooth_wall_with_some_things_on_it(speed):
    rng = np.random.default_rng(4)
    wall = np.full((120, 480), 120, np.uint8)
    for left in range(0, 480, 40):
        top = int(rng.integers(0, 90))
        wall[top : top + 30, left : left + 20] = rng.integers(0, 256, (30, 20))
    wall = cv2.GaussianBlur(wall, (5, 5), 0)
    pictures = [wall[:, round(speed * i) : round(speed * i) + 160] for i in range(150)]
    camera = watch([noisy(picture, rng) for picture in pictures])
    assert camera.drifts or camera.is_moving


def test_too_few_frames_tell_nothing(wide):
    assert not watch([cut(wide, 5 * i) for i in range(40)]).is_moving


def test_a_run_says_it(wide, save, options, tmp_path):
    frames = np.stack([cut(wide, 3 * i)[:60, :90] for i in range(60)])
    result = run(save(frames), tmp_path / "out", options(outputs={"mask"}, model="paper"))
    assert any("the camera pans or shakes" in hint for hint in result.hints)


def test_a_run_says_it_of_a_slow_pan(wide, save, options, tmp_path):
    rng = np.random.default_rng(3)
    frames = np.stack([noisy(cut(wide, 0.2 * i)[:36, :54], rng) for i in range(48)])
    assert not watch(frames).is_moving
    result = run(save(frames), tmp_path / "out", options(outputs={"mask"}))
    assert any("the camera moves, by up to" in hint for hint in result.hints)
