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


def test_synthetic_writes_data_figure_and_manifest(tmp_path, invoke):
    out = tmp_path / "out"
    call = ("experiment", "synthetic", "--shares", "0.4", "--sets", "1", "--seed", "3")
    done = invoke(*call, "--out", out, "--format", "markdown")
    assert done.exit_code == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == [
        "run.json", "synthetic.csv", "synthetic.png"
    ]  # fmt: skip
    rows = list(csv.DictReader((out / "synthetic.csv").read_text().splitlines()))
    assert {(row["data"], row["p"]) for row in rows} == {
        (name, p) for name in ("Data1", "Data2") for p in ("100", "20")
    }
    assert len(done.stdout.splitlines()) == 2 + len(rows)
    manifest = json.loads((out / "run.json").read_text())
    assert manifest["command"] == "experiment synthetic"
    assert manifest["seed"] == manifest["options"]["seed"] == 3
    assert manifest["options"]["shares"] == [0.4]


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
        (["digits", "--true", "11"], 2, "--true: 11 is not in the range 0<=x<=9"),
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
    frames = np.random.default_rng(0).integers(0, 255, (16, 8, 10), dtype=np.uint8)
    np.save(tmp_path / "clip.npy", frames)
    out = tmp_path / "out"
    done = invoke(
        *("experiment", "background", tmp_path / "clip.npy", "--methods", "trpca,pca"),
        *("--out", out, "--format", "csv"),
    )
    assert done.exit_code == 0, done.stderr
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["k"] for row in rows] == ["1", "3", "5", "7", "9"] * 2
    assert rows[0]["paper_2014_seconds_high"] == "119"
    assert rows[5]["paper_2014_seconds_high"] == ""
    assert sorted(path.name for path in out.iterdir()) == [
        "errors.png", "frame_errors.csv", "run.json", "times.csv", "times.png"
    ]  # fmt: skip
    assert json.loads((out / "run.json").read_text())["command"] == "experiment background"


@pytest.mark.parametrize("name", ["synthetic", "digits", "background"])
def test_help_has_examples(name, invoke):
    done = invoke("experiment", name, "--help")
    assert f"  bgsub experiment {name} " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
