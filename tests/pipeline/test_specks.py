"""Insects smaller than the least area of an object are found by default, since they move."""

import numpy as np
import pytest

from bgsub.pipeline.run import run
from bgsub.pipeline.streaming import masks
from bgsub.tracking.tables import read_tracks

COUNT, HEIGHT, WIDTH = 80, 180, 240
SIDE = 5
"""Pixels; an object of a picture of this size has 35 of them at least."""


def insects(frame):
    """Upper left corners of what walks, runs, and lies still at the end."""
    still = [(180, 40)] if frame >= 60 else []
    return [(10 + frame, 60), (20 + 2 * frame, 120), *still]


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    rng = np.random.default_rng(3)
    ground = rng.normal(150, 6, (HEIGHT // 4, WIDTH // 4, 1)).repeat(4, 0).repeat(4, 1)
    frames = np.empty((COUNT, HEIGHT, WIDTH, 3), np.uint8)
    for number in range(COUNT):
        frame = np.repeat(ground, 3, axis=2)
        for x, y in insects(number):
            frame[y : y + SIDE, x : x + SIDE] = 70
        frames[number] = np.clip(frame + rng.normal(0, 2.5, frame.shape), 0, 255)
    path = tmp_path_factory.mktemp("arena") / "film.npy"
    np.save(path, frames)
    return str(path)


def test_small_things_that_move_are_objects(arena, tmp_path, options):
    run(arena, tmp_path / "r", options(outputs={"objects", "tracks"}, fps=25))
    tracks = list(read_tracks(tmp_path / "r" / "tracks.csv"))
    assert len(tracks) == 2
    for track in tracks:
        assert track.last_frame == COUNT
        assert track.first_frame <= 2


def test_a_least_area_that_is_given_is_kept_to(arena, tmp_path, options):
    run(arena, tmp_path / "r", options(outputs={"objects", "tracks"}, min_area=60, fps=25))
    assert list(read_tracks(tmp_path / "r" / "tracks.csv")) == []


def test_masks_show_them_too(arena, options):
    last = [mask for _, mask in masks(arena, options())][-1]
    moving = insects(COUNT - 1)[:2]
    for x, y in moving:
        assert last[y + 2, x + 2]
    assert np.count_nonzero(last) < 4 * len(moving) * SIDE**2
