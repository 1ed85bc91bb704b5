"""Segments of one film, in several processes and after a kill."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

from bgsub.cli import cli
from bgsub.video.images import write_image
from tests.conftest import make_scene

ARGUMENTS = ("--segment", "50", "--k", "1", "--format", "mkv")
ARGUMENTS += ("--only", "mask,errors,objects,model", "--model", "paper", "--threads", "1")


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "film.npy"
    np.save(path, make_scene(100, 16, 24, visit=60))
    return path


def stable(contents):
    return {name: data for name, data in contents.items() if name != "run.json"}


@pytest.fixture(scope="module")
def undisturbed(film, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "one"
    result = CliRunner().invoke(cli, ["run", str(film), *ARGUMENTS, "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    return out, result


def test_the_log_names_the_borders_and_says_how_fast_it_was(undisturbed):
    log = undisturbed[1].stderr
    begin = "1, 51 (after 50 frames)"
    assert f"film.npy: 2 segments, which begin at frame {begin}" in log
    assert "film.npy: segment 2 of 2 is finished" in log
    assert re.fullmatch(r"100 frames in .+, [\d.]+ a second", log.splitlines()[-1])


def test_jobs_work_on_segments_and_the_bytes_are_the_same(
    film, undisturbed, invoke, tmp_path, contents
):
    result = invoke("run", film, *ARGUMENTS, "--jobs", 2, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert "film.npy, segment 2: 2 of 2" in result.stderr
    assert stable(contents(tmp_path / "out")) == stable(contents(undisturbed[0]))


def test_a_segment_that_fails_is_named_and_the_others_are_kept(invoke, tmp_path):
    shots = tmp_path / "shots"
    shots.mkdir()
    for number, frame in enumerate(make_scene(150, 12, 16, color=False), 1):
        write_image(shots / f"f{number:03d}.png", frame)
    (shots / "f060.png").write_bytes((shots / "f060.png").read_bytes()[:90])
    arguments = ("--segment", 50, "--k", 1, "--only", "errors", "--on-bad-frame", "fail")
    result = invoke("run", shots, *arguments, "--jobs", 2, "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert "frame 60" in result.stderr
    done = {path.parent.name for path in (tmp_path / "out").glob(".segments/*/run.json")}
    assert done == {"0001", "0003"}


def test_a_run_that_is_killed_again_and_again_goes_on_to_the_same_bytes(
    film, undisturbed, invoke, tmp_path, contents
):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "bgsub", "run", str(film), *ARGUMENTS, "--out", str(out)]
    signs = "0001/.bgsub-partial-*/*.csv", "0002/.bgsub-partial-*"
    for sign in signs:
        resumed = ["--resume"] if out.exists() else []
        process = subprocess.Popen([*command, *resumed], stderr=subprocess.DEVNULL)
        while process.poll() is None and not list((out / ".segments").glob(sign)):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    result = invoke("run", film, *ARGUMENTS, "--resume", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert stable(contents(out)) == stable(contents(undisturbed[0]))
    assert not (out / ".segments").exists()
    again = invoke("run", film, *ARGUMENTS, "--resume", "--out", out)
    assert again.exit_code == 0
    assert "skipped" in again.stderr


def test_resume_without_segments_is_refused(film, invoke, tmp_path):
    result = invoke("run", film, "--segment", "off", "--resume", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "--skip-existing" in result.stderr
