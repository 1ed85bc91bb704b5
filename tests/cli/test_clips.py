"""`bgsub clips`: what it writes beside the clips, and options that cannot be."""

import json

import pytest

from tests.conftest import read_video


@pytest.fixture
def results(visit):
    return visit


def test_clips_are_replaced_with_force_alone(results, tmp_path, invoke):
    arguments = ["clips", str(results / "results"), "--out", str(tmp_path / "c"), "--mode", "copy"]
    first = invoke(*arguments)
    assert first.exit_code == 0, first.stderr
    assert "1 clip in" in first.stderr
    assert invoke(*arguments).exit_code == 5
    assert invoke(*arguments, "--force").exit_code == 0


def test_a_film_is_analysed_where_there_are_no_results(results, tmp_path, invoke):
    reel, sheet = tmp_path / "reel.mp4", tmp_path / "sheet.jpg"
    arguments = ["clips", str(results / "film.mp4"), "--out", str(tmp_path / "c")]
    arguments += ["--start", "25", "--end", "60"]
    arguments += ["--overlay", "side-by-side", "--caption", "--clock", "2026-05-01T22:00"]
    arguments += ["--reel", str(reel), "--sheet", str(sheet)]
    done = invoke(*arguments)
    assert done.exit_code == 0, done.stderr
    assert sorted(path.suffix for path in (tmp_path / "c").iterdir()) == [".csv", ".json", ".mp4"]
    assert read_video(reel).shape[2] == 960
    assert sheet.stat().st_size > 500
    again = invoke(*arguments[:2], "--out", tmp_path / "d", *arguments[4:])
    assert again.exit_code == 5
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--reel", "reel.avi"], "must end with .mp4"),
        (["--sheet", "sheet.gif"], "must end with .jpeg or .jpg or .png"),
    ],
)
def test_options_that_cannot_be(results, tmp_path, invoke, more, message):
    given = ["clips", str(results / "results"), "--out", str(tmp_path / "c"), *more]
    done = invoke(*given)
    assert (done.exit_code, message in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--clock", "2026-05-01T22:00"], "--clock has no effect without --caption"),
        (["--mode", "copy", "--caption"], "--caption has no effect with --mode copy"),
        (["--mode", "copy", "--overlay", "boxes"], "--overlay has no effect with --mode copy"),
    ],
)
def test_options_without_effect_are_named_and_the_clips_are_cut(
    results, tmp_path, invoke, more, message
):
    done = invoke("clips", results / "results", "--out", tmp_path / "c", *more)
    assert (done.exit_code, message in done.stderr) == (0, True)
    assert (tmp_path / "c" / "clips.csv").exists()


def test_seconds_may_say_so(results, tmp_path, invoke):
    given = ["clips", results / "results", "--before", "0.5s", "--after", "1s", "--merge", "2s"]
    assert invoke(*given, "--out", tmp_path / "c").exit_code == 0
    assert invoke("events", results / "results", "--merge-gap", "1s").exit_code == 0
    manifest = json.loads((tmp_path / "c" / "run.json").read_text(encoding="utf-8"))
    assert manifest["options"]["before"] == 0.5
    for wrong in ("-1s", "s", "nans", "soon", "inf"):
        done = invoke(*given[:2], "--before", wrong, "--out", tmp_path / "d")
        assert (done.exit_code, "--before" in done.stderr) == (2, True)


def test_run_json_says_how_the_clips_were_cut(results, tmp_path, invoke):
    given = ["clips", results / "results", "--out", tmp_path / "c", "--before", "0.5"]
    assert invoke(*given, "--caption", "--clock", "2026-05-01T22:00").exit_code == 0
    manifest = json.loads((tmp_path / "c" / "run.json").read_text(encoding="utf-8"))
    assert (manifest["command"], manifest["clips"]) == ("clips", 1)
    chosen = manifest["options"]
    assert (chosen["before"], chosen["after"], chosen["mode"]) == (0.5, 2.0, "encode")
    assert chosen["clock"] == "2026-05-01T22:00:00"
    assert chosen["reel"] is None


def test_where_nothing_happened_there_is_no_reel(results, tmp_path, invoke):
    """The film is analysed up to a frame before the visit."""
    given = ["clips", results / "film.mp4", "--end", "20", "--out", tmp_path / "c"]
    done = invoke(*given, "--reel", tmp_path / "reel.mp4")
    assert done.exit_code == 0, done.stderr
    assert "no event was found: clips.csv has no rows" in done.stderr
    assert "is not written, for there is nothing to join" in done.stderr
    assert not (tmp_path / "reel.mp4").exists()
