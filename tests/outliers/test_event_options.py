"""Events: a gap is frames or seconds, and outliers are told in one way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import UsageError
from bgsub.outliers.event_options import EventOptions, gap_of


class TestGap:
    @given(st.integers(0, 10**9 - 1))
    def test_whole_numbers_are_frames(self, frames):
        assert gap_of(frames) == gap_of(str(frames)) == (frames, None)
        assert EventOptions(merge_gap=str(frames)).merge_gap == frames

    @given(st.decimals(0, 10**6, places=3))
    def test_with_an_s_they_are_seconds(self, seconds):
        assert gap_of(f"{seconds}s") == (None, float(seconds))
        assert EventOptions(merge_gap=f"{seconds}s").merge_gap == f"{seconds}s"

    @pytest.mark.parametrize("gap", [-1, "-1", "1.5", "1 s", "s", "", "1e3", True, "٣", 2.0])
    def test_anything_else_is_refused(self, gap):
        assert gap_of(gap) == (None, None)
        with pytest.raises(UsageError, match=r"whole number of frames, or seconds"):
            EventOptions(merge_gap=gap)


class TestCutoff:
    def test_unset_it_is_that_of_the_run(self):
        assert EventOptions().chosen_cutoff is None

    def test_one_false_alarm_in_a_thousand_is_the_default_of_a_run(self):
        assert EventOptions(false_alarms=0.001).chosen_cutoff == pytest.approx(12)
        assert EventOptions(cutoff=7.5).chosen_cutoff == 7.5

    @pytest.mark.parametrize("sign", [-1, 1])
    def test_it_lies_within_a_milliard(self, sign):
        assert EventOptions(cutoff=sign * 1e9).chosen_cutoff == sign * 1e9
        with pytest.raises(UsageError, match="from -1e9 to 1e9"):
            EventOptions(cutoff=sign * 1.0000001e9)

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"cutoff": 5, "quantile": 0.9}, "--cutoff and --quantile"),
            ({"cutoff": 5, "false_alarms": 0.1}, "--cutoff and --false-alarms"),
            ({"false_alarms": 0.1, "quantile": 0.9}, "--false-alarms and --quantile"),
        ],
    )
    def test_two_ways_exclude_each_other(self, given, said):
        with pytest.raises(UsageError, match=f"{said} exclude each other"):
            EventOptions(**given)

    @pytest.mark.parametrize("quantile", [1.0, -0.1, float("nan")])
    def test_a_quantile_is_a_share_below_one(self, quantile):
        with pytest.raises(UsageError, match="--quantile"):
            EventOptions(quantile=quantile)
