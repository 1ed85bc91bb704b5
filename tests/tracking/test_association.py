"""Pairs of objects and detections."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bgsub.tracking.association import FORBIDDEN, assign, covered, is_other, pairing_costs
from bgsub.tracking.detections import Detection
from bgsub.tracking.motion import Motion
from bgsub.tracking.target import Target


@given(
    hnp.arrays(
        float,
        st.tuples(st.integers(1, 6), st.integers(1, 6)),
        elements=st.one_of(st.just(FORBIDDEN), st.floats(0, 10)),
    )
)
def test_the_sum_of_costs_is_least(costs):
    pairs = assign(costs)
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    assert all(costs[pair] < FORBIDDEN for pair in pairs)
    total = sum(costs[pair] for pair in pairs) + FORBIDDEN * (min(costs.shape) - len(pairs))
    rows, columns = sorted(costs.shape)
    table = costs if costs.shape[0] == rows else costs.T
    orders = itertools.permutations(range(columns), rows)
    assert total == pytest.approx(min(sum(table[range(rows), order]) for order in orders))


def test_the_trivial_case_imports_no_scipy():
    assert assign(np.array([[1.0, FORBIDDEN], [FORBIDDEN, 2.0]])) == [(0, 0), (1, 1)]
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
