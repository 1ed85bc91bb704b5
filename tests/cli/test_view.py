"""bgsub view: prints an address, serves until Ctrl-C, and ends with 0."""

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request

import pytest


@pytest.fixture
def results(made, tmp_path):
    return shutil.copytree(made / "results", tmp_path / "results")


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_it_serves_until_ctrl_c(results, contents):
    before = contents(results)
    environment = {**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    command = [sys.executable, "-m", "bgsub", "view", str(results)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address) as answer:
            assert answer.read().startswith(b"<!doctype html>")
        with urllib.request.urlopen(f"{address}run.json") as answer:
            assert json.load(answer)["command"] == "run"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert out == ""
    assert "serving" in err
    assert "ended" in err
    assert contents(results) == before


def test_what_holds_no_results_is_refused(tmp_path, invoke, results):
    assert invoke("view", tmp_path / "none").exit_code == 3
    done = invoke("view", tmp_path)
    assert done.exit_code == 3
    assert f"make it with `bgsub report {tmp_path}`" in done.stderr
    shutil.rmtree(results)
    assert "holds no finished results" in invoke("view", tmp_path).stderr


def test_an_address_that_is_not_to_be_had_is_a_usage_error(results, invoke):
    done = invoke("view", results, "--host", "203.0.113.7", "--no-open")
    assert done.exit_code == 2
    assert "203.0.113.7:0: cannot be listened on" in done.stderr
