"""``bgsub objects``, ``bgsub events`` and ``bgsub export`` on the results of one small run."""

import csv
import json

import numpy as np
import pytest

from bgsub.pipeline.run import run
from bgsub.tracking.tables import read_objects


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Footage, and the results of a run on it."""
    from tests.conftest import make_options, make_scene

    folder = tmp_path_factory.mktemp("made")
    np.save(folder / "clip.npy", make_scene())
    outputs = {"mask", "errors", "objects", "tracks", "events"}
    run(folder / "clip.npy", folder / "results", make_options(outputs=outputs, format="mkv"))
    return folder


def test_objects_of_results_are_those_of_the_run(made, invoke, tmp_path):
    result = invoke("objects", made / "results", "--out", tmp_path / "again")
    assert result.exit_code == 0, result.stderr
    assert "1 object in 1 event" in result.stderr
    ours = list(read_objects(made / "results" / "objects.csv"))
    again = list(read_objects(tmp_path / "again" / "objects.csv"))
    assert [(o.frame, o.track, o.box) for o in again] == [(o.frame, o.track, o.box) for o in ours]
    for name in ("tracks.csv", "events.csv"):
        theirs = (tmp_path / "again" / name).read_text()
        assert theirs == (made / "results" / name).read_text()


def test_objects_go_beside_the_results_by_default(made, invoke):
    assert invoke("objects", made / "results").exit_code == 0
    assert (made / "results" / "objects" / "run.json").is_file()
    again = invoke("objects", made / "results")
    assert again.exit_code == 5
    assert "--force" in again.stderr


def test_masks_of_anybody(made, invoke, tmp_path):
    masks = tmp_path / "masks"
    masks.mkdir()
    from bgsub.video.images import write_image

    for number in range(1, 31):
        mask = np.zeros((48, 64), np.uint8)
        mask[10:20, number : number + 8] = 255
        write_image(masks / f"m{number:03d}.png", mask)
    result = invoke("objects", masks, "--fps", 10, "--out", tmp_path / "o")
    assert result.exit_code == 0, result.stderr
    seen = list(read_objects(tmp_path / "o" / "objects.csv"))
    assert len(seen) == 30
    assert seen[10].box == (11, 10, 8, 10)
    assert seen[10].time_s == pytest.approx(1.0)
    assert "told apart by motion" in result.stderr


def test_masks_need_a_place_for_the_tables(invoke, tmp_path):
    (tmp_path / "masks").mkdir()
    result = invoke("objects", tmp_path / "masks")
    assert result.exit_code == 2
    assert "--out" in result.stderr


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


def test_events_of_a_region_alone(made, invoke, tmp_path):
    regions = tmp_path / "regions.json"
    regions.write_text(
        json.dumps(
            {"here": [[0, 0], [48, 0], [48, 36], [0, 36]], "there": [[40, 30], [48, 30], [48, 36]]}
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
    from bgsub.video.images import write_image

    write_image(tmp_path / "white.png", np.full((36, 48), 255, np.uint8))
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


def test_an_export_is_written_once_and_replaced_when_asked(made, invoke, tmp_path):
    path = tmp_path / "new" / "gt.txt"
    result = invoke("export", made / "results", "--to", "mot", "-o", path)
    assert result.exit_code == 0, result.stderr
    assert len(path.read_text().splitlines()) == 16
    again = invoke("export", made / "results", "--to", "mot", "-o", path)
    assert again.exit_code == 5
    assert "--force" in again.stderr
    assert invoke("export", made / "results", "--to", "mot", "-o", path, "--force").exit_code == 0
    assert [p.name for p in path.parent.iterdir()] == ["gt.txt"]


def test_an_export_that_cannot_be_leaves_nothing(made, invoke, tmp_path):
    bare = tmp_path / "bare"
    run(made / "clip.npy", bare, _errors_alone())
    result = invoke("export", bare, "--to", "via", "-o", tmp_path / "x" / "t.csv")
    assert result.exit_code == 3
    assert "bgsub objects" in result.stderr
    assert not (tmp_path / "x" / "t.csv").exists()
    # An array has no constant rate, and the format cannot do without.
    result = invoke("export", made / "results", "--to", "megadetector", "-o", tmp_path / "m.json")
    assert result.exit_code == 2
    assert not (tmp_path / "m.json").exists()


def _errors_alone():
    from tests.conftest import make_options

    return make_options(outputs={"errors"})


def test_every_format_of_the_help_can_be_written():
    from bgsub.cli.export import NAMES
    from bgsub.export.formats import FORMATS

    assert set(NAMES) == set(FORMATS)
