"""The names of outputs, what is computed for them, and the statistics of the masks."""

import threading

import numpy as np
import pytest

from bgsub.background.model import BackgroundModel
from bgsub.errors import OutputError
from bgsub.options import OUTPUTS
from bgsub.pipeline.inputs import needs_fit, needs_masks, needs_objects, needs_pixels, output_name
from bgsub.pipeline.loop import SceneFrame
from bgsub.pipeline.outputs import FrameOutputs, MaskStatistics
from bgsub.pipeline.results import ResultsDirectory
from bgsub.pipeline.scene import saved_scene
from bgsub.segmenter.protocol import MaskResult
from bgsub.video.frames import Layout
from bgsub.video.source import open_source


@pytest.mark.parametrize(
    ("format_", "plot_format", "names"),
    [
        ("mp4", "png", "background.mp4 foreground.mp4 mask.mp4 background.png"),
        ("mkv", "svg", "background.mkv foreground.mkv mask.mkv background.png"),
        ("png", "png", "background foreground mask background.png"),
    ],
)
def test_names(format_, plot_format, names, options):
    scores = "scores" if format_ == "png" else "scores.mkv"
    expected = [*names.split(), "errors.csv", f"errors.{plot_format}", "model.npz"]
    expected += ["objects.csv", "tracks.csv", "events.csv"]
    expected += ["preview.mp4", "overlay.mp4", f"spectrum.{plot_format}", scores]
    expected += ["heatmap.png", "activity.csv", "report.html"]
    chosen = options(format=format_, plot_format=plot_format)
    assert [output_name(output, chosen) for output in OUTPUTS] == expected


@pytest.mark.parametrize(
    ("outputs", "changes", "fit", "masks", "objects", "pixels"),
    [
        ({"mask", "scores"}, {}, False, True, False, True),
        ({"mask"}, {"model": "paper"}, True, True, False, True),
        ({"mask"}, {"threshold": 20}, True, True, False, True),
        ({"mask"}, {"method": "pca"}, True, True, False, True),
        ({"mask", "foreground"}, {"foreground": "cutout"}, False, True, False, True),
        ({"foreground"}, {}, True, True, False, True),
        ({"background"}, {"model": "paper"}, True, False, False, True),
        ({"objects"}, {}, False, True, True, True),
        ({"overlay"}, {}, False, True, True, True),
        ({"preview"}, {}, True, True, True, True),
        ({"model"}, {}, True, True, False, True),
        ({"errors", "plot", "spectrum"}, {}, True, False, False, False),
    ],
)
def test_nothing_is_computed_that_no_output_shows(
    outputs, changes, fit, masks, objects, pixels, options
):
    chosen = options(outputs=outputs, **changes)
    assert needs_fit(chosen) == fit
    assert needs_masks(chosen) == masks
    assert needs_objects(chosen) == objects
    assert needs_pixels(chosen) == pixels


def frame_with(number, result):
    frame = SceneFrame(Layout("gray", 10, 10), np.zeros(100, np.uint8), number, 0.0, None)
    frame.result = result
    return frame


def statistics_of(*covered, pixels=100, confidence=()):
    masks = MaskStatistics(pixels)
    for number, (count, sure) in enumerate(zip(covered, confidence or covered, strict=True), 1):
        mask = np.zeros((10, 10), np.uint8)
        mask.flat[:count] = 255
        frame = frame_with(number, MaskResult(mask, confidence=sure if confidence else None))
        masks.write(frame, masks.prepare(frame))
    return masks


def test_empty_and_crowded_masks_and_their_mean_share_are_counted():
    masks = statistics_of(0, 50, 90, 100)
    assert (masks.frames, masks.empty, masks.crowded) == (4, 1, 2)
    assert masks.mean_share == pytest.approx(0.6)
    inside = statistics_of(50, pixels=50)  # of a mask image only the pixels inside count
    assert (inside.crowded, inside.mean_share) == (1, 1.0)


def test_the_confidence_in_every_mask_is_kept_in_spans():
    masks = statistics_of(*[5] * 5, confidence=(0.91, 0.94, None, 0.32, 0.9))
    assert masks.confidence == [(1, 2, 0.9), (4, 4, 0.3), (5, 5, 0.9)]


def test_a_sink_that_cannot_be_opened_leaves_no_other_one_behind(
    tmp_path, whole_run, options, workers
):
    scene = saved_scene(BackgroundModel.load(whole_run.out / "model.npz"), options())
    source = open_source(whole_run.path, exact_color=True)
    before = {thread.name for thread in threading.enumerate()}
    chosen = options(outputs={"background", "foreground", "mask"})
    with ResultsDirectory(tmp_path / "out", ["mask.mp4"]) as results:
        results.stage("mask.mp4").mkdir()
        with pytest.raises(OutputError, match=r"mask\.mp4"):
            FrameOutputs(results, scene, source, chosen, None, workers)
    assert {thread.name for thread in threading.enumerate()} == before
    assert not (tmp_path / "out").exists()
