"""What moved before it stood still, and what came back, tells objects from places."""

import numpy as np
import pytest

from bgsub.local.clustering import find_layers
from bgsub.local.layers import LAYERS, Layers
from bgsub.local.presence import (
    _with_neighbours,
    lies_between,
    motion_around,
    moving_colors,
    what_came_back,
)
from bgsub.runtime.threads import Workers

SHAPE = 40, 60
BOX = np.s_[10:30, 24:36]


def film(phases):
    """Somebody red walks in, stands and leaves: frames by the place of each phase."""
    rng, frames = np.random.default_rng(0), []
    for left in phases:
        frame = np.full((*SHAPE, 3), 100.0)
        if left is not None:
            frame[10:30, max(left, 0) : max(left + 12, 0)] = (40, 50, 200)
        frames.append(frame + rng.normal(0, 1, frame.shape))
    return np.clip(np.rint(frames), 0, 255).astype(np.uint8)


def layers_of(pictures):
    with Workers(1) as workers:
        middle = np.median(pictures, axis=0).astype(np.uint8)
        return find_layers(pictures, middle, 8, seed=0, workers=workers)


def judged(phases, frame):
    pictures = film(phases)
    layers = layers_of(pictures)
    region = np.zeros(SHAPE, bool)
    region[BOX] = True
    before, after = (layers.labels[at].astype(np.int8) for at in (frame - 8, frame + 8))
    states = (before, after)
    moved = moving_colors(pictures, layers, region, states, frame)
    return moved, what_came_back(layers, region, states)


IN = [-12, -6, 0, 6, 12, 18]
OUT = [30, 36, 42, 48, 54, 60]


def test_who_walked_in_came():
    moved, _ = judged([None] * 20 + IN + [24] * 34, 26)
    assert moved < -0.4


def test_who_walked_out_left():
    moved, _ = judged([24] * 34 + OUT + [None] * 20, 34)
    assert moved > 0.4


def test_a_place_that_comes_back_was_there_all_the_time():
    phases = [None] * 12 + IN + [24] * 34 + OUT + [None] * 14
    assert judged(phases, 18)[1] == -1
    assert judged(phases, 52)[1] == 1
    assert judged([24] * 34 + OUT + [None] * 20, 34)[1] == 0


def test_two_states_in_turns_tell_nothing():
    phases = ([None] * 12 + [24] * 12) * 3
    assert judged(phases, 24)[1] == 0


def test_nothing_moves_nothing_is_told():
    assert judged([None] * 30 + [24] * 30, 30)[0] == 0


def walked(phases, last_before, first_after):
    region = np.zeros(SHAPE, bool)
    region[BOX] = True
    return motion_around(layers_of(film(phases)), region, last_before, first_after)


def test_who_walks_in_and_not_out_is_a_visitor():
    slowly = list(range(-12, 24, 3))
    assert walked([None] * 20 + slowly + [24] * 34, 30, 32) < -0.25
    slowly = list(range(26, 60, 3))
    assert walked([24] * 34 + slowly + [None] * 20, 33, 34) > 0.25


def test_who_settles_fidgets_and_walks_nowhere():
    slowly, settles = list(range(-12, 24, 3)), [19, 29] * 6
    assert walked([None] * 20 + slowly + settles + [24] * 34, 30, 32) < -0.4
    slowly = list(range(26, 60, 3))
    assert walked([24] * 34 + settles + slowly + [None] * 20, 45, 46) > 0.4


def test_a_bag_that_is_put_down_beside_him_makes_no_difference():
    """What one comes with changes with him: together they are as large as what was seen to walk."""
    phases = [None] * 20 + list(range(-12, 24, 3)) + [24] * 34
    layers = layers_of(film(phases))
    alone, both = np.zeros((2, *SHAPE), bool)
    alone[14:26, 27:33] = both[10:30, 24:36] = True
    walks = [motion_around(layers, region, 30, 32) for region in (alone, both)]
    assert max(walks) < -0.4


def test_who_passes_by_is_none():
    passing = [*IN, 24, *OUT]
    assert abs(walked([None] * 20 + passing + [None] * 27, 26, 26)) < 0.25
    assert walked([None] * 40, 1, 2) == 0


@pytest.mark.parametrize("leaves", [False, True])
def test_who_comes_and_moves_a_thing_is_not_it_that_walked_out(leaves):
    """Motion begins with the change in either case; who stood there is out of sight in the end."""
    found = walked([None] * 134 + [37, 49] * 16 + [None] * (12 * leaves), 133, 134)
    assert (found > 0.25) == leaves
    assert found >= 0


