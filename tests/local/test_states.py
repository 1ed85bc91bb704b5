import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import average, fcluster
from scipy.spatial.distance import pdist, squareform

from bgsub.local.states import (
    _distances,
    _join_alike,
    _join_moving,
    _merge,
    average_linkage,
    find_states,
)


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


@pytest.mark.parametrize(("lamps", "count"), [(0, 1), (4, 1), (8, 2)])
def test_frames_in_which_many_objects_pass_are_no_state_unless_the_light_differs(lamps, count):
    """In 24 of 64 frames two fifths of the places are covered at a time, by others each time."""
    rng = np.random.default_rng(2)
    added = np.zeros((64, 6, 8))
    for frame in range(40, 64, 4):
        hidden = rng.permutation(48)[:20]
        added[frame : frame + 4].reshape(4, 48)[:, hidden] = rng.choice([-90, 90], 20)
    added = np.kron(added, np.ones((1, 5, 5)))
    added += lamps * (np.arange(64) >= 40)[:, None, None] * patterns(6, 1)
    luma = film(added)[..., 0].reshape(64, -1).astype(np.float32)
    groups = [np.arange(40), np.arange(40, 64)]
    found = _join_alike(groups, luma, 5.0)
    assert len(found) == count
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(64))


def test_the_most_alike_states_are_joined_first_and_the_longest_comes_first():
    """A drift of 3 levels in each of 5 states is one of 12 in all."""
    levels = np.repeat([0, 3, 6, 9, 40], [4, 5, 6, 7, 20])
    luma = film(levels[:, None, None] * patterns(6, 1), noise=0.0)[..., 0].reshape(42, -1)
    groups = [np.flatnonzero(levels == level) for level in np.unique(levels)]
    found = _join_alike(groups, luma.astype(np.float32), 5.0)
    assert [len(group) for group in found] == [22, 20]


def test_what_ends_far_from_where_it_began_is_more_than_one_state():
    """Two halves of a drift lie 2.5 to 3 times as far from each other as their own frames do."""
    drift = np.linspace(0, 16, 60)[:, None, None] * patterns(4, 1)
    assert count_states(film(drift, noise=3.0)) == 2


# --- the definition, pair by pair ---


