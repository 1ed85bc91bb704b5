"""Local models in whole runs: their masks in the results, in model.npz and in run.json."""

import json
from pathlib import Path

import numpy as np
import pytest

from bgsub.background.model import BackgroundModel
from bgsub.errors import UsageError
from bgsub.evaluation.evaluate import Pair, evaluate
from bgsub.evaluation.masks import open_grey
from bgsub.evaluation.options import EvaluationOptions
from bgsub.options import RunOptions
from bgsub.pipeline.run import apply, run
from bgsub.source_options import SourceOptions
from bgsub.video.source import open_source

SAMPLES = Path(__file__).parents[2] / "sample_videos"


@pytest.fixture(scope="module")
def clip(tmp_path_factory, passing):
    path = tmp_path_factory.mktemp("clip") / "clip.npy"
    np.save(path, passing.frames[..., ::-1])
    return str(path)


@pytest.fixture(scope="module")
def local_run(tmp_path_factory, clip):
    out = tmp_path_factory.mktemp("local") / "results"
    outputs = frozenset({"mask", "model", "foreground", "errors", "scores"})
    options = RunOptions(
        k=1, model="local", format="mkv", foreground="cutout", outputs=outputs, threads=2
    )
    run(clip, out, options)
    return out


def masks_in(out):
    return np.stack([frame.luma for frame in open_source(out / "mask.mkv")])


def test_masks_of_a_run_are_those_of_the_model(local_run, passing, scenes):
    masks = masks_in(local_run)
    assert scenes.f_measure(masks, passing.truths) > 0.9
    model = BackgroundModel.load(local_run / "model.npz").local
    for frame, mask in zip(passing.frames[::9], masks[::9], strict=True):
        np.testing.assert_array_equal(model.mask(frame), mask)


def test_scores_of_a_run_are_those_of_the_model(local_run, passing):
    found = open_grey(str(local_run / "scores.mkv"))
    model = BackgroundModel.load(local_run / "model.npz").local
    rows = range(0, len(passing.frames), 9)
    for row, scores in zip(rows, found.pick(rows), strict=True):
        assert scores.any()
        np.testing.assert_array_equal(model.scores(passing.frames[row]), scores)
    manifest = json.loads((local_run / "run.json").read_text(encoding="utf-8"))
    assert manifest["score_level"] == 90


def test_scores_are_evaluated(local_run, passing, tmp_path):
    np.save(tmp_path / "truth.npy", np.array(passing.truths).astype(np.uint8) * np.uint8(255))
    pair = Pair(str(local_run), str(tmp_path / "truth.npy"))
    found = evaluate([pair], EvaluationOptions(scores=True))
    assert 50 < found.threshold <= 150
    assert found.total.f_measure > 0.85
    at_level = evaluate([pair], EvaluationOptions(scores=True, threshold=90)).total
    assert found.total.f_measure >= at_level.f_measure > 0.8


def test_the_cutout_shows_what_the_mask_covers(local_run, passing):
    shown = [frame.image[..., ::-1] for frame in open_source(local_run / "foreground.mkv")]
    for cut, mask, frame in zip(shown, masks_in(local_run), passing.frames, strict=True):
        np.testing.assert_array_equal(cut, np.where(mask[..., None] > 0, frame, 0))


def test_the_manifest_says_whence_the_masks_are(local_run):
    manifest = json.loads((local_run / "run.json").read_text(encoding="utf-8"))
    assert manifest["mask_model"] == "local"
    assert manifest["options"]["model"] == "local"
    assert isinstance(manifest["mask_notes"], list)


def test_the_manifest_says_what_was_decided_and_why(tmp_path, scenes):
    """Somebody in plain clothes is there from the beginning, for most of a film, and leaves."""
    rng, frames = np.random.default_rng(3), []
    for i in range(100):
        frame = scenes.place()
        if i < 60:
            down, right = rng.integers(-1, 2, 2)
            frame[30 + down : 54 + down, 40 + right : 54 + right] = (40, 60, 215)
        frames.append(frame)
    np.save(tmp_path / "clip.npy", scenes.finish(frames)[..., ::-1])
    options = RunOptions(
        k=1, model="local", source=SourceOptions(start=11), outputs=frozenset({"mask", "model"})
    )
    told = run(str(tmp_path / "clip.npy"), tmp_path / "out", options).manifest
    (state,) = told["mask_states"]
    assert (state["sample_frames"], state["share"], state["relit_frames"]) == (90, 1.0, 0)
    assert state["noise"] == pytest.approx(3, abs=0.5)
    region = told["mask_regions"][0]
    assert (region["chosen"], region["background"]) == ("object left", "after")
    assert region["first_frame"] == pytest.approx(61, abs=5)
    assert region["first_time_s"] == pytest.approx((region["first_frame"] - 1) / 25)
    assert region["overruled_pixels"] > 0
    assert "an object was there and left" in region["reason"]
    assert told["mask_regions_left_out"] == 0
    options = RunOptions(outputs=frozenset({"mask"}))
    again = apply(tmp_path / "out/model.npz", str(tmp_path / "clip.npy"), tmp_path / "new", options)
    for name in ("mask_notes", "mask_states", "mask_regions", "mask_regions_left_out"):
        assert again.manifest[name] == told[name]


def test_a_saved_model_gives_the_same_masks(local_run, clip, tmp_path):
    options = RunOptions(format="mkv", outputs=frozenset({"mask"}))
    apply(local_run / "model.npz", clip, tmp_path / "again", options)
    np.testing.assert_array_equal(masks_in(tmp_path / "again"), masks_in(local_run))


def test_a_threshold_means_the_formula(clip, tmp_path):
    outputs = frozenset({"mask"})
    for name, options in (
        ("local", RunOptions(k=1, threshold=20, format="mkv", outputs=outputs)),
        ("paper", RunOptions(k=1, model="paper", threshold=20, format="mkv", outputs=outputs)),
    ):
        run(clip, tmp_path / name, options)
    np.testing.assert_array_equal(masks_in(tmp_path / "local"), masks_in(tmp_path / "paper"))


def test_unknown_names_are_refused():
    with pytest.raises(UsageError, match="--model cubist: must be one of local, paper"):
        RunOptions(model="cubist")
    with pytest.raises(UsageError, match="--shadows lengthen: must be one of drop, keep"):
        RunOptions(shadows="lengthen")


def test_the_walker_of_the_sample_is_found(tmp_path):
    shown = open_source(SAMPLES / "water.avi", every=3)
    np.save(tmp_path / "water.npy", np.stack([frame.image[..., ::-1] for frame in shown]))
    truth = open_source(SAMPLES / "water_masks.mkv", every=3)
    np.save(tmp_path / "truth.npy", np.stack([frame.luma for frame in truth]))
    options = RunOptions(format="mkv", outputs=frozenset({"mask"}))
    run(str(tmp_path / "water.npy"), tmp_path / "water", options)
    pair = Pair(str(tmp_path / "water"), str(tmp_path / "truth.npy"))
    assert evaluate([pair]).total.f_measure > 0.9
