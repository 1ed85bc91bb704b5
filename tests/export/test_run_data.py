"""What an export reads of a run."""

import json
from fractions import Fraction

import pytest

from bgsub.errors import InputError
from bgsub.export.run_data import by_frame, load_run
from tests.conftest import make_facts


def write(folder, **changes):
    source = {"width": 64, "height": 48, "frames": 30, "rate": "25", **changes}
    plain = make_facts("/x/a.mp4", input=source, options={"source": {"roi": [4, 6, 20, 10]}})
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps(plain))


def test_the_facts_of_a_run(tmp_path):
    write(tmp_path)
    run = load_run(tmp_path)
    assert (run.name, run.width, run.height, run.frames) == ("a.mp4", 64, 48, 30)
    assert run.rate == Fraction(25)
    assert run.region == (4, 6, 20, 10)
    assert run.frame_numbers_from_0() == list(range(30))


@pytest.mark.parametrize("changes", [{"width": "a"}, {"rate": "1/0"}, {"rate": "x"}])
def test_a_damaged_manifest_is_named(tmp_path, changes):
    write(tmp_path, **changes)
    with pytest.raises(InputError, match=r"run\.json"):
        load_run(tmp_path)


def test_what_the_run_did_not_write_is_named(tmp_path):
    write(tmp_path)
    with pytest.raises(InputError, match=r"wrote no objects\.csv; make it with bgsub objects"):
        load_run(tmp_path).objects()
    with pytest.raises(InputError, match=r"wrote no events\.json"):
        load_run(tmp_path).events()


def test_objects_by_frame(objects):
    frames = by_frame(objects[::-1])
    assert list(frames) == sorted(frames)
    assert [each.track for each in frames[10]] == [1, 2]


def test_the_film_is_found_from_another_folder(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "film.avi").touch()
    write(tmp_path, path="film.avi")
    facts = json.loads((tmp_path / "run.json").read_text())
    facts["directory"] = str(tmp_path / "there")
    (tmp_path / "run.json").write_text(json.dumps(facts))
    monkeypatch.chdir(tmp_path)
    assert load_run(tmp_path).path == str(tmp_path / "there" / "film.avi")
