"""Pairs of objects and detections."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bgsub.tracking.association import ALONE, FORBIDDEN, assign, covered, is_other, pairing_costs
from bgsub.tracking.detections import Detection
from bgsub.tracking.targets import Motion, Target


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
    several = np.full((6, 6), far)
    several[:3, :3] = ghost, car, other
    several[range(2, 5), range(2, 5)] = 1.6
    several[range(3, 6), range(2, 5)] = 0.1
    assert assign(several) == [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]


def test_the_trivial_case_imports_no_scipy():
    assert assign(np.array([[1.0, FORBIDDEN], [FORBIDDEN, 1.5]])) == [(0, 0), (1, 1)]
    assert assign(np.zeros((0, 3))) == []


def make(x, y, side=10.0, level=50.0):
    color = np.array([level])
    motion = Motion(x, y, side)
    motion.predict(1, side)
    return Target(motion, side, side, side**2, color)


def found(x, y, side=10.0, level=50.0):
    box = (x - side / 2, y - side / 2, side, side)
    return Detection(box, x, y, side**2, color=np.array([level]))


def test_nearer_alike_and_of_the_same_size_costs_less():
    target = make(50, 50)
    near = [found(51, 50), found(54, 50), found(51, 50, level=80), found(51, 50, side=14)]
    costs = pairing_costs([target], near)[0]
    assert costs[0] < costs[1:].min()
    assert costs.max() < FORBIDDEN


def test_a_pair_that_can_be_costs_less_than_an_object_without_a_detection():
    others = [found(x, 50, side, 80) for x in range(50, 100) for side in (5, 10, 25)]
    costs = pairing_costs([make(50, 50)], others)
    assert 1 < costs[costs < FORBIDDEN].max() < ALONE


def test_what_is_far_off_is_out_of_the_question():
    assert pairing_costs([make(50, 50)], [found(150, 50)])[0, 0] >= FORBIDDEN


@pytest.mark.parametrize(
    ("by", "share"), [((0, 0, 10, 10), 1), ((5, 0, 10, 10), 0.5), ((20, 0, 5, 5), 0)]
)
def test_the_share_of_a_box_that_is_covered(by, share):
    assert covered((0, 0, 10, 10), by) == share


def test_a_region_of_another_order_is_not_the_object_unless_the_border_cut_it():
    car = Target(Motion(50, 50, 40), 50, 32, 1500.0, ())
    sliver = Detection((48, 48, 4, 5), 50, 50, 20)
    half = Detection((40, 40, 30, 25), 55, 52, 700)
    assert is_other(car, sliver)
    assert not is_other(car, half)
    assert pairing_costs([car], [sliver])[0, 0] == FORBIDDEN
    car.is_cut = True
    assert not is_other(car, sliver)
    assert pairing_costs([car], [sliver])[0, 0] < FORBIDDEN


def lost(seconds, side=5.0, **looks):
    """A small thing at rest that was last seen so long ago."""
    target = make(50, 50, side, **looks)
    for _ in range(20):
        target.motion.predict(1, side)
        target.motion.correct(50, 50, side)
    for _ in range(round(25 * seconds)):
        target.motion.predict(1, side)
    return target


def test_far_from_where_it_is_expected_only_what_looks_like_it_is_it():
    leaf = lost(0.8)
    assert pairing_costs([leaf], [found(68, 50)])[0, 0] == FORBIDDEN
    assert pairing_costs([leaf], [found(68, 50, side=5, level=120)])[0, 0] == FORBIDDEN
    assert pairing_costs([leaf], [found(68, 50, side=6, level=60)])[0, 0] < FORBIDDEN
    assert pairing_costs([leaf], [found(53, 50, level=120)])[0, 0] < FORBIDDEN


def test_the_border_does_not_make_a_newcomer_of_what_was_lost_far_away():
    leaf = lost(0.8)
    leaf.is_cut = True
    assert pairing_costs([leaf], [found(68, 50)])[0, 0] == FORBIDDEN


def test_a_pair_costs_the_same_among_many():
    rng = np.random.default_rng(0)
    places = rng.uniform(0, 90, (12, 4))
    tracks = [make(x, y, level=100 * z) for x, y, z, _ in places]
    for track in tracks[::3]:
        track.is_cut = True
    regions = [found(x, y, 4 + 16 * z, 100 * w) for x, y, z, w in places + rng.normal(0, 6)]
    costs = pairing_costs(tracks, regions)
    single = [[pairing_costs([one], [two])[0, 0] for two in regions] for one in tracks]
    np.testing.assert_array_equal(costs, single)
    assert 0 < np.count_nonzero(costs < FORBIDDEN) < costs.size
