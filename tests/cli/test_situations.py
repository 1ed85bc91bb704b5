"""What people give by mistake or have around: the documented code, in one line, before the work."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import av.error
import numpy as np
import pytest

from bgsub.cli.messages import Session, describe, reporting
from bgsub.errors import InputError, OutputError
from bgsub.video.images import write_image
from tests.video.damaged_films import film

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and limits of POSIX")


@pytest.fixture
def place(tmp_path: Path, scene, monkeypatch) -> Path:
    np.save(tmp_path / "clip.npy", scene(12, visit=9))
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.png")
    os.mkfifo(tmp_path / "p1e.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path


READING = [
    "run pipe --out out",
    "run clip.npy --mask-image pipe --out out",
    "run clip.npy --ignore pipe --out out",
    "run --from-json pipe --out out",
    "run --from-file pipe --out out",
    "run --from-file /dev/urandom --out out",
    "run p%de.png --out out",
    "run p*e.png --out out",
    "apply pipe clip.npy --out out",
    "errors pipe",
    "errors pipe clip.npy",
    "evaluate pipe clip.npy",
    "evaluate clip.npy pipe",
    "evaluate clip.npy pipe.png",
    "compare clip.npy --methods pca --k 1 --truth pipe --out out",
    "experiment digits --data pipe --out out",
    "info pipe",
    "report pipe",
    "report nowhere",
    "view pipe",
    "clips pipe --out out",
    "export pipe --to coco --out out",
    "objects pipe --out out",
    "join pipe",
]


@pytest.mark.parametrize("command", READING)
def test_pipes_and_devices_are_refused_where_a_file_is_read(command, place, invoke) -> None:
    done = invoke(*command.split())
    assert done.exit_code == 3
    assert len(done.stderr.splitlines()) == 1
    assert not (place / "out").exists()


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (f"run {LONG} --out out", 3),
        (f"run clip.npy --mask-image {LONG} --out out", 3),
        (f"run --from-json {LONG} --out out", 3),
        (f"run --from-file {LONG} --out out", 3),
        (f"run clip.npy --out {LONG[:300]}", 5),
        (f"run clip.npy --temp {LONG} --out out", 5),
        (f"background clip.npy --out {LONG[:300]}.png", 5),
        (f"apply {LONG} clip.npy --out out", 3),
        (f"errors {LONG}", 3),
        (f"evaluate {LONG} clip.npy", 3),
        (f"evaluate clip.npy {LONG}", 3),
        (f"info {LONG}", 3),
        ("run clip.npy --threads 1e20 --out out", 2),
        ("run clip.npy --threads 100000000000000000000 --out out", 2),
        ("run --from-file clip.npy --out out", 3),
        ("evaluate clip.npy clip.npy --offset 9223372036854775808", 2),
        ("objects clip.npy --out out --fps nan", 2),
        ("objects clip.npy --out out --fps 1/0", 2),
        ("run clip.npy --out out --cutoff 1e308", 2),
        ("errors clip.npy --k 2 --plot out.png --cutoff=-1e308", 2),
    ],
    ids=range(20),
)
def test_names_and_numbers_beyond_all_bounds(command, code, place, invoke) -> None:
    done = invoke(*command.split())
    assert done.exit_code == code
    assert len(done.stderr.splitlines()) == 1
    assert "unexpected" not in done.stderr


def limited(arguments: str, kind: int, limit: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bgsub", *arguments.split()],
        preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_too_few_open_files_are_said(place) -> None:
    done = limited("run clip.npy clip.npy --jobs 2 --out out", resource.RLIMIT_NOFILE, 8)
    assert done.returncode == 2
    assert "too many files are open" in done.stderr
    assert "ulimit -n" in done.stderr


@pytest.mark.parametrize("megabytes", [250, 460, 760, 1000])
def test_too_little_address_space_is_out_of_memory(megabytes, place) -> None:
    """At 460 and 760 MB OpenBLAS asked for ever for what it could not have."""
    done = limited("run clip.npy --k 2 --out out", resource.RLIMIT_AS, megabytes * 10**6)
    assert done.returncode == 7
    assert done.stderr.startswith("bgsub: out of memory")
    assert len(done.stderr.splitlines()) == 1
    assert not (place / "out").exists()


def test_a_thread_that_ffmpeg_does_not_get_is_out_of_memory() -> None:
    error = OutputError("mask.mp4: cannot be read back")
    error.__cause__ = av.error.BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    assert describe(error)[1] == 7
    error.__cause__ = BlockingIOError(errno.EAGAIN, "write could not complete without blocking")
    assert describe(error)[1] == 5


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (OSError(errno.ENOMEM, "Cannot allocate memory"), 7),
        (MemoryError(), 7),
        (RuntimeError("can't start new thread"), 7),
        (OSError(errno.ENOSPC, "No space left on device"), 5),
    ],
)
def test_out_of_memory_is_7_whatever_it_prevented(cause, code) -> None:
    error = OutputError("mask.mp4: cannot be written")
    error.__cause__ = cause
    assert describe(error)[1] == code
    assert describe(cause)[1] == code


def test_a_header_that_asks_for_more_memory_than_there_is_stays_a_damaged_input() -> None:
    error = InputError("a.npz: is damaged")
    error.__cause__ = MemoryError()
    assert describe(error) == ("a.npz: is damaged", 3)


def test_a_folder_of_videos_is_refused_with_the_glob_that_works(place, invoke) -> None:
    (place / "films").mkdir()
    for name in ("a.MP4", "b.MP4", "c.avi", "notes.txt"):
        (place / "films" / name).write_bytes(b"1")
    done = invoke("run", "films", "--out", "out")
    assert done.exit_code == 3
    assert "films: holds 3 videos and no images; give them as films/*.MP4" in done.stderr


@pytest.mark.parametrize("command", ["run one.npy --out out", "run one.npy --k 5 --out out"])
def test_a_film_of_one_frame_is_told_about_frames(command, place, invoke, scene) -> None:
    np.save(place / "one.npy", scene(1))
    done = invoke(*command.split())
    assert done.exit_code == 2
    assert "1 frame is selected, but a background takes 2" in done.stderr
    assert "--k" not in done.stderr


def test_apply_takes_a_results_folder(place, invoke) -> None:
    fast = ("--only", "model", "--model", "paper")
    assert invoke("run", "clip.npy", *fast, "--out", "r").exit_code == 0
    done = invoke("apply", "r", "clip.npy", "--out", "again", "--only", "errors")
    assert done.exit_code == 0, done.stderr
    (place / "r" / "model.npz").unlink()
    done = invoke("apply", "r", "clip.npy", "--out", "more")
    assert (done.exit_code, "r: holds no model.npz" in done.stderr) == (3, True)


def test_the_end_of_a_run_says_what_the_masks_found(place, scene, invoke) -> None:
    np.save("clip.npy", scene(16, visit=13))
    done = invoke("run", "clip.npy", "--k", 2, "--out", "r", "--only", "mask")
    assert re.search(r"foreground in 3 of 16 frames, 1\.\d+ % of the pixels", done.stderr)
    done = invoke("run", "clip.npy", "--out", "e", "--only", "errors")
    assert "foreground" not in done.stderr


def test_outliers_are_an_exit_code_and_no_error_when_quiet(place, invoke) -> None:
    command = ["errors", "clip.npy", "--k", 2, "--fail-on-outliers"]
    done = invoke(*command, "--quiet")
    assert (done.exit_code, done.stderr) == (8, "")
    assert "outlier frames were found" in invoke(*command).stderr


def test_numbers_that_overflow_are_told_once_in_our_words(capsys) -> None:
    with reporting(Session()):
        for _ in range(3):
            np.float64(1e300) * np.float64(1e300)
            np.array([1.0]) / np.array([0.0])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: some numbers are not finite")


def test_a_home_that_cannot_be_written_is_no_matter(place, invoke) -> None:
    assert invoke("run", "clip.npy", "--only", "errors", "--out", "r").exit_code == 0
    environment = {key: value for key, value in os.environ.items() if key != "MPLCONFIGDIR"}
    done = subprocess.run(
        [sys.executable, "-m", "bgsub", "errors", "r", "--plot", "e.png"],
        env={**environment, "HOME": "/proc/none", "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0
    assert "atplotlib" not in done.stderr


def test_results_are_of_use_from_another_folder(place, invoke, monkeypatch) -> None:
    painted = np.full((24, 32), 255, np.uint8)
    painted[:4] = 0
    write_image(place / "mask.png", painted)
    command = ["run", "clip.npy", "--k", 2, "--mask-image", "mask.png", "--only", "errors"]
    assert invoke(*command, "--out", "r").exit_code == 0
    (place / "elsewhere").mkdir()
    monkeypatch.chdir(place / "elsewhere")
    done = invoke("errors", "../r", "--save-frames", "seen")
    assert done.exit_code == 0, done.stderr
    assert len(list((place / "elsewhere" / "seen").iterdir())) == 1
    done = invoke("run", "--from-json", "../r", "--only", "errors", "--out", "again")
    assert done.exit_code == 0, done.stderr
    table = (place / "r" / "errors.csv").read_bytes()
    assert (place / "elsewhere" / "again" / "errors.csv").read_bytes() == table


def test_a_mask_image_with_a_wrong_checksum_is_refused(place, invoke) -> None:
    write_image(place / "mask.png", np.full((24, 32), 255, np.uint8))
    data = bytearray((place / "mask.png").read_bytes())
    data[data.index(b"IDAT") + 6] ^= 1
    (place / "mask.png").write_bytes(data)
    done = invoke("run", "clip.npy", "--mask-image", "mask.png", "--out", "out")
    assert done.exit_code == 3
    assert len(done.stderr.splitlines()) == 1


def test_what_libraries_log_about_a_picture_reaches_no_user(capsys) -> None:
    with reporting(Session()):
        for name in ("tifffile", "PIL.TiffImagePlugin", "matplotlib.font_manager"):
            logging.getLogger(name).error("invalid value offset 2")
        for module in ("PIL.TiffImagePlugin", "tifffile.tifffile"):
            warnings.warn_explicit("Metadata Warning", UserWarning, "a.py", 1, module=module)
        warnings.warn_explicit("of ours", UserWarning, "a.py", 1, module="bgsub.video")
    assert capsys.readouterr().err == "warning: of ours\n"


@pytest.mark.parametrize(
    ("command", "codec", "container", "settings", "loud", "quiet"),
    [
        (
            "run",
            "ffv1",
            "matroska",
            {"slicecrc": "0"},
            "ffv1 without checksums: damage to single",
            "",
        ),
        (
            "errors",
            "ffv1",
            "matroska",
            {"slicecrc": "0"},
            "ffv1 without checksums: damage to single",
            "",
        ),
        ("run", "mpeg4", "avi", {}, "", "mpeg4 has no checksums: damage to single"),
        ("run", "ffv1", "matroska", {}, "", ""),
    ],
)
def test_what_cannot_be_seen_is_said_once(
    command, codec, container, settings, loud, quiet, place, invoke
) -> None:
    """Of codecs that take any bytes in each run; of most others, which all are, with -v."""
    Path("film").write_bytes(film(codec, container, 12, **settings))
    out = ["--out", "out", "--only", "errors", "--force"]
    for verbose, words in (([], [loud]), (["-v"], [loud, quiet])):
        arguments = [command, "film", "--k", "1", *verbose, *(out if command == "run" else [])]
        said = [
            line for line in invoke(*arguments).stderr.splitlines() if "damage to single" in line
        ]
        assert len(said) == len([word for word in words if word])
        assert all(word in "".join(said) for word in words)
    if command == "run":
        facts = json.loads((place / "out" / "run.json").read_text())["input"]
        expected = "cannot be seen" if loud else "may go unseen" if quiet else ""
        assert facts["unseen_damage"] == expected
