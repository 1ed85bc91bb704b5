from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    path = tmp_path / "clip.npy"
    rng = np.random.default_rng(0)
    np.save(path, rng.integers(0, 255, size=(12, 20, 30), dtype=np.uint8))
    return path


def test_lines_for_people(clip, invoke) -> None:
    done = invoke("info", clip)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == str(clip)
    text = " ".join(done.stdout.split())
    assert "size 30 x 20 pixels" in text
    assert "frames 12 decoded" in text
    assert "a run needs about 180 MB of memory and 1 s, with --k 10" in text


def test_json(clip, invoke) -> None:
    done = invoke("info", clip, "--json", "--k", 3)
    assert (done.exit_code, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    assert (facts["width"], facts["height"]) == (30, 20)
    assert (facts["frames_decoded"], facts["frames_selected"], facts["frames_bad"]) == (12, 12, 0)
    assert facts["estimate"]["k"] == 3
    assert facts["estimate"]["memory_bytes"] > 12 * 20 * 30


def test_selection_counts(clip, invoke) -> None:
    done = invoke("info", clip, "--start", 3, "--every", 2, "--roi", "2,2,10,8", "--json")
    facts = json.loads(done.stdout)
    assert facts["frames_selected"] == 5
    assert (facts["frame_width"], facts["frame_height"]) == (10, 8)
    text = " ".join(invoke("info", clip, "--start", 3, "--scale", "0.5").stdout.split())
    assert "taken as 15 x 10" in text
    assert "10 selected" in text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["none.avi"], 3), (["CLIP", "--start", "99"], 4), (["CLIP", "--roi", "0,0,99,9"], 2)],
)
def test_what_cannot_be_described(arguments, code, clip, invoke) -> None:
    done = invoke("info", *(str(clip) if a == "CLIP" else a for a in arguments))
    assert (done.exit_code, done.stdout) == (code, "")
    assert done.stderr.startswith("bgsub: ")
    assert done.stderr.count("\n") == 1
