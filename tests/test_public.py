"""The public names of the package, and what importing them costs."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgsub
from bgsub.errors import UsageError

PUBLIC = {
    *("TRPCA", "BackgroundModel", "BgsubError", "ErrorTable", "Event", "FrameSource"),
    *("Observation", "OnlineTRPCA", "RunOptions", "RunResult", "SceneEvent", "SourceOptions"),
    *("Subtractor", "Track", "__version__", "apply", "find_events", "fit_errors"),
    *("load_results", "masks", "model_errors", "objects", "open_source", "run"),
}


def test_public_names_are_these_and_all_exist() -> None:
    assert set(bgsub.__all__) == PUBLIC
    assert all(getattr(bgsub, name) is not None for name in PUBLIC)
    assert not hasattr(bgsub, "subtract_everything")


def test_importing_the_package_imports_no_heavy_library() -> None:
    heavy = "('numpy', 'cv2', 'av', 'scipy')"
    code = f"import bgsub, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture
def frames(scene):
    return scene(n=12, visit=9)


@pytest.mark.parametrize("given", ["str", "path", "array"])
def test_what_people_pass_works(given, frames, save, tmp_path) -> None:
    path = save(frames, "clip.npy")
    footage = {"str": str(path), "path": Path(path), "array": frames}[given]
    options = bgsub.RunOptions(k=2, outputs=["errors", "model", "mask"], format="mkv")
    if given != "str":  # one of them makes masks of the other kind
        options = replace(options, model="paper")
    out = tmp_path / "out" if given == "path" else str(tmp_path / "out")
    result = bgsub.run(footage, out, options)
    assert result.out == tmp_path / "out"
    recorded = json.loads((result.out / "run.json").read_text(encoding="utf-8"))["input"]
    assert recorded["path"] == (None if given == "array" else str(path))
    model = result.out / "model.npz"
    model = str(model) if given == "str" else model
    again = bgsub.apply(model, footage, str(tmp_path / "again"), options)
    assert (again.out / "errors.csv").exists()
    assert bgsub.BackgroundModel.load(model).components.shape[0] == 2
    assert bgsub.BackgroundModel.load(str(result.out)).components.shape[0] == 2
    first = bgsub.fit_errors(footage, options).table
    second = bgsub.model_errors(result.out, footage).table
    assert first.frames.tolist() == second.frames.tolist() == list(range(1, 13))


@pytest.mark.parametrize("given", ["generator", "list"])
def test_frames_that_are_no_array_are_refused_with_what_to_pass(given, frames, tmp_path) -> None:
    footage: Any = list(frames) if given == "list" else (frame for frame in frames)
    with pytest.raises(UsageError, match=rf"a {given} is no footage.*numpy\.stack\(frames\)"):
        bgsub.run(footage, tmp_path / "out")
    with pytest.raises(UsageError, match="is no footage"):
        next(bgsub.masks(footage))
    assert not (tmp_path / "out").exists()


def test_options_may_be_left_out(frames, tmp_path) -> None:
    result = bgsub.run(frames, tmp_path / "out")
    assert result.manifest["options"] == bgsub.RunOptions().to_json()
    assert (result.out / "mask.mp4").exists()


def test_the_digest_of_an_array_is_that_of_its_values(frames, tmp_path) -> None:
    options = bgsub.RunOptions(k=2, outputs=["errors"])
    digests = {
        bgsub.run(array, tmp_path / str(place), options).manifest["input"]["sha256"]
        for place, array in enumerate((frames, np.asfortranarray(frames), frames[::-1]))
    }
    assert len(digests) == 2


def test_a_repr_fits_on_a_screen(frames, tmp_path) -> None:
    result = bgsub.run(frames, tmp_path / "out", bgsub.RunOptions(k=2))
    source = bgsub.open_source(frames)
    found = bgsub.fit_errors(frames, bgsub.RunOptions(k=2))
    model = bgsub.BackgroundModel.load(result.out / "model.npz")
    shown = [repr(each) for each in (result, source, source[0], found, found.table, model)]
    shown += [repr(bgsub.find_events(found.table)), repr(model.local), repr(bgsub.TRPCA(2))]
    for text in shown:
        assert len(text) < 600
        assert text.count("\n") < 5
    assert "12 frames" in repr(source)
    assert "12 frames" in repr(found.table)
    assert "k=2" in repr(model)
