"""What the README shows is run: its exit codes, its shell script and its Python."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bgsub.cli.application import COMMANDS
from bgsub.cli.help import exit_code_table

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def fenced(language: str, containing: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)
    found = [block for block in blocks if containing in block]
    assert len(found) == 1, f"one {language} block with {containing!r}"
    return found[0]


def test_exit_codes_are_those_of_the_program() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+?) \|$", README, flags=re.MULTILINE)
    assert [(int(code), meaning) for code, meaning in rows] == list(exit_code_table())


def test_library_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    parser = doctest.DocTestParser()
    test = parser.get_doctest(fenced("python", ">>> import bgsub"), {}, "README", "README.md", 0)
    assert len(test.examples) > 3
    results = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert results.failed == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_batch_script_reacts_to_exit_codes(tmp_path: Path) -> None:
    script = fenced("bash", "exit code")
    (tmp_path / "footage").mkdir()
    for number in range(1, 13):
        frame = ROOT / "sample_videos" / "numbered" / f"frame{number}.png"
        folder = tmp_path / "footage" / "shots"
        folder.mkdir(exist_ok=True)
        shutil.copy(frame, folder)
    (tmp_path / "footage" / "broken.mp4").write_text("this is a text", encoding="utf-8")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    command = bin_folder / "bgsub"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bgsub "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script, "watch.sh", str(tmp_path / "footage"), str(tmp_path / "results")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "broken.mp4" in done.stderr
    assert (tmp_path / "results" / "shots" / "run.json").is_file()
    assert "shots: nothing unusual" in done.stdout or "shots: look at" in done.stdout


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 200


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_every_command_is_in_the_table() -> None:
    named = set(re.findall(r"^\| `bgsub (\w+)", README, flags=re.MULTILINE))
    assert named == set(COMMANDS)
