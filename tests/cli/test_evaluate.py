"""`bgsub evaluate`, from its arguments to what it prints and writes."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from bgsub.video.images import read_image, write_image

TRUTH = Path(__file__).parents[2] / "sample_videos" / "water_masks.mkv"


@pytest.fixture
def sequence(tmp_path):
    """A sequence in CDnet's layout and a folder of masks: 6 TP, 3 FP, 3 FN in frames 2 to 4."""
    root = tmp_path / "road"
    for name in ("groundtruth", "input"):
        (root / name).mkdir(parents=True)
    (tmp_path / "masks").mkdir()
    truth = np.array([[255, 255, 255, 0], [0, 50, 85, 170]], np.uint8)
    mask = np.array([[255, 255, 0, 255], [0, 0, 255, 255]], np.uint8)
    for number in range(1, 6):
        write_image(root / "groundtruth" / f"gt{number:06d}.png", truth)
        write_image(root / "input" / f"in{number:06d}.png", np.full((2, 4), 99, np.uint8))
        write_image(tmp_path / "masks" / f"bin{number:06d}.png", mask)
    write_image(root / "ROI.bmp", np.full((2, 4), 255, np.uint8))
    (root / "temporalROI.txt").write_text("2 4")
    return tmp_path / "masks", root


def test_it_prints_the_measures(invoke, sequence):
    done = invoke("evaluate", *sequence, "--format", "json")
    assert done.exit_code == 0
    total = json.loads(done.stdout)["total"]
    counts = {name: total[name] for name in ("frames", "tp", "fp", "fn", "tn")}
    assert counts == {"frames": 3, "tp": 6, "fp": 3, "fn": 3, "tn": 6}
    assert total["f_measure"] == pytest.approx(2 / 3, abs=1e-8)
    assert done.stderr == "road: 3 frames scored, matched by equal numbers\n"


def test_the_sample_truth_is_right(invoke):
    done = invoke("evaluate", TRUTH, TRUTH, "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].split()[:5] == ["water_masks", "633", *["1.0000"] * 3]


def test_pairs_are_sequences(invoke, sequence):
    done = invoke("evaluate", *sequence, *sequence, "--name", "x", "--name", "y", "--format", "csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [(row["sequence"], row["tp"]) for row in rows] == [
        *(("x", "6"), ("y", "6")),
        *(("total", "12"), ("mean", "")),
    ]


def test_pictures_and_the_table_of_frames(invoke, sequence, tmp_path):
    out, table = tmp_path / "pictures", tmp_path / "frames.csv"
    done = invoke("evaluate", *sequence, "--worst", 2, "--out", out, "--per-frame", table)
    assert done.exit_code == 0, done.stderr
    names = ["road_worst01_frame000002.png", "road_worst02_frame000003.png"]
    assert sorted(path.name for path in out.iterdir()) == names
    picture = read_image(out / names[0])
    assert picture.shape[1] == 2 * 480 + 6
    assert (picture[30, :480] == 99).all(), "the frame on the left"
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["frame"] for row in rows] == ["2", "3", "4"]


def test_footage_that_cannot_be_read_costs_only_the_frames(invoke, sequence, tmp_path):
    masks, root = sequence
    gone = tmp_path / "gone.mp4"
    out = tmp_path / "out"
    done = invoke("evaluate", masks, root, "--worst", 1, "--out", out, "--input", gone)
    assert done.exit_code == 0
    assert "gone.mp4: no such file" in done.stderr
    (picture,) = out.iterdir()
    assert read_image(picture).shape[1] == 480


def test_scores_and_their_curve(invoke, sequence, tmp_path):
    plot = tmp_path / "curve.svg"
    done = invoke("evaluate", *sequence, "--scores", "--plot", plot, "--format", "json")
    assert done.exit_code == 0
    first = json.loads(done.stdout)["sequences"][0]
    assert (first["threshold"], first["tp"]) == (255, 6)
    assert "recall" in plot.read_text()


def test_an_offset_for_all_or_for_each(invoke, sequence):
    done = invoke("evaluate", *sequence, *sequence, "--offset", 1, "--common", "--format", "json")
    assert [one["offset"] for one in json.loads(done.stdout)["sequences"]] == [1, 1]
    both = ("--offset", 1, "--offset", -1)
    done = invoke("evaluate", *sequence, *sequence, *both, "--common", "--format", "json")
    assert [one["offset"] for one in json.loads(done.stdout)["sequences"]] == [1, -1]


def test_warnings_go_to_stderr(invoke, sequence):
    done = invoke("evaluate", *sequence, "--threshold", 256)
    assert "warning: road: no pixel of the masks reaches 256" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a"], "no truth follows a"),
        (["a", "b", "c"], "no truth follows c"),
        (["a", "b", "--scores", "--plot", "x.pdf"], "must end with .png or .svg"),
        (["a", "b", "--name", "x", "--name", "y"], "--name is given 2 times for 1 sequence"),
        (["a", "b", "--offset", "x"], "--offset x: must be a whole number"),
        (["a", "b", "c", "d", "--input", "x"], "--input is given 1 times for 2 sequences"),
    ],
)
def test_wrong_usage(invoke, arguments, message):
    done = invoke("evaluate", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--worst", "3"], "--worst has no effect without --out DIR"),
        (["--out", "x"], "--out has no effect without --worst N"),
        (["--plot", "x.png"], "--plot has no effect without --scores"),
    ],
)
def test_options_without_effect_are_named(invoke, sequence, more, message):
    done = invoke("evaluate", *sequence, *more)
    assert (done.exit_code, done.stderr.count("warning: "), message in done.stderr) == (0, 1, True)
    assert done.stdout == invoke("evaluate", *sequence).stdout
    assert not Path(more[-1]).exists()


def test_what_does_not_match_is_an_error_with_both_names(invoke, sequence):
    masks, root = sequence
    (masks / "bin000003.png").unlink()
    done = invoke("evaluate", masks, root)
    assert done.exit_code == 3
    assert f"{masks} holds masks 1–5 (4 of them), {root} truth 2–4: " in done.stderr
    assert "the truth's 3 has no mask" in done.stderr


def test_a_missing_input_is_named(invoke, tmp_path):
    done = invoke("evaluate", tmp_path / "nothing", TRUTH)
    assert (done.exit_code, "no such file or folder" in done.stderr) == (3, True)
