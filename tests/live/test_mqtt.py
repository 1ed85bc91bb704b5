"""The lines of a watch reach a broker through a client of the distribution; make test-servers."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import film_file, walk

pytestmark = pytest.mark.servers

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def port(tmp_path):
    """A broker on loopback, and its port."""
    names = ("mosquitto", "mosquitto_pub", "mosquitto_sub")
    paths = f"{os.environ['PATH']}:/usr/sbin"
    if lacking := [name for name in names if shutil.which(name, path=paths) is None]:
        pytest.skip(f"{', '.join(lacking)} not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = tmp_path / "mosquitto.conf"
    settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    broker = subprocess.Popen([shutil.which("mosquitto", path=paths), "-c", str(settings)])
    try:
        for _ in range(100):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield port
    finally:
        broker.terminate()
        broker.wait(10)


def documented(pattern):
    """The line of docs/live.md that begins so."""
    text = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
    return re.search(rf"^{pattern}.*$", text, re.MULTILINE)[0]


def listening(port, topic, count):
    line = f"mosquitto_sub -h localhost -p {port} -t {topic} -C {count} -v -W 90"
    return subprocess.Popen(line.split(), stdout=subprocess.PIPE, text=True)


def run_shell(line, tmp_path):
    """Run a line of the documentation in a folder that holds a bgsub of this checkout."""
    program = tmp_path / "bgsub"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m bgsub "$@"\n')
    program.chmod(0o755)
    paths = f"{tmp_path}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": paths, "PYTHONPATH": str(ROOT)}
    return subprocess.run(line, shell=True, cwd=tmp_path, env=environment, check=False)


def test_a_pipe_into_a_client_brings_every_line(port, tmp_path):
    film = film_file(tmp_path / "film.mp4", walk(500, [(200, 260), (380, 440)], seed=0))
    line = documented(r"bgsub watch rtsp://camera/stream --out clips/ \| mosquitto_pub")
    line = line.replace("rtsp://camera/stream", str(film)).replace("1883", str(port))
    heard = listening(port, "home/yard", 4)
    run_shell(line.replace(" | ", " | tee lines.jsonl | "), tmp_path)
    sent = (tmp_path / "lines.jsonl").read_text().splitlines()
    received = [text.removeprefix("home/yard ") for text in heard.communicate()[0].splitlines()]
    assert len(sent) >= 4
    assert received == sent[:4]
    assert json.loads(received[0])["event"] == "start"


def test_a_command_at_each_event_sends_its_line(port, tmp_path):
    film = film_file(tmp_path / "film.mp4", walk(400, [(200, 215)], seed=0))
    line = documented(r"bgsub watch rtsp://camera/stream --out clips/ --on-event 'mosquitto_pub")
    line = line.replace("rtsp://camera/stream", str(film)).replace("1883", str(port))
    heard = listening(port, "home/yard/#", 2)
    run_shell(f"{line} > lines.jsonl", tmp_path)
    received = dict(text.split(" ", 1) for text in heard.communicate()[0].splitlines())
    assert sorted(received) == ["home/yard/end", "home/yard/start"]
    assert json.loads(received["home/yard/end"])["event"] == "end"
