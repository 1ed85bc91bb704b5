"""Every command of docs/paper.md runs as it stands there, with options that make it small."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from bgsub.cli import cli
from bgsub.robustpca.competitors import METHODS
from tests.test_documents import code_of

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
COMMANDS = sorted(
    {
        line.replace("NAME", name)
        for line in code_of(PAGE).splitlines()
        if line.startswith("bgsub ")
        for name in METHODS
    }
)
SMALL = {
    "compare": "--methods trpca,pca --k 1,2 --scale 0.1 --start 160 --every 40",
    "experiment synthetic": "--sets 1 --shares 0.1 --seed 3 --format markdown",
    "experiment digits": "--sets 1 --shares 0.1 --samples 24 --k 1 --outliers others",
    "experiment background": "--methods trpca,pca --k 1,2 --scale 0.1 --start 160 --every 40",
    "experiment moved-object": "--methods trpca,pca --k 1 --frames 640",
    "run": "--only errors --k 1 --end 40 --scale 0.1",
    "methods": "",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs_as_written(
    command: str,
    encode: Callable[..., str],
    scene: Callable[..., NDArray[np.uint8]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (small,) = (small for name, small in SMALL.items() if command.startswith(f"bgsub {name}"))
    arguments = [*shlex.split(command)[1:], *small.split()]
    if "digits" in arguments:
        pytest.importorskip("sklearn")
    if "sample_videos/water.avi" in arguments:
        Path("sample_videos").mkdir()
        shutil.copy(ROOT / "sample_videos" / "water.avi", "sample_videos")
    elif "moved_object.mp4" in arguments:
        # With somebody where the paper says.
        encode(scene(650, height=8, width=16, visit=637), "moved_object.mp4")
    (spans,) = re.findall(r"with the lines `(.+?)` and `(.+?)` in `spans.csv`", PAGE)
    Path("spans.csv").write_text("\n".join(spans), encoding="utf-8")
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.stderr
    assert done.stdout or command.startswith("bgsub run")
    if "synthetic" in arguments:
        holds_the_synthetic_experiment(Path("fig1"), done.stdout)


def holds_the_synthetic_experiment(out: Path, said: str) -> None:
    assert sorted(path.name for path in out.iterdir()) == [
        "run.json", "synthetic.csv", "synthetic.png"
    ]  # fmt: skip
    rows = list(csv.DictReader((out / "synthetic.csv").read_text().splitlines()))
    assert {(row["data"], row["p"]) for row in rows} == {
        (name, p) for name in ("Data1", "Data2") for p in ("100", "20")
    }
    assert len(said.splitlines()) == 2 + len(rows)
    assert said.startswith("| data | p | variant | λ = 0.1 |")
    manifest = json.loads((out / "run.json").read_text())
    assert manifest["command"] == "experiment synthetic"
    assert manifest["seed"] == manifest["options"]["seed"] == 3
    assert manifest["options"]["shares"] == [0.1]


def test_there_is_a_command_of_every_kind() -> None:
    for name in SMALL:
        assert any(command.startswith(f"bgsub {name}") for command in COMMANDS)
