"""The filter that predicts where an object will be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.tracking.targets import Motion


@given(vx=st.floats(-5, 5), vy=st.floats(-5, 5), step=st.integers(1, 4))
def test_it_learns_a_constant_velocity(vx, vy, step):
    motion = Motion(10, 20, size=10)
    for t in range(step, 40 * step, step):
        motion.predict(step, 10)
        motion.correct(10 + vx * t, 20 + vy * t, 10)
    assert (motion.vx, motion.vy) == pytest.approx((vx, vy), abs=0.1)
    motion.predict(step, 10)
    assert motion.x == pytest.approx(10 + vx * 40 * step, abs=0.5)


def test_the_spread_grows_while_nothing_is_measured_and_shrinks_when_it_is():
    motion = Motion(0, 0, size=10)
    spreads = []
    for _ in range(5):
        motion.predict(1, 10)
        spreads.append(motion.spread)
    assert spreads == sorted(spreads)
    motion.correct(0, 0, 10)
    assert motion.spread < spreads[0]


def test_an_uncertain_measurement_moves_it_less():
    moved = []
    for trust in (1.0, 0.3):
        motion = Motion(0, 0, size=10)
        motion.predict(1, 10)
        motion.correct(4, 0, 10, trust)
        moved.append(motion.x)
    assert 0 < moved[1] < moved[0] <= 4
