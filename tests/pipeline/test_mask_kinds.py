"""The kinds of masks that there are, and runs that write nothing else."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from bgsub.pipeline.mask_kinds import NetworkMasker, ResidualMasker
from bgsub.pipeline.masker import MaskSettings

from bgsub.errors import UsageError
from bgsub.pipeline.inputs import memory_need, open_input
from bgsub.pipeline.run import run
from bgsub.video.frames import Layout


@pytest.fixture
def clip(scene, save):
    return save(scene(n=60), "clip.npy")


def masks_of(clip, out, options, video, **changes):
    result = run(clip, out, options(format="mkv", **changes))
    return video(out / "mask.mkv", "gray"), result


@pytest.mark.parametrize("fit_frames", [None, 20])
def test_the_masks_are_those_of_a_whole_run(scene, save, tmp_path, options, video, fit_frames):
    frames = scene(n=60)
    frames[30:, 4:16, 30:44] = (20, 60, 200)  # something that comes to stay
    clip = save(frames)
    alone, first = masks_of(
        clip, tmp_path / "alone", options, video, outputs={"mask"}, fit_frames=fit_frames
    )
    beside, second = masks_of(
        clip, tmp_path / "beside", options, video, outputs={"mask", "errors"}, fit_frames=fit_frames
    )
    assert alone.any()
    np.testing.assert_array_equal(alone, beside)
    for fact in ("mask_states", "mask_notes", "min_area"):
        assert first.manifest[fact] == second.manifest[fact]


def test_a_sample_that_is_decoded_again_gives_the_same(
    scene, save, tmp_path, options, video, monkeypatch
):
    clip = save(scene(n=400, visit=300), "long.npy")
    monkeypatch.setattr("bgsub.fit.memory_plan.free_space", lambda folder: 0)
    chosen = options(outputs={"mask"})
    need = memory_need(open_input(clip, chosen), chosen, 400)
    between = (need.total("memory", 30) + need.total("sample", 30)) // 2
    assert need.total("sample", 30) < between < need.total("memory", 30)
    held, result = masks_of(clip, tmp_path / "held", options, video, outputs={"mask"})
    assert result.manifest["memory"]["frames_kept"] == "memory"
    again, result = masks_of(
        clip, tmp_path / "again", options, video, outputs={"mask"}, memory=str(between)
    )
    assert result.manifest["memory"]["frames_kept"] == "sample"
    np.testing.assert_array_equal(held, again)


def test_its_manifest_claims_nothing_of_outliers(clip, tmp_path, options):
    run(clip, tmp_path / "out", options(outputs={"mask"}))
    manifest = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert manifest["frames"] == {
        "decoded": 60,
        "bad": 0,
        "doubtful": 0,
        "used": 60,
        "outliers": None,
        "after_scene_change": None,
    }
    assert manifest["events"] is None
    assert manifest["mask_model"] == "local"
    assert "k" not in manifest


def test_a_single_frame_is_refused(scene, save, tmp_path, options):
    with pytest.raises(UsageError, match=r"clip.npy: 1 frame is selected.*; select more"):
        run(save(scene(n=1), "clip.npy"), tmp_path / "out", options(outputs={"mask"}))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", [NetworkMasker, ResidualMasker])
def test_a_mask_before_anything_is_learned_is_a_mistake_of_ours(kind):
    masker = kind(Layout("gray", 30, 40), MaskSettings())
    frame = SimpleNamespace(picture=None, residual=None)
    with pytest.raises(RuntimeError, match="before anything is learned"):
        masker.look(frame, None, with_scores=False)


def test_the_command_does_without_what_takes_long_to_import(clip, tmp_path):
    heavy = {"scipy", "matplotlib", "numpy.testing", "concurrent.futures.process"}
    heavy |= {f"bgsub.{name}" for name in ("fit.frame_fit", "robustpca.trpca", "segments.changes")}
    heavy |= {f"bgsub.{name}" for name in ("tracking.recorder", "outliers.scorer_learning")}
    code = (
        "import sys; from bgsub.cli import main\n"
        "try: main()\n"
        f"finally: print(sorted({heavy}.intersection(sys.modules)))"
    )
    arguments = ["run", clip, "--only", "mask", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"
