"""Processes that are started ahead: the first who wants one gets it, and no one is left behind."""

import os
import signal
import subprocess
import sys
from functools import partial

import pytest

from bgsub.runtime.beginning import ahead
from bgsub.runtime.helpers import Helpers
from tests.processes import is_alive


def identifiers(helpers):
    return [process.pid for process in helpers._processes]


@pytest.fixture
def begun():
    """Give the identifier of a process that was started ahead, to import math."""
    ahead.start(["math"])
    yield ahead._process.pid
    ahead.end()


def test_the_first_with_its_modules_takes_a_process_that_was_started_ahead(begun):
    with Helpers(1, ["cmath"]) as others, Helpers(2, ["math"]) as helpers:
        assert identifiers(others) != [begun]
        assert identifiers(helpers)[0] == begun
        helpers.begin(partial(partial, pow, 2), {})
        task = helpers.submit(5, lambda: pytest.fail("here"))
        assert helpers.result(task, waits=True) == 32
    assert not is_alive(begun)


def test_a_process_that_nobody_takes_is_ended(begun):
    ahead.end()
    assert not is_alive(begun)
    with Helpers(1, ["math"]) as helpers:
        assert identifiers(helpers) != [begun]


@pytest.mark.skipif(os.name == "nt", reason="has other signals")
def test_a_process_that_has_died_meanwhile_is_started_anew(begun):
    os.kill(begun, signal.SIGKILL)
    ahead._process.wait()
    with Helpers(1, ["math"]) as helpers:
        assert len(helpers) == 1
        assert identifiers(helpers) != [begun]


def test_it_ends_with_a_program_that_fails():
    program = (
        "from bgsub.runtime.beginning import ahead; ahead.start(['math']); "
        "print(ahead._process.pid, flush=True); raise SystemExit(3)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert done.returncode == 3
    assert not is_alive(int(done.stdout))