def fitted_to(x, y):
    """Deviations of a frame y from another, x, after the robust affine fit of one to the other."""
    spread = [max(np.median(np.abs(one - np.median(one))), 1) for one in (x, y)]
    gain = min(spread[1] / spread[0], 3)
    left = np.abs(y - np.median(y) - gain * (x - np.median(x)))
    for _ in range(4):
        scale = 2 * max(np.sort(left)[left.size // 2], 0.5)
        weights = 1 / (1 + (left / scale) ** 2) ** 2
        mean_x, mean_y = (np.average(one, weights=weights) for one in (x, y))
        dx, dy = x - mean_x, y - mean_y
        variance = max((weights * dx * dx).sum(), 1e-3)
        gain = min(max((weights * dx * dy).sum() / variance, 0), 3)
        left = np.abs(dy - gain * dx)
    return np.sort(left)[int(0.4 * (left.size - 1))]


@pytest.mark.parametrize("seed", range(4))
def test_distances_of_frames_are_their_definition(seed):
    rng = np.random.default_rng(seed)
    place, other = rng.uniform(40, 160, (2, 50))
    frames = [
        place,
        0.5 * place + 30,
        4.5 * place - 60,
        250 - place,
        other,
        np.full(50, 90.0),
        np.where(np.arange(50) < 20, 230, place),
        place + rng.normal(0, 4, 50),
    ]
    luma = np.array(frames).astype(np.float32)
    found = _distances(luma)
    for i, j in np.ndindex(found.shape):
        one, two = luma[i].astype(float), luma[j].astype(float)
        expected = max(fitted_to(one, two), fitted_to(two, one))
        assert found[i, j] == pytest.approx(expected, rel=2e-3, abs=5e-3)


def test_states_that_do_not_lie_twice_as_far_apart_as_each_is_wide_are_one():
    def blocks(*widths, apart):
        """Distances of groups of three frames, each so wide, so far from each other."""
        groups = np.repeat(np.arange(len(widths)), 3)
        inner = np.array(widths, float)[groups]
        return np.where(groups[:, None] == groups, inner[:, None], apart), groups

    for apart, count in ((3.9, 1), (4.0, 2)):
        distances, groups = blocks(2, 1, apart=apart)
        found = _merge([np.flatnonzero(groups == k) for k in (0, 1)], distances)
        assert len(found) == count
    distances, groups = blocks(2, 2, 2, apart=9.0)
    distances[:3, 3:6] = distances[3:6, :3] = 3.0
    found = _merge([np.flatnonzero(groups == k) for k in (2, 0, 1)], distances)
    assert [sorted(one.tolist()) for one in found] == [[0, 1, 2, 3, 4, 5], [6, 7, 8]]


@pytest.mark.parametrize(("short", "count"), [(9, 2), (8, 1)])
def test_a_state_has_fifteen_per_cent_of_the_frames(short, count):
    order = np.repeat([0, 1], [60 - short, short])
    assert len(np.unique(find_states(rooms(order)))) == count


@pytest.mark.parametrize(("step", "count"), [(3.5, 1), (8.0, 2)])
def test_states_differ_by_five_grey_levels(step, count):
    """Half of the pixels step up, and half of them down: deviations from the mean are alike."""
    changed = step * (np.arange(60) >= 30)[:, None, None] * patterns(6, 1)
    assert count_states(film(changed, noise=0.2)) == count


def test_of_a_long_film_some_frames_are_compared_and_the_others_go_with_the_nearest():
    order = np.repeat([0, 1, 0], [180, 100, 41])
    compared = np.rint(np.linspace(0, 320, 120)).astype(int)
    nearest = compared[np.abs(np.arange(321)[:, None] - compared).argmin(axis=1)]
    np.testing.assert_array_equal(find_states(rooms(order)), order[nearest])


def evening(dark, darkest=0.05):
    """Thumbnails of a room at noon, and of the last of 100 frames in the dark."""
    room = np.kron(np.random.default_rng(3).uniform(30, 150, (5, 8)), np.ones((6, 5)))
    light = np.r_[np.ones(100 - dark), np.linspace(0.45, darkest, dark)]
    frames = light[:, None, None, None] * np.repeat(room[..., None], 3, axis=2)
    frames += np.random.default_rng(0).normal(0, 1, frames.shape)
    return np.clip(np.rint(frames), 0, 255).astype(np.uint8)


def test_frames_with_less_than_half_of_the_light_are_states_of_their_own_however_few():
    """Given the light of the others, their few levels would be steps."""
    found = find_states(evening(10))
    assert (found[:90] == 0).all()
    assert (found[90:] != 0).all()
    for state in range(1, found.max() + 1):
        light = np.linspace(0.45, 0.05, 10)[found[90:] == state]
        assert light.max() <= 2.5 * np.median(light)


def test_fewer_than_five_of_them_are_of_no_state():
    assert find_states(evening(4)).tolist() == [0] * 96 + [-1] * 4


def test_frames_that_a_plain_object_covers_are_no_other_light():
    frames = evening(0)
    frames[90:, :, :24] = 40
    assert not find_states(frames).any()


@pytest.mark.parametrize("level", [10, 90])
def test_who_stands_close_is_no_other_light_however_bright_the_window(level):
    """He hides half of the place, and the window is most of what correlates."""
    room = np.kron(np.random.default_rng(3).uniform(30, 110, (5, 8)), np.ones((6, 5)))
    room[3:15, 34:] = 235
    frames = np.repeat(room[None, ..., None], 100, axis=0).repeat(3, axis=3)
    frames[60:72, :, :20] = level
    frames += np.random.default_rng(0).normal(0, 1, frames.shape)
    assert not find_states(np.clip(np.rint(frames), 0, 255).astype(np.uint8)).any()


def test_a_night_longer_than_the_day_is_the_first_state():
    found = find_states(evening(70, darkest=0.4))
    assert (found[:30] != 0).all()
    assert (found[30:] == 0).all()


@given(st.lists(st.floats(0.04, 1), min_size=1, max_size=40))
def test_lights_of_a_state_lie_within_a_stop_of_its_usual_one_and_the_largest_comes_first(lights):
    """In less than a twenty-fifth of the light there are so few levels that rounding decides."""
    room = np.random.default_rng(3).uniform(20, 250, (30, 40, 1))
    frames = np.rint(np.array(lights)[:, None, None, None] * np.repeat(room, 3, axis=2))
    found = find_states(frames.astype(np.uint8))
    sizes = np.bincount(found[found >= 0])
    assert sizes.all()
    assert (np.diff(sizes) <= 0).all()
    for state in range(len(sizes)):
        own = np.array(lights)[found == state]
        assert own.max() <= 2.3 * np.median(own)
        assert own.min() >= np.median(own) / 2.3


def test_a_plain_film_has_one_state():
    plain = np.full((20, 30, 40, 3), 90, np.uint8)
    assert not find_states(plain).any()
    noisy = plain + np.random.default_rng(6).normal(0, 2, (20, 30, 40, 1))
    assert not find_states(np.rint(noisy).astype(np.uint8)).any()  # noise is no light


def close_up(width):
    """Thumbnails of a room: two cover most of it in the second half, one of `width` moves."""
    rng = np.random.default_rng(4)
    added = np.zeros((60, 30, 40))
    added[30:, :, : 34 - width] = 60 + 40 * patterns(8, 1)[0, :, : 34 - width]
    for frame in added[30:]:
        checks = rng.uniform(-10, 110, (15, width // 2))
        frame[:, 34 - width : 34] = np.kron(checks, np.ones((2, 2)))
    return film(added)


@pytest.mark.parametrize(("width", "count"), [(4, 2), (12, 1)])
def test_who_covers_most_of_the_picture_and_moves_is_no_light(width, count):
    """Where a tenth of what differs moves, in another light, somebody passes."""
    assert count_states(close_up(width)) == count


@pytest.mark.parametrize("shuffled", [False, True])
def test_light_that_changes_steadily_is_a_state_in_whatever_order_its_frames_are_listed(shuffled):
    """States that were joined before list theirs one after the other."""
    rng = np.random.default_rng(7)
    place = rng.uniform(60, 120, 400)
    luma = np.repeat(place[None], 60, axis=0)
    ramp = np.where(np.arange(400) < 200, rng.uniform(40, 200, 400), 0)
    luma[30:] += np.linspace(0, 1, 30)[:, None] * ramp
    luma += rng.normal(0, 1, luma.shape)
    groups = [np.arange(30), np.arange(30, 60)]
    if shuffled:
        groups = [rng.permutation(group) for group in groups]
    assert len(_join_moving(groups, luma.astype(np.float32), 5.0)) == 2
