"""Signals, in real processes: what runs a film there only waits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from bgsub.cli.messages import INTERRUPTED

WAITING = """
import sys, time, types
def run(path, out, options, **_more):
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        if path == "slow.avi":
            print("cleaning", flush=True)
            time.sleep(60)
sys.modules["bgsub.segments.plan"] = types.SimpleNamespace(FOLDER=".segments")
sys.modules["bgsub.segments.run"] = types.SimpleNamespace(run=run)
from bgsub.cli import main
main()
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")


def start(path: str, out: object, ignored: str = "") -> subprocess.Popen[str]:
    # Whoever runs the tests may ignore hangups (nohup), which children would take over.
    handling = f"signal.{ignored}, signal.SIG_IGN" if ignored else "signal.SIGHUP, signal.SIG_DFL"
    prepare = f"import signal; signal.signal({handling})"
    command = [sys.executable, "-c", prepare + WAITING, "run", path, "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_a_signal_ends_the_run_in_one_line(name, tmp_path) -> None:
    process = start("a.avi", tmp_path / "r")
    process.send_signal(getattr(signal, name))
    _, text = process.communicate(timeout=30)
    assert (process.returncode, text) == (130, f"bgsub: {INTERRUPTED}\n")


def test_a_second_signal_ends_it_at_once(tmp_path) -> None:
    process = start("slow.avi", tmp_path / "r")
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    assert process.stdout.readline() == "cleaning\n"
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=30)
    assert (process.returncode, text) == (130, "")


def test_an_ignored_interrupt_is_heard_and_an_ignored_hangup_is_not(tmp_path) -> None:
    process = start("a.avi", tmp_path / "r", ignored="SIGINT")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    process.communicate()
    process = start("a.avi", tmp_path / "r", ignored="SIGHUP")
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.3)
    process.send_signal(signal.SIGTERM)
    _, text = process.communicate(timeout=30)
    assert (process.returncode, text) == (130, f"bgsub: {INTERRUPTED}\n")


DONE = """
import os, signal, sys, time, types
from pathlib import Path
import bgsub.cli.messages as logs
moment = sys.argv.pop(1)
def hit():
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), number)
        time.sleep(0.05)
if moment == "told":
    write = logs.write_line
    def write_and_hit(line):
        write(line)
        hit()
    logs.write_line = write_and_hit
else:
    import atexit
    atexit.register(hit)
def run(path, out, options, **_more):
    return types.SimpleNamespace(out=out, manifest={}, findings=[], hints=[], warnings=[])
sys.modules["bgsub.segments.plan"] = types.SimpleNamespace(FOLDER=".segments")
sys.modules["bgsub.segments.run"] = types.SimpleNamespace(run=run)
from bgsub.cli import main
main()
"""


@pytest.mark.parametrize("moment", ["told", "at the end"])
def test_a_signal_after_the_results_are_in_changes_nothing(moment, tmp_path) -> None:
    command = [sys.executable, "-c", DONE, moment, "run", "a.avi", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, f"results are in {tmp_path}\n")
