"""``bgsub events`` on the results of one small run."""

import csv
import json

import numpy as np
import pytest

from bgsub.video.images import encode_image, write_image


@pytest.mark.parametrize("command", ["objects", "events"])
def test_a_folder_without_masks_is_one_line(command, invoke, tmp_path):
    (tmp_path / "empty").mkdir()
    more = ["--out", tmp_path / "o"] if command == "objects" else []
    result = invoke(command, tmp_path / "empty", *more)
    assert result.exit_code in {3, 4}
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "o").exists()


def test_events_are_listed_as_the_run_wrote_them(made, invoke):
    result = invoke("events", made / "results", "--format", "csv")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == (made / "results" / "events.csv").read_text()
    assert "1 event" in result.stderr


def test_events_that_are_too_small_or_short_are_left_out(made, invoke):
    for more in (["--min-area", 400], ["--max-area", 9], ["--min-length", 17]):
        listing = invoke("events", made / "results", *more, "--format", "json").stdout
        events = json.loads(listing)["events"]
        assert [event["kind"] for event in events] == (
            [] if more[0] == "--min-length" else ["frame"]
        )


@pytest.mark.parametrize("command", ["events", "objects", "run", "watch"])
def test_areas_between_which_nothing_lies_are_refused(made, invoke, tmp_path, command):
    out = [] if command == "events" else ["--out", tmp_path / "o"]
    areas = "--min-area", 500, "--max-area", 20
    result = invoke(command, made / ("clip.npy" if command == "run" else "results"), *out, *areas)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "--min-area 500 is more than --max-area 20" in line
    assert not (tmp_path / "o").exists()


def test_a_region_or_image_of_another_film_is_refused(made, invoke, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps({"far": [[500, 0], [600, 0], [600, 90]]}))
    picture = tmp_path / "ignore.png"
    picture.write_bytes(encode_image(np.full((30, 40), 255, np.uint8), ".png"))
    for more, wrong in (
        (["--regions", tmp_path / "r.json", "--region", "far"], "region 'far' lies outside of"),
        (["--ignore", picture], "ignore.png: the ignore image has 40×30 pixels, the input 32×24"),
    ):
        result = invoke("events", made / "results", *more)
        assert result.exit_code == 2
        (line,) = result.stderr.splitlines()
        assert wrong in line


def test_events_of_a_region_alone(made, invoke, tmp_path):
    regions = tmp_path / "regions.json"
    regions.write_text(
        json.dumps(
            {"here": [[0, 0], [32, 0], [32, 24], [0, 24]], "there": [[28, 20], [32, 20], [32, 24]]}
        )
    )
    for name, count in (("here", 1), ("there", 0)):
        result = invoke(
            *("events", made / "results", "--regions", regions, "--region", name),
            *("--format", "frames"),
        )
        assert len(result.stdout.splitlines()) == 16 * count
    result = invoke("events", made / "results", "--regions", regions, "--region", "nowhere")
    assert result.exit_code == 2
    assert invoke("events", made / "results", "--region", "here").exit_code == 2


def test_events_under_a_white_image_do_not_count(made, invoke, tmp_path):
    write_image(tmp_path / "white.png", np.full((24, 32), 255, np.uint8))
    result = invoke(
        "events", made / "results", "--ignore", tmp_path / "white.png", "--format", "csv"
    )
    (row,) = csv.DictReader(result.stdout.splitlines())
    assert row["kind"] == "frame"


def test_events_of_footage_are_those_of_a_run(made, invoke):
    result = invoke("events", made / "clip.npy", "--format", "json")
    assert result.exit_code == 0, result.stderr
    (event,) = json.loads(result.stdout)["events"]
    assert (event["kind"], event["first_frame"], event["last_frame"]) == ("both", 33, 48)
    assert invoke("events", made / "results", "--fail-on-events").exit_code == 8
