"""Arrivals and departures: where, when, and what outline and motion say of them."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.changes import Change, _history, _regions, find_changes
from bgsub.local.clustering import find_layers
from bgsub.local.layers import LAYERS, Layers, color_of
from bgsub.local.params import DEFAULTS
from bgsub.local.presence import motion_around, moving_colors, what_came_back
from bgsub.local.telling import UNKNOWN, _edge_motion, _frames, _outline_balance, frames_showing
from bgsub.runtime.threads import Workers

N = 60
OUTLINE_ALONE = replace(DEFAULTS, color_balance=2.1, walk_weight=0.0, return_weight=0.0)


def changes(scenes, workers, there, *, sways=False, params=OUTLINE_ALONE, height=24):
    """What is found where somebody stands in the frames of `there`, at rest or swaying."""
    rng, frames = np.random.default_rng(3), []
    for i in range(N):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        if there[0] <= i < there[1]:
            left = 40 + (int(rng.integers(-1, 2)) if sways else 0)
            scenes.put(frame, truth, 30, left, scenes.thing()[:height])
        frames.append(frame)
    pictures = scenes.finish(frames)
    first = np.rint(pictures.mean(axis=0)).astype(np.uint8)
    layers = find_layers(pictures, first, 12, seed=0, workers=workers)
    return layers, find_changes(pictures, layers, 3.0, params)


@pytest.mark.parametrize(("there", "sign"), [((0, 35), 1), ((25, 60), -1)])
def test_the_outline_tells_who_was_there(scenes, workers, there, sign):
    layers, (found,) = changes(scenes, workers, there)
    body = np.zeros(scenes.shape, bool)
    body[30:54, 40:54] = True
    assert found.region[body].mean() > 0.8
    assert (found.region & ~body).sum() < 0.2 * body.sum()
    assert found.frame == pytest.approx(35 if sign > 0 else 25, abs=3)
    assert sign * found.balance > 0.5
    y, x = np.nonzero(found.region & body)
    before, after = (layers.colors[side[y, x], y, x] for side in (found.before, found.after))
    shown = (before if sign > 0 else after).astype(float)
    assert np.abs(shown.mean(axis=0) - (40, 60, 215)).max() < 15
    # The textured one is at rest; of the place no edges but those of its patches are there to tell.
    assert found.motion[0 if sign > 0 else 1] < 0.1


@pytest.mark.parametrize("there", [(0, 35), (25, 60)])
def test_who_sways_is_the_object_a_little_more_than_who_rests(scenes, workers, there):
    """The motion of the edges is worth 0.2 at most, a quarter of it a factor of two."""
    (rests,) = changes(scenes, workers, there)[1]
    (sways,) = changes(scenes, workers, there, sways=True)[1]
    more = abs(sways.balance) - abs(rests.balance)
    assert 0.15 < more < 0.45


def test_what_is_there_for_a_moment_has_no_motion_that_is_known(scenes, workers):
    found = changes(scenes, workers, (0, 12), params=replace(OUTLINE_ALONE, still_share=0.5))[1]
    assert found
    assert all(UNKNOWN not in one.motion for one in found)
    assert not changes(scenes, workers, (28, 31))[1]


@pytest.mark.parametrize(("area", "count"), [(0.03, 1), (0.06, 0)])
def test_small_places_are_left_alone(scenes, workers, area, count):
    """The body covers 4.9 % of the picture."""
    params = replace(OUTLINE_ALONE, change_area=area)
    assert len(changes(scenes, workers, (0, 35), params=params)[1]) == count


def test_nothing_changes_where_nobody_comes(scenes, workers):
    assert changes(scenes, workers, (0, 0))[1] == []
    assert changes(scenes, workers, (0, N))[1] == []


SQUARE = np.zeros((40, 50), bool)
SQUARE[12:28, 15:35] = True


@pytest.mark.parametrize(("least", "count"), [(319, 1), (320, 1), (321, 0)])
def test_a_region_has_at_least_the_least_area(least, count):
    assert len(_regions(SQUARE, least)) == count


def test_regions_close_gaps_of_a_pixel_and_lose_specks():
    union = SQUARE.copy()
    union[20] = False
    union[3, 3] = True
    union[31:36, 41:47] = True
    first, second = _regions(union, 9)
    np.testing.assert_array_equal(first, SQUARE)
    assert (second.sum(), second[31:36, 41:47].sum()) == (30, 30)


@pytest.mark.parametrize(
    ("motion", "rigid"),
    [
        ((0.02, 0.5), True),
        ((0.02, 0.001), True),
        ((0.07, 0.06), True),
        ((0.07, 0.03), False),
        ((0.5, 0.5), False),
        ((UNKNOWN, UNKNOWN), False),
    ],
)
def test_a_thing_is_at_rest_and_no_livelier_than_its_place(motion, rigid):
    region, layer = SQUARE, np.zeros(SQUARE.shape, np.int8)
    before = Change(5, region, layer, layer, 0.0, motion)
    after = Change(5, region, layer, layer, 0.0, motion[::-1])
    assert before.is_rigid(0) is rigid
    assert after.is_rigid(1) is rigid


@pytest.mark.parametrize(
    ("moves", "elsewhere", "rigid"),
    [(0.2, 0.15, True), (0.2, 0.12, False), (0.04, 0.0, True), (0.06, 0.0, False)],
)
def test_where_edges_elsewhere_are_known_a_thing_is_no_livelier_than_they(moves, elsewhere, rigid):
    """Whatever its place does at other times."""
    layer = np.zeros(SQUARE.shape, np.int8)
    for other in (0.0, 0.5, UNKNOWN):
        change = Change(
            5, SQUARE, layer, layer, 0.0, (moves, other), elsewhere=(elsewhere, UNKNOWN)
        )
        assert change.is_rigid(0) is rigid


# --- the definitions, window by window and pixel by pixel ---


def lasting(seed, n, shape=(3, 4)):
    """Layers that stay for a while at every pixel, with some frames of others between."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((n, *shape), np.uint8)
    for y, x in np.ndindex(*shape):
        ends = np.sort(rng.integers(0, n, 3))
        for part, k in zip(
            np.split(labels[:, y, x], ends), rng.integers(0, LAYERS, 4), strict=True
        ):
            part[:] = k
        few = rng.random(n) < 0.12
        labels[few, y, x] = rng.choice([0, 1, 255], few.sum())
    counts = np.stack([(labels == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    colors = rng.choice([80, 88, 89, 90, 120], (*counts.shape, 3)).astype(np.uint8)
    return Layers(colors, counts, counts, counts, labels)


def history_by_definition(layers, sigma, share):
    """Moments of every window of four of up to forty parts of the film, at each pixel alone."""
    n, height, width = layers.labels.shape
    parts = max(min(40, n // 2), 4)
    edges = np.rint(np.linspace(0, n, parts + 1)).astype(int)
    moments = [
        (
            np.zeros((height, width), bool),
            np.zeros((height, width), int),
            np.zeros((height, width), int),
        )
        for _ in range(parts - 2)
    ]
    for y, x in np.ndindex(height, width):
        still, since = -1, 0
        for c in range(parts - 3):
            shown = layers.labels[edges[c] : edges[c + 4], y, x]
            counts = [int((shown == k).sum()) for k in range(LAYERS)]
            label, is_still = int(np.argmax(counts)), max(counts) >= share * len(shown)
            step = np.abs(layers.colors[label, y, x].astype(int) - layers.colors[still, y, x]).max()
            new, was, until = moments[c]
            new[y, x] = is_still and still >= 0 and label != still and step > 3 * sigma
            was[y, x], until[y, x] = still, since
            if is_still:
                still, since = label, c + 4
        moments[-1][1][y, x], moments[-1][2][y, x] = still, since
    return edges, moments


@pytest.mark.parametrize(("n", "share"), [(6, 0.7), (7, 1.0), (29, 0.7), (79, 0.5), (95, 0.8)])
def test_the_history_of_a_place_is_its_definition(n, share):
    for seed in range(3):
        layers = lasting(seed, n)
        edges, found = _history(layers, 3.0, share)
        expected_edges, expected = history_by_definition(layers, 3.0, share)
        np.testing.assert_array_equal(edges, expected_edges)
        for one, (new, still, since) in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one.new, new)
            np.testing.assert_array_equal(one.still, still)
            np.testing.assert_array_equal(one.since, since)


def visit(phases, *, noise=0.5, sways=0.0, shape=(40, 60)):
    """Somebody plain walks about a place of patches: frames, layers; None where he is away."""
    rng = np.random.default_rng(0)
    place = np.kron(rng.integers(80, 140, (10, 15, 3)), np.ones((4, 4, 1)))
    body = np.add(np.kron(rng.integers(20, 70, (5, 3, 3)), np.ones((4, 4, 1))), (0, 0, 130))
    frames = []
    for left in phases:
        frame = place.copy()
        if left is not None:
            at = left + round(sways * float(rng.integers(-1, 2)))
            first, last = max(at, 0), min(at + 12, shape[1])
            if last > first:
                frame[10:30, first:last] = body[:, first - at : last - at]
        frames.append(frame + rng.normal(0, noise, frame.shape))
    pictures = np.clip(np.rint(frames), 0, 255).astype(np.uint8)
    with Workers(1) as workers:
        middle = np.median(pictures, axis=0).astype(np.uint8)
        return pictures, find_layers(pictures, middle, 8, seed=0, workers=workers)


IN, OUT = [-10, -6, -2, 2, 6, 10, 14, 18], [28, 32, 36, 40, 44, 48, 52, 56]
FILMS = {
    "came": [None] * 30 + IN + [24] * 42,
    "left": [24] * 42 + OUT + [None] * 30,
    "sat for a while": [None] * 16 + IN + [24] * 34 + OUT + [None] * 14,
    "was put there": [None] * 40 + [24] * 40,
    "was taken": [24] * 33 + [None] * 47,
    "came early": [None] * 9 + IN + [24] * 63,
    "left late": [24] * 64 + OUT + [None] * 8,
    "moved on": [6] * 40 + [10, 14, 18, 22, 26, 30] + [34] * 34,
}


@pytest.mark.parametrize("kind", FILMS)
@pytest.mark.parametrize("sways", [0.0, 1.0])
def test_a_balance_is_the_sum_of_what_speaks_for_it(kind, sways):
    """Outline, motion of edges, colours that move, who walks, and what came back, by weights."""
    pictures, layers = visit(FILMS[kind], sways=sways)
    edges, history = _history(layers, 3.0, DEFAULTS.still_share)
    found = find_changes(pictures, layers, 3.0)
    assert found
    for one in found:
        (c,) = np.flatnonzero(edges == one.frame)
        union = history[max(c - 1, 0)].new | history[c].new | history[c + 1].new
        (region,) = (r for r in _regions(union, 0) if r[one.region].all())
        end = int(np.median(history[max(c - 1, 0)].since[region]))
        shown = [color_of(layers.colors, side) for side in (one.before, one.after)]
        balance = _outline_balance(*shown, region, 3.0)
        past = edges[max(end - 5, 0)], edges[max(end - 1, 1)]
        coming = edges[c + 1], edges[min(c + 5, len(edges) - 1)]
        here = [_edge_motion(pictures, _frames(*span), region) for span in (past, coming)]
        motion = [
            _edge_motion(
                pictures, frames_showing(layers.labels[:, one.region], side[one.region]), one.region
            )
            for side in (one.before, one.after)
        ]
        assert one.motion == tuple(motion)
        moves = here if max(here) > 0.25 else motion
        if 1.0 not in moves or max(here) > 0.25:
            ratio = max(moves[0], 0.05) / max(moves[1], 0.05)
            balance += 0.1 * min(max(np.log2(ratio), -2), 2)
        sides = one.before, one.after
        colors = moving_colors(pictures, layers, one.region, sides, one.frame)
        balance += 0.5 * colors * (abs(colors) > 0.3)
        walked = motion_around(layers, one.region, int(edges[min(end, c)]), one.frame)
        balance += 1.0 * walked * (abs(walked) > 0.25)
        returned = what_came_back(layers, one.region, sides)
        balance += 0.5 * returned
        assert one.balance == pytest.approx(balance, abs=1e-6)
        alone = int(np.sign(walked)) if abs(walked) > 0.4 else 0
        assert one.took_break == (alone == -returned != 0 and alone * balance > 0)
        assert one.visitor == (alone if one.took_break else returned or alone)


@pytest.mark.parametrize("seed", range(4))
def test_changes_are_where_most_is_new_and_between_what_lasted(seed):
    """A peak is as large as the moment before it and larger than the one after."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((80, 24, 30), np.uint8)
    for _ in range(3):
        top, left, start = rng.integers(0, 14), rng.integers(0, 20), rng.integers(8, 70)
        labels[start:, top : top + 10, left : left + 10] = rng.integers(0, 4)
    ragged = rng.integers(0, 3, labels.shape[1:])  # not all of a place changes at once
    labels = np.stack(
        [labels[np.maximum(i - ragged, 0), *np.indices(ragged.shape)] for i in range(80)]
    )
    counts = np.stack([(labels == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    levels = rng.permutation(np.arange(40, 240, 34))[:LAYERS]
    colors = np.broadcast_to(levels[:, None, None, None], (*counts.shape, 3)).astype(np.uint8)
    layers = Layers(colors, counts, counts, counts, labels)
    pictures = np.take_along_axis(colors, labels[..., None].astype(int).repeat(3, -1) % 6, axis=0)
    edges, history = _history(layers, 3.0, 0.7)
    sizes = [moment.new.sum() for moment in history]
    least = DEFAULTS.change_area * 24 * 30
    expected = []
    for c in range(len(history) - 1):
        if sizes[c] >= least and (c == 0 or sizes[c - 1] <= sizes[c]) and sizes[c + 1] < sizes[c]:
            first, last = history[max(c - 1, 0)], history[min(c + 2, len(history) - 1)]
            union = first.new | history[c].new | history[c + 1].new
            before = np.maximum(np.where(first.still >= 0, first.still, history[c].still), 0)
            after = np.maximum(last.still, 0)
            expected += [(edges[c], r & union, before, after) for r in _regions(union, least)]
    found = find_changes(pictures, layers, 3.0)
    assert len(found) == len(expected) > 0
    for one, (frame, region, before, after) in zip(found, expected, strict=True):
        assert one.frame == frame
        np.testing.assert_array_equal(one.region, region)
        np.testing.assert_array_equal(one.before, before)
        np.testing.assert_array_equal(one.after, after)


def test_two_of_the_same_size_a_moment_apart_change_at_one_time():
    labels = np.zeros((80, 24, 40), np.uint8)
    labels[40:, 4:12, 4:12] = labels[42:, 12:20, 26:34] = 1
    counts = np.stack([(labels == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    colors = np.zeros((*counts.shape, 3), np.uint8)
    colors[1] = 90
    layers = Layers(colors, counts, counts, counts, labels)
    pictures = np.repeat(90 * labels[..., None], 3, axis=3)
    found = find_changes(pictures, layers, 3.0)
    assert len(found) == 2
    assert len({one.frame for one in found}) == 1
    assert sum(one.region for one in found).sum() == 128
