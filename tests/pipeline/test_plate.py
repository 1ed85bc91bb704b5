"""The empty scene as a picture."""

import numpy as np
import pytest

from bgsub.errors import UsageError
from bgsub.local.sampling import sample_size
from bgsub.pipeline.plate import MOST_FRAMES, empty_scene, frames_looked_at
from bgsub.video.images import read_image


def film(count=90, *, color=True, seed=2):
    """A place through which somebody walks in most frames, and the place itself."""
    rng = np.random.default_rng(seed)
    place = np.kron(rng.integers(60, 180, (6, 8, 3)), np.ones((8, 8, 1)))
    frames = np.clip(place + rng.normal(0, 2, (count, 48, 64, 3)), 0, 255).astype(np.uint8)
    for t in range(count):
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


def test_each_state_has_its_picture():
    day, by_day = film()
    night, by_night = film(40, seed=9)
    plates = empty_scene(np.concatenate([day, night // 3])[..., ::-1])
    assert [plate.frames for plate in plates] == [90, 40]
    assert np.abs(plates[0].picture.astype(int) - by_day).mean() < 4
    assert np.abs(plates[1].picture.astype(int) - by_night // 3).mean() < 6


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


def test_the_command_writes_pictures_without_loss(invoke, tmp_path):
    frames, place = film()
    np.save(tmp_path / "a.npy", frames[..., ::-1])
    out, seen = tmp_path / "plate.tif", tmp_path / "seen.png"
    result = invoke("background", tmp_path / "a.npy", "-o", out, "--coverage", seen)
    assert result.exit_code == 0, result.stderr
    assert np.abs(read_image(out).astype(int) - place).max() <= 12
    assert read_image(seen).dtype == np.uint16
    again = invoke("background", tmp_path / "a.npy", "-o", out)
    assert again.exit_code == 5
    assert "--force" in again.stderr
    assert invoke("background", tmp_path / "a.npy", "-o", tmp_path / "a.jpg").exit_code == 2
    states = invoke("background", tmp_path / "a.npy", "--per-state", "-o", out)
    assert states.exit_code == 0
    assert (tmp_path / "plate-1.tif").is_file()


@pytest.fixture
def invoke():
    from click.testing import CliRunner

    from bgsub.cli import cli

    return lambda *args: CliRunner().invoke(cli, [str(arg) for arg in args])
