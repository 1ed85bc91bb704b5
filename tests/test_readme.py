"""What the README shows is run: its exit codes, its shell script and its Python."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from click.testing import CliRunner

import bgsub
from bgsub.cli import COMMANDS, cli, exit_code_table
from bgsub.video.images import write_image

from .conftest import make_scene

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def fenced(language: str, containing: str, text: str = README) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)
    found = [block for block in blocks if containing in block]
    assert len(found) == 1, f"one {language} block with {containing!r}"
    return found[0]


def test_exit_codes_are_those_of_the_program() -> None:
    section = README.partition("## Exit codes")[2].partition("\n## ")[0]
    cells = re.findall(r"\| (\d+) \| (.+?) (?=\|)", section)
    assert sorted((int(code), meaning) for code, meaning in cells) == list(exit_code_table())


def test_library_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    open_video = cv2.VideoCapture  # noqa: TID251 - as the README does

    def near_the_end(path: str) -> object:
        """Stand in for a camera: the last 28 frames are enough to learn from."""
        camera = open_video(path)
        camera.set(cv2.CAP_PROP_POS_FRAMES, 605)
        return camera

    monkeypatch.setattr(cv2, "VideoCapture", near_the_end)
    parser = doctest.DocTestParser()
    test = parser.get_doctest(fenced("python", ">>> import bgsub"), {}, "README", "README.md", 0)
    assert len(test.examples) > 3
    results = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert results.failed == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_batch_script_reacts_to_exit_codes(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "long.md").read_text(encoding="utf-8")
    script = fenced("bash", "exit code", text)
    folder = tmp_path / "footage" / "shots"
    folder.mkdir(parents=True)
    for number, frame in enumerate(make_scene(12, visit=9)):
        write_image(folder / f"frame{number}.png", frame)
    (tmp_path / "footage" / "broken.mp4").write_text("this is a text", encoding="utf-8")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    command = bin_folder / "bgsub"
    quick = '[ "$1" = run ] && set -- "$@" --only errors'
    program = f'exec "{sys.executable}" -m bgsub "$@"'
    command.write_text(f"#!/bin/sh\n{quick}\n{program}\n", encoding="utf-8")
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script, "nightly.sh", str(tmp_path / "footage"), str(tmp_path / "results")],
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


@pytest.fixture(scope="module")
def short_film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A film of a second and more with a visitor, as mp4."""
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "8"})
        stream.width, stream.height, stream.pix_fmt = 32, 24, "yuv420p"
        for frame in make_scene(32, visit=10):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    return path


@pytest.mark.parametrize("reader", ["arena.mp4", "night.mp4", "week/*.mp4"])
def test_the_commands_of_each_reader(
    reader: str, short_film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "week").mkdir()
    for name in ("arena.mp4", "night.mp4", "week/monday.mp4", "week/tuesday.mp4"):
        shutil.copy(short_film, tmp_path / name)
    (polygon,) = re.findall(r"`(\{\"nest\".*\})`", README)
    (tmp_path / "regions.json").write_text(polygon, encoding="utf-8")
    write_image(tmp_path / "grass.png", np.zeros((24, 32), np.uint8))
    lines = fenced("", reader).splitlines()
    assert len(lines) == 5
    for line in lines:
        command, _, target = line.split("#")[0].partition(">")
        (program, *arguments) = shlex.split(command)
        assert program == "bgsub"
        paths = [sorted(map(str, Path().glob(one))) if "*" in one else [one] for one in arguments]
        done = CliRunner().invoke(cli, [each for some in paths for each in some])
        assert done.exit_code == 0, (line, done.stderr)
        if target:
            (tmp_path / target.strip()).write_text(done.stdout, encoding="utf-8")
    made = {"arena.mp4": "arena.csv", "night.mp4": "night.json", "week/*.mp4": "monday.csv"}
    assert (tmp_path / made[reader]).stat().st_size > 100
    if reader == "night.mp4":
        is_the_table_of_all_objects("night")


def is_the_table_of_all_objects(results: str) -> None:
    pandas = pytest.importorskip("pandas")
    (line,) = re.findall(r"`(pandas\.DataFrame\([^`]+\))`", README)
    Path(results).rename("results")
    table = eval(line, {"pandas": pandas, "bgsub": bgsub})
    rows = pandas.read_csv("results/objects.csv")
    assert len(table) == len(rows) > 20
    for column in ("frame", "time_s", "track", "x", "y", "width", "height", "area"):
        np.testing.assert_allclose(table[column], rows[column], atol=0.01)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 180


def test_every_command_is_in_the_table() -> None:
    named = set(re.findall(r"^\| `bgsub (\w+)", README, flags=re.MULTILINE))
    assert named == set(COMMANDS)
