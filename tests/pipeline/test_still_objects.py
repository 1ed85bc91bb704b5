"""A thing that drives in, stands still and drives off, in each setting of one option."""

import numpy as np
import pytest

from bgsub.pipeline.run import apply, run
from bgsub.tracking.tables import read_objects, read_tracks
from tests.conftest import make_options

RATE, COUNT = 2, 72
ARRIVES, STOPS, STARTS = 14, 24, 50
"""Frames, from 0: it stands for 13 s from `STOPS` on."""
LEFT, TOP, WIDTH, HEIGHT = 20, 12, 15, 8


def place(frame):
    """Its left edge, None where it is not there."""
    if frame < ARRIVES:
        return None
    if frame < STOPS:
        return LEFT - 2 * (STOPS - frame)
    return LEFT + 2 * max(0, frame - STARTS)


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    rng = np.random.default_rng(4)
    height, width = 28, 48
    ground = np.linspace(90, 150, width)[None, :, None] + rng.normal(0, 3, (height, width, 3))
    thing = np.tile([40.0, 50.0, 200.0], (HEIGHT, WIDTH, 1))
    thing[2:4, 3:12] = 30
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


def tracks_by_frame(out):
    """Numbers of the objects of each frame, from 0."""
    numbers = [[] for _ in range(COUNT)]
    for seen in read_objects(out / "objects.csv"):
        numbers[seen.frame - 1].append(seen.track)
    return numbers


@pytest.fixture(scope="module")
def shown(film, tmp_path_factory):
    """Results with a model, where it is foreground all the time."""
    out, outputs = tmp_path_factory.mktemp("shown"), {"objects", "tracks", "model"}
    chosen = {"fps": RATE, "still_objects": "foreground", "n_init": 1, "reweight": False}
    run(film, out, make_options(outputs=outputs, **chosen))
    return out


@pytest.mark.parametrize(("still", "seen_s"), [("foreground", 1e9), ("background", 2), (6.0, 6)])
def test_it_is_there_until_it_is_absorbed_and_when_it_moves(
    still, seen_s, film, shown, tmp_path, options
):
    out = shown if still == "foreground" else tmp_path / "r"
    if out != shown:
        run(film, out, options(outputs={"objects"}, fps=RATE, still_objects=still))
    numbers = tracks_by_frame(out)
    gone = min(STARTS, STOPS + int(min(seen_s + 2, 1000)) * RATE)
    assert not any(numbers[gone:STARTS])
    assert sum(map(bool, numbers[ARRIVES:STOPS])) >= 8
    assert sum(map(bool, numbers[STARTS : STARTS + 20])) >= 12
    if still != "background":
        (own,) = numbers[STOPS + 2]
        last = min(STARTS, gone - 3 * RATE)
        assert numbers[STOPS + 2 : last] == [[own]] * (last - STOPS - 2)
    if still == "foreground":
        tracks = read_tracks(out / "tracks.csv")
        (rest,) = (track.rest_s for track in tracks if track.track == own)
        assert rest == pytest.approx((STARTS - STOPS) / RATE, abs=3)


def test_what_a_model_has_learned_can_be_absorbed(film, shown, tmp_path, options):
    chosen = options(outputs={"objects"}, fps=RATE, still_objects=4.0)
    apply(shown, film, tmp_path / "a", chosen)
    assert not any(tracks_by_frame(tmp_path / "a")[STOPS + 6 * RATE : STARTS])
