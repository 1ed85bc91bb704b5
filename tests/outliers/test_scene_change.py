from __future__ import annotations

import numpy as np
import pytest

from bgsub import TRPCA
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import find_events, fit_table
from bgsub.outliers.scene_change import SceneChange, lasting_change
from bgsub.robustpca.gram import gram_matrix

HEIGHT, WIDTH = 16, 24


def scene(n: int, seed: int = 0) -> np.ndarray:
    """A still scene with noise, shape (n, h, w)."""
    rng = np.random.default_rng(seed)
    still = rng.integers(40, 200, size=(HEIGHT, WIDTH))
    return still + rng.normal(scale=2.0, size=(n, HEIGHT, WIDTH))


def tabulate(frames: np.ndarray, k: int = 2, rate: float = 10.0) -> ErrorTable:
    rows = np.clip(frames, 0, 255).astype(np.uint8).reshape(len(frames), -1)
    gram = gram_matrix(rows)
    estimator = TRPCA(k, random_state=0).fit_gram(gram)
    n = len(rows)
    numbers, times = np.arange(11, n + 11), np.arange(n) / rate
    return fit_table(estimator, gram, frames=numbers, times=times, pixels=gram.n_features)


def add_walker(frames: np.ndarray, first: int, stop: int) -> None:
    """A block that moves on by a pixel a frame, and turns at the walls."""
    for i in range(first, stop):
        x = int(abs((i - first) % (2 * (WIDTH - 6)) - (WIDTH - 6)))
        frames[i, 4:14, x : x + 6] = 250.0


def test_moved_object_is_a_lasting_change() -> None:
    frames = scene(150)
    add_walker(frames, 80, 100)
    frames[100:, 2:8, 2:8] = 230.0
    table = tabulate(frames)
    assert table.outliers.tolist() == [False] * 80 + [True] * 70
    assert table.scene_change is not None
    # Frame numbers begin with 11 here.
    assert table.scene_change.first_frame == 111
    assert table.scene_change.first_time == pytest.approx(10.0)
    assert [(e.first_frame, e.last_frame) for e in find_events(table)] == [(91, 110)]


def test_visitor_who_stays_is_none() -> None:
    frames = scene(150)
    add_walker(frames, 100, 150)
    table = tabulate(frames)
    assert table.outliers[100:].all()
    assert table.scene_change is None


def test_visit_longer_than_the_change_it_leaves() -> None:
    frames = scene(260)
    add_walker(frames, 130, 226)
    frames[220:, 10:15, 10:18] = 10.0
    table = tabulate(frames)
    assert table.scene_change is not None
    assert table.scene_change.first_frame == 226 + 11


def test_passer_by_in_the_changed_scene() -> None:
    frames = scene(200)
    frames[110:, 2:8, 2:8] = 230.0
    add_walker(frames, 150, 153)
    table = tabulate(frames)
    assert table.scene_change is not None
    assert table.scene_change.first_frame == 121


def test_change_that_is_undone_is_an_event() -> None:
    frames = scene(150)
    frames[60:110, 2:8, 2:8] = 230.0
    table = tabulate(frames)
    assert table.scene_change is None
    assert [(e.first_frame, e.last_frame) for e in find_events(table)] == [(71, 120)]


def test_two_foreign_states_in_turn_are_none() -> None:
    frames = scene(200)
    rng = np.random.default_rng(1)
    for i in range(120, 200):
        x = 2 if rng.random() < 0.6 else 14
        frames[i, 2:8, x : x + 6] = 230.0
    table = tabulate(frames)
    assert table.outliers[120:].all()
    assert table.scene_change is None


def test_components_of_the_fit_go_on_in_the_changed_scene() -> None:
    frames = scene(200)
    rng = np.random.default_rng(1)
    frames += 12.0 * rng.standard_normal((200, 1, 1)) * np.linspace(-1, 1, WIDTH)
    frames[120:, 2:8, 2:8] += 40.0
    table = tabulate(frames)
    assert table.scene_change is not None
    assert table.scene_change.first_frame == 131


def test_light_that_goes_on_and_is_restless() -> None:
    frames = scene(200) * 0.5
    rng = np.random.default_rng(1)
    frames[130:] += 110.0 + rng.normal(scale=8.0, size=(70, HEIGHT, WIDTH))
    table = tabulate(frames)
    assert table.scene_change is not None
    assert table.scene_change.first_frame == 141


@pytest.mark.parametrize(("last", "rate"), [(20, 1.0), (80, 50.0)])
def test_too_short_to_be_lasting(last: int, rate: float) -> None:
    frames = scene(200)
    frames[-last:, 2:8, 2:8] = 230.0
    table = tabulate(frames, rate=rate)
    assert table.outliers[-last:].all()
    assert table.scene_change is None


