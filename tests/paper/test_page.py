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
    "experiment background": "--methods trpca,pca --k 3,5 --lambda 0.01 --scale 0.1 --start 160"
    " --every 40",
    "experiment moved-object": "--methods trpca,pca --k 2 --part 20 --frames 16 --truth one.csv"
    " --format csv",
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
        Path("one.csv").write_text("first,last\n15,18\n")
        encode(scene(40, height=8, width=16, visit=14), "moved_object.mp4")
    (spans,) = re.findall(r"with the lines `(.+?)` and `(.+?)` in `spans.csv`", PAGE)
    Path("spans.csv").write_text("\n".join(spans), encoding="utf-8")
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.stderr
    assert done.stdout or command.startswith("bgsub run")
    if "experiment" in arguments:
        out = arguments[arguments.index("--out") + 1]
        HOLDS[arguments[1]](Path(out), done.stdout)
        assert CliRunner().invoke(cli, arguments).exit_code == 5


def names_in(out: Path) -> list[str]:
    return sorted(path.name for path in out.iterdir())


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def holds_synthetic(out: Path, said: str) -> None:
    assert names_in(out) == ["run.json", "synthetic.csv", "synthetic.png"]
    rows = rows_of((out / "synthetic.csv").read_text())
    assert {(row["data"], row["p"]) for row in rows} == {
        (name, p) for name in ("Data1", "Data2") for p in ("100", "20")
    }
    assert len(said.splitlines()) == 2 + len(rows)
    assert said.startswith("| data | p | variant | λ = 0.1 |")
    manifest = json.loads((out / "run.json").read_text())
    assert manifest["command"] == "experiment synthetic"
    assert manifest["seed"] == manifest["options"]["seed"] == 3
    assert manifest["options"]["shares"] == [0.1]


def holds_digits(out: Path, said: str) -> None:
    assert names_in(out) == ["digits.csv", "digits.png", "run.json"]
    true = "7" if out.name == "digits7" else "1"
    rows = rows_of((out / "digits.csv").read_text())
    assert {(row["true"], row["outliers"], row["n"]) for row in rows} == {(true, "others", "24")}


def holds_background(out: Path, said: str) -> None:
    """The papers' seconds stand beside ours."""
    rows = rows_of((out / "times.csv").read_text())
    assert [row["k"] for row in rows] == ["3", "5"] * 4
    assert [row["column"] for row in rows[::2]] == ["trpca", "trpca(.5)", "trpca reweighted", "pca"]
    assert (rows[2]["paper_2014_seconds"], rows[6]["paper_2014_seconds"]) == ("61", "")
    assert names_in(out) == [
        "errors.png", "frame_errors.csv", "frames-common.png", "frames-own.png", "run.json",
        "times.csv", "times.png",
    ]  # fmt: skip
    assert said.splitlines()[2].split()[:2] == ["3", "paper"]
    facts = json.loads((out / "run.json").read_text())
    assert facts["command"] == "experiment background"
    assert facts["options"]["pcp_lambda"] == 0.01


def holds_moved_object(out: Path, said: str) -> None:
    """There is a part for all methods."""
    rows, three = rows_of(said), ["trpca", "trpca(.5)", "trpca reweighted"]
    assert [(row["frames"], row["method"]) for row in rows] == [
        *(("all", name) for name in three), *(("1-20", name) for name in [*three, "pca"]),
    ]  # fmt: skip
    assert [row["t"] for row in rows] == ["36", "20", "20", "16", "10", "10", "10"]
    assert names_in(out) == [
        "compare.csv", "errors-part.png", "errors-whole.png", "frame_errors-part.csv",
        "frame_errors-whole.csv", "frames-common.png", "frames-own.png", "run.json",
    ]  # fmt: skip
    for part, frames in (("part", 20), ("whole", 40)):
        assert len(rows_of((out / f"frame_errors-{part}.csv").read_text())) == frames


HOLDS = {
    "synthetic": holds_synthetic,
    "digits": holds_digits,
    "background": holds_background,
    "moved-object": holds_moved_object,
}


def test_there_is_a_command_of_every_kind() -> None:
    for name in SMALL:
        assert any(command.startswith(f"bgsub {name}") for command in COMMANDS)
