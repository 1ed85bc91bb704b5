"""What an export reads of a run."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from bgsub.errors import InputError
from bgsub.export.run_data import load_run
from tests.conftest import make_facts


def write(folder, **changes):
    source = {"width": 64, "height": 48, "frames": 30, "rate": "25", **changes}
    options = {"source": {"roi": [4, 6, 20, 10]}}
    plain = make_facts("/x/a.mp4", input=source, options=options, frames={"used": 30})
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps(plain))


def test_the_facts_of_a_run(tmp_path):
    write(tmp_path)
    run = load_run(tmp_path)
    assert (run.name, run.width, run.height, run.frames) == ("a.mp4", 64, 48, 30)
    assert run.rate == Fraction(25)
    assert run.region == (4, 6, 20, 10)
    assert run.looked_at == list(range(1, 31))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, range(1, 31)),
        ({"span": {"first_frame": 5, "last_frame": 12}, "frames": {"used": 8}}, range(5, 13)),
        (
            {
                "span": {"first_frame": 4, "last_frame": 25},
                "frames": {"used": 7},
                "options": {"source": {"every": "3"}},
                "bad_frames": [{"frame": 10, "time_s": 0.36, "reason": "its data are damaged"}],
            },
            [4, 7, 13, 16, 19, 22, 25],
        ),
        (
            {
                "span": {"first_frame": 1, "last_frame": 26},
                "frames": {"used": 3},
                "options": {"source": {"every": "0.5s"}},
            },
            [1, 14, 26],
        ),
        (
            {
                "segments": [
                    {"span": {"first_frame": 1, "last_frame": 9}, "frames": {"used": 5}},
                    {"span": {"first_frame": 11, "last_frame": 15}, "frames": {"used": 3}},
                ],
                "options": {"source": {"every": "2"}},
            },
            range(1, 16, 2),
        ),
    ],
)
def test_the_frames_that_a_run_looked_at(tmp_path, facts, expected):
    size = {"width": 64, "height": 48, "frames": 30}
    plain = make_facts(input=size, options={"source": {}}, frames={"used": 30}) | facts
    (tmp_path / "run.json").write_text(json.dumps(plain))
    assert load_run(tmp_path).looked_at == list(expected)


def test_images_go_by_their_own_names(run, run_on_images):
    assert run.picture_name(7) == "a film_000007.png"
    assert run_on_images.picture_name(7) == "DSC96.jpg"
    for pattern in ("DSC%d.jpg", "*.jpg"):
        known = replace(run_on_images, path=f"{run_on_images.path}/{pattern}")
        assert (known.picture_name(11), known.stem) == ("DSC100.jpg", "shots")
    more = replace(run_on_images, frames=31)  # some have been taken away since
    assert more.picture_name(7) == "shots_000007.png"


@pytest.mark.parametrize("changes", [{"width": "a"}, {"rate": "1/0"}, {"rate": "x"}])
def test_a_damaged_manifest_is_named(tmp_path, changes):
    write(tmp_path, **changes)
    with pytest.raises(InputError, match=r"run\.json"):
        load_run(tmp_path)


def test_what_the_run_did_not_write_is_named(tmp_path):
    write(tmp_path)
    with pytest.raises(InputError, match=r"wrote no events\.json; run it again without --only$"):
        load_run(tmp_path).events()
    (tmp_path / "mask.mp4").touch()
    of_masks = r"make it with `bgsub objects \S+`, and give \S+objects instead$"
    with pytest.raises(InputError, match=rf"wrote no objects\.csv; {of_masks}"):
        load_run(tmp_path).objects()
    (tmp_path / "objects").mkdir()
    (tmp_path / "objects" / "objects.csv").touch()
    with pytest.raises(InputError, match=r"wrote no objects\.csv; give \S+objects, which has it$"):
        load_run(tmp_path).objects()


def test_objects_by_frame(run):
    frames = run.by_frame()
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
