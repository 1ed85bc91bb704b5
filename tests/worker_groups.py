"""End what a process of the tests leaves behind when it is ended itself, as by a test that hangs.

A program that a test has started would run on, and hold the log that somebody reads to its end.
"""

import contextlib
import os
import signal

import pytest


def pytest_configure(config):
    """Begin a process group, which all programs that tests start are in."""
    if hasattr(config, "workerinput") and hasattr(os, "setpgid"):
        os.setpgid(0, 0)


_nodes = []


@pytest.hookimpl(optionalhook=True)
def pytest_testnodeready(node):
    """Note those that xdist has started."""
    _nodes.append(node)


def pytest_keyboard_interrupt():
    """Hand a Ctrl-C on: a terminal sends it to its own group alone."""
    for node in _nodes:
        _send(node, signal.SIGINT)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """End the process group of one that did not end by itself; xdist says which."""
    if error and hasattr(signal, "SIGKILL"):
        _send(node, signal.SIGKILL)


def _send(node, number):
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(node.gateway._io.popen.pid, number)
