"""One run.json of what the run.json of all segments say."""

from __future__ import annotations

import pytest

from bgsub.errors import OutputError
from bgsub.options import RunOptions
from bgsub.outliers.errors_table import BOTH, PLACE, WHOLE
from bgsub.segments.join import FilmFacts, join_facts
from bgsub.segments.plan import Segment, SegmentPlan

IDENTITY = {"name": "film.mp4", "path": "film.mp4", "sha256": "0" * 64}
SEGMENTS = (Segment(1, 1, 100, ""), Segment(2, 101, 200, "it became darker"))
PLAN = SegmentPlan(IDENTITY, RunOptions(), SEGMENTS, "/somewhere")


def event(first, last, *, peak=None, score=20.0, flag=WHOLE):
    return {
        "number": 1,
        "first_frame": first,
        "last_frame": last,
        "start_s": (first - 1) / 25,
        "end_s": (last - 1) / 25,
        "peak_frame": peak or first,
        "peak_time_s": ((peak or first) - 1) / 25,
        "peak_score": score,
        "n_frames": last - first + 1,
        "flag": flag,
    }


def said(*events, used=100, **more):
    """What a segment's run.json says."""
    return {
        "input": {"codec": "h264", "name": "a segment"},
        "events": list(events),
        "frames": {
            "used": used,
            "decoded": used,
            "bad": 0,
            "doubtful": 0,
            "outliers": sum(each["n_frames"] for each in events),
            "after_scene_change": 0,
        },
        "bad_frames": [],
        "doubtful_frames": [],
        "warnings": [],
        "hints": [],
        "stages_s": {"fit": 1.0},
        "peak_memory_bytes": 5,
        **more,
    }


def facts_of(*segments):
    film = FilmFacts(PLAN)
    for segment, found in zip(SEGMENTS, segments, strict=True):
        film.add(segment, found)
    return film.to_json()


def test_frames_and_seconds_add_up_and_the_input_is_the_film():
    facts = facts_of(said(used=100), said(used=60))
    assert facts["frames"]["used"] == 160
    assert facts["stages_s"] == {"fit": 2.0}
    assert facts["input"]["name"] == "film.mp4"
    assert facts["input"]["codec"] == "h264"
    assert [each["reason"] for each in facts["segments"]] == ["", "it became darker"]


def test_memory_is_that_of_the_segment_that_takes_most():
    plans = [{"expected_bytes": size, "frames_kept": kept} for size, kept in ((7, "a"), (9, "b"))]
    facts = facts_of(said(memory=plans[1]), said(memory=plans[0]))
    assert facts["memory"] == plans[1]
    assert "memory" not in facts_of(said(), said())


def test_an_event_that_goes_on_over_a_border_is_one():
    first, second = event(90, 100, score=20.0), event(101, 108, peak=104, score=50.0, flag=PLACE)
    (joined,) = facts_of(said(event(5, 6), first), said(second))["events"][1:]
    assert (joined["number"], joined["first_frame"], joined["last_frame"]) == (2, 90, 108)
    assert (joined["peak_frame"], joined["peak_score"]) == (104, 50.0)
    assert joined["n_frames"] == 19
    assert joined["flag"] == BOTH


def test_events_a_second_apart_stay_two():
    facts = facts_of(said(event(70, 75)), said(event(100, 108)))
    assert [each["number"] for each in facts["events"]] == [1, 2]


def test_where_a_segment_knows_of_no_outliers_the_film_does_not_either():
    frames = {**said()["frames"], "outliers": None, "after_scene_change": None}
    facts = facts_of(said(event(5, 6)), said(events=None, frames=frames))
    assert facts["events"] is None
    assert facts["frames"]["outliers"] is None
    assert facts["frames"]["used"] == 200


def test_a_share_of_masks_counts_by_frames():
    masks = {"mask_share": 0.1, "mask_frames": 100, "empty_masks": 10}
    more = {"mask_share": 0.4, "mask_frames": 50, "empty_masks": 1}
    facts = facts_of(said(**masks), said(used=50, **more))
    assert facts["mask_share"] == pytest.approx(0.2)
    assert (facts["mask_frames"], facts["empty_masks"]) == (150, 11)


def test_a_hint_says_where_it_holds_unless_it_is_everywhere():
    facts = facts_of(said(hints=["too dark", "it shakes"]), said(hints=["too dark"]))
    assert facts["hints"] == ["too dark", "segment 1: it shakes"]


def test_spans_of_doubtful_frames_that_touch_are_one():
    facts = facts_of(
        said(doubtful_frames=[[90, 100]]), said(doubtful_frames=[[101, 103], [150, 150]])
    )
    assert facts["doubtful_frames"] == [[90, 103], [150, 150]]


def test_a_change_in_the_middle_is_a_finding_and_the_last_one_is_the_films():
    change = {"first_frame": 80, "first_time_s": 3.16}
    inner = facts_of(said(scene_change=change), said())
    assert inner["scene_change"] is None
    assert "from 80 to 100, the end of segment 1, the scene stays different" in inner["findings"]
    assert facts_of(said(), said(scene_change=change))["scene_change"] == change


def test_nothing_is_summed_up_while_a_segment_is_missing(tmp_path):
    with pytest.raises(OutputError, match=r"2 of 2 segments are missing \(1, 2\); go on with"):
        join_facts(tmp_path, PLAN)


def test_a_segment_in_which_nobody_is_gets_no_advice():
    empty = "every mask is empty: nothing differs from the background"
    assert facts_of(said(hints=[]), said(hints=[empty]))["hints"] == []
    assert facts_of(said(hints=[empty]), said(hints=[empty]))["hints"] == [empty]
