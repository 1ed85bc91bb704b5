"""Parts that know nothing of each other agree on what is to be done."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.cluster.parts import LIST, Part, PartsList, Unit, load_parts
from bgsub.errors import InputError, OutputError, UsageError
from bgsub.segments.plan import FOLDER, PLAN, SegmentPlan, load_plan
from bgsub.segments.run import common_plan
from tests.conftest import make_options, make_scene


@given(units=st.lists(st.integers(), max_size=30), of=st.integers(1, 40))
def test_parts_are_all_units_once(units, of):
    picked = [Part(number, of).pick(units) for number in range(1, of + 1)]
    assert sorted(unit for part in picked for unit in part) == sorted(units)
    listed = PartsList(tuple(Unit(str(unit), "a") for unit in units), of)
    for place, unit in enumerate(units):
        assert unit in listed.part_of(place).pick(units)


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "a/b", "1/2/3", "-1/3", "1/0", "1.5/2"])
def test_what_is_no_part(text):
    with pytest.raises(UsageError, match=r"--part .*: must be i/N"):
        Part.parse(text)


def test_a_part_is_read_and_written():
    assert Part.parse(" 2/8 ") == Part(2, 8)
    assert str(Part(2, 8)) == "2/8"


UNITS = (Unit("a/x.mp4", "x"), Unit("b/x.mp4", "x-2"))


def test_the_list_comes_back_and_the_number_of_parts_may_change(tmp_path):
    out = tmp_path / "out"
    assert load_parts(out) is None
    PartsList(UNITS, 3).save(out)
    assert load_parts(out) == PartsList(UNITS, 3)
    PartsList(UNITS, 5).save(out)
    assert load_parts(out) == PartsList(UNITS, 5)
    with pytest.raises(OutputError, match="was begun with the parts of other inputs"):
        PartsList(UNITS[:1], 5).save(out)
    assert [path.name for path in out.iterdir()] == [LIST]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"version": 2}',
        '{"version": 1, "of": 0, "units": [{"input": "a", "folder": "a"}]}',
        '{"version": 1, "of": true, "units": [{"input": "a", "folder": "a"}]}',
        '{"version": 1, "of": 2, "units": []}',
        '{"version": 1, "of": 2, "units": [{"input": "a", "folder": "../a"}]}',
        '{"version": 1, "of": 2, "units": [{"input": "a", "folder": "/etc"}]}',
        '{"version": 1, "of": 2, "units": [{"input": "a", "folder": ".."}]}',
        '{"version": 1, "of": 2, "units": [{"input": "a", "folder": 3}]}',
    ],
)
def test_a_list_that_is_none(tmp_path, text):
    (tmp_path / LIST).write_text(text)
    with pytest.raises(InputError, match=r"is no list of parts \([^\n]*\); remove it"):
        load_parts(tmp_path)


def test_a_list_that_the_system_does_not_open(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_parts(tmp_path / ("x" * 300))


def test_the_first_plan_stays_where_it_is_to(tmp_path):
    one, two = (SegmentPlan({"name": name, "sha256": name}, make_options()) for name in "ab")
    assert one.save(tmp_path)
    assert not two.save(tmp_path)
    assert load_plan(tmp_path).identity["name"] == "a"
    assert [entry.name for entry in (tmp_path / FOLDER).iterdir()] == [PLAN]


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / FOLDER).write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        SegmentPlan({"sha256": "a"}, make_options()).save(tmp_path)


@pytest.fixture
def film(tmp_path):
    np.save(tmp_path / "film.npy", make_scene(170))
    return str(tmp_path / "film.npy")


PLANNING = """
import sys
from pathlib import Path
from bgsub.options import RunOptions
from bgsub.segments.run import common_plan
print("ready", flush=True)
sys.stdin.readline()
common_plan(sys.argv[1], Path(sys.argv[2]), RunOptions(segment=60, threads=1))
"""


def test_parts_that_begin_together_follow_one_plan(film, tmp_path):
    command = [sys.executable, "-c", PLANNING, film, str(tmp_path / "out")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0, 0]
    assert [path.name for path in (tmp_path / "out" / FOLDER).iterdir()] == [PLAN]
    assert len(load_plan(tmp_path / "out").segments) == 3


def test_a_plan_is_taken_by_those_who_want_the_same(film, tmp_path, monkeypatch):
    out, options = tmp_path / "out", make_options(segment=60)
    plan = common_plan(film, out, options)
    assert common_plan(film, out, replace(options, threads=1, memory="3G")) == plan
    for other in (replace(options, k=1), replace(options, segment=80)):
        with pytest.raises(OutputError, match="made with other options"):
            common_plan(film, out, other)
    np.save(tmp_path / "other.npy", make_scene(170))
    with pytest.raises(OutputError, match="of another input"):
        common_plan(str(tmp_path / "other.npy"), out, options)
    monkeypatch.chdir(tmp_path)
    assert common_plan("film.npy", out, options) == plan


def test_a_film_in_one_piece_leaves_no_plan(film, tmp_path):
    plan = common_plan(film, tmp_path / "out", make_options(segment=500))
    assert len(plan.segments) == 1
    assert not (tmp_path / "out").exists()


def test_segments_without_a_plan_are_nobodys(film, tmp_path):
    (tmp_path / "out" / FOLDER / "0001").mkdir(parents=True)
    with pytest.raises(OutputError, match="segments without a plan; remove it"):
        common_plan(film, tmp_path / "out", make_options(segment=60))


def test_a_plan_of_another_version(film, tmp_path):
    common_plan(film, tmp_path / "out", make_options(segment=60))
    path = tmp_path / "out" / FOLDER / PLAN
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 9}))
    with pytest.raises(InputError, match="is no plan of this bgsub"):
        common_plan(film, tmp_path / "out", make_options(segment=60))
