"""Arrivals and departures: people are objects, things that were put down become background."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.changes import Change
from bgsub.local.layers import LAYERS, Layers, find_layers
from bgsub.local.objects import judge_changes, weigh_changes
from bgsub.local.params import DEFAULTS


def film(scenes, there, *, moves, n=60):
    """A place where something stands in the frames of `there`."""
    thing = scenes.thing()
    rng = np.random.default_rng(3)
    frames, truths = [], []
    for i in range(n):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        if there[0] <= i < there[1]:
            shift = int(rng.integers(-1, 2)) if moves else 0
            scenes.put(frame, truth, 30, 40 + shift, thing)
        frames.append(frame)
        truths.append(truth)
    return scenes.finish(frames), np.array(truths)


def judge(scenes, workers, there, *, moves):
    frames, truths = film(scenes, there, moves=moves)
    first = np.rint(frames.mean(axis=0)).astype(np.uint8)
    layers = find_layers(frames, first, 12, seed=0, workers=workers)
    verdict = judge_changes(frames, layers, 3.0)
    return layers, verdict, truths.all(axis=0) | (truths.mean(axis=0) > 0.3)


@pytest.mark.parametrize("there", [(25, 60), (0, 35)])
def test_a_thing_that_is_put_down_or_taken_is_background(scenes, workers, there):
    layers, verdict, region = judge(scenes, workers, there, moves=False)
    assert verdict.changes
    shown = layers.labels[there[0] + 10]
    is_thing = np.take_along_axis(verdict.is_thing, shown[None].astype(int) % 6, axis=0)[0]
    assert is_thing[region].mean() > 0.7
    assert not verdict.is_object[:, ~region].any()


def test_nothing_changes_in_an_empty_place(scenes, workers):
    _, verdict, _ = judge(scenes, workers, (0, 0), moves=False)
    assert not verdict.changes
    assert not verdict.is_object.any()
    assert not verdict.is_thing.any()


# --- votes, on layers and changes made by hand: somebody (layer 1) before a place (layer 0) ---

SIGMA, N, LEFT = 3.0, 40, 20
PLACE, PERSON = (100, 110, 120), (40, 60, 200)
REGION = np.s_[6:14, 8:16]
BESIDE = np.s_[6:14, 16:18]


def made(colors, inside, beside=None):
    """Layers of these colours; `inside` and `beside` are labels of two places in every frame."""
    labels = np.zeros((N, 20, 24), np.uint8)
    labels[:, *REGION] = np.asarray(inside)[:, None, None]
    if beside is not None:
        labels[:, *BESIDE] = np.asarray(beside)[:, None, None]
    shown = np.zeros((LAYERS, 20, 24, 3), np.uint8)
    shown[: len(colors)] = np.array(colors, np.uint8)[:, None, None]
    counts = np.stack([(labels == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    return Layers(shown, counts, counts, counts, labels)


def change(balance, *, before=1, after=0, motion=(0.4, 0.05), frame=LEFT):
    region = np.zeros((20, 24), bool)
    region[REGION] = True
    sides = (np.full(region.shape, k, np.int8) for k in (before, after))
    return Change(frame, region, *sides, balance, motion)


STOOD = np.repeat([1, 0], LEFT)


def objects(layers, *changes, **numbers):
    """Layers that are an object throughout the place; it is all of it or nothing."""
    verdict = weigh_changes(list(changes), layers, SIGMA, replace(DEFAULTS, **numbers))
    found = verdict.is_object[:, *REGION]
    assert (found.all(axis=(1, 2)) == found.any(axis=(1, 2))).all()
    return np.flatnonzero(found.any(axis=(1, 2))).tolist()


@pytest.mark.parametrize("mirrored", [False, True])
def test_who_left_or_came_is_the_object(mirrored):
    layers = made([PLACE, PERSON], STOOD[::-1] if mirrored else STOOD)
    one = change(0.5)
    if mirrored:
        one = change(-0.5, before=0, after=1, motion=(0.05, 0.4))
    assert objects(layers, one) == [1]
    is_thing = weigh_changes([one], layers, SIGMA).is_thing[:, *REGION]
    assert is_thing[0].all()  # the place rests
    assert not is_thing[1].any()


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(("balance", "found"), [(0.3, []), (0.6, [1])])
def test_what_is_seen_most_is_overruled_by_a_clear_outline_alone(balance, found, mirrored):
    stood = np.repeat([1, 0], [30, 10])  # 0.1 + 0.3 log 3 = 0.43 are asked for
    if mirrored:
        layers = made([PLACE, PERSON], stood[::-1])
        one = change(-balance, before=0, after=1, motion=(0.05, 0.4), frame=10)
    else:
        layers, one = made([PLACE, PERSON], stood), change(balance, frame=30)
    assert objects(layers, one) == found


def test_an_outline_that_does_not_tell_decides_nothing_however_short_the_visit():
    stood = np.repeat([1, 0], [5, 35])
    assert objects(made([PLACE, PERSON], stood), change(0.09, frame=5)) == []
    assert objects(made([PLACE, PERSON], stood), change(0.11, frame=5)) == [1]


def test_less_light_is_no_object():
    shade = tuple(int(0.6 * level) for level in PLACE)
    one = change(-0.5, before=0, after=1, motion=(0.05, 0.4))
    assert objects(made([PLACE, shade], STOOD[::-1]), one) == []
    assert objects(made([PLACE, PERSON], STOOD[::-1]), one) == [1]


@pytest.mark.parametrize(
    ("motion", "found"),
    [
        ((0.03, 0.01), []),  # noise, however little the place has
        ((0.07, 0.05), []),
        ((0.09, 0.08), []),
        ((0.08, 0.05), [1]),  # asleep: little, but more than the place without him
        ((0.11, 0.10), [1]),
    ],
)
def test_what_rests_as_its_place_does_is_a_thing_and_no_object(motion, found):
    layers = made([PLACE, PERSON], STOOD)
    assert objects(layers, change(0.5, motion=motion)) == found


@pytest.mark.parametrize(("against", "found"), [(0.5, []), (0.2, []), (0.15, [1])])
def test_votes_that_contradict_each_other_need_three_quarters(against, found):
    layers = made([PLACE, PERSON], STOOD)
    other = change(-against, motion=(0.05, 0.4))
    assert objects(layers, change(0.5), other, rigid_motion=0.0) == found


@pytest.mark.parametrize(("seen_after", "found"), [(2, [1]), (8, [])])
def test_what_is_there_at_other_times_too_is_no_object(seen_after, found):
    stood = STOOD.copy()
    stood[25 : 25 + seen_after] = 1
    assert objects(made([PLACE, PERSON], stood), change(0.6)) == found


def test_shades_of_an_object_are_the_object():
    near, far = np.add(PERSON, (12, 0, 0)), np.add(PERSON, (0, 15, 0))  # 4σ and 5σ
    assert objects(made([PLACE, PERSON, near, far], STOOD), change(0.5)) == [1, 2]


@pytest.mark.parametrize(("there", "voted"), [(20, True), (14, True), (12, False), (6, False)])
def test_somebody_who_sways_is_around_his_still_part_too(there, voted):
    """Beside the still part he is seen in some of the frames, the place in the others."""
    beside = np.zeros(N, int)
    beside[:there] = 1
    layers = made([PLACE, PERSON], STOOD, beside)
    is_object = weigh_changes([change(0.5)], layers, SIGMA).is_object
    assert (is_object[1][BESIDE] == voted).all()
    assert not is_object[0].any()
    assert not is_object[:, :4].any()


def test_who_moves_no_more_than_the_place_has_nothing_around_him():
    layers = made([PLACE, PERSON], STOOD, STOOD)
    calm = weigh_changes([change(0.5, motion=(0.4, 0.3))], layers, SIGMA).is_object
    assert calm[1][REGION].all()
    assert not calm[1][BESIDE].any()


@pytest.mark.parametrize(("motion", "found"), [((0.17, 0.36), []), ((0.17, 0.2), [1])])
def test_a_place_that_moves_more_than_who_left_it_is_in_doubt(motion, found):
    assert objects(made([PLACE, PERSON], STOOD), change(0.6, motion=motion)) == found


@pytest.mark.parametrize(("rows", "found"), [(8, True), (16, False)])
def test_what_changes_in_most_of_the_picture_at_one_time_is_no_object(rows, found):
    """Nights and lamps change a third of a picture and more, people who stay less."""
    region = np.zeros((20, 24), bool)
    region[2 : 2 + rows, 4:20] = True
    labels = np.zeros((N, 20, 24), np.uint8)
    labels[:LEFT, region] = 1
    shown = np.zeros((LAYERS, 20, 24, 3), np.uint8)
    shown[0], shown[1] = PLACE, PERSON
    counts = np.stack([(labels == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    layers = Layers(shown, counts, counts, counts, labels)
    sides = (np.full(region.shape, k, np.int8) for k in (1, 0))
    one = Change(LEFT, region, *sides, 0.6, (0.4, 0.05))
    assert weigh_changes([one], layers, SIGMA).is_object[1][region].any() == found