def test_a_film_that_ends_too_soon_does_not_tell_whether_he_stays():
    assert walked([None] * 134 + [37, 49] * 10, 133, 134) > 0.25


def test_what_moves_long_before_or_after_a_change_tells_nothing_of_it():
    assert judged([None] * 30 + [24] * 20 + OUT, 30)[0] == 0
    assert judged(IN + [24] * 20 + [None] * 30, 26)[0] == 0


def test_what_is_usual_at_a_place_does_not_move_whatever_its_rank():
    """The sixth colour fills the second half of the film, and is no motion."""
    labels = np.zeros((40, *SHAPE), np.uint8)
    labels[20:] = LAYERS - 1
    counts = np.stack([(labels == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    layers = Layers(np.zeros((*counts.shape, 3), np.uint8), counts, counts, counts, labels)
    region = np.zeros(SHAPE, bool)
    region[BOX] = True
    assert motion_around(layers, region, 18, 20) == 0


# --- the definitions, frame by frame and pixel by pixel ---


def scattered(seed, n=30, shape=(17, 21), changes=0.2):
    """Random layers and pictures of few colours; blobs of a seldom layer move about."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((n, *shape), np.uint8)
    for shown in labels:
        for _ in range(4):
            top, left = rng.integers(0, shape[0] - 3), rng.integers(0, shape[1] - 4)
            shown[top : top + 5, left : left + 4] = rng.choice([1, 2, 3, 255])
    counts = np.stack([(labels == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    levels = rng.integers(0, 256, (4, 3)).astype(np.uint8)
    pictures = levels[rng.integers(0, 4, labels.shape)] + rng.integers(
        0, 9, (*labels.shape, 3), dtype=np.uint8
    )
    colors = levels[rng.integers(0, 4, counts.shape)]
    region = np.zeros(shape, bool)
    top, left = rng.integers(0, 9), rng.integers(0, 12)
    region[top : top + int(rng.integers(4, 8)), left : left + int(rng.integers(2, 9))] = True
    return pictures, Layers(colors, counts, counts, counts, labels), region


def opened(moving, grow=True):
    """What holds 3×3 pixels; beyond the picture everything moves."""
    wide = np.pad(moving, 1, constant_values=True)
    height, width = moving.shape
    around = [wide[i : i + height, j : j + width] for i in range(3) for j in range(3)]
    core = np.all(around, axis=0)
    if not grow:
        return core
    wide = np.pad(core, 1)
    return np.any([wide[i : i + height, j : j + width] for i in range(3) for j in range(3)], axis=0)


def seldom(layers, frame):
    """Where a frame shows no layer, or one of less than 12 % of the frames."""
    label, n = layers.labels[frame], len(layers.labels)
    own = np.take_along_axis(layers.counts, np.minimum(label, LAYERS - 1)[None], axis=0)[0]
    return (label >= LAYERS) | (own < 0.12 * n)


def moved_by_definition(pictures, layers, region, states, frame):
    y, x = np.nonzero(region)
    reach = (max(np.ptp(y), np.ptp(x)) + 1) // 2
    box = np.s_[
        max(y.min() - reach, 0) : y.max() + reach + 1, max(x.min() - reach, 0) : x.max() + reach + 1
    ]
    before, after = (layers.colors[state[y, x], y, x] // 16 for state in states)
    balance = 0.0
    for first, last in ((frame - 10, frame + 1), (frame, frame + 11)):
        seen = np.zeros((16, 16, 16))
        for j in range(max(first, 0), min(last, len(pictures) - 1) + 1):
            for color in pictures[j][box][opened(seldom(layers, j)[box])] // 16:
                seen[tuple(color)] += 1
        if seen.sum() < 20:
            continue
        least = max(3, 0.002 * seen.sum())

        def near(colors, seen=seen, least=least):
            part = [
                seen[tuple(slice(max(c - 1, 0), c + 2) for c in map(int, one))] for one in colors
            ]
            return np.mean([one.max() > least for one in part])

        balance += near(before) - near(after)
    return balance


@pytest.mark.parametrize("seed", range(6))
def test_moving_colours_are_their_definition(seed):
    pictures, layers, region = scattered(seed)
    rng = np.random.default_rng(seed)
    states = tuple(rng.integers(0, LAYERS, region.shape).astype(np.int8) for _ in range(2))
    for frame in (0, 4, 15, 28):
        found = moving_colors(pictures, layers, region, states, frame)
        assert found == pytest.approx(
            moved_by_definition(pictures, layers, region, states, frame), abs=1e-6
        )


@pytest.mark.parametrize(("rows", "columns"), [(3, 6), (4, 5), (3, 7)])
@pytest.mark.parametrize("each", [3, 4])
def test_twenty_pixels_in_motion_tell_and_a_colour_of_more_than_three(rows, columns, each):
    labels = np.zeros((60, 40, 40), np.uint8)
    pictures = np.full((60, 40, 40, 3), 100, np.uint8)
    motion = np.zeros((40, 40), bool)
    motion[10 : 10 + rows, 10 : 10 + columns] = True
    labels[20][motion] = 255
    y, x = np.nonzero(motion)
    pictures[20, y[:each], x[:each]] = (10, 200, 10)
    pictures[20, y[each:], x[each:]] = (10, 10, 200)
    counts = np.stack([(labels == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    colors = np.full((LAYERS, 40, 40, 3), 100, np.uint8)
    colors[1] = (10, 200, 10)
    layers = Layers(colors, counts, counts, counts, labels)
    region = np.zeros((40, 40), bool)
    region[6:18, 6:18] = True
    states = np.full((40, 40), 1, np.int8), np.zeros((40, 40), np.int8)
    found = moving_colors(pictures, layers, region, states, 25)
    assert found == (1 if each > 3 and rows * columns >= 20 else 0)


@pytest.mark.parametrize("seed", range(3))
def test_motion_around_is_its_definition(seed):
    _, layers, region = scattered(seed)
    rows, columns = (np.flatnonzero(region.any(axis=axis))[[0, -1]] for axis in (1, 0))
    reach = max(np.ptp(rows) + 1, np.ptp(columns) + 1) // 4
    elsewhere = np.ones_like(region)
    elsewhere[
        max(rows[0] - reach, 0) : rows[1] + 1 + reach,
        max(columns[0] - reach, 0) : columns[1] + 1 + reach,
    ] = False

    def motion(start, stop):
        moving = (
            opened(seldom(layers, j), grow=False) & elsewhere
            for j in range(max(start, 0), min(stop, 30))
        )
        return [np.count_nonzero(one) for one in moving]

    for last, first in ((3, 5), (4, 5), (5, 9), (12, 14), (20, 23), (22, 24), (25, 28)):
        near = motion(last - 10, last), motion(first + 1, first + 11)
        before, after = (np.mean(one) if len(one) >= 5 else np.nan for one in near)
        expected = (after - before) / np.maximum(after + before, region.sum())
        later = motion(first + 11, 30)
        if expected > 0.25 and len(later) >= 10 and min(later) > 0.75 * before + 0.25 * after:
            expected = 0.0
        found = motion_around(layers, region, last, first)
        assert found == pytest.approx(np.nan_to_num(expected), abs=1e-9)


def returns(shown):
    """What came back of a place that shows layer 0 or 1 or neither (2), frame by frame."""
    labels = np.broadcast_to(np.array(shown, np.uint8)[:, None, None], (len(shown), 4, 5)).copy()
    labels[:, 0] = 3  # a quarter is covered by something else all the time
    empty = np.zeros((LAYERS, 4, 5), np.uint8)
    layers = Layers(np.zeros((LAYERS, 4, 5, 3), np.uint8), empty, empty, empty, labels)
    sides = np.zeros((4, 5), np.int8), np.ones((4, 5), np.int8)
    return what_came_back(layers, np.ones((4, 5), bool), sides)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ([0] * 10 + [1] * 10 + [0] * 2, -1),
        ([0] * 10 + [1] * 10 + [0], 0),  # one frame is chance
        ([1] * 2 + [0] * 10 + [1] * 10, 1),
        ([1] + [0] * 10 + [1] * 10, 0),
        ([0] * 50 + [1] * 47 + [0] * 3, -1),  # 3 % of a long film
        ([0] * 51 + [1] * 47 + [0] * 2, 0),
        ([1] * 3 + [0] * 50 + [1] * 47, 1),
        ([1] * 2 + [0] * 51 + [1] * 47, 0),
        ([1, 1, 0, 0, 1, 1, 0, 0], 0),  # in turns
        ([0, 0, 1, 1, 0, 0, 1, 1], 0),
        ([2] * 5 + [0] * 5 + [2] + [1] * 5 + [2] * 5, 0),
        ([0] * 10 + [2] * 10, 0),  # one of them is never seen
        ([2] * 10 + [1] * 10, 0),
    ],
)
def test_what_came_back_was_there_before_and_after_all_of_the_other(shown, expected):
    assert returns(shown) == expected


@pytest.mark.parametrize(("rows", "expected"), [(2, 0), (3, -1)])
def test_a_place_shows_what_more_than_half_of_it_shows(rows, expected):
    labels = np.full((22, 4, 5), 2, np.uint8)
    labels[:10, :rows], labels[10:20, :rows], labels[20:, :rows] = 0, 1, 0
    empty = np.zeros((LAYERS, 4, 5), np.uint8)
    layers = Layers(np.zeros((LAYERS, 4, 5, 3), np.uint8), empty, empty, empty, labels)
    sides = np.zeros((4, 5), np.int8), np.ones((4, 5), np.int8)
    assert what_came_back(layers, np.ones((4, 5), bool), sides) == expected


COLORS = (100, 110, 120), (40, 60, 200), (220, 30, 90), (30, 200, 40)


def between(shown, colors=COLORS, rivals=True):
    """Say so of pixels that all show the same layers, frame by frame; 255 is none."""
    labels = np.broadcast_to(np.array(shown, np.uint8)[:, None, None], (len(shown), 4, 5))
    own = np.zeros((LAYERS, 4, 5, 3), np.uint8)
    own[: len(colors)] = np.array(colors)[:, None, None]
    layers = Layers(own, *(np.zeros((LAYERS, 4, 5), np.uint8),) * 3, labels)
    y, x = np.indices((4, 5)).reshape(2, -1)
    found = lies_between(layers, y, x, np.full((LAYERS, y.size), rivals), 3.0)
    assert found.all() == found.any()
    return bool(found.any())


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ([0] * 9 + [1] * 4 + [0] * 9 + [2] * 4 + [0] * 9, True),
        ([1] * 4 + [0] * 9 + [2] * 4, True),
        ([0] * 9 + [1] * 4 + [0] * 9 + [1] * 4 + [0] * 9, False),  # two visitors alike, or one
        ([0] * 9 + [1] * 9 + [0] * 9, False),
        ([1] * 4 + [0] * 20, False),  # the place, and who came to stay
        ([0] * 9 + [1] * 4 + [2] * 4 + [0] * 9, False),  # as much next to each other
        ([0] * 9 + [1] * 4 + [255] * 2 + [0] * 9 + [2] * 4 + [255] * 2 + [0] * 9, True),
        ([0] * 9 + [1] + [0] * 9 + [2] + [0] * 9, False),  # one frame is chance
        (([0] * 20 + [1] * 2) * 2 + ([0] * 20 + [2] * 2) * 2 + [0] * 9, True),
        (([0] * 50 + [1] * 2) * 2 + ([0] * 50 + [2] * 2) * 2 + [0] * 20, False),  # 2 % of it
    ],
)
def test_a_place_lies_between_several_visits(shown, expected):
    assert between(shown) == expected


def test_shades_of_a_visitor_are_one_visitor():
    shown = [0] * 9 + [1] * 4 + [0] * 9 + [2] * 4 + [0] * 9
    near, other = np.add(COLORS[1], (13, 0, 0)), np.add(COLORS[1], (14, 0, 0))  # 4.5σ are 13.5
    assert not between(shown, (*COLORS[:2], near))
    assert between(shown, (*COLORS[:2], other))


def test_what_may_not_be_the_place_is_no_rival():
    shown = [2, 2, 1, 1, 0, 0, 2, 2, 0, 0, 3, 3, 1, 1]
    assert not between(shown)  # 1 and 0 lie beside as many, 0, 2, 3 and 1, 2, 3
    assert between(shown, rivals=False)


def test_a_bin_counts_what_is_in_it_or_in_one_of_its_26_neighbours():
    for at in np.ndindex(3, 4, 5):
        seen = np.zeros((3, 4, 5), np.float32)
        seen[at] = 7
        places = np.indices(seen.shape) - np.reshape(at, (3, 1, 1, 1))
        near = np.abs(places).max(axis=0) < 2
        np.testing.assert_array_equal(_with_neighbours(seen), 7.0 * near)
