"""Standard streams that are closed or cannot show every letter, in real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="streams are closed by a POSIX shell")


def bgsub(arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", f"{sys.executable} -m bgsub {arguments}"],
        cwd=cwd,
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
        timeout=120,
    )


@pytest.fixture
def clip(tmp_path: Path, scene) -> Path:
    np.save(tmp_path / "clip.npy", scene(12, visit=9))
    return tmp_path


def test_results_are_made_with_all_streams_closed(
    clip: Path, contents, invoke, monkeypatch
) -> None:
    monkeypatch.chdir(clip)
    arguments = "run clip.npy --k 2 --threads 1 --model paper --only mask,errors,model"
    done = invoke(*arguments.split(), "--out", "open")
    assert done.exit_code == 0, done.stderr
    assert bgsub(f"{arguments} --out out <&- >&- 2>&-", clip).returncode == 0
    expected = contents(clip / "open")
    found = contents(clip / "out")
    assert found.keys() == expected.keys()
    for name in expected.keys() - {"run.json"}:  # nothing written to a stream went into a file
        assert found[name] == expected[name]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("info clip.npy >&-", 0),
        ("run --from-json none.json --out out 2>&-", 3),
        ("run --from-json none.json --out out >&- 2>&-", 3),
    ],
)
def test_the_exit_code_is_right(command: str, code: int, clip: Path) -> None:
    assert bgsub(command, clip).returncode == code


def test_letters_that_the_encoding_lacks_are_replaced(tmp_path: Path) -> None:
    done = bgsub("methods", tmp_path, PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"up to n ? t" in done.stdout
    assert b"O(n\xb2k)" in done.stdout


def test_names_that_are_no_text_come_out_as_they_are(clip: Path) -> None:
    name = b"cl\xffp.npy"
    os.rename(clip / "clip.npy", os.fsencode(clip) + b"/" + name)  # noqa: PTH104 - no Path has such a name
    done = bgsub("info *.npy", clip, PYTHONIOENCODING="utf-8")
    assert (done.returncode, done.stderr) == (0, b"")
