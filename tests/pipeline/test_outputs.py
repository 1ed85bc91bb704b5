"""The names of outputs, and the tally of the masks."""

import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.options import OUTPUTS, RunOptions
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.outputs import MaskTally, OutputVideos, output_name


@pytest.mark.parametrize(
    ("format_", "plot_format", "names"),
    [
        ("mp4", "png", "background.mp4 foreground.mp4 mask.mp4 errors.csv errors.png"),
        ("mkv", "svg", "background.mkv foreground.mkv mask.mkv errors.csv errors.svg"),
        ("png", "png", "background foreground mask errors.csv errors.png"),
    ],
)
def test_names(format_, plot_format, names):
    options = RunOptions(format=format_, plot_format=plot_format)
    scores = "scores" if format_ == "png" else "scores.mkv"
    expected = [*names.split(), "model.npz", "preview.mp4", f"spectrum.{plot_format}", scores]
    assert [output_name(output, options) for output in OUTPUTS] == expected


def test_the_tally_counts_empty_and_crowded_masks_and_their_mean_share():
    tally = MaskTally()
    for covered in (0, 50, 90, 100):
        mask = np.zeros((10, 10), np.uint8)
        mask.flat[:covered] = 255
        tally.add(mask, 100)
    assert (tally.frames, tally.empty, tally.crowded) == (4, 1, 2)
    assert tally.mean_share == pytest.approx(0.6)


def test_of_a_mask_image_only_the_pixels_inside_count():
    tally = MaskTally()
    mask = np.zeros((10, 10), np.uint8)
    mask[:5] = 255
    tally.add(mask, 50)
    assert (tally.crowded, tally.mean_share) == (1, 1.0)


def test_a_sink_that_cannot_be_opened_leaves_no_other_one_behind(tmp_path, whole_run, workers):
    import threading

    from bgsub.background.model import BackgroundModel

    model = BackgroundModel.load(whole_run.out / "model.npz")
    options = RunOptions(outputs=frozenset({"background", "foreground", "mask"}))
    before = {thread.name for thread in threading.enumerate()}
    with ResultsDirectory(tmp_path / "out", ["mask.mp4"]) as results:
        results.stage("mask.mp4").mkdir()
        with pytest.raises(OutputError, match=r"mask\.mp4"):
            OutputVideos(results, model, options, None, workers)
    assert {thread.name for thread in threading.enumerate()} == before
    assert not (tmp_path / "out").exists()
