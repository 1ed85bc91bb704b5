from __future__ import annotations

import csv
import json
import sys
import types

import numpy as np
import pytest


@pytest.fixture
def shipped(monkeypatch):
    """Stand in for the digits of scikit-learn."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 60)
    X = np.clip(8 * rng.random((10, 64))[labels] + rng.random((600, 64)), 0, 16)
    datasets = types.ModuleType("sklearn.datasets")
    datasets.load_digits = lambda *, return_X_y: (X, labels)
    monkeypatch.setitem(sys.modules, "sklearn", types.ModuleType("sklearn"))
    monkeypatch.setitem(sys.modules, "sklearn.datasets", datasets)


def test_digits_without_data_are_those_of_scikit_learn(tmp_path, invoke, shipped):
    out = tmp_path / "out"
    done = invoke(
        *("experiment", "digits", "--shares", "0.3", "--sets", "1", "--k", "1,2"),
        *("--true", "2", "--outliers", "7", "--samples", "40", "--out", out),
    )
    assert done.exit_code == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["digits.csv", "digits.png", "run.json"]
    rows = list(csv.DictReader((out / "digits.csv").read_text().splitlines()))
    assert {(row["true"], row["outliers"], row["n"]) for row in rows} == {("2", "7", "40")}


def test_digits_read_data(tmp_path, invoke):
    rng = np.random.default_rng(0)
    lines = [
        f"{label} " + " ".join(f"{i}:{v:.3f}" for i, v in enumerate(rng.random(12), 1))
        for label in [0] * 30 + [1] * 30
    ]
    (tmp_path / "data.txt").write_text("\n".join(lines))
    done = invoke(
        *("experiment", "digits", "--data", tmp_path / "data.txt", "--shares", "0.3"),
        *("--sets", "1", "--k", "1", "--true", "0", "--outliers", "1", "--out", tmp_path / "out"),
    )
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["digits", "--true", "11"], 2, "--true 11: must be a whole number of 0 to 9"),
        (["digits", "--outliers", "1"], 2, "--outliers 1: must be others or a digit"),
        (["digits", "--data", "none"], 3, "none: cannot be read"),
        (["synthetic", "--shares", "0.5"], 2, "--shares 0.5: must be a share of 0 or more"),
        (["unknown"], 2, "unknown"),
    ],
)
def test_mistakes_leave_nothing_behind(tmp_path, invoke, options, code, message):
    done = invoke("experiment", *options, "--out", tmp_path / "out")
    assert done.exit_code == code
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_background_stands_beside_the_papers_seconds(tmp_path, invoke):
    frames = np.random.default_rng(0).integers(0, 255, (12, 6, 8), dtype=np.uint8)
    np.save(tmp_path / "clip.npy", frames)
    out = tmp_path / "out"
    done = invoke(
        *("experiment", "background", tmp_path / "clip.npy", "--methods", "trpca,pca"),
        *("--frames", "5", "--out", out, "--format", "csv"),
    )
    assert done.exit_code == 0, done.stderr
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["k"] for row in rows] == ["1", "3", "5", "7", "9"] * 3
    assert [row["column"] for row in rows[::5]] == ["trpca(.5)", "trpca reweighted", "pca"]
    assert rows[0]["paper_2014_seconds"] == "13"
    assert rows[10]["paper_2014_seconds"] == ""
    assert sorted(path.name for path in out.iterdir()) == [
        "errors.png", "frame_errors.csv", "frames-common.png", "frames-own.png", "run.json",
        "times.csv", "times.png",
    ]  # fmt: skip
    assert json.loads((out / "run.json").read_text())["command"] == "experiment background"
    table = invoke(
        *("experiment", "background", tmp_path / "clip.npy", "--methods", "trpca,pcp"),
        *("--lambda", "0.01", "--k", "1,2", "--frames", "5", "--out", out, "--force"),
    )
    assert table.exit_code == 0, table.stderr
    assert table.stdout.splitlines()[2].split()[:2] == ["1", "paper"]
    assert json.loads((out / "run.json").read_text())["options"]["pcp_lambda"] == 0.01


def test_the_moved_object_has_a_part_for_all_methods(tmp_path, invoke):
    frames = np.random.default_rng(0).integers(90, 110, (40, 8, 10), dtype=np.uint8)
    frames[14:18, 2:6, 2:6] = 250
    np.save(tmp_path / "clip.npy", frames)
    (tmp_path / "truth.csv").write_text("first,last\n15,18\n")
    out = tmp_path / "out"
    done = invoke(
        *("experiment", "moved-object", tmp_path / "clip.npy", "--methods", "trpca,pca"),
        *("--truth", tmp_path / "truth.csv", "--part", "20", "--frames", "16", "--k", "2"),
        *("--out", out, "--format", "csv"),
    )
    assert done.exit_code == 0, done.stderr
    rows = list(csv.DictReader(done.stdout.splitlines()))
    three = ["trpca", "trpca(.5)", "trpca reweighted"]
    assert [(row["frames"], row["method"]) for row in rows] == [
        *(("all", name) for name in three), *(("1-20", name) for name in [*three, "pca"]),
    ]  # fmt: skip
    assert [row["t"] for row in rows] == ["36", "20", "20", "16", "10", "10", "10"]
    assert sorted(path.name for path in out.iterdir()) == [
        "compare.csv", "errors-part.png", "errors-whole.png", "frame_errors-part.csv",
        "frame_errors-whole.csv", "frames-common.png", "frames-own.png", "run.json",
    ]  # fmt: skip
    lines = (out / "frame_errors-part.csv").read_text().splitlines()
    assert len(lines) == 21
    assert len((out / "frame_errors-whole.csv").read_text().splitlines()) == 41
    again = invoke("experiment", "moved-object", tmp_path / "clip.npy", "--out", out)
    assert again.exit_code == 5


@pytest.mark.parametrize("name", ["synthetic", "digits", "background", "moved-object"])
def test_help_has_examples(name, invoke):
    done = invoke("experiment", name, "--help")
    assert f"  bgsub experiment {name} " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
