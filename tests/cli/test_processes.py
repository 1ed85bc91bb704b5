"""Inputs side by side and units of work for others, in real processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bgsub.cli import jobs
from bgsub.cli.jobs import Job, Work, answer, request_for
from bgsub.cli.messages import Session
from bgsub.runtime.processes import ask_child
from bgsub.version import __version__
from tests.conftest import make_options, make_scene

POISONED = "tests.cluster.poisoned"
FAST = ("--k", "1", "--only", "errors")


@pytest.fixture
def films(tmp_path, monkeypatch):
    """Change into a folder with films of some names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    def make(*names: str) -> list[str]:
        for name in names:
            np.save(f"{name}.npy", make_scene(14, visit=10))
        return [f"{name}.npy" for name in names]

    return make


def test_lines_are_kept_and_progress_is_not(capsys) -> None:
    session = Session(label="a.avi", lines=[])
    session.log("progress", "7 of 9")
    session.log("finding", "nothing")
    assert session.lines == ["a.avi: nothing"]
    assert capsys.readouterr().err == "a.avi: 7 of 9\n"


def test_the_killed_fail_alone_and_others_are_as_in_one_process(films, invoke, monkeypatch) -> None:
    """Their files and their lines, which come in order."""
    monkeypatch.setattr(jobs, "MODULE", POISONED)
    Path("bad.avi").write_text("no video")
    given = [*films("a"), "none.npy", *films("poison", "b"), "bad.avi"]
    arguments = ("--k", 1, "--model", "paper", "--only", "errors,mask", "--out", "out", "--jobs")
    done = invoke("run", *given, *arguments, 2)
    assert (done.exit_code, done.stdout) == (6, ""), done.stderr
    lines = done.stderr.splitlines()
    assert lines[-1] == "bgsub: 3 of 5 inputs failed: none.npy, poison.npy, bad.avi"
    begun = [line.split(": ")[0] for line in lines if re.search(r": \d of 5$", line)]
    assert begun == given
    assert "bgsub: none.npy: no such file or folder; check the path" in lines
    (killed,) = [line for line in lines if line.startswith("bgsub: poison.npy: ")]
    assert "was killed, perhaps for lack of memory; use fewer --jobs" in killed
    pids = {Path(name).with_suffix(".pid").read_text() for name in given}
    assert len(pids) <= 3  # two processes are kept, and one comes in the place of the killed one
    Path("out").rename("out2")
    given.remove("poison.npy")
    alone = invoke("run", *given, *arguments, 1)
    assert (alone.exit_code, alone.stdout) == (6, ""), alone.stderr
    said = []
    for text in (done.stderr, alone.stderr):
        # How far a run has come is said where it takes its time, as it does on a busy machine.
        of_others = r"(?m)^.*: \w+: \d+ of \d+ \(\d+ %\).*\n|.*(poison|inputs failed).*\n"
        without = re.sub(of_others, "", text)
        said.append(re.sub(r"(?m)in .+, [\d.]+ a second|\d of \d$", "", without))
    assert said[0] == said[1] != ""
    assert sorted(path.parent.name for path in Path("out2").glob("*/run.json")) == ["a", "b"]
    files = sorted(path.relative_to("out") for path in Path("out").rglob("*.*"))
    assert len(files) == 6
    for file in files:
        if file.name != "run.json":
            assert ("out" / file).read_bytes() == ("out2" / file).read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
@pytest.mark.parametrize("how", ["SIGINT to all", "SIGTERM", "SIGKILL"])
def test_an_interrupt_ends_all_of_them(how, films) -> None:
    given = films("sleeper1", "sleeper2", "c", "d")
    code = f"from bgsub.cli import jobs, main; jobs.MODULE = {POISONED!r}; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "run", *given, "--jobs", "2", "--out", "out"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for("sleeper1.pid", "sleeper2.pid")
    if how == "SIGINT to all":  # as a terminal does
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(getattr(signal, how))
    _, text = process.communicate(timeout=30)
    if how != "SIGKILL":
        assert process.returncode == 130
        assert text.startswith("bgsub: interrupted; ")
        assert "0 of 4 inputs were finished" in text
        assert text.count("\n") == 1
    wait_for("sleeper1.end", "sleeper2.end")


def wait_for(*names: str) -> None:
    until = time.monotonic() + 60
    while not all(Path(name).exists() for name in names):
        assert time.monotonic() < until, names
        time.sleep(0.02)


@pytest.fixture
def ask(tmp_path):
    np.save(tmp_path / "a.npy", make_scene(20, visit=14))

    def make(given="a.npy", **changes):
        job = Job(str(tmp_path / given), tmp_path / "out", 2, 3)
        told = Work(make_options(outputs={"errors"}, k=1))
        return request_for(job, told, Session(), unseen=True) | {"jobs": 1} | changes

    return make


def test_an_input_is_run_where_its_folder_is(ask, tmp_path):
    request = ask(directory=str(tmp_path))
    request["job"] = replace(request["job"], out=Path("there"))
    reply = ask_child("bgsub.cli.jobs", request, lambda: False)
    assert (reply["status"], reply["exit_code"]) == ("done", 0)
    assert any(line.endswith("results are in there") for line in reply["lines"])
    assert (tmp_path / "there" / "run.json").exists()


def test_what_fails_says_so_with_its_code(ask, tmp_path):
    reply = answer(ask(given="none.npy"))
    assert (reply["status"], reply["exit_code"]) == ("failed", 3)
    name = tmp_path / "none.npy"
    assert reply["lines"] == [f"bgsub: {name}: no such file or folder; check the path"]
    reply = answer(ask(version="0.0"))
    assert reply["exit_code"] == 2
    assert f"bgsub {__version__} is on this worker" in reply["lines"][0]


def test_it_stops_when_whoever_asked_is_gone(ask, tmp_path):
    request = ask(given="long.npy")
    np.save(tmp_path / "long.npy", np.concatenate([make_scene(100, 36, 48)] * 20))
    assert ask_child("bgsub.cli.jobs", request, lambda: True)["died"] == 130
    assert not list((tmp_path / "out").glob("*"))
