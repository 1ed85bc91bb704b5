"""Where segments begin, what their fits see, and the plan, which any process can read."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import InputError
from bgsub.pipeline.results import input_identity
from bgsub.segments.plan import (
    SegmentPlan,
    clear,
    equal_parts,
    load_plan,
    segment_folder,
    segments_of,
)
from bgsub.video.selection import Position


@pytest.fixture
def plan(scene, save, options):
    footage, chosen = save(scene(150)), options(segment=50, outputs={"mask", "plot"})
    return SegmentPlan(input_identity(footage), chosen, segments_of(footage, chosen))


def test_it_is_read_as_it_was_written(plan, tmp_path):
    plan.save(tmp_path / "new")
    assert load_plan(tmp_path / "new") == plan
    assert [each.name for each in (tmp_path / "new" / ".segments").iterdir()] == ["plan.json"]


def test_the_segments_follow_each_other(plan):
    spans = [(segment.number, segment.first, segment.last) for segment in plan.segments]
    assert spans == [(1, 1, 50), (2, 51, 100), (3, 101, None)]


def test_a_segment_is_an_ordinary_run_that_draws_nothing_of_all_frames(plan):
    options = plan.segment_options(2)
    assert (options.source.start, options.source.end) == (51, 100)
    assert options.segment == "off"
    assert options.outputs == {"mask", "errors"}


def test_the_fingerprint_is_of_what_decides_about_the_results(plan, options):
    others = [
        options(segment=50, outputs={"mask", "plot"}, **changes)
        for changes in ({"k": 3}, {"end": 120}, {"format": "mkv"})
    ]
    same = options(segment=50, outputs={"mask", "plot"}, jobs=4, resume=True, memory="3G")
    prints = {
        type(plan)(plan.identity, each, plan.segments, "/").fingerprint for each in [same, *others]
    }
    assert plan.fingerprint in prints
    assert len(prints) == 4


@pytest.mark.parametrize("change", ["nothing there", "no JSON", "other version", "other options"])
def test_what_is_no_plan_is_refused_by_name(plan, tmp_path, change):
    plan.save(tmp_path)
    path = tmp_path / ".segments" / "plan.json"
    plain = json.loads(path.read_text())
    if change == "nothing there":
        path.unlink()
    elif change == "no JSON":
        path.write_text("{")
    else:
        plain |= {"version": 99} if change == "other version" else {"fingerprint": "0" * 64}
        path.write_text(json.dumps(plain))
    with pytest.raises(InputError, match=r"segments|plan.json: is no plan of this bgsub"):
        load_plan(tmp_path)


def test_segments_are_cleared_and_nothing_else(plan, tmp_path):
    plan.save(tmp_path)
    segment_folder(tmp_path, 3).mkdir()
    (tmp_path / ".segments" / "notes.txt").write_text("mine")
    assert clear(tmp_path)
    assert [each.name for each in (tmp_path / ".segments").iterdir()] == ["notes.txt"]
    assert not clear(tmp_path)


@given(st.integers(1, 3000), st.integers(1, 1000))
def test_parts_have_nearly_the_length_in_frames(n, length):
    starts = equal_parts(np.arange(n) / 25, Position(frame=length))
    sizes = np.diff([*starts, n])
    step = max(length, 50)
    assert starts[0] == 0
    assert (sizes[:-1] == step).all()
    assert sizes[-1] <= 1.5 * step + 50
    if len(sizes) > 1:
        assert sizes[-1] >= min(50, step)


@given(st.integers(2, 3000), st.floats(0.1, 60.0))
def test_parts_have_nearly_the_length_in_seconds(n, seconds):
    times = np.arange(n) / 25
    starts = equal_parts(times, Position(seconds=seconds))
    assert starts[0] == 0
    assert (np.diff([*starts, n]) >= min(n, 50)).all()
    assert (np.diff(times[starts]) > min(seconds, 2.0) - 0.05).all()


def test_a_gap_in_the_times_makes_no_empty_part():
    times = np.concatenate([np.arange(100) / 25, 1000 + np.arange(100) / 25])
    assert equal_parts(times, Position(seconds=4.0)) == [0, 100]


def test_parts_are_of_the_frames_that_are_selected(scene, save, options):
    segments = segments_of(save(scene(300)), options(start=11, every=2, segment=50))
    assert [each.first for each in segments] == [11, 111]
    assert [each.reason for each in segments] == ["beginning", "after 50 frames"]


@pytest.mark.parametrize("segment", ["3s", "00:00:03"])
def test_a_length_may_be_a_time(scene, save, options, segment):
    segments = segments_of(save(scene(200)), options(segment=segment))
    begins = [(each.first, each.reason) for each in segments[1:]]
    assert begins == [(76, f"after {segment}"), (151, f"after {segment}")]


@pytest.fixture(scope="module")
def dark():
    """3000 frames; the lights go on with frame 1501."""
    frames = np.zeros((3000, 4, 4), np.uint8)
    frames[1500:] = 200
    return frames


def numbers_of(places):
    return [place.number for place in places]


def test_fitted_frames_are_shared_by_length_and_most_are_the_neighbours(dark, options):
    first, second, third = segments_of(dark[:1500], options(segment=500))
    assert [each.fit_frames for each in (first, second, third)] == [667] * 3
    before, after = numbers_of(second.before), numbers_of(second.after)
    assert len(before) == len(after) == 200
    assert (before[0], before[-1]) == (2, 499)
    assert (after[0], after[-1]) == (1002, 1499)
    assert first.before == third.after == ()
    assert len(first.after) == len(third.before) == 400


def test_nothing_is_borrowed_from_another_state(dark, options):
    segments = segments_of(dark, options(segment=750, fps=5))
    assert [each.state for each in segments] == [1, 1, 2, 2]
    assert segments[2].reason == "it became brighter"
    assert segments[1].after == segments[2].before == ()
    assert len(segments[0].after) == len(segments[3].before) > 0


def test_a_number_of_frames_to_fit_is_that_of_each_segment(dark, options):
    for segment in segments_of(dark[:1500], options(segment=750, fit_frames=100)):
        assert segment.fit_frames == 100
        assert len(segment.before) + len(segment.after) == 60
    for segment in segments_of(dark[:1500], options(segment=750, fit_frames="all")):
        assert segment.before == segment.after == ()
