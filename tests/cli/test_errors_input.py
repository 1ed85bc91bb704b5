"""What `bgsub errors` is given: recognised, or refused with what to do."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bgsub


@pytest.fixture
def results(scene, tmp_path):
    """Results of frames that a program passed as an array."""
    options = bgsub.RunOptions(k=2, outputs=["errors", "model"])
    return bgsub.run(scene(n=40), tmp_path / "r", options).out


def test_results_of_an_array_have_events_but_no_video(results, invoke, tmp_path) -> None:
    assert invoke("errors", results, "--format", "json").exit_code == 0
    done = invoke("errors", results, "--save-frames", tmp_path / "frames")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "does not say which video it is of" in done.stderr


def test_a_model_alone_and_a_video_before_footage(results, invoke) -> None:
    done = invoke("errors", results / "model.npz")
    assert done.exit_code == 2
    assert "name the footage after it" in done.stderr
    done = invoke("errors", "a.avi", "b.avi")
    assert done.exit_code == 2
    assert "is no model.npz, but b.avi follows it" in done.stderr


@pytest.mark.parametrize("option", ["--k", "--scale", "--memory"])
def test_options_without_an_effect_are_refused(option, results, invoke) -> None:
    value = "50%" if option == "--memory" else "1"
    done = invoke("errors", results, option, value)
    assert done.exit_code == 2
    assert f"{option} has no effect here" in done.stderr
    assert done.stderr.count("\n") == 1


def test_frames_in_an_npz_file_are_no_model(scene, invoke, tmp_path) -> None:
    np.savez(tmp_path / "clip.npz", frames=scene(n=40))
    done = invoke("errors", tmp_path / "clip.npz", "--k", 2, "--format", "json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["frames"] == 40


def test_a_folder_of_nothing_that_is_known(invoke, tmp_path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader")
    done = invoke("errors", tmp_path)
    assert done.exit_code == 3
    assert done.stderr.count("\n") == 1
