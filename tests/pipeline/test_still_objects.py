"""A thing that drives in, stands still for 45 s and drives off, in each setting of one knob."""

import numpy as np
import pytest

from bgsub.pipeline.run import apply, masks, run
from bgsub.tracking.tables import read_objects, read_tracks

RATE, COUNT = 2, 240
ARRIVES, STOPS, STARTS = 60, 75, 165
"""Frames, from 0: it stands for 45 s from `STOPS` on."""
LEFT, TOP, WIDTH, HEIGHT = 30, 36, 22, 12


def place(frame):
    """Its left edge, None where it is not there."""
    if frame < ARRIVES:
        return None
    if frame < STOPS:
        return LEFT - 3 * (STOPS - frame)
    return LEFT + 3 * max(0, frame - STARTS)


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    rng = np.random.default_rng(4)
    height, width = 72, 96
    ground = np.linspace(90, 150, width)[None, :, None] + rng.normal(0, 3, (height, width, 3))
    thing = np.tile([40.0, 50.0, 200.0], (HEIGHT, WIDTH, 1))
    thing[3:6, 4:18] = 30
    frames = np.empty((COUNT, height, width, 3), np.uint8)
    for i in range(COUNT):
        frame = ground + rng.normal(0, 2.5, ground.shape)
        left = place(i)
        if left is not None:
            first, last = max(left, 0), min(left + WIDTH, width)
            if last > first:
                shown = thing[:, first - left : last - left]
                frame[TOP : TOP + HEIGHT, first:last] = shown + rng.normal(0, 2.5, shown.shape)
        frames[i] = np.clip(frame, 0, 255)
    path = tmp_path_factory.mktemp("still") / "film.npy"
    np.save(path, frames)
    return str(path)


@pytest.fixture
def followed(film, tmp_path, options):
    """The numbers of the object by frame, from 0, with one setting."""

    def follow(still):
        chosen = options(outputs={"objects", "tracks"}, fps=RATE, still_objects=still)
        run(film, tmp_path / "r", chosen)
        numbers = [[] for _ in range(COUNT)]
        for seen in read_objects(tmp_path / "r" / "objects.csv"):
            numbers[seen.frame - 1].append(seen.track)
        return numbers

    return follow


STANDING = slice(STOPS + 2, STARTS)


def test_as_foreground_it_keeps_its_number_for_as_long_as_it_stands(followed, tmp_path):
    numbers = followed("foreground")
    (own,) = numbers[STOPS + 2]
    assert numbers[STANDING] == [[own]] * (STARTS - STOPS - 2)
    (rest,) = (t.rest_s for t in read_tracks(tmp_path / "r" / "tracks.csv") if t.track == own)
    assert 42 <= rest <= 48


def test_as_background_it_is_there_only_while_it_moves(followed):
    numbers = followed("background")
    assert not any(numbers[STOPS + 4 * RATE : STARTS])
    assert sum(map(bool, numbers[ARRIVES:STOPS])) >= 12
    assert sum(map(bool, numbers[STARTS : STARTS + 20])) >= 12


def test_after_seconds_it_is_absorbed(followed):
    numbers = followed(20.0)
    (own,) = numbers[STOPS + 2]
    assert numbers[STOPS + 2 : STOPS + 19 * RATE] == [[own]] * (19 * RATE - 2)
    assert not any(numbers[STOPS + 22 * RATE : STARTS])
    assert sum(map(bool, numbers[STARTS : STARTS + 20])) >= 12
    assert not any(numbers[STARTS + 40 :])


def test_masks_without_a_run_are_the_same(film, options):
    chosen = options(fps=RATE, still_objects=20.0)
    shares = [np.count_nonzero(mask) for _, mask in masks(film, chosen)]
    assert np.median(shares[STOPS : STOPS + 19 * RATE]) > WIDTH * HEIGHT / 2
    assert max(shares[STOPS + 22 * RATE : STARTS]) == 0


def test_what_a_model_has_learned_can_be_absorbed(film, tmp_path, options):
    run(film, tmp_path / "r", options(outputs={"model"}, fps=RATE, n_init=1, reweight=False))
    model = tmp_path / "r" / "model.npz"
    apply(model, film, tmp_path / "a", options(outputs={"objects"}, fps=RATE, still_objects=5.0))
    seen = {each.frame - 1 for each in read_objects(tmp_path / "a" / "objects.csv")}
    assert not seen & set(range(STOPS + 7 * RATE, STARTS))
