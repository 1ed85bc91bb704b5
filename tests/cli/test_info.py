from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def clip(save, scene) -> Path:
    return Path(save(scene(12, 20, 30, color=False, visit=12)))


def test_lines_for_people(clip, invoke) -> None:
    done = invoke("info", clip)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == str(clip)
    text = " ".join(done.stdout.split())
    assert "size 30 x 20 pixels" in text
    assert "frames 12 decoded" in text
    assert re.search(r"a run needs about \d\d\d MB of memory and [2-5] s, with --k auto$", text)


def test_json(clip, invoke) -> None:
    done = invoke("info", clip, "--json", "--k", 3)
    assert (done.exit_code, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    assert (facts["width"], facts["height"]) == (30, 20)
    assert (facts["frames_decoded"], facts["frames_selected"], facts["frames_bad"]) == (12, 12, 0)
    assert facts["estimate"]["k"] == 3
    needs = facts["estimate"]
    assert needs["memory_bytes"] == needs["unrestricted_bytes"] > 12 * 20 * 30
    assert (needs["fits"], needs["frames_kept"], needs["fit_frames"]) == (True, "memory", 12)
    assert needs["reason"] == ""
    assert needs["limit_bytes"] > 10**7


def test_the_estimate_is_the_plan_of_the_run(clip, invoke, tmp_path) -> None:
    told = json.loads(invoke("info", clip, "--json", "--k", 3, "--threads", 2).stdout)["estimate"]
    out = tmp_path / "r"
    done = invoke("run", clip, "--k", 3, "--threads", 2, "--out", out)
    assert done.exit_code == 0, done.stderr
    planned = json.loads((out / "run.json").read_text())["memory"]
    assert planned["expected_bytes"] == told["memory_bytes"]
    assert planned["frames_kept"] == told["frames_kept"]


def test_the_estimate_of_a_film_in_segments_is_the_plan_of_its_largest(
    invoke, tmp_path, scene
) -> None:
    clip, out, chosen = tmp_path / "long.npy", tmp_path / "r", ("--threads", 1, "--segment", 50)
    np.save(clip, scene(100, 20, 30, color=False, visit=100))
    told = json.loads(invoke("info", clip, *chosen, "--json").stdout)["estimate"]
    done = invoke("run", clip, *chosen, "--out", out)
    assert done.exit_code == 0, done.stderr
    manifest = json.loads((out / "run.json").read_text())
    assert told["segments"] == len(manifest["segments"]) == 2
    assert told["memory_bytes"] == manifest["memory"]["expected_bytes"]
    assert told["frames_kept"] == manifest["memory"]["frames_kept"]
    as_one = json.loads(invoke("info", clip, "--threads", 1, "--json").stdout)["estimate"]
    assert as_one["segments"] == 1
    assert told["memory_bytes"] < as_one["memory_bytes"]
    text = " ".join(invoke("info", clip, *chosen).stdout.split())
    assert re.search(r"with --k auto, in 2 segments$", text)


def test_segments_of_which_one_does_not_fit(invoke, tmp_path) -> None:
    clip = tmp_path / "long.npy"
    np.save(clip, np.zeros((190, 20, 30), dtype=np.uint8))
    done = invoke("info", clip, "--segment", 60, "--memory", "20M", "--json")
    needs = json.loads(done.stdout)["estimate"]
    assert (needs["fits"], needs["segments"]) == (False, 3)
    assert needs["reason"].startswith("needs at least")


def test_a_limit_and_the_road_it_leads_to(clip, invoke, monkeypatch) -> None:
    def told(*options):
        command = ("info", clip, "--threads", 1, "--json", *options)
        return json.loads(invoke(*command).stdout)["estimate"]

    whole = told()["memory_bytes"]
    monkeypatch.setattr("bgsub.fit.memory.RENDER_ROWS", 2)
    monkeypatch.setattr("bgsub.fit.memory.SUM_BLOCKS", 1)
    limit = told()["memory_bytes"] - 1
    assert limit < whole
    needs = told("--memory", limit)
    assert (needs["frames_kept"], needs["limit_bytes"]) == ("spill", limit)
    assert needs["memory_bytes"] <= limit < needs["unrestricted_bytes"]
    text = " ".join(invoke("info", clip, "--threads", 1, "--memory", limit).stdout.split())
    assert re.search(r" how \S+ of frames do not fit into \S+ of memory: they are kept in", text)
    assert re.search(r"without it about \d\d\d MB$", text)


def test_a_limit_that_nothing_fits(clip, invoke) -> None:
    done = invoke("info", clip, "--memory", "20M")
    assert (done.exit_code, done.stderr) == (0, "")
    assert " does not fit needs at least" in " ".join(done.stdout.split())
    assert "but the limit is 20M; use --memory" in done.stdout
    needs = json.loads(invoke("info", clip, "--memory", "20M", "--json").stdout)["estimate"]
    assert (needs["fits"], needs["frames_kept"]) == (False, None)


def test_a_long_input_is_sampled(clip, invoke, monkeypatch) -> None:
    monkeypatch.setattr("bgsub.fit.memory.AUTO_FIT_FRAMES", 10)
    text = " ".join(invoke("info", clip, "--k", 3).stdout.split())
    assert " how 12 frames: a sample of 10 is fitted" in text
    assert "a sample of" not in invoke("info", clip, "--k", 3, "--fit-frames", 11).stdout


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


def test_a_picture_that_is_larger_than_the_limit_is_not_decoded(invoke, tmp_path) -> None:
    path = tmp_path / "large.npy"
    np.save(path, np.zeros((1, 500, 800, 3), np.uint8))
    done = invoke("info", path, "--memory", "1M")
    assert (done.exit_code, done.stdout) == (7, "")
    assert "a picture of 800 x 500 pixels takes at least 2M, but the limit is 1M" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="has no such devices")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/random"])
def test_a_device_that_never_ends_is_refused_at_once(device, invoke) -> None:
    done = invoke("info", device)
    assert done.exit_code == 3
    assert f"{device}: is a device and no file" in done.stderr
