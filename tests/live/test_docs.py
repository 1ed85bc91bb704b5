"""The shell script of docs/live.md is run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs" / "live.md"


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_script_starts_again_and_stops_when_it_is_told_to(tmp_path):
    script = re.search(r"```bash\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert len(script.splitlines()) <= 12
    script = script.replace("sleep 5", "sleep 0.1")
    # Dies at once the first time, and then watches until it is stopped, as the program does.
    command = tmp_path / "bgsub"
    command.write_text(
        f'#!/bin/bash\necho "$@"\n[ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; exit 1; }}\n'
        f"trap 'touch {tmp_path}/stopped; exit 130' TERM\nwhile true; do sleep 0.05; done\n"
    )
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    out = tmp_path / "out"
    process = subprocess.Popen(
        ["bash", "-c", script, "watch-forever.sh", "tcp://a:1", str(out)], env=environment
    )
    lines, deadline = out / "events.jsonl", time.monotonic() + 60
    while time.monotonic() < deadline:
        if lines.exists() and lines.read_text().count("\n") == 2:
            break
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 130
    assert (tmp_path / "stopped").exists()
    assert lines.read_text().splitlines() == [f"watch tcp://a:1 --out {out} --keep 10G"] * 2
