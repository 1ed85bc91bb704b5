"""The names of outputs, the tally of the masks, and who gets the frames."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest

from bgsub.background.model import BackgroundModel
from bgsub.errors import OutputError
from bgsub.fit.store import decoded_blocks
from bgsub.options import OUTPUTS, RunOptions
from bgsub.pipeline.inputs import mask_settings, output_name
from bgsub.pipeline.outputs import FrameOutputs, MaskTally
from bgsub.pipeline.results import ResultsDirectory
from bgsub.pipeline.scene import saved_scene
from bgsub.pipeline.scoring import ProjectedFrames
from bgsub.video.source import open_source


@pytest.mark.parametrize(
    ("format_", "plot_format", "names"),
    [
        (
            "mp4",
            "png",
            "background.mp4 foreground.mp4 mask.mp4 background.png errors.csv errors.png",
        ),
        (
            "mkv",
            "svg",
            "background.mkv foreground.mkv mask.mkv background.png errors.csv errors.svg",
        ),
        ("png", "png", "background foreground mask background.png errors.csv errors.png"),
    ],
)
def test_names(format_, plot_format, names):
    scores = "scores" if format_ == "png" else "scores.mkv"
    expected = [*names.split(), "model.npz", "objects.csv", "tracks.csv", "events.csv"]
    expected += ["preview.mp4", "overlay.mp4", f"spectrum.{plot_format}", scores]
    expected += ["heatmap.png", "activity.csv", "report.html"]
    assert [output_name(output, format_, plot_format) for output in OUTPUTS] == expected


@dataclass
class Masked:
    """A frame with nothing but a mask, of which some pixels are set."""

    covered: int
    number: int = 0
    trust: float | None = None
    left_out: None = None

    @property
    def mask(self):
        mask = np.zeros((10, 10), np.uint8)
        mask.flat[: self.covered] = 255
        return mask


def tally_of(*covered, pixels=100):
    tally = MaskTally(pixels)
    for frame in map(Masked, covered):
        tally.take(frame, tally.prepare(frame))
    return tally


def test_the_tally_counts_empty_and_crowded_masks_and_their_mean_share():
    tally = tally_of(0, 50, 90, 100)
    assert (tally.frames, tally.empty, tally.crowded) == (4, 1, 2)
    assert tally.mean_share == pytest.approx(0.6)


def test_the_tally_keeps_the_trust_of_every_mask_in_spans():
    tally = MaskTally(100)
    for number, trust in enumerate((0.91, 0.94, None, 0.32, 0.9), start=1):
        frame = Masked(5, number, trust)
        tally.take(frame, tally.prepare(frame))
    assert tally.trust == [(1, 2, 0.9), (4, 4, 0.3), (5, 5, 0.9)]


def test_of_a_mask_image_only_the_pixels_inside_count():
    tally = tally_of(50, pixels=50)
    assert (tally.crowded, tally.mean_share) == (1, 1.0)


@pytest.fixture
def open_outputs(whole_run, workers):
    """Open outputs in a folder of results, for a scene whose model is that of a whole run."""
    options = RunOptions()
    model = BackgroundModel.load(whole_run.out / "model.npz")
    scene = saved_scene(model, mask_settings(options), None)

    def open_some(results, *wanted, style="abs", video_format="mp4"):
        return FrameOutputs(
            results,
            scene,
            wanted=wanted,
            video_format=video_format,
            style=style,
            rate=None,
            workers=workers,
        )

    return open_some


def test_a_sink_that_cannot_be_opened_leaves_no_other_one_behind(tmp_path, open_outputs):
    before = {thread.name for thread in threading.enumerate()}
    with ResultsDirectory(tmp_path / "out", ["mask.mp4"]) as results:
        results.stage("mask.mp4").mkdir()
        with pytest.raises(OutputError, match=r"mask\.mp4"):
            open_outputs(results, "background", "foreground", "mask")
    assert {thread.name for thread in threading.enumerate()} == before
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("wanted", "style", "needs"),
    [
        (["background"], "abs", {"background"}),
        (["foreground"], "signed", {"background"}),
        (["foreground"], "cutout", {"mask"}),
        (["mask"], "abs", {"mask"}),
        (["scores"], "abs", {"mask", "scores"}),
        (["preview"], "abs", {"background", "mask"}),
        (["errors", "model"], "abs", set()),
    ],
)
def test_nothing_is_computed_that_no_output_shows(wanted, style, needs, tmp_path, open_outputs):
    with ResultsDirectory(tmp_path / "out", []) as results:
        outputs = open_outputs(results, *wanted, style=style)
        found = set().union(*(consumer.needs for consumer in outputs.consumers))
        for consumer in outputs.consumers:
            consumer.abort()
    assert found == needs


def test_a_further_consumer_gets_every_frame_in_order_with_all_that_it_needs(
    tmp_path, open_outputs, whole_run, workers
):
    """What objects, tracks and events plug into: a mask and scores for every frame."""

    class Areas:
        needs = frozenset({"scores"})
        seen, closed = [], False

        def prepare(self, frame):
            return np.count_nonzero(frame.mask), int(frame.scores.max())

        def take(self, frame, prepared):
            self.seen.append((frame.number, frame.time_s, frame.picture.shape, *prepared))

        def close(self):
            self.closed = True

        def abort(self):
            raise AssertionError

    areas, told = Areas(), []
    source = open_source(whole_run.path, exact_color=True)
    model = BackgroundModel.load(whole_run.out / "model.npz")
    with ResultsDirectory(tmp_path / "out", []) as results, open_outputs(results) as outputs:
        outputs.consumers.append(areas)
        blocks = ProjectedFrames(model, workers).blocks(decoded_blocks(source))
        outputs.write(blocks, 48, lambda *what: told.append(what))
        outputs.close()
    assert [row[0] for row in areas.seen] == list(range(1, 49))
    assert [row[1] for row in areas.seen] == pytest.approx([i / 25 for i in range(48)])
    assert {row[2] for row in areas.seen} == {(36, 48, 3)}
    assert [row[3] > 0 for row in areas.seen] == [i >= 32 for i in range(48)]
    assert all((row[4] > 90) == (row[3] > 0) for row in areas.seen)
    assert areas.closed
    assert told[-1] == ("write", 48, 48)
