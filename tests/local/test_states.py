import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import average, fcluster
from scipy.spatial.distance import pdist, squareform

from bgsub.local.states import average_linkage, find_states


def rooms(order, seed=0, noise=2.0):
    rng = np.random.default_rng(seed)
    kinds = rng.uniform(20, 230, (3, 30, 40, 1))
    kinds = 0.5 * (kinds + np.roll(kinds, 1, axis=2)) * np.ones(3)
    shown = kinds[order] + rng.normal(0, noise, (len(order), 30, 40, 3))
    return np.clip(shown, 0, 255).astype(np.uint8)


def test_one_scene_is_one_state():
    assert not find_states(rooms(np.zeros(50, int))).any()


def test_two_scenes_are_two_states_the_longer_one_first():
    order = np.repeat([1, 0, 1], [20, 50, 10])
    np.testing.assert_array_equal(find_states(rooms(order)), order)


def test_a_short_one_is_none():
    order = np.repeat([0, 1], [72, 8])
    assert not find_states(rooms(order)).any()


def test_exposure_and_a_large_object_make_no_state():
    frames = rooms(np.zeros(60, int)).astype(float)
    frames[20:] = 0.7 * frames[20:] + 12
    frames[40:, :, :6] = 230
    assert not find_states(np.clip(frames, 0, 255).astype(np.uint8)).any()


def test_single_frames_do():
    assert find_states(rooms(np.zeros(1, int))).tolist() == [0]


@given(st.integers(2, 25), st.integers(0, 1000), st.floats(0.05, 3))
def test_average_linkage_is_that_of_scipy(n, seed, cut):
    apart = pdist(np.random.default_rng(seed).normal(size=(n, 2)))
    found = average_linkage(squareform(apart), cut)
    theirs = fcluster(average(apart), cut, "distance")
    np.testing.assert_array_equal(found[:, None] == found, theirs[:, None] == theirs)


def patterns(seed, count):
    """Checks of ±1 that no light explains, shape (count, 30, 40)."""
    coarse = np.random.default_rng(seed).choice([-1.0, 1.0], (count, 15, 20))
    return np.kron(coarse, np.ones((1, 2, 2)))


def film(added, noise=1.0):
    """Thumbnails of a room, and what is added to it in each of 60 frames, shape (60, 30, 40)."""
    room = np.kron(np.random.default_rng(3).uniform(60, 180, (5, 8)), np.ones((6, 5)))
    frames = np.repeat((room + added)[..., None], 3, axis=3)
    frames += np.random.default_rng(0).normal(0, noise, frames.shape)
    return np.clip(np.rint(frames), 0, 255).astype(np.uint8)


def count_states(frames):
    return len(np.unique(find_states(frames)))


def test_water_that_turns_slowly_is_one_state_and_with_the_lamps_switched_on_amid_it_two():
    """Its frames form groups in time, which are as far from each other as each is wide."""
    turn = np.arange(60) / 60
    waves = np.stack([f(2 * np.pi * j * turn) for j in (1, 2) for f in (np.cos, np.sin)])
    water = 4 * np.tensordot(waves, patterns(5, 4), axes=(0, 0))
    assert count_states(film(water)) == 1
    lamps = 30 * (np.arange(60) >= 30)[:, None, None] * patterns(6, 1)
    assert count_states(film(water + lamps)) == 2


def test_what_ends_far_from_where_it_began_is_more_than_one_state():
    """Two halves of a drift lie 2.5 to 3 times as far from each other as their own frames do."""
    drift = np.linspace(0, 16, 60)[:, None, None] * patterns(4, 1)
    assert count_states(film(drift, noise=3.0)) == 2
