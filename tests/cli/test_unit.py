"""A unit of work is done for whoever asks, and told to nobody else."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bgsub.cli.cluster import request_for
from bgsub.cli.jobs import Job
from bgsub.cli.messages import Session
from bgsub.cluster.parts import common_plan
from bgsub.version import __version__
from tests.conftest import make_options, make_scene


@pytest.fixture
def ask(tmp_path):
    np.save(tmp_path / "a.npy", make_scene(120))
    job = Job(str(tmp_path / "a.npy"), tmp_path / "out")

    def make(number=None, **changes):
        options = make_options(outputs={"errors"}, k=1, segment=60)
        if number is not None:
            common_plan(job.input, job.out, options)
        return request_for(job, options, Session(), number) | {"jobs": 1} | changes

    return make


def begin():
    return subprocess.Popen(
        [sys.executable, "-m", "bgsub.cli.cluster"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def reply_to(request):
    with begin() as child:
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()
        text = child.stdout.read()
    assert child.returncode == 0
    assert text.count(b"\n") == 1
    return json.loads(text)


def test_an_input_is_run(ask, tmp_path):
    reply = reply_to(ask(directory=str(tmp_path), out="there"))
    assert (reply["status"], reply["exit_code"]) == ("done", 0)
    assert reply["lines"][-2] == "results are in there"
    assert (tmp_path / "there" / "run.json").exists()


def test_a_segment_is_run(ask, tmp_path):
    reply = reply_to(ask(2, name="a.npy, segment 2", place=(2, 2)))
    assert (reply["status"], reply["lines"]) == ("done", [])
    assert (tmp_path / "out" / ".segments" / "0002" / "run.json").exists()


def test_what_fails_says_so_with_its_code(ask, tmp_path):
    reply = reply_to(ask(input="none.npy", name="none.npy", place=(2, 3)))
    assert (reply["status"], reply["exit_code"]) == ("failed", 3)
    assert reply["lines"] == ["bgsub: none.npy: no such file or folder; check the path"]
    reply = reply_to(ask(version="0.0"))
    assert (reply["exit_code"], f"bgsub {__version__} is on this worker" in reply["lines"][0]) == (
        2,
        True,
    )


def test_it_stops_when_whoever_asked_is_gone(ask, tmp_path):
    request = ask(input=str(tmp_path / "long.npy"))
    np.save(request["input"], np.concatenate([make_scene(120)] * 20))
    with begin() as child:
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.close()
        assert child.stdout.read() == b""
    assert child.returncode in {130, -signal.SIGTERM}
    assert not list(Path(tmp_path / "out").glob("*"))