def test_slow_fade_begins_where_most_of_it_has_happened() -> None:
    frames = scene(160)
    frames[100:, 2:8, 2:8] = 230.0
    shares = np.linspace(0.1, 1.0, 10)[:, None, None]
    before = frames[90:100, 2:8, 2:8]
    frames[90:100, 2:8, 2:8] = before + shares * (230.0 - before)
    table = tabulate(frames)
    assert table.scene_change is not None
    # A quarter of a frame's excess is left when two thirds have happened: at index 96, with 0.7.
    assert table.scene_change.first_frame == 96 + 11


@pytest.mark.filterwarnings("ignore::bgsub.errors.RankWarning")
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_frames(n: int) -> None:
    table = tabulate(scene(n), k=1)
    assert table.scene_change is None
    assert np.isfinite(table.scores).all()


def test_constant_scene() -> None:
    with pytest.warns(UserWarning, match="rank 0"):
        table = tabulate(np.full((40, HEIGHT, WIDTH), 90.0))
    assert table.scene_change is None
    assert not table.outliers.any()
    assert np.isfinite(table.scores).all()


# --- the rules one by one, on frames whose distances are known ----------------------------------


def apart(states: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Gram matrix of frames, each at its state, and a length away in a direction of its own."""
    return states @ states.T + np.diag(lengths**2)


def change_of(states: np.ndarray, lengths: np.ndarray, ordinary: int) -> SceneChange | None:
    """What is found where ordinary frames have an error of 1 ± .05, and none has a component."""
    K = apart(states, lengths)
    scores = (np.sqrt(K.diagonal()) - 1.0) / 0.05
    assert (scores[:ordinary] <= 12.0).all()
    assert (scores[ordinary:] > 12.0).all()
    n = len(K)
    return lasting_change(
        K,
        np.zeros((n, 0)),
        scores=scores,
        cutoff=12.0,
        location=1.0,
        scale=0.05,
        frames=np.arange(1, n + 1),
        times=np.arange(n) / 10.0,
    )


@pytest.mark.parametrize(("misfits", "first"), [((0, 1), 2), (range(5, 9), 0), (range(5, 10), 10)])
def test_a_change_begins_where_95_in_100_fit_from_there_on(misfits, first) -> None:
    states = np.zeros((120, 2))
    states[40:, 0] = 10.0
    states[[40 + each for each in misfits], 1] = 30.0
    assert change_of(states, np.ones(120), 40) == SceneChange(41 + first, (40 + first) / 10)


@pytest.mark.parametrize(("passers", "is_found"), [(3, True), (4, False)])
def test_95_in_100_of_the_last_frames_must_agree(passers: int, is_found: bool) -> None:
    states = np.zeros((160, 2))
    states[40:, 0] = 10.0
    states[132 : 132 + 2 * passers : 2, 1] = 30.0
    change = change_of(states, np.ones(160), 40)
    assert (change is not None) == is_found
    if change is not None:
        assert change == SceneChange(41, 4.0)


@pytest.mark.parametrize(("distance", "is_found"), [(24.5, True), (21.0, False)])
def test_a_restless_state_may_keep_3_in_100_of_what_exceeded_the_noise(distance, is_found) -> None:
    """At errors of 4 beside 1 there is (16 − 1)/(d² + 15) left: 2.5 % and 3.5 %."""
    states = np.zeros((160, 1))
    states[40:, 0] = distance
    lengths = np.where(np.arange(160) < 40, 1.0, 4.0)
    assert (change_of(states, lengths, 40) is not None) == is_found


@pytest.mark.parametrize(("length", "is_found"), [(1.555, True), (1.5585, False)])
def test_frames_of_the_own_centre_are_judged_as_if_left_out(length, is_found) -> None:
    """Of the last 25 frames 19 make the centre: 1.6 must be above the distance from 18 others."""
    lengths = np.where(np.arange(90) < 40, 1.0, length)
    states = np.where(np.arange(90) < 40, 0.0, 2.0)[:, None]
    assert (length * np.sqrt(1 + 1 / 18) < 1.6) == is_found
    assert length * np.sqrt(1 + 1 / 19) < 1.6
    assert (change_of(states, lengths, 40) is not None) == is_found


def test_a_residual_is_never_below_zero() -> None:
    """The components are both axes: nothing is left but rounding of large numbers."""
    points = np.random.default_rng(0).normal(size=(120, 2)) * 1e4
    change = lasting_change(
        points @ points.T,
        np.linalg.pinv(points).T,
        scores=np.where(np.arange(120) < 40, 0.0, 100.0),
        cutoff=12.0,
        location=1.0,
        scale=0.05,
        frames=np.arange(1, 121),
        times=np.arange(120) / 10,
    )
    assert change == SceneChange(41, 4.0)


@pytest.mark.parametrize("ordinary", [39, 40, 41])
def test_a_change_begins_behind_the_last_ordinary_frame(ordinary: int) -> None:
    states = np.zeros((120, 1))
    states[ordinary:] = 10.0
    assert change_of(states, np.ones(120), ordinary) == SceneChange(ordinary + 1, ordinary / 10)


def test_where_no_frame_is_ordinary_there_is_nothing_to_differ_from() -> None:
    assert change_of(np.full((120, 1), 10.0), np.ones(120), 0) is None
