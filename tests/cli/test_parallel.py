"""Inputs side by side, in real processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bgsub.cli.jobs import KILLED, Job, KeptSession, Outcome, attempt, attempt_side_by_side
from bgsub.cli.messages import Session
from bgsub.errors import InputError

# What the processes do; they have to import it by name.
HELPER = """
import os, signal, sys, time
from pathlib import Path
from bgsub.cli.jobs import Job
from bgsub.errors import InputError

def work(job, session):
    if job.input == "slow":
        time.sleep(0.3)
    if job.input == "bad":
        raise InputError("bad: cannot be read")
    if job.input == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    session.log("finding", f"done in {os.getpid()}", pid=os.getpid())

def wait(job, session):
    job.out.mkdir()
    try:
        os.write(1, b"ready\\n")  # at once, whatever others write
        time.sleep(60)
    finally:
        time.sleep(0.2)
        job.out.rmdir()

if __name__ == "__main__":
    import helper_of_parallel
    from bgsub.cli.jobs import run_batch
    from bgsub.cli.messages import Session, install, log_error
    install()
    jobs = [Job(str(n), Path(sys.argv[1]) / str(n), n, 4) for n in range(1, 5)]
    session = Session()
    try:
        run_batch(jobs, helper_of_parallel.wait, session, skip=None, processes=2)
    except BaseException as error:
        sys.exit(log_error(error, session))
"""


@pytest.fixture
def helper(tmp_path, monkeypatch):
    """A module that the processes can import, too."""
    (tmp_path / "helper_of_parallel.py").write_text(HELPER)
    monkeypatch.syspath_prepend(tmp_path)
    import helper_of_parallel

    yield helper_of_parallel
    del sys.modules["helper_of_parallel"]


def jobs_of(names: list[str]) -> list[Job]:
    return [Job(name, Path(name), number, len(names)) for number, name in enumerate(names, 1)]


def test_lines_are_kept_and_progress_is_not(capsys) -> None:
    session = KeptSession(label="a.avi", bars=False)
    session.log("progress", "7 of 9")
    session.log("finding", "nothing")
    assert session.lines == ["a.avi: nothing"]
    assert capsys.readouterr().err == "a.avi: 7 of 9\n"


def test_outcomes_come_in_order_and_the_killed_fail_alone(helper, capsys) -> None:
    jobs = jobs_of(["slow", "bad", "a", "killed", "b", "c"])
    found = list(attempt_side_by_side(jobs, helper.work, Session(), skip=None, processes=2))
    assert [outcome.job for outcome in found] == jobs
    assert [outcome.status for outcome in found] == [
        *("done", "failed", "done", "failed", "done", "done")
    ]
    assert [outcome.exit_code for outcome in found] == [0, 3, 0, 1, 0, 0]
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[0] for line in lines if not line.startswith("bgsub: ")] == [
        *("slow", "slow", "bad", "a", "a", "killed", "b", "b", "c", "c")
    ]
    assert lines[3] == "bgsub: bad: cannot be read"
    assert f"bgsub: killed: {KILLED}" in lines
    processes = {line.split()[-1] for line in lines if "done in" in line}
    assert 2 <= len(processes) <= 3
    assert str(os.getpid()) not in processes


def start(helper: object, out: Path) -> subprocess.Popen[str]:
    out.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(getattr(helper, "__file__", "")), str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline() == "ready\n"
    assert len(list(out.iterdir())) == 2
    return process


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
class TestInterrupts:
    @pytest.mark.parametrize(("name", "to_all"), [("SIGINT", True), ("SIGTERM", False)])
    def test_all_clear_up(self, name, to_all, helper, tmp_path) -> None:
        process = start(helper, tmp_path / "out")
        number = getattr(signal, name)
        if to_all:  # as a terminal does
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        _, text = process.communicate(timeout=30)
        assert process.returncode == 130
        assert text.startswith("bgsub: interrupted; ")
        assert "0 of 4 inputs were finished" in text
        assert text.count("\n") == 1
        assert list((tmp_path / "out").iterdir()) == []

    def test_they_end_when_the_first_is_killed(self, helper, tmp_path) -> None:
        process = start(helper, tmp_path / "out")
        process.kill()
        until = time.monotonic() + 30
        while list((tmp_path / "out").iterdir()) and time.monotonic() < until:
            time.sleep(0.02)
        assert list((tmp_path / "out").iterdir()) == []
        process.communicate(timeout=30)


def test_a_real_batch_is_the_same_with_two_processes(tmp_path) -> None:
    rng = np.random.default_rng(0)
    for name in "ab":
        frames = rng.integers(90, 110, size=(30, 32, 40), dtype=np.uint8)
        frames[25:, 4:20, 4:20] += 100
        np.save(tmp_path / f"{name}.npy", frames)
    (tmp_path / "bad.avi").write_text("no video")
    said = []
    for jobs in ("1", "2"):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "bgsub", "run", "a.npy", "bad.avi", "b.npy"),
                *("--k", "2", "--only", "errors,model,mask", "--out", "r", "--jobs", jobs),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert (done.returncode, done.stdout) == (6, ""), done.stderr
        # How far a run has come is said where it takes its time, as it does on a busy machine.
        without = re.sub(r"(?m)^.*: \w+: \d+ of \d+ \(\d+ %\)\n", "", done.stderr)
        said.append(re.sub(r"in [\d.]+ s, [\d.]+ a second", "", without))
        (tmp_path / "r").rename(tmp_path / f"r{jobs}")
    assert said[0] == said[1]
    assert said[0].splitlines()[-1] == "bgsub: 1 of 3 inputs failed: bad.avi"
    files = sorted(path.relative_to(tmp_path / "r1") for path in (tmp_path / "r1").rglob("*.*"))
    assert len(files) == 8
    for file in files:
        if file.name != "run.json":
            assert (tmp_path / "r1" / file).read_bytes() == (tmp_path / "r2" / file).read_bytes()


def test_errors_are_outcomes_here_too() -> None:
    def fail(job: Job, session: Session) -> None:
        raise InputError("no")

    job = Job("a", Path("a"), 1, 2)
    session = KeptSession()
    assert attempt(job, fail, session, skip=None) == Outcome(job, "failed", 3)
    assert session.lines == ["a: 1 of 2", "bgsub: a: no"]
