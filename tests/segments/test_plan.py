"""The plan of segments, which any process can read."""

from __future__ import annotations

import json

import pytest

from bgsub.errors import InputError
from bgsub.segments.plan import clear, divided, draft_plan, load_plan, segment_folder


@pytest.fixture
def plan(scene, save, options):
    footage = save(scene(150))
    return divided(draft_plan(footage, options(segment=50, outputs={"mask", "plot"})), footage)


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
