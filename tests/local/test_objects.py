"""Arrivals and departures: people and what they bring are objects, what they move is background."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.changes import Change
from bgsub.local.clustering import find_layers
from bgsub.local.layers import LAYERS, Layers
from bgsub.local.objects import judge_changes, weigh_changes
from bgsub.local.params import DEFAULTS
from bgsub.local.shadows import object_evidence


def film(scenes, there, *, elsewhere=False, n=60):
    """A place where a thing stands in the frames of `there`, and maybe elsewhere in the others."""
    thing = scenes.thing()
    frames, truths = [], []
    for i in range(n):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        if there[0] <= i < there[1]:
            scenes.put(frame, truth, 30, 40, thing)
        elif elsewhere:
            scenes.put(frame, np.zeros(scenes.shape, bool), 34, 70, thing)
        frames.append(frame)
        truths.append(truth)
    return scenes.finish(frames), np.array(truths)


def judge(scenes, workers, there, **more):
    frames, truths = film(scenes, there, **more)
    first = np.rint(frames.mean(axis=0)).astype(np.uint8)
    layers = find_layers(frames, first, 12, seed=0, workers=workers)
    return layers, judge_changes(frames, layers, 3.0), truths.any(axis=0)


def of_frame(flags, layers, frame):
    """Flags of the layers that a frame shows."""
    shown = layers.labels[frame].astype(int) % LAYERS
    return np.take_along_axis(flags, shown[None], axis=0)[0]


THERE = [(25, 60), (0, 35)]


@pytest.mark.parametrize("there", THERE)
def test_a_thing_that_is_brought_or_taken_is_an_object(scenes, workers, there):
    layers, verdict, region = judge(scenes, workers, there)
    with_it, without = there[0] + 10, 10 if there[0] else 50
    assert of_frame(verdict.is_object, layers, with_it)[region].mean() > 0.7
    assert not of_frame(verdict.is_object, layers, without)[region].any()
    assert not of_frame(verdict.is_thing, layers, with_it)[region].any()
    assert not verdict.is_object[:, ~region].any()


@pytest.mark.parametrize("there", THERE)
def test_a_thing_that_is_moved_is_background_in_both_places(scenes, workers, there):
    layers, verdict, region = judge(scenes, workers, there, elsewhere=True)
    assert of_frame(verdict.is_thing, layers, there[0] + 10)[region].mean() > 0.7
    assert not verdict.is_object.any()


def test_nothing_changes_in_an_empty_place(scenes, workers):
    _, verdict, _ = judge(scenes, workers, (0, 0))
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


@pytest.mark.parametrize("sigma", [2.5, 9.0])
def test_a_dark_coat_before_a_dark_place_is_no_shadow_however_noisy_the_frames_are(sigma):
    """The colours that are compared are those of many frames, in which noise leaves its mean."""
    coat = (80, 88, 108)
    verdict = weigh_changes([change(0.5)], made([PLACE, coat], STOOD), sigma)
    assert verdict.is_object[1][REGION].all()


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


def test_what_comes_where_the_light_changes_at_the_same_time_is_no_thing():
    """A lamp lights most of a region, and somebody comes into the rest of it."""
    shade = tuple(int(0.75 * level) for level in PLACE)
    layers = made([PLACE, shade], STOOD[::-1])
    layers.colors[1, 4:10, 2:8] = PERSON
    one = change(0.0, before=0, after=1, motion=(0.03, 0.03))
    one.region[2:18, 2:22] = True
    is_thing = weigh_changes([one], layers, SIGMA).is_thing[1]
    assert is_thing[2:18, 12:22].all()
    assert not is_thing[4:10, 2:8].any()


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


@pytest.mark.parametrize(("took_break", "found"), [(False, []), (True, [1])])
def test_who_took_a_break_is_there_again(took_break, found):
    layers = made([PLACE, PERSON], np.repeat([1, 0, 1], [14, 12, 14]))
    out = change(0.8, frame=14)
    back = change(-0.8, before=0, after=1, motion=(0.05, 0.4), frame=26)
    both = [replace(out, visitor=1), replace(back, visitor=-1)]
    both = [replace(one, took_break=took_break) for one in both]
    assert objects(layers, *both) == found
    breaks = weigh_changes(both, layers, SIGMA).breaks
    assert breaks[REGION].all() == took_break
    assert not breaks[:6].any()


def test_shades_of_an_object_are_the_object():
    near, far = np.add(PERSON, (12, 0, 0)), np.add(PERSON, (0, 15, 0))  # 4σ and 5σ
    assert objects(made([PLACE, PERSON, near, far], STOOD), change(0.5)) == [1, 2]


def test_a_place_that_is_seen_most_is_no_shade_of_an_object():
    """An object of another change has nearly its colours: a dark chair, and dark trousers."""
    near, other = np.add(PLACE, (12, 0, 0)), (220, 30, 90)
    layers = made([PLACE, PERSON, near, other], STOOD)
    assert objects(layers, change(0.5, before=2, after=3)) == [0, 2]
    assert objects(layers, change(0.5), change(0.5, before=2, after=3)) == [1, 2]


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


@pytest.mark.parametrize(("others", "found"), [((2, 3), []), ((1, 1), [0])])
def test_a_place_between_several_visits_is_no_object(others, found):
    """The last visit looks as if the place had left: its outline has fewer edges since then."""
    stood = np.repeat([0, others[0], 0, others[1], 0, 1], [8, 3, 8, 3, 8, 10])
    layers = made([PLACE, PERSON, (220, 30, 90), (30, 200, 40)], stood)
    assert objects(layers, change(0.6, before=0, after=1, frame=30)) == found


@pytest.mark.parametrize(("seen", "found"), [(12, []), (13, [0])])
def test_a_place_between_several_visits_is_seen_half_as_often_again(seen, found):
    stood = np.repeat([0, 2, 0, 3, 0, 1], [6, 4, 6, 18 - seen, 6, seen])
    layers = made([PLACE, PERSON, (220, 30, 90), (30, 200, 40)], stood)
    assert objects(layers, change(1.0, before=0, after=1, frame=N - seen)) == found


@pytest.mark.parametrize(("color", "follows"), [(PERSON, True), ((200, 90, 90), False)])
def test_a_pixel_whose_votes_cancel_follows_those_around_that_look_alike(color, follows):
    layers = made([PERSON, PLACE], np.repeat([0, 1], [22, 18]))
    layers.colors[0, 9, 11] = color
    region = np.zeros((20, 24), bool)
    region[9, 11] = True
    doubt = replace(change(-0.5, before=0, after=1, motion=(1.0, 1.0)), region=region)
    left = change(0.5, before=0, after=1, frame=22)
    verdict = weigh_changes([left, doubt], layers, SIGMA)
    found = verdict.is_object[:, *REGION]
    assert found[0].sum() == found[0].size - (not follows)
    assert not found[1].any()
    assert not verdict.is_object[:, ~left.region].any()


# --- the definition, pixel by pixel ---


def tangled(seed, n=40, shape=(18, 22)):
    """Random layers that come and go in blocks, and random changes of some of them."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((n, *shape), np.uint8)
    for _ in range(5):
        top, left = rng.integers(0, 12), rng.integers(0, 16)
        start, stop = sorted(rng.integers(0, n, 2))
        labels[start:stop, top : top + 7, left : left + 7] = rng.integers(0, LAYERS)
    few = rng.random(labels.shape) < 0.1
    labels[few] = rng.choice([0, 1, 2, 255], few.sum())
    counts = np.stack([(labels == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    levels = rng.integers(40, 200, (LAYERS, 3))
    levels[3] = levels[1] + rng.choice([13, 14], 3)  # a shade, or just none
    colors = np.tile(levels[:, None, None].astype(np.uint8), (1, *shape, 1))
    found = []
    for _ in range(3):
        region = np.zeros(shape, bool)
        top, left, size = rng.integers(0, 10), rng.integers(0, 14), rng.integers(4, 15)
        region[top : top + size, left : left + size] = True
        before, after = (np.full(shape, k, np.int8) for k in rng.choice(LAYERS, 2, replace=False))
        motion = tuple(float(one) for one in rng.choice([0.03, 0.07, 0.12, 0.2, 0.5, 1.0], 2))
        frame, balance = int(rng.integers(4, n - 4)), float(rng.uniform(-1.2, 1.2))
        visitor = int(rng.integers(-1, 2))
        took_break = visitor * balance > 0 and bool(rng.integers(2))
        sides = region, before, after
        found.append(Change(frame, *sides, balance, motion, visitor, took_break=took_break))
    return Layers(colors, counts, counts, counts, labels), found


def around(mask, reach=1):
    """Pixels next to a mask, and itself."""
    wide = np.pad(mask, reach)
    size = 2 * reach + 1
    return np.any(
        [
            wide[i : i + mask.shape[0], j : j + mask.shape[1]]
            for i in range(size)
            for j in range(size)
        ],
        axis=0,
    )


def beside_by_definition(one, layers, left):
    """What changed around a place with it, and the layers of the visitor's side there."""
    y, x = np.nonzero(one.region)
    size = max(np.ptp(y), np.ptp(x)) + 1
    box = np.zeros_like(one.region)
    box[
        max(y.min() - size, 0) : y.max() + size + 1, max(x.min() - size, 0) : x.max() + size + 1
    ] = 1
    sides = layers.labels[: one.frame], layers.labels[one.frame :]
    inside, outside = sides if left else sides[::-1]
    here, away = (
        np.stack([(s == k).sum(axis=0) for k in range(LAYERS)]) for s in (inside, outside)
    )
    own = away < 0.2 * (here + away)
    changed = (here * own).sum(axis=0) > 0.65 * len(inside)
    changed &= (away * ~own).sum(axis=0) > 0.65 * len(outside)
    changed &= box
    cut = np.ix_(box.any(axis=1), box.any(axis=0))
    closed = np.zeros_like(changed)
    closed[cut] = ~around(~around(changed[cut]))
    part = closed & one.region
    while (grown := around(part) & closed).sum() > part.sum():
        part = grown
    return changed & part & ~one.region, own


def votes_by_definition(changes, layers, sigma):
    shape = layers.counts.shape
    votes, cast, things = np.zeros(shape), np.zeros(shape), np.zeros(shape, bool)
    picture = layers.colors[:, 0, 0]
    for one in changes:
        labels = int(one.before[0, 0]), int(one.after[0, 0])
        visitor = {-1: labels[1], 0: None, 1: labels[0]}[one.visitor]
        before, after = (np.broadcast_to(picture[k], (*shape[1:], 3)) for k in labels)
        evidence = object_evidence(
            *map(np.ascontiguousarray, (after, before)),
            one.region.astype(np.uint8),
            DEFAULTS.least_noise,
        )
        y, x = np.nonzero(one.region)
        is_light = evidence.sum() < y.size / 2
        for side, label in enumerate(labels):
            if one.is_rigid(side) and label != visitor:
                things[label] |= one.region & ~(is_light & (evidence > 0))
        left = one.balance > 0
        thing, place = labels if left else labels[::-1]
        most = [max(float(np.median(layers.counts[k, y, x])), 1) for k in (thing, place)]
        weight = abs(one.balance)
        if weight < 0.1 + 0.3 * max(np.log(most[0] / most[1]), 0):
            continue
        if y.size > one.region.size / 3:
            continue
        if is_light:
            continue
        moves, rests = one.motion if left else one.motion[::-1]
        if not one.visitor:
            if one.is_rigid(0 if left else 1):
                continue
            if max(0.1, 1.5 * moves) < rests < 1:
                continue
        outside = layers.labels[one.frame :] if left else layers.labels[: one.frame]
        if one.took_break:
            outside = [f for f in outside if 2 * (f[one.region] == thing).sum() <= y.size]
            outside = np.array(outside, np.uint8).reshape(-1, *shape[1:])
        stray = (outside == thing).sum(axis=0) / np.maximum(layers.counts[thing], 1)
        at = one.region & (stray < 0.2)
        votes[thing][at] += weight
        votes[place][at] -= weight
        for k in (thing, place):
            cast[k][at] += weight
        if 1.5 * rests < moves < 1:
            fresh, own = beside_by_definition(one, layers, left)
            votes += np.where(own, weight, -weight) * fresh
            cast += weight * fresh
    votes[np.abs(votes) < cast / 2] = 0
    apart = np.abs(picture.astype(int)[:, None] - picture).max(axis=2)
    shaded = [
        ((votes > 0) & (apart[k] < 4.5 * sigma)[:, None, None]).any(axis=0) for k in range(LAYERS)
    ]
    found = (votes > 0) | np.array(shaded)
    found[0] &= votes[0] >= 0
    return with_specks_by_definition(found, layers, sigma), things


def with_specks_by_definition(found, layers, sigma):
    """What is seen most in a gap is the object around it, where something else is seen, too."""
    result, seen = found.copy(), layers.counts > 0
    overruled = found[0] & (~found & seen).any(axis=0)
    for y, x in zip(*np.nonzero(~around(~around(overruled, 2), 2) & ~overruled), strict=True):
        box = np.s_[max(y - 2, 0) : y + 3, max(x - 2, 0) : x + 3]
        beside = layers.colors[0][box][overruled[box]].mean(axis=0)
        alike = np.abs(layers.colors[:, y, x] - beside).max(axis=1) < 4.5 * sigma
        others = ~alike & seen[:, y, x]
        if alike[0] and others.any():
            result[0, y, x] = True
            result[others, y, x] = False
    return result


@pytest.mark.parametrize("seed", range(60))
def test_a_verdict_is_its_definition(seed):
    layers, found = tangled(seed)
    verdict = weigh_changes(found, layers, SIGMA)
    is_object, is_thing = votes_by_definition(found, layers, SIGMA)
    np.testing.assert_array_equal(verdict.is_object, is_object)
    np.testing.assert_array_equal(verdict.is_thing, is_thing)


# --- what was brought or taken, and what was only moved ---


def news(*, before=0, after=1, outline=-0.5, **more):
    """A change of which only the outline tells, and the rest speaks against it."""
    one = change(-outline, before=before, after=after, motion=(0.05, 0.05), **more)
    return replace(one, outline=outline)


def moved_to(rows, *, frame=LEFT):
    """A change of some rows beside, from a state of the person's colour to the place's."""
    region = np.zeros((20, 24), bool)
    region[rows, :6] = True
    person, place = (np.full(region.shape, k, np.int8) for k in (1, 0))
    return Change(frame, region, person, place, 0.0, (0.05, 0.05))


def test_what_was_brought_is_an_object_however_still_and_what_was_taken():
    assert objects(made([PLACE, PERSON], STOOD[::-1]), news()) == [1]
    taken = news(before=1, after=0, outline=0.5)
    assert objects(made([PLACE, PERSON], STOOD), taken) == [1]


def test_what_was_brought_is_none_whose_outline_does_not_tell():
    assert objects(made([PLACE, PERSON], STOOD[::-1]), news(outline=-0.09)) == []
    stood = np.repeat([0, 1], [10, 30])  # 0.1 + 0.3 log 3 = 0.43 are asked for
    layers = made([PLACE, PERSON], stood)
    assert objects(layers, news(outline=-0.4, frame=10)) == []
    assert objects(layers, news(outline=-0.5, frame=10)) == [1]


@pytest.mark.parametrize(
    ("rows", "frame", "found"),
    [
        (slice(6, 14), LEFT, []),  # it was there, and is not any more
        (slice(6, 14), LEFT - 4, []),  # carried for a while
        (slice(6, 14), LEFT - 5, [1]),  # what else went, long before, was another thing
    ],
)
def test_what_was_only_moved_is_no_object(rows, frame, found):
    layers = made([PLACE, PERSON], STOOD[::-1])
    assert objects(layers, news(), moved_to(rows, frame=frame)) == found
