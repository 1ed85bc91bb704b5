"""What an earlier run wrote may be replaced; nothing else in its folder may."""

import json
import os

import pytest

from bgsub.errors import OutputError
from bgsub.pipeline.results import check_unchanged, describe, earlier_outputs, is_output_name


def write_manifest(folder, **facts):
    plain = {"bgsub_version": "0.1.0", "outputs": {}} | facts
    (folder / "run.json").write_text(json.dumps(plain), encoding="utf-8")


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "mask"
    folder.mkdir()
    for number in (1, 2, 3):
        (folder / f"{number:06d}.png").write_bytes(bytes([number]))
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "mask",
        "mask.mp4",
        "scores.mkv",
        "errors.csv",
        "errors.svg",
        "model.npz",
        "report.html",
        "clip0001_12.3-15.0.mp4",
        "events.json",
        "frames-own.png",
    ],
)
def test_names_that_bgsub_writes(name):
    assert is_output_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "thesis.txt",
        "../mask.mp4",
        "mask.mp4.bak",
        "mask/x",
        "MASK.mp4",
        "mask.mp4\n",
        "run.json",
        "model.npz/..",
        "clip1_2.mp4",
    ],
)
def test_names_that_it_does_not(name):
    assert not is_output_name(name)


GOOD = {"bytes": 3, "sha256": "0" * 64}


@pytest.mark.parametrize(
    "facts",
    [
        {"outputs": [1]},
        {"outputs": {"thesis.txt": GOOD}},
        {"outputs": {"mask.mp4": "all"}},
        {"outputs": {"mask.mp4": GOOD | {"bytes": True}}},
        {"outputs": {"mask.mp4": GOOD | {"bytes": 3.0}}},
        {"outputs": {"mask.mp4": GOOD | {"sha256": "g" * 64}}},
        {"outputs": {"mask.mp4": GOOD | {"sha256": "0" * 63}}},
        {"outputs": {"mask": GOOD | {"pictures": "3"}}},
    ],
)
def test_a_manifest_that_no_run_wrote_is_left_alone(tmp_path, facts):
    write_manifest(tmp_path, outputs={"mask.mp4": GOOD})
    assert earlier_outputs(tmp_path)
    write_manifest(tmp_path, **facts)
    with pytest.raises(OutputError, match=r"run.json: was not written by this version"):
        earlier_outputs(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"outputs": {}}'])
def test_what_is_no_manifest_is_left_alone(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(OutputError, match="move it away or choose"):
        earlier_outputs(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
def test_a_pipe_in_its_place_makes_nobody_wait(tmp_path):
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(OutputError, match="was not written by this version"):
        earlier_outputs(tmp_path)


def test_a_file_that_was_changed_is_kept(tmp_path):
    path = tmp_path / "errors.csv"
    path.write_text("1,2\n")
    facts = describe(path)
    check_unchanged(path, facts)
    path.write_text("1,3\n")  # of the same length
    with pytest.raises(OutputError, match=r"errors.csv: is not what bgsub wrote there"):
        check_unchanged(path, facts)
    path.unlink()
    with pytest.raises(OutputError, match=r"errors.csv"):
        check_unchanged(path, facts)


def test_a_link_is_not_what_was_written(tmp_path):
    path = tmp_path / "errors.csv"
    path.write_text("1,2\n")
    facts = describe(path)
    path.rename(tmp_path / "elsewhere.csv")
    path.symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(OutputError):
        check_unchanged(path, facts)


def test_a_folder_of_pictures_is_known_by_all_of_them(pictures):
    facts = describe(pictures)
    assert (facts["pictures"], facts["bytes"]) == (3, 3)
    check_unchanged(pictures, facts)
    (pictures / "000002.png").write_bytes(b"x")
    with pytest.raises(OutputError, match="mask: is not"):
        check_unchanged(pictures, facts)


@pytest.mark.parametrize("name", ["notes.txt", "000004.png", "000000.png", "1.png", "0000001.png"])
def test_a_picture_too_many_is_named(pictures, name):
    facts = describe(pictures)
    (pictures / name).write_bytes(b"mine")
    with pytest.raises(OutputError, match=name):
        check_unchanged(pictures, facts)
