from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

import bgsub
from bgsub.errors import OutputError
from bgsub.outliers.errors_table import ErrorTable, write_csv

VISITS = [(20, 26), (50, 54)]  # frames 21-26 and 51-54, counted from 1


@pytest.fixture(scope="module")
def frames() -> np.ndarray:
    """Eighty frames of a still scene; something bright is there during the visits."""
    rng = np.random.default_rng(0)
    still = rng.integers(40, 200, size=(24, 32))
    video = still + rng.normal(scale=2.0, size=(80, 24, 32))
    for first, stop in VISITS:
        for i in range(first, stop):
            video[i, 4:12, i % 20 : i % 20 + 8] = 250.0
    return np.clip(video, 0, 255).astype(np.uint8)


@pytest.fixture
def video(frames, tmp_path: Path) -> Path:
    path = tmp_path / "door.npy"
    np.save(path, frames)
    return path


@pytest.fixture
def results(video, tmp_path: Path, make_manifest) -> Callable[..., Path]:
    """Make a results folder with the errors of the video; its run.json may say more."""

    def make(name: str = "results", change: dict[str, float] | None = None, **more: object) -> Path:
        folder = tmp_path / name
        scores = np.zeros(80)
        for first, stop in VISITS:
            scores[first:stop] = 30.0 + np.arange(stop - first)
        if change is not None:
            scores[int(change["first_frame"]) - 1 :] = 100.0
        facts = {"frames": {"used": 80}, "cutoff": 12.0, "scene_change": change, **more}
        make_manifest(folder, str(video), **facts)
        manifest = json.loads((folder / "run.json").read_text())
        manifest["input"]["size_bytes"] = video.stat().st_size
        (folder / "run.json").write_text(json.dumps(manifest))
        table = ErrorTable(
            np.arange(1, 81),
            np.arange(80) / 25,
            (scores + 20) ** 2,
            768,
            scores,
            manifest["cutoff"],
        )
        write_csv(table, folder / "errors.csv")
        return folder

    return make


def spans(text: str) -> list[tuple[int, int]]:
    rows = csv.DictReader(io.StringIO(text))
    return [(int(row["first_frame"]), int(row["last_frame"])) for row in rows]


def test_results_for_people(results, invoke) -> None:
    done = invoke("errors", results())
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "event  first  last         start           end  peak  score   flag",
        "    1     21    26  00:00:00.800  00:00:01.000    26   35.0  whole",
        "    2     51    54  00:00:02.000  00:00:02.120    54   33.0  whole",
    ]
    assert done.stderr == "door.npy: 10 of 80 frames are outliers, 2 events (score above 12)\n"


@pytest.mark.parametrize("what", ["", "errors.csv", "run.json"])
def test_three_names_of_the_same_results(what, results, invoke) -> None:
    done = invoke("errors", results() / what, "--format", "csv")
    assert (done.exit_code, spans(done.stdout)) == (0, [(21, 26), (51, 54)])
    assert done.stderr.startswith("door.npy: ")


def test_csv_on_its_own(results, invoke) -> None:
    folder = results()
    (folder / "run.json").unlink()
    done = invoke("errors", folder / "errors.csv", "--format", "csv")
    assert (done.exit_code, spans(done.stdout)) == (0, [(21, 26), (51, 54)])
    assert done.stderr.startswith("errors.csv: ")


def test_csv_of_another_run_beside_a_run_json(results, invoke) -> None:
    folder = results(frames={"used": 79}, change={"first_frame": 70, "first_time_s": 2.76})
    assert "stays different" not in invoke("errors", folder).stderr


def test_lasting_change_is_said_in_words(results, invoke) -> None:
    folder = results(change={"first_frame": 60, "first_time_s": 2.36})
    done = invoke("errors", folder)
    assert len(done.stdout.splitlines()) == 3
    assert done.stderr == (
        "door.npy: 10 of 80 frames are outliers, 2 events (score above 12); "
        "from 60 to the end the scene stays different\n"
    )
    assert json.loads(invoke("errors", folder, "--format", "json").stdout)["scene_change"] == {
        "first_frame": 60,
        "first_time_s": 2.36,
    }


def test_video_is_fitted(video, invoke) -> None:
    done = invoke("errors", video, "--k", 2, "--format", "csv")
    assert (done.exit_code, spans(done.stdout)) == (0, [(21, 26), (51, 54)])
    assert done.stderr == "door.npy: 10 of 80 frames are outliers, 2 events (score above 12)\n"
    done = invoke("errors", video, "--k", 2, "--format", "csv", "--start", 23, "--end", 70)
    assert spans(done.stdout) == [(23, 26), (51, 54)]


