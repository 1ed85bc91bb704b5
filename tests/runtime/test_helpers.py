"""Processes that help: their values are those of this one, and they end with it."""

import logging
import math
import os
import signal
import subprocess
import sys
import time
from collections import deque
from functools import partial

import pytest

from bgsub.runtime.helpers import Helpers
from tests.processes import is_alive, is_running

POWER = partial(partial, pow, 2)
"""Makes the function that gives 2 to the power of its argument."""


def pids(helpers):
    return [process.pid for process in helpers._processes]


def powers(helpers, numbers):
    """Give powers of 2, and how many were computed here."""
    here = []

    def compute(number):
        here.append(number)
        return 2**number

    tasks = [helpers.submit(number, partial(compute, number)) for number in numbers]
    return [helpers.result(task) for task in tasks], len(here)


def wait_until(happened):
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_values_come_in_their_order_whoever_computes_them(count):
    with Helpers(count, ["math"]) as helpers:
        assert len(helpers) == count
        helpers.begin(POWER, {})
        assert powers(helpers, range(200))[0] == [2**number for number in range(200)]


def test_a_helper_does_what_nobody_waits_for():
    with Helpers(1, []) as helpers:
        helpers.begin(POWER, {})
        tasks = [helpers.submit(number, lambda: pytest.fail("here")) for number in range(9)]
        wait_until(lambda: tasks[-1].is_done)
        assert [helpers.result(task) for task in tasks] == [2**number for number in range(9)]


def test_who_waits_computes_nothing_while_a_helper_is_left():
    with Helpers(1, []) as helpers:
        helpers.begin(POWER, {})
        task = helpers.submit(5, lambda: pytest.fail("here"))
        assert helpers.result(task, waits=True) == 32


@pytest.mark.skipif(os.name == "nt", reason="has other signals")
def test_who_waits_computes_what_no_helper_is_left_for():
    with Helpers(1, []) as helpers:
        helpers.begin(partial(partial, time.sleep), {})
        task = helpers.submit(100, lambda: "here")
        wait_until(lambda: not helpers._waiting)
        os.kill(pids(helpers)[0], signal.SIGKILL)
        assert helpers.result(task, waits=True) == "here"


def test_who_waits_for_no_helper_computes():
    with Helpers(0, []) as helpers:
        helpers.begin(POWER, {})
        assert helpers.result(helpers.submit(5, lambda: "here"), waits=True) == "here"


def test_arguments_of_the_maker_are_passed():
    with Helpers(1, []) as helpers:
        helpers.begin(partial(partial, int), {"base": 7})
        task = helpers.submit("66", lambda: pytest.fail("here"))
        wait_until(lambda: task.is_done)
        assert task.value == 48


def test_what_is_called_may_change():
    with Helpers(2, []) as helpers:
        for base in (2, 3, 5):
            helpers.begin(partial(partial, pow, base), {})
            tasks = [helpers.submit(number, lambda: pytest.fail("here")) for number in range(5)]
            for task in tasks:
                wait_until(lambda task=task: task.is_done)
            assert [task.value for task in tasks] == [base**number for number in range(5)]


def test_what_is_called_next_is_prepared_before_the_first_call(tmp_path):
    with Helpers(1, []) as helpers:
        helpers.begin(POWER, {})
        task = helpers.submit(3, lambda: pytest.fail("here"))
        wait_until(lambda: task.is_done)
        helpers.begin(os.mkdir, {"path": tmp_path / "prepared"})
        wait_until((tmp_path / "prepared").is_dir)


