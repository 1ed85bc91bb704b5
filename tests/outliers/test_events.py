from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub import TRPCA
from bgsub.errors import UsageError
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import (
    Event,
    EventOptions,
    find_events,
    fit_table,
    gap_of,
    outlier_frames,
    with_cutoff,
)
from bgsub.outliers.false_alarms import DEFAULT_CUTOFF
from bgsub.outliers.scene_change import SceneChange
from bgsub.robustpca.gram import gram_matrix


def make_table(scores, **more) -> ErrorTable:
    scores = np.asarray(scores, dtype=float)
    n = scores.size
    values = {
        "frames": np.arange(1, n + 1) * 3,
        "times": np.arange(n) / 10,
        "errors": np.ones(n),
        "pixels": 1,
        "scores": scores,
    }
    return ErrorTable(**{**values, **more})


tables = st.lists(st.sampled_from([0.0, 1.0, 11.9, 12.0, 12.1, 50.0]), min_size=1, max_size=40).map(
    make_table
)


def covered(table: ErrorTable, events: list[Event]) -> np.ndarray:
    """Which frames lie in an event."""
    inside = np.zeros(table.frames.size, dtype=int)
    for event in events:
        inside += (table.frames >= event.first_frame) & (table.frames <= event.last_frame)
    assert inside.max(initial=0) <= 1
    return inside == 1


def test_an_event() -> None:
    (event,) = find_events(make_table([0, 20, 40, 40, 13, 0]))
    assert event == Event(
        number=1,
        first_frame=6,
        last_frame=15,
        start_s=0.1,
        end_s=0.4,
        peak_frame=9,
        peak_time_s=0.2,
        peak_score=40.0,
        n_frames=4,
        flag="whole",
    )


@given(tables)
def test_events_are_the_runs_of_flagged_frames(table: ErrorTable) -> None:
    events = find_events(table, merge_gap=0)
    assert covered(table, events).tolist() == table.outliers.tolist()
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    for one, next_one in itertools.pairwise(events):
        assert one.last_frame + 3 < next_one.first_frame
    for event in events:
        inside = (table.frames >= event.first_frame) & (table.frames <= event.last_frame)
        assert event.n_frames == inside.sum()
        assert event.peak_score == table.scores[inside].max()
        assert table.scores[table.frames == event.peak_frame] == event.peak_score


@given(tables, st.integers(0, 6), st.integers(1, 6))
def test_merging_and_dropping(table: ErrorTable, gap: int, length: int) -> None:
    merged = find_events(table, merge_gap=gap)
    inside = covered(table, merged)
    assert inside[table.outliers].all()
    for one, next_one in itertools.pairwise(merged):
        assert (next_one.first_frame - one.last_frame) // 3 - 1 > gap
    for event in merged:
        ends = np.isin(table.frames, [event.first_frame, event.last_frame])
        assert table.outliers[ends].all()
    kept = find_events(table, merge_gap=gap, min_length=length)
    spans = [(e.first_frame, e.last_frame) for e in merged if e.n_frames >= length]
    assert [(e.first_frame, e.last_frame) for e in kept] == spans


@given(tables, st.integers(1, 5))
def test_top_keeps_the_highest(table: ErrorTable, top: int) -> None:
    every = find_events(table, merge_gap=0)
    best = find_events(table, top=top, merge_gap=0)
    assert len(best) == min(top, len(every))
    assert [e for e in every if e in best] == best
    left_out = [e.peak_score for e in every if e not in best]
    assert max(left_out, default=-1) <= min((e.peak_score for e in best), default=0)


@given(tables, st.floats(0, 0.99))
def test_quantile_marks_its_share(table: ErrorTable, quantile: float) -> None:
    marked = with_cutoff(table, quantile=quantile).outliers
    assert marked.sum() <= np.ceil((1 - quantile) * table.frames.size)
    if marked.any():
        assert table.scores[marked].min() > table.scores[~marked].max(initial=-1)


def test_cutoff_replaces_marks() -> None:
    table = make_table([0, 5, 9], marked=np.array([True, True, True]))
    assert with_cutoff(table) is table
    assert with_cutoff(table, cutoff=6.0).outliers.tolist() == [False, False, True]
    assert len(find_events(table, cutoff=1.0)) == 1


def test_no_event_in_a_changed_scene() -> None:
    change = SceneChange(first_frame=15, first_time=0.4)
    table = make_table([0, 20, 0, 20, 20, 20], scene_change=change)
    assert outlier_frames(table).tolist() == [False, True, False, True, False, False]
    assert [(e.first_frame, e.last_frame) for e in find_events(table, merge_gap=0)] == [
        (6, 6),
        (12, 12),
    ]
    # Nor do its frames use up the quantile.
    assert with_cutoff(make_table([0, 1, 2, 3, 9, 9], scene_change=change), quantile=0.7).cutoff < 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cutoff": 3.0, "quantile": 0.5}, "exclude each other"),
        ({"cutoff": float("nan")}, "--cutoff nan: must be a finite number"),
        ({"quantile": 1.0}, "quantile 1"),
        ({"quantile": -0.1}, "quantile -0.1"),
        ({"top": 0}, "top 0"),
        ({"min_length": 0}, "min-length 0"),
        ({"merge_gap": -1}, "merge-gap -1"),
        ({"merge_gap": "soon"}, "merge-gap soon"),
        ({"merge_gap": True}, "merge-gap True"),
        ({"merge_gap": "1.5"}, "merge-gap 1.5"),
    ],
)
def test_values_out_of_range(options, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        find_events(make_table([0, 20]), **options)


def test_table_of_a_fit() -> None:
    rng = np.random.default_rng(0)
    still = rng.integers(40, 200, size=600)
    rows = np.clip(still + rng.normal(scale=2.0, size=(80, 600)), 0, 255).astype(np.uint8)
    rows[30:40, :60] = 255
    gram = gram_matrix(rows)
    estimator = TRPCA(2, random_state=0).fit_gram(gram)
    frames, times = np.arange(1, 81), np.arange(80) / 25
    table = fit_table(estimator, gram, frames=frames, times=times, pixels=600)
    assert table.cutoff == DEFAULT_CUTOFF
    assert table.pixels == 600
    assert table.errors is estimator.errors_
    assert [(e.first_frame, e.last_frame) for e in find_events(table)] == [(31, 40)]
    # A still scene: the floor of the scale decides, and pure noise stays far below the cut-off.
    assert np.abs(np.delete(table.scores, np.s_[30:40])).max() < 3.0
    fitted = fit_table(estimator, gram, frames=frames, times=times, pixels=600, cutoff=1e9)
    assert not fitted.outliers.any()


def test_events_less_than_a_second_apart_are_one_unless_told_otherwise() -> None:
    scores = np.zeros(200)
    for first, stop in ((10, 12), (30, 32), (56, 58), (120, 121)):
        scores[first:stop] = 40.0
    table = ErrorTable(np.arange(1, 201), np.arange(200) / 25, scores, 1, scores)

    def spans(**options):
        return [(e.first_frame, e.last_frame) for e in find_events(table, **options)]

    assert spans() == [(11, 32), (57, 58), (121, 121)]  # 25 frames later is 1 s apart
    assert spans(merge_gap="1.1s") == [(11, 58), (121, 121)]
    assert spans(merge_gap="0s") == spans(merge_gap=0)
    assert spans(merge_gap=24) == [(11, 58), (121, 121)]
    assert spans(merge_gap="18") == [(11, 32), (57, 58), (121, 121)]


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
