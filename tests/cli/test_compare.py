from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from bgsub.robustpca.competitors import METHODS


@pytest.fixture
def clip(tmp_path):
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:16, :20].astype(float)
    frames = np.stack([110 + 30 * np.sin((x + 3 * i) / 4) + 9 * np.cos(y) for i in range(30)])
    frames += rng.normal(0, 2, frames.shape)
    frames[24:, 4:10, 5:11] = 230
    np.save(tmp_path / "clip.npy", np.clip(frames, 0, 255).astype(np.uint8))
    (tmp_path / "frames.csv").write_text("first,last\n25,30\n")
    return tmp_path / "clip.npy"


NAMES = ["compare.csv", "decomposition.png", "errors.png", "frame_errors.csv", "run.json"]


def test_compare_writes_tables_figures_and_manifest_and_keeps_them_unless_forced(clip, invoke):
    out = clip.parent / "out"
    done = invoke(
        *("compare", clip, "--methods", "trpca,pca,pcp", "--k", "1,2", "--out", out),
        *("--truth", clip.parent / "frames.csv", "--frames", "3,28", "--format", "csv"),
    )
    assert done.exit_code == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == NAMES
    assert done.stdout == (out / "compare.csv").read_text()
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [(row["method"], row["k"]) for row in rows] == [
        (method, k) for method in ("trpca", "pca", "pcp") for k in "12"
    ]
    assert rows[1]["auc"] == rows[1]["true_outliers_flagged"] == "1"
    errors = list(csv.DictReader((out / "frame_errors.csv").read_text().splitlines()))
    assert len(errors) == 30
    assert list(errors[0]) == [
        *("frame", "time_s", "trpca_k1", "trpca_k2", "pca_k1", "pca_k2", "pcp_k1", "pcp_k2")
    ]
    manifest = json.loads((out / "run.json").read_text())
    assert manifest["command"] == "compare"
    assert manifest["options"]["k"] == [1, 2]
    assert set(manifest["outputs"]) == set(NAMES) - {"run.json"}
    assert "30 frames of 320 pixels" in done.stderr
    before = (out / "run.json").read_bytes()
    # A method that takes too long keeps its row.
    call = ("compare", clip, "--methods", "trpca", "--k", "1", "--timeout", "1e-9")
    call += ("--format", "json", "--out", out)
    refused = invoke(*call)
    assert refused.exit_code == 5
    assert "--force" in refused.stderr
    assert (out / "run.json").read_bytes() == before
    done = invoke(*call, "--force")
    assert done.exit_code == 0
    (row,) = json.loads(done.stdout)["rows"]
    assert row["seconds"] is None
    assert row["reason"] == "took longer than 1e-09 s and was stopped"
    assert "warning: trpca, k = 1: took longer" in done.stderr
    assert sorted(path.name for path in out.iterdir()) == NAMES


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--methods", "svd"], 2, "--methods svd: must be one of trpca, pca"),
        (["--methods", ","], 2, "--methods : must be one of trpca, pca"),
        (["--k", "1,x"], 2, "--k x: must be a whole number of 1 or more"),
        (["--k", "30"], 2, "--k 30 is too much for 30 frames"),
        (["--frames", "0"], 2, "--frames 0: must be a whole number of 1 or more"),
        (["--frames", "31"], 2, "--frames 31: is not among the 30 frames compared"),
        (["--truth", "none.csv"], 3, "none.csv: cannot be read"),
        (["--timeout", "0"], 2, "--timeout 0: must be a number above 0"),
    ],
)
def test_mistakes_leave_nothing_behind(clip, invoke, options, code, message):
    out = clip.parent / "out"
    done = invoke("compare", clip, "--out", out, *options)
    assert done.exit_code == code
    assert message in done.stderr
    assert not out.exists()


def test_a_missing_input_is_an_input_error(tmp_path, invoke):
    done = invoke("compare", tmp_path / "none.avi", "--out", tmp_path / "out")
    assert done.exit_code == 3
    assert not (tmp_path / "out").exists()


def test_every_method_is_listed_within_80_columns(invoke):
    lines = invoke("methods").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split()[:2] == ["name", "paper"]
    blocks = "\n".join(lines[1:]).strip().split("\n\n")
    assert [block.split()[0] for block in blocks] == list(METHODS)
    assert "--support-fraction" in blocks[0]


def test_json_and_markdown_hold_all_columns(invoke):
    read = json.loads(invoke("methods", "--format", "json").stdout)
    assert [row["name"] for row in read["rows"]] == list(METHODS)
    assert set(read["rows"][0]) == {"name", "paper", "outlier_model", "parameters", "cost"}
    markdown = invoke("methods", "--format", "markdown").stdout.splitlines()
    assert markdown[0] == "| name | paper | outlier_model | parameters | cost |"
    assert len(markdown) == 2 + len(METHODS)