def test_without_an_interpreter_all_is_done_here(monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    with Helpers(2, []) as helpers:
        helpers.begin(POWER, {})
        assert powers(helpers, range(5)) == ([1, 2, 4, 8, 16], 5)


def test_without_room_for_a_process_all_is_done_here(monkeypatch):
    def refuse(*_, **__):
        raise BlockingIOError("no process more")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with Helpers(2, []) as helpers:
        helpers.begin(POWER, {})
        assert powers(helpers, range(5)) == ([1, 2, 4, 8, 16], 5)


@pytest.mark.skipif(os.name == "nt", reason="has other signals")
@pytest.mark.parametrize("begun", [False, True])
def test_what_a_killed_one_leaves_is_done_here_and_said(begun, caplog):
    with Helpers(1, []) as helpers:
        if begun:
            helpers.begin(partial(partial, time.sleep), {})
            task = helpers.submit(100, lambda: "here")
            wait_until(lambda: not helpers._waiting)
        os.kill(pids(helpers)[0], signal.SIGKILL)
        if not begun:
            helpers.begin(partial(partial, time.sleep), {})
            task = helpers.submit(100, lambda: "here")
        with caplog.at_level(logging.INFO, "bgsub.notes"):
            wait_until(lambda: helpers._lost)
            assert helpers.result(task) == "here"
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("a process that helped has died")


def test_an_error_is_that_of_this_process():
    with Helpers(1, []) as helpers:
        helpers.begin(partial(partial, math.sqrt), {})
        task = helpers.submit(-1, partial(math.sqrt, -1))
        wait_until(lambda: helpers._lost)
        with pytest.raises(ValueError, match="domain"):
            helpers.result(task)


def test_what_cannot_be_sent_is_done_here():
    with Helpers(1, []) as helpers:
        helpers.begin(POWER, {})
        task = helpers.submit(lambda: None, lambda: "here")
        assert helpers.result(task) == "here"


@pytest.mark.skipif(os.name == "nt", reason="has other signals")
def test_ctrl_c_is_for_this_process_alone():
    with Helpers(1, []) as helpers:
        helpers.begin(POWER, {})
        first = helpers.submit(3, lambda: 8)
        os.kill(pids(helpers)[0], signal.SIGINT)
        wait_until(lambda: first.is_done)
        os.kill(pids(helpers)[0], signal.SIGINT)
        second = helpers.submit(4, lambda: pytest.fail("here"))
        wait_until(lambda: second.is_done)
        assert (first.value, second.value) == (8, 16)


def test_what_a_library_prints_is_no_answer(capfd):
    with Helpers(1, []) as helpers:
        helpers.begin(partial(partial, print), {})
        task = helpers.submit("hello", lambda: pytest.fail("here"))
        wait_until(lambda: task.is_done)
        assert task.value is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(os.name == "nt", reason="has other signals")
def test_leaving_ends_them_amid_their_work():
    with Helpers(2, []) as helpers:
        helpers.begin(partial(partial, time.sleep), {})
        for _ in range(2):
            helpers.submit(100, lambda: None)
        started = pids(helpers)
        wait_until(lambda: not helpers._waiting)
    assert not any(map(is_alive, started))


def test_what_is_begun_when_they_end_can_be_done_here(monkeypatch, caplog):
    with Helpers(1, []) as helpers:
        helpers.begin(partial(partial, time.sleep), {})
        first, second = (helpers.submit(0.2, lambda: "here") for _ in range(2))
        wait_until(lambda: not helpers._waiting)
        kill = subprocess.Popen.kill

        def kill_late(process):
            wait_until(lambda: first.is_done)
            helpers._threads[0].join(60)
            kill(process)

        monkeypatch.setattr(subprocess.Popen, "kill", kill_late)
        with caplog.at_level(logging.INFO, "bgsub.notes"):
            helpers.close()
            assert helpers._waiting == deque([second])
            assert helpers.result(second) == "here"
    assert caplog.records == []  # none has died


PROGRAM = """
import time
from collections import deque
from functools import partial
from bgsub.runtime.helpers import Helpers
from tests.processes import is_alive, is_running
helpers = Helpers(2, [])
helpers.begin(partial(partial, time.sleep), {})
helpers.submit(1000, None)
while helpers._waiting:
    time.sleep(0.01)
print(*[process.pid for process in helpers._processes], flush=True)
time.sleep(1000)
"""


@pytest.mark.skipif(os.name == "nt", reason="has other signals")
def test_they_end_with_a_process_that_is_killed():
    parent = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE)
    try:
        children = [int(text) for text in parent.stdout.readline().split()]
        assert len(children) == 2
        assert all(map(is_alive, children))
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    wait_until(lambda: not any(map(is_running, children)))
