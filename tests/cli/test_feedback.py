"""``bgsub feedback`` remembers events that are no objects, and a run drops what is like them."""

from __future__ import annotations

import json

import pytest

from bgsub.errors import InputError
from bgsub.export.run_data import load_run
from tests.conftest import make_options, make_scene


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    import numpy as np

    path = tmp_path_factory.mktemp("film") / "film.npy"
    np.save(path, make_scene())
    return str(path)


@pytest.fixture(scope="module")
def results(film, tmp_path_factory):
    import bgsub

    out = tmp_path_factory.mktemp("results") / "r"
    bgsub.run(film, out, make_options(outputs={"objects", "tracks", "events"}))
    return out


def test_an_event_that_is_no_object_does_not_come_again(invoke, film, results, tmp_path):
    path = tmp_path / "feedback.json"
    said = invoke("feedback", results, "--not", 1, "-o", path)
    assert said.exit_code == 0, said.stderr
    assert "remembers 1 track more as no object" in said.stderr
    assert len(json.loads(path.read_text())["not_objects"]) == 1
    invoke("feedback", results, "--by", "track", "--not", 1, "-o", path)
    assert len(json.loads(path.read_text())["not_objects"]) == 1  # known already
    outputs = ("--only", "objects,tracks,events,activity", "--seed", 1)
    for more in ((), ("--segment", 30)):
        out = tmp_path / f"again{len(more)}"
        said = invoke("run", film, *outputs, "--feedback", path, "--out", out, *more)
        assert said.exit_code == 0, said.stderr
        assert "1 track was dropped as no object (1 like film.npy track 1)" in said.stderr
        assert "without --feedback they are kept" in said.stderr
        assert load_run(out).objects() == []
        assert load_run(out).events() == []
    path.write_text(json.dumps({"not_objects": []}))
    said = invoke("run", film, *outputs, "--feedback", path, "--out", tmp_path / "undone")
    assert "dropped" not in said.stderr
    assert load_run(tmp_path / "undone").objects()


def test_a_file_that_cannot_be_read_is_refused_before_the_film_is(film, tmp_path):
    import bgsub

    options, steps = make_options(outputs={"objects"}, feedback=str(tmp_path / "none.json")), []
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        bgsub.run(film, tmp_path / "out", options, progress=lambda *step: steps.append(step))
    assert steps == []
    assert not (tmp_path / "out").exists()


def test_what_a_page_saved_names_events(invoke, results, tmp_path):
    saved = tmp_path / "not-objects.json"
    saved.write_text('{"not": [1]}\n')
    said = invoke("feedback", results, "--from", saved, "-o", tmp_path / "f.json")
    assert said.exit_code == 0, said.stderr
    saved.write_text('{"events": []}')
    said = invoke("feedback", results, "--from", saved, "-o", tmp_path / "f.json")
    assert said.exit_code == 3
    assert "is no file that a page has saved" in said.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say which events are none: --not 12 15"),
        ((1,), "say which events are none: --not 12 15"),
        (("--not", 9), "has no event 9 of objects"),
        (("--by", "track", "--not", 9), "has no track 9"),
    ],
)
def test_numbers_that_are_none_are_said(invoke, results, tmp_path, words, message):
    said = invoke("feedback", results, *words, "-o", tmp_path / "f.json")
    assert said.exit_code == 2
    assert message in said.stderr
    assert not (tmp_path / "f.json").exists()
