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