def test_model_and_footage(video, tmp_path: Path, invoke) -> None:
    out = tmp_path / "out"
    fast = ("--only", "model", "--model", "paper")
    assert invoke("run", video, "--k", 2, *fast, "--out", out).exit_code == 0
    done = invoke("errors", out / "model.npz", video, "--end", 40, "--format", "csv")
    assert (done.exit_code, spans(done.stdout)) == (0, [(21, 26)])
    done = invoke("errors", out / "model.npz")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "is a model; name the footage" in done.stderr
    done = invoke("errors", out / "model.npz", video, "--end", 40, "--k", 3)
    assert done.exit_code == 0
    assert "warning: --k has no effect here: the model" in done.stderr
    done = invoke("errors", out)
    assert done.exit_code == 3
    assert "its run wrote no errors.csv" in done.stderr


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--cutoff", 34.5], [(26, 26)]),
        (["--cutoff", -1], [(1, 80)]),
        (["--quantile", 0.975], [(25, 26)]),
        (["--top", 1], [(21, 26)]),
        (["--min-length", 5], [(21, 26)]),
        (["--merge-gap", 24], [(21, 54)]),
        (["--merge-gap", 23], [(21, 26), (51, 54)]),
        (["--cutoff", 1e6], []),
    ],
)
def test_which_events(options, expected, results, invoke) -> None:
    done = invoke("errors", results(), "--format", "csv", *options)
    assert (done.exit_code, spans(done.stdout)) == (0, expected)


def test_formats_for_scripts(results, invoke) -> None:
    folder = results()
    done = invoke("errors", folder, "--format", "frames", "--quiet")
    assert done.stdout.split() == [str(n) for n in [*range(21, 27), *range(51, 55)]]
    assert done.stderr == ""
    done = invoke("errors", folder, "--format", "ffmpeg")
    expected = "select='between(n,20,25)+between(n,50,53)',setpts=N/FRAME_RATE/TB\n"
    assert done.stdout == expected


def test_log_json(results, invoke) -> None:
    done = invoke("errors", results(), "--log-json")
    (line,) = done.stderr.splitlines()
    facts = json.loads(line)
    assert (facts["event"], facts["events"], facts["cutoff"]) == ("summary", 2, 12.0)


def test_fail_on_outliers(results, invoke) -> None:
    folder = results()
    done = invoke("errors", folder, "--fail-on-outliers")
    assert done.exit_code == 8
    assert len(done.stdout.splitlines()) == 3
    assert done.stderr.splitlines()[-1] == "bgsub: door.npy: outlier frames were found"
    assert invoke("errors", folder, "--fail-on-outliers", "--min-length", 50).exit_code == 0
    changed = results("changed", change={"first_frame": 60, "first_time_s": 2.36})
    assert invoke("errors", changed, "--fail-on-outliers", "--min-length", 50).exit_code == 8


def test_plot(results, tmp_path: Path, invoke) -> None:
    folder = results()
    for name, start in (("a.png", b"\x89PNG"), ("b.SVG", b"<?xml")):
        path = tmp_path / name
        path.write_bytes(b"replaced")
        assert invoke("errors", folder, "--plot", path).exit_code == 0
        assert path.read_bytes().startswith(start)
    assert not list(tmp_path.glob(".*"))
    done = invoke("errors", folder, "--plot", tmp_path / "none" / "a.png")
    assert (done.exit_code, done.stdout) == (OutputError.exit_code, "")
    done = invoke("errors", folder, "--plot", "door.mp4")
    assert done.exit_code == 2
    assert "must end with .png or .svg" in done.stderr


def test_save_frames(results, frames, tmp_path: Path, invoke) -> None:
    saved = tmp_path / "deep" / "visitors"
    assert invoke("errors", results(), "--save-frames", saved).exit_code == 0
    assert sorted(p.name for p in saved.iterdir()) == [
        "event001_frame000026.png",
        "event002_frame000054.png",
    ]
    data = np.frombuffer((saved / "event002_frame000054.png").read_bytes(), np.uint8)
    assert np.array_equal(cv2.imdecode(data, cv2.IMREAD_GRAYSCALE), frames[53])


def test_save_frames_of_a_video(video, tmp_path: Path, invoke) -> None:
    saved = tmp_path / "visitors"
    done = invoke(
        "errors", video, "--k", 2, "--start", 40, "--scale", "0.5", "--save-frames", saved
    )
    assert done.exit_code == 0
    (path,) = saved.iterdir()
    assert path.name.startswith("event001_frame00005")
    # People want to see the whole picture.
    assert cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), 0).shape == (24, 32)


def test_save_frames_needs_the_video(results, video, tmp_path: Path, invoke) -> None:
    folder = results()
    saved = tmp_path / "visitors"
    video.write_bytes(video.read_bytes() + b" ")
    done = invoke("errors", folder, "--save-frames", saved)
    assert "has changed since" in done.stderr
    video.unlink()
    done = invoke("errors", folder, "--save-frames", saved)
    assert (done.exit_code, done.stdout) == (3, "")
    assert f"{video}: the video of these results is gone" in done.stderr
    (folder / "run.json").unlink()
    done = invoke("errors", folder, "--save-frames", tmp_path / "visitors")
    assert done.exit_code == 2
    assert "does not say which video it is of" in done.stderr


