"""What becomes of the replies of workers; `make test-cluster` has real ones."""

import numpy as np
import pytest

from bgsub.cli import jobs
from bgsub.cli.jobs import Job, Work, on_cluster, run_batch
from bgsub.cli.messages import Session
from bgsub.errors import BatchError, BgsubError
from bgsub.pipeline.run import run
from tests.conftest import make_options, make_scene

DONE = {"status": "done", "exit_code": 0, "lines": ["said"]}
DIED = {"died": -9, "last_line": "boom"}
FAILED = {"status": "failed", "exit_code": 3, "lines": ["bgsub: a: is damaged"]}
PASSING = {"status": "failed", "exit_code": 5, "lines": ["bgsub: a: the disk is full"]}


class FakePool:
    """Gives the replies of a list for each input, and does those that are `DONE`."""

    def __init__(self, **replies):
        self.replies, self.asked = replies, []

    def slots(self):
        return {}

    def do(self, tasks):
        for place, task in enumerate(tasks):
            _, _, request, _ = task
            name = request["job"].input.split(".")[0]
            self.asked.append(name)
            left = self.replies.get(name)
            reply = left.pop(0) if left else DONE
            if reply is DONE:
                self.work(request)
            yield place, reply

    def work(self, request):
        run(request["job"].input, request["job"].out, OPTIONS)


@pytest.fixture
def films(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        np.save(f"{name}.npy", make_scene(50))
    out = tmp_path / "out"
    return [Job(f"{name}.npy", out / name, place, 2) for place, name in enumerate("ab", 1)]


OPTIONS = make_options(outputs={"errors"}, k=1)
WORK = Work(OPTIONS)


def do(films, pool):
    session = Session()
    outcomes = on_cluster(pool, films, WORK, session)
    run_batch(films, WORK, session, outcomes=outcomes)


def test_a_unit_that_died_is_tried_again(films, capsys):
    pool = FakePool(a=[DIED, PASSING])
    do(films, pool)
    assert pool.asked == ["a", "b", "a", "a"]
    assert "2 inputs: 2 done" in capsys.readouterr().err


def test_after_three_tries_it_fails_under_its_own_name(films, capsys):
    pool = FakePool(a=[DIED] * 3)
    with pytest.raises(BatchError, match=r"1 of 2 inputs failed: a\.npy"):
        do(films, pool)
    assert pool.asked == ["a", "b", "a", "a"]
    assert "bgsub: a.npy: the process that worked on it was killed" in capsys.readouterr().err


def test_a_process_that_cannot_start_says_why_and_is_not_tried_again(films, capsys):
    broken = {"died": 1, "last_line": "ModuleNotFoundError: No module named 'click'"}
    pool = FakePool(a=[broken])
    with pytest.raises(BatchError, match=r"1 of 2 inputs failed: a\.npy"):
        do(films, pool)
    assert pool.asked == ["a", "b"]
    assert "No module named 'click'); check the Python" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (FAILED, "bgsub: a: is damaged"),
        (BgsubError("every worker that tried it died"), "a.npy: every worker that tried it died"),
        (ModuleNotFoundError("No module named 'bgsub'"), "install the same bgsub on all workers"),
        (ValueError("strange"), "a.npy: unexpected error: ValueError: strange"),
    ],
)
def test_what_would_fail_again_is_not_tried_again(films, reply, text, capsys):
    pool = FakePool(a=[reply])
    with pytest.raises(BatchError):
        do(films, pool)
    assert pool.asked == ["a", "b"]
    assert text in capsys.readouterr().err


def test_results_that_do_not_arrive(films, monkeypatch, capsys):
    monkeypatch.setattr(jobs, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(FakePool, "work", lambda _self, _request: None)
    with pytest.raises(BatchError):
        do(films, FakePool())
    assert "give an --out that all workers see" in capsys.readouterr().err
