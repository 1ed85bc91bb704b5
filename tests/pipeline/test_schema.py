"""run.json is checked once: whatever is wrong in it, reading it is one InputError."""

import copy
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.errors import InputError, UsageError
from bgsub.pipeline.outcome import commit
from bgsub.pipeline.results import (
    ResultsDirectory,
    Stopwatch,
    check_facts,
    load_manifest,
    recorded_path,
)

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(), st.integers(), max_size=2),
)


def places(value, place=()):
    """Ways to all values within JSON."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*place, name)
            yield from places(inner, (*place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield (*place, index)
            yield from places(inner, (*place, index))


def changed(manifest, place, value):
    found = copy.deepcopy(manifest)
    inner = found
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    return found


@pytest.fixture(scope="module")
def manifest(whole_run):
    return json.loads((whole_run.out / "run.json").read_text())


def test_what_a_run_writes_passes(manifest):
    assert check_facts(manifest) == manifest


@settings(max_examples=30)
@given(data=st.data(), value=VALUES)
def test_a_changed_value_is_refused_or_of_no_consequence(manifest, data, value):
    place = data.draw(st.sampled_from(sorted(places(manifest), key=str)))
    try:
        found = check_facts(changed(manifest, place, value))
    except UsageError:
        return
    # What the commands take from it, without any check of their own.
    if found.get("command", "run") in {"run", "apply"}:
        float(found["frames"]["used"])
        assert found["cutoff"] is None or math.isfinite(found["cutoff"])
        assert isinstance(recorded_path(found, found["input"]["path"]), (str, type(None)))
        assert isinstance(found["options"]["source"].get("mask_image"), (str, type(None)))
        assert isinstance(found["input"]["size_bytes"], (int, type(None)))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("options", "source", "mask_image"), 0, "--mask-image 0: must be a path"),
        (("options", "k"), 1.5, "--k 1.5"),
        (("options", "seed"), None, "--seed None"),
        (("options",), [], "options list: must be an object with source, temp"),
        (("input", "path"), 3, r"input\.path 3"),
        (("input", "sha256"), "x", r"input\.sha256 x"),
        (("frames", "used"), "9", r"frames\.used 9"),
        (("cutoff",), "high", "cutoff high"),
        (("scene_change",), {"first_frame": 0}, r"scene_change\.first_frame 0"),
        (("bad_frames",), {}, "bad_frames dict"),
        (("command",), 7, "command 7"),
    ],
)
def test_says_what_is_wrong(manifest, place, value, said, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(changed(manifest, place, value)))
    with pytest.raises(InputError, match=said) as caught:
        load_manifest(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'run.json'}: ")


@pytest.mark.parametrize("name", ["options", "input", "frames", "cutoff", "bad_frames"])
def test_what_is_missing_is_named(manifest, name, tmp_path):
    found = {key: value for key, value in manifest.items() if key != name}
    (tmp_path / "run.json").write_text(json.dumps(found))
    with pytest.raises(InputError, match=f"{name} is missing"):
        load_manifest(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"schema_version": 1, "a": ' + "[" * 100_000,
        '{"schema_version": 1, "cutoff": Infinity}',
        '{"schema_version": 1, "cutoff": NaN}',
        '{"schema_version": ' + "9" * 5000 + "}",
        "\0",
        '{"schema_version": []}',
    ],
    ids=range(7),
)
def test_what_no_parser_likes_is_an_input_error(text, tmp_path):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError) as caught:
        load_manifest(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with (tmp_path / "run.json").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(InputError, match=r"is larger than any .*; it is damaged or another file"):
        load_manifest(tmp_path)


def test_a_path_is_found_again_from_another_folder(tmp_path, monkeypatch):
    there, here = tmp_path / "there", tmp_path / "here"
    for folder in (there, here):
        folder.mkdir()
    (there / "a.avi").write_bytes(b"1")
    monkeypatch.chdir(here)
    manifest = {"directory": str(there)}
    assert recorded_path(manifest, "a.avi") == str(there / "a.avi")
    assert recorded_path(manifest, str(there / "a.avi")) == str(there / "a.avi")
    (there / "a.avi").rename(here / "a.avi")
    assert recorded_path(manifest, "a.avi") == "a.avi"
    assert recorded_path({}, "a.avi") == "a.avi"
    assert recorded_path(manifest, None) is None


@pytest.mark.parametrize(
    "name", ["memory", "outputs", "versions", "findings", "fit_warnings", "hints", "warnings"]
)
@pytest.mark.parametrize("value", ["a text", 7, [[]], [7]])
def test_what_a_page_shows_is_checked_too(name, value, manifest):
    with pytest.raises(UsageError, match=name):
        check_facts({**manifest, name: value})
    assert check_facts({**manifest, name: None})


@pytest.mark.parametrize("value", ["a text", [7], [[1, 2]], [[1, 2, "high"]], [[1, 2, -1]]])
def test_trust_is_spans_of_frames(value, manifest):
    with pytest.raises(UsageError, match="mask_trust"):
        check_facts({**manifest, "mask_trust": value})
    assert check_facts({**manifest, "mask_trust": [[1, 2, 0.5]]})


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("frame_size", [64, 48], [[], [64], [64, "x"], "64x48", [0, 48]]),
        ("mask_states", [{"share": 1.0}], [1e300, ["x"], [[]]]),
        ("mask_notes", ["two states"], [10**25, [7]]),
        ("components", 4, [[], "x"]),
        ("peak_memory_bytes", 10**9, ["x", {}]),
        ("mask_model", "local", [[], 3]),
        ("stages_s", {"fit": 0.5}, ["x", []]),
        ("events", [], ["x", [{}], [7]]),
        ("frames", {"used": 9, "bad": 0}, [{"used": 9, "bad": []}, {"used": 9, "doubtful": "x"}]),
    ],
)
def test_facts_of_a_report_are_checked_where_they_are_read(name, good, bad, manifest):
    assert check_facts({**manifest, name: good})
    for value in bad:
        with pytest.raises(UsageError, match=name):
            check_facts({**manifest, name: value})


@pytest.mark.parametrize("name", ["codec", "pixel_format", "unseen_damage"])
def test_words_about_the_input_are_texts(name, manifest):
    with pytest.raises(UsageError, match=name):
        check_facts({**manifest, "input": {**manifest["input"], name: []}})


def test_a_run_json_that_could_not_be_read_again_is_not_written(manifest, tmp_path):
    with (
        ResultsDirectory(tmp_path / "out", [], force=False) as results,
        pytest.raises(UsageError, match="cutoff"),
    ):
        commit(results, {**manifest, "cutoff": "high"}, Stopwatch(), with_page=False)
    assert not (tmp_path / "out" / "run.json").exists()
