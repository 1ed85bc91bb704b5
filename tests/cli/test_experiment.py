from __future__ import annotations

import csv

import numpy as np
import pytest


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
    rows = list(csv.DictReader((tmp_path / "out" / "digits.csv").read_text().splitlines()))
    assert {(row["true"], row["outliers"], row["k"]) for row in rows} == {("0", "1", "1")}


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


@pytest.mark.parametrize("name", ["synthetic", "digits", "background", "moved-object"])
def test_help_has_examples(name, invoke):
    done = invoke("experiment", name, "--help")
    assert f"  bgsub experiment {name} " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