def test_footage_shorter_than_its_errors(results, video, frames, tmp_path: Path, invoke) -> None:
    folder = results()
    np.save(video, frames[:30])
    done = invoke("errors", folder, "--save-frames", tmp_path / "visitors")
    assert done.exit_code == 3
    assert "has no frame 54" in done.stderr.splitlines()[-1]


def test_folder_for_frames_cannot_be_made(results, tmp_path: Path, invoke) -> None:
    (tmp_path / "file").write_text("")
    done = invoke("errors", results(), "--save-frames", tmp_path / "file")
    assert done.exit_code == 5


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "missing argument"),
        (["none.avi"], 3, "no such file"),
        (["RESULTS", "--cutoff", "much"], 2, "--cutoff much: must be a finite number"),
        (["RESULTS", "--cutoff", "nan"], 2, "--cutoff nan: must be a finite number"),
        (["RESULTS", "--cutoff", "3", "--quantile", "0.5"], 2, "exclude each other"),
        (["RESULTS", "--quantile", "1"], 2, "--quantile 1: must be a share of 0 or more, below 1"),
        (["RESULTS", "--top", "0"], 2, "--top 0: must be a whole number of 1 or more"),
        (["RESULTS", "--merge-gap", "-1"], 2, "--merge-gap -1: must be a whole number of frames"),
        (["RESULTS", "--format", "xml"], 2, "--format"),
        (["RESULTS", "VIDEO"], 2, "is no model.npz"),
        (["VIDEO", "--k", "0"], 2, "--k 0: must be"),
        (["VIDEO", "--k", "80"], 2, "too much for 80 frames"),
        (["VIDEO", "--start", "99"], 4, "no frame is selected"),
        (["none.npz", "VIDEO"], 3, "there is no such model"),
        (["VIDEO", "--nonsense"], 2, "--nonsense"),
    ],
)
def test_bad_calls(arguments, code, words, results, video, invoke) -> None:
    names = {"RESULTS": str(results()), "VIDEO": str(video)}
    done = invoke("errors", *(names.get(a, a) for a in arguments))
    assert (done.exit_code, done.stdout) == (code, "")
    assert done.stderr.startswith("bgsub: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_recorded_errors_are_listed_without_opencv(results) -> None:
    code = (
        "import sys; from bgsub.cli import main\n"
        "try: main()\n"
        "finally: print('cv2' in sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "errors", str(results())]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.startswith("event")
    assert done.stderr.splitlines()[-1] == "False"


def test_a_run_json_of_another_command_says_nothing_of_errors(results, invoke) -> None:
    manifest = json.loads((path := results("other") / "run.json").read_text())
    del manifest["cutoff"]
    path.write_text(json.dumps({**manifest, "command": ""}))
    done = invoke("errors", path.parent)
    assert (done.exit_code, done.stderr[:11]) == (0, "errors.csv:")


def test_bad_results(results, tmp_path: Path, invoke) -> None:
    def refusal(path: Path) -> str:
        done = invoke("errors", path)
        assert (done.exit_code, done.stdout) == (3, "")
        assert done.stderr.count("\n") == 1
        return done.stderr

    folder = results("batch/one")
    results("batch/two")
    assert f"holds several results; give one of them, such as {folder}" in refusal(folder.parent)
    (tmp_path / "empty").mkdir()
    assert "holds no images" in refusal(tmp_path / "empty")
    (folder / "errors.csv").write_text("frame,time_s\n")
    assert "no errors.csv of bgsub" in refusal(folder)
    (folder / "run.json").write_text("{}")
    assert "run.json" in refusal(folder)
    damaged = results("damaged", scene_change={"first_frame": "soon"})
    assert "run.json: scene_change.first_frame soon: must be" in refusal(damaged)


@pytest.fixture
def array_results(scene, tmp_path):
    """Results of frames that a program passed as an array."""
    options = bgsub.RunOptions(k=2, outputs=["errors", "model"], model="paper")
    return bgsub.run(scene(n=40), tmp_path / "r", options).out


def test_results_of_an_array_have_events_but_no_video(array_results, invoke, tmp_path) -> None:
    assert invoke("errors", array_results, "--format", "json").exit_code == 0
    done = invoke("errors", array_results, "--save-frames", tmp_path / "frames")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "does not say which video it is of" in done.stderr


@pytest.mark.parametrize(
    "typed", [("--k", "3"), ("--start", "5"), ("--scale", "1"), ("--memory", "50%")]
)
def test_options_without_an_effect_are_named(typed, results, invoke) -> None:
    folder = results()
    done = invoke("errors", folder, *typed)
    assert (done.exit_code, done.stdout) == (0, invoke("errors", folder).stdout)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert line.startswith(f"warning: {typed[0]} has no effect here: {folder} holds errors")


def test_frames_in_an_npz_file_are_no_model(scene, invoke, tmp_path) -> None:
    np.savez(tmp_path / "clip.npz", frames=scene(n=40))
    done = invoke("errors", tmp_path / "clip.npz", "--k", 2, "--format", "json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["frames"] == 40
