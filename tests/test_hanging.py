"""A test that hangs fails, and stops no other one."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import is_running

ROOT = Path(__file__).parents[1]

HANGING = """
import ctypes, pathlib, subprocess, sys
import pytest

def test_waits_in_a_library_that_keeps_the_interpreter():
    ctypes.PyDLL(None).pause()

def test_waits_for_a_program():
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    with pathlib.Path("pid").open("w") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file)

@pytest.mark.parametrize("number", range(9))
def test_passes(number):
    pass
"""


@pytest.mark.skipif(os.name == "nt", reason="has other process groups")
def test_tests_that_hang_fail_where_they_stand_and_others_are_run(tmp_path):
    (tmp_path / "test_hanging.py").write_text(HANGING)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml")),
            *("--rootdir", str(tmp_path), "-p", "tests.worker_groups", "-p", "no:cacheprovider"),
            *("-p", "xdist.plugin", "-n", "2", "--dist", "worksteal"),
            *("-o", "faulthandler_timeout=3", "test_hanging.py"),
        ],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert "2 failed, 9 passed" in done.stdout
    for name in ("waits_in_a_library_that_keeps_the_interpreter", "waits_for_a_program"):
        assert f"crashed while running 'test_hanging.py::test_{name}'" in done.stdout
        assert f"in test_{name}\n" in done.stderr
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 60
    while is_running(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
