"""Objects that are followed: which detection is theirs, and where they are in a shared region."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bgsub.tracking.detections import Detection, find_detections
from bgsub.tracking.targets import (
    ALONE,
    FORBIDDEN,
    Appearance,
    Motion,
    Target,
    assign,
    find_shares,
    pairing_costs,
)


@given(
    hnp.arrays(
        float,
        st.tuples(st.integers(1, 6), st.integers(1, 6)),
        elements=st.one_of(st.just(FORBIDDEN), st.floats(0, 2)),
    )
)
def test_the_sum_of_costs_is_least(costs):
    pairs = assign(costs)
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    assert all(costs[pair] < ALONE for pair in pairs)
    rows, columns = costs.shape
    total = sum(costs[pair] for pair in pairs) + ALONE * (rows - len(pairs))
    least = np.full(2**columns, np.inf)  # by the columns that are taken
    least[0] = 0
    for row in costs:
        after = least + ALONE
        for taken, j in itertools.product(range(2**columns), range(columns)):
            if not taken >> j & 1:
                with_it = taken | 1 << j
                after[with_it] = min(after[with_it], least[taken] + row[j])
        least = after
    assert total == pytest.approx(least.min())


def test_nobody_is_pushed_on_to_the_place_of_the_next():
    far = FORBIDDEN
    ghost, car, other = [0.5, far, far], [0.1, 1.6, far], [far, 0.1, 1.6]
    assert assign(np.array([ghost, car, other])) == [(1, 0), (2, 1)]


def target(x, y, width=10, height=10, color=(), **known):
    motion = Motion(x + width / 2, y + height / 2, (width * height) ** 0.5)
    area = float(width * height)
    return Target(motion, width, height, area, np.array(color, float), **known)


def found(x, y, side=10.0, level=50.0):
    box = (x - side / 2, y - side / 2, side, side)
    return Detection(box, x, y, side**2, color=np.array([level]))


def test_a_pair_costs_less_the_nearer_and_the_more_alike_and_never_as_much_as_none():
    known = target(45, 45, color=(50.0,))
    known.motion.predict(1, 10)
    near = [found(51, 50), found(54, 50), found(51, 50, level=80), found(51, 50, side=14)]
    costs = pairing_costs([known], near)[0]
    assert costs[0] < costs[1:].min()
    assert costs.max() < ALONE
    assert pairing_costs([known], [found(150, 50)])[0, 0] == FORBIDDEN


def test_a_region_of_another_order_is_not_the_object_unless_the_border_cut_it():
    car, sliver = target(25, 34, 50, 32), Detection((48, 48, 4, 5), 50, 50, 20)
    assert pairing_costs([car], [sliver])[0, 0] == FORBIDDEN
    car.is_cut = True
    assert pairing_costs([car], [sliver])[0, 0] < FORBIDDEN


def test_far_from_where_it_is_expected_only_what_looks_like_it_is_it():
    leaf = target(47.5, 47.5, 5, 5, color=(50.0,))
    for _ in range(20):
        leaf.motion.predict(1, 5)
        leaf.motion.correct(50, 50, 5)
    for _ in range(20):  # it is lost
        leaf.motion.predict(1, 5)
    costs = pairing_costs([leaf], [found(68, 50), found(68, 50, 5, 120), found(68, 50, 6, 60)])
    assert (costs[0] == FORBIDDEN).tolist() == [True, True, False]


def region_of(draw, places):
    mask, picture = draw(places)
    (region,) = find_detections(mask, picture=picture)
    return region, picture


def test_colours_tell_who_is_who_when_motion_is_wrong(draw):
    dark, bright = target(40, 40, color=(30,) * 3), target(60, 40, color=(220,) * 3)
    for known, level in ((dark, 30), (bright, 220)):
        known.learn(*region_of(draw, [(*known.box[:2], 10, 10, level)]))
    # They have passed each other: each is predicted some pixels from where it is.
    for known, predicted in ((dark, 50), (bright, 49)):
        known.motion = Motion(predicted, 45, known.size)
        known.motion.predict(1, known.size)
    region, picture = region_of(draw, [(52, 40, 10, 10, 30), (43, 40, 10, 10, 220)])
    boxes = find_shares([dark, bright], region, picture)
    assert [box[0] for box in boxes] == pytest.approx([52, 43], abs=1.5)


@pytest.mark.parametrize("width", [18, 12])
def test_one_that_is_not_recognised_is_beside_the_other_where_there_is_room(draw, width):
    dark, bright = target(40, 40, color=(30,) * 3), target(49, 40, color=(220,) * 3)
    for known, level in ((dark, 30), (bright, 220)):
        known.learn(*region_of(draw, [(*known.box[:2], 10, 10, level)]))
    dark.motion = Motion(50, 45, dark.size)  # drawn to the other
    dark.motion.predict(1, dark.size)
    left = 59 - width  # what is left of the dark one has another colour now
    region, picture = region_of(draw, [(left, 40, width, 10, 120), (49, 40, 10, 10, 220)])
    boxes = find_shares([dark, bright], region, picture)
    assert boxes[1][0] == pytest.approx(49, abs=1)
    assert boxes[0][0] == pytest.approx(41 if width == 18 else 47, abs=1.5)


def test_tiny_ones_that_look_alike_part_the_region_among_them(draw):
    region, picture = region_of(draw, [(40, 30, 7, 7, 20), (47, 31, 7, 7, 20)])
    dark = (20, 20, 20)
    pair = [target(x, y, 7, 7, dark) for x, y in ((42.5, 28), (45.5, 33))]  # predictions are off
    for _ in range(8):
        boxes = find_shares(pair, region, picture)
    for box, (x, y) in zip(boxes, ((40, 30), (47, 31)), strict=True):
        assert box[:2] == pytest.approx((x, y), abs=1.0)


def test_an_object_is_found_by_its_looks_within_its_region():
    rng = np.random.default_rng(3)
    scene = rng.integers(90, 110, (80, 120, 3)).astype(np.uint8)
    thing = rng.integers(0, 255, (20, 12, 3)).astype(np.uint8)
    before, after = scene.copy(), scene.copy()
    before[30:50, 40:52] = thing
    after[33:53, 45:57] = thing
    looks = Appearance(before, (40, 30, 12, 20), np.ones((20, 12), bool))
    assert looks.locate(after, (46, 40), 8, (0, 0, 120, 80)) == (51, 43, 1)
    assert looks.locate(after, (100, 60), 5, (0, 0, 120, 80)) is None
    for left, width in ((40, 30), (47, 30), (20, 35), (47, 8), (45, 3)):  # outlines breathe
        assert looks.locate(after, (46, 40), 8, (left, 30, width, 25)) == (51, 43, 1)
    for left, width in ((48, 30), (20, 34), (20, 5)):
        assert looks.locate(after, (46, 40), 8, (left, 30, width, 25)) is None
