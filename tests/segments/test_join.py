"""What segments are joined into; tests/segments/test_run.py says that every frame is right."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.options import RunOptions
from bgsub.outliers.errors_table import BOTH, PLACE, WHOLE, ErrorTable, read_csv, write_csv
from bgsub.pipeline.results import ResultsDirectory, Stopwatch
from bgsub.segments.join import (
    MODELS,
    MOST_ROWS,
    join_errors,
    join_objects,
    join_segments,
    joined_facts,
    joined_names,
    read_overview,
)
from bgsub.segments.plan import Segment, SegmentPlan
from bgsub.tracking.recorder import ObjectOptions, ObjectTables
from bgsub.tracking.regions import Region
from bgsub.tracking.tables import read_objects, read_tracks
from bgsub.tracking.tracker import Observation


def test_models_are_a_folder_and_all_else_is_named_as_of_any_run(options):
    chosen = options(outputs={"model", "mask", "errors", "plot"}, format="mkv", plot_format="svg")
    assert sorted(joined_names(chosen)) == ["errors.csv", "errors.svg", "mask.mkv", MODELS]
    assert joined_names(options(outputs={"mask"}, format="mkv")) == ["mask.mkv"]


def test_a_missing_segment_is_named_and_nothing_is_left(options, tmp_path):
    chosen = options(outputs={"mask"})
    segments = tuple(Segment(n, 10 * n, 10 * n + 9, "") for n in range(1, 8))
    plan = SegmentPlan({"name": "a", "sha256": ""}, chosen, segments, "")
    out = tmp_path / "out"
    with (
        pytest.raises(OutputError, match=r"7 of 7 segments are missing \(1, 2, 3, 4, 5, …\)"),
        ResultsDirectory(out, joined_names(chosen)) as results,
    ):
        join_segments(out, results, plan, Stopwatch())
    assert not out.exists() or not list(out.iterdir())


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
    return joined_facts(PLAN, segments)


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


def test_a_segment_in_which_nobody_is_gets_no_advice():
    empty = "every mask is empty: nothing differs from the background"
    assert facts_of(said(hints=[]), said(hints=[empty]))["hints"] == []
    assert facts_of(said(hints=[empty]), said(hints=[empty]))["hints"] == [empty]


def table(n, *, local=True):
    rng = np.random.default_rng(1)
    return ErrorTable(
        np.arange(1, n + 1),
        np.arange(n) / 25,
        rng.uniform(100, 200, n),
        100,
        rng.uniform(0, 5, n),
        local=rng.uniform(0, 5, n) if local else None,
    )


@pytest.mark.parametrize("local", [True, False])
def test_all_of_a_short_film_is_read(tmp_path, local):
    write_csv(table(500, local=local), tmp_path / "errors.csv")
    ours, theirs = (
        read_overview(tmp_path / "errors.csv", 500, 12.0),
        read_csv(tmp_path / "errors.csv"),
    )
    for name in ("frames", "times", "errors", "scores", "outliers", "rmse"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name))
    assert (ours.local is None) == (not local)


def test_of_a_long_film_what_stands_out_is_kept(tmp_path):
    n = 4 * MOST_ROWS
    whole = table(n)
    whole.scores[7777], whole.errors[12345], whole.local[20000] = 99.0, 1e6, 77.0
    write_csv(whole, tmp_path / "errors.csv")
    found = read_overview(tmp_path / "errors.csv", n, 12.0)
    assert found.frames.size <= MOST_ROWS
    assert (np.diff(found.frames) > 0).all()
    assert {7778, 12346, 20001} <= set(found.frames.tolist())
    assert set(found.frames[found.outliers].tolist()) == {7778, 20001}
    assert found.errors.min() == pytest.approx(whole.errors.min())


AREA = (0, 0, 320, 240)


def seen(frame, track, x, y=50.0, size=20.0):
    area = 0.7 * size * size
    return Observation(
        frame,
        (frame - 1) / 25,
        track,
        (x, y, size, size),
        x + size / 2,
        y + size / 2,
        area,
        3.0,
        "any",
    )


def write(folder, frames):
    folder.mkdir()
    tables = ObjectTables(folder, AREA)
    for frame in frames:
        tables.add(frame)
    tables.finish()
    return folder / "objects.csv"


def joined(tmp_path, *parts, end_s=0.0, **options):
    paths = [write(tmp_path / str(number), part) for number, part in enumerate(parts)]
    (tmp_path / "all").mkdir()
    return join_objects(
        paths, tmp_path / "all", AREA, ObjectOptions(**options), frame_events=[], end_s=end_s
    )


def test_an_object_that_walks_over_a_border_is_one(tmp_path):
    first = [[seen(n, 1, 4.0 * n)] for n in range(1, 31)]
    second = [[seen(n, 1, 4.0 * n)] for n in range(32, 60)]
    found = joined(tmp_path, first, second)
    (track,) = found.tracks
    assert (track.first_frame, track.last_frame, track.frames) == (1, 59, 58)
    assert track.displacement_px == pytest.approx(4.0 * 58)
    (event,) = found.events
    assert (event.first_frame, event.last_frame, event.tracks) == (1, 59, (1,))
    assert {each.track for each in read_objects(tmp_path / "all" / "objects.csv")} == {1}
    assert next(iter(read_tracks(tmp_path / "all" / "tracks.csv"))).frames == 58


def test_tracks_are_as_of_one_run_where_none_crosses_a_border(tmp_path):
    first = [[seen(n, 1, 4.0 * n), seen(n, 2, 300 - 4.0 * n, 150, 22)] for n in range(1, 31)]
    second = [[seen(n, 1, 200.0)] for n in range(100, 130)]
    found = joined(tmp_path, first, second)
    again = joined_as_one(tmp_path, [*first, *[[seen(n, 3, 200.0)] for n in range(100, 130)]])
    for name in ("objects.csv", "tracks.csv", "events.csv", "events.json"):
        assert (tmp_path / "all" / name).read_text() == (again / name).read_text()
    assert len(found.tracks) == 3


def joined_as_one(tmp_path, frames):
    return write(tmp_path / "one", frames).parent


@pytest.mark.parametrize(
    "other",
    [
        {"x": 200.0},  # elsewhere
        {"size": 60.0},  # of another size
        {"frame": 80},  # too late
    ],
)
def test_another_object_gets_a_number_of_its_own(tmp_path, other):
    first = [[seen(n, 1, 100.0)] for n in range(1, 31)]
    place = {"frame": 32, "x": 100.0, "size": 20.0} | other
    second = [[seen(place["frame"] + n, 1, place["x"], 50.0, place["size"])] for n in range(10)]
    assert [track.track for track in joined(tmp_path, first, second).tracks] == [1, 2]


def test_two_that_pass_each_other_keep_their_ways(tmp_path):
    first = [[seen(n, 1, 4.0 * n), seen(n, 2, 200 - 4.0 * n)] for n in range(1, 26)]
    second = [[seen(n, 2, 4.0 * n), seen(n, 1, 200 - 4.0 * n)] for n in range(26, 50)]
    found = joined(tmp_path, first, second)
    ways = {track.track: track.displacement_px for track in found.tracks}
    assert ways == {1: pytest.approx(192.0), 2: pytest.approx(192.0)}


def test_who_left_a_region_has_left_it_where_the_film_goes_on(tmp_path):
    square = np.array([[0, 0], [160, 0], [160, 240], [0, 240]], np.float32)
    part = [[seen(n, 1, 4.0 * n)] for n in range(1, 31)]
    joined(tmp_path, part, [], regions=(Region("left", square),), end_s=60.0)
    with (tmp_path / "all" / "regions.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["entries"], row["exits"]) == ("1", "1")


def test_a_table_may_have_no_rows(tmp_path):
    found = joined(tmp_path, [], [[seen(n, 1, 100.0)] for n in range(40, 50)], [])
    assert len(found.tracks) == 1
    assert found.observations == 10


def test_rows_of_errors_follow_each_other_under_one_header(tmp_path):
    for name, text in (("a", "h,i\n1,2\n"), ("b", "h,i\n3,4\n5,6\n")):
        (tmp_path / name).write_text(text)
    join_errors([tmp_path / "a", tmp_path / "b"], tmp_path / "all")
    assert (tmp_path / "all").read_text() == "h,i\n1,2\n3,4\n5,6\n"
