"""The one loop: frames get the same masks in whatever blocks, threads and calls they pass."""

import threading

import numpy as np
import pytest

import bgsub
from bgsub.fit.store import FrameBlock, decoded_blocks
from bgsub.pipeline.loop import Loop
from bgsub.pipeline.scene import LearnedScene, saved_scene
from bgsub.runtime.threads import Workers
from bgsub.segmenter.masks import SEGMENTERS
from bgsub.segmenter.protocol import MaskResult, Segmenter
from bgsub.video.frames import Layout
from bgsub.video.images import write_image
from bgsub.video.source import open_source

FOOTAGE = {
    "colour as RGB": {"format": "mkv"},
    "a grey part": {"color": "gray", "roi": (3, 5, 25, 19)},
    "colour, of some pixels": {"ignore": "region"},
}


class TestMasks:
    @pytest.mark.parametrize("model", ["local", "paper"])
    def test_are_those_of_a_run(self, model, scene, save, tmp_path, options, video):
        footage = scene(12, visit=8)
        clip, chosen = save(footage), options(outputs={"mask"}, format="mkv", model=model)
        bgsub.run(clip, tmp_path / "r", chosen)
        given = list(bgsub.masks(clip, chosen))
        np.testing.assert_array_equal(
            [mask for _, mask in given], video(tmp_path / "r" / "mask.mkv", "gray")
        )
        assert [frame.number for frame, _ in given] == list(range(1, 13))
        frame = given[10][0]
        np.testing.assert_array_equal(frame.layout.to_bgr(frame.data), footage[10][..., ::-1])

    def test_of_an_array_and_the_iterator_may_be_left(self, scene):
        iterator = bgsub.masks(scene(12))
        frame, mask = next(iterator)
        assert (frame.number, mask.shape) == (1, (24, 32))
        iterator.close()

    def test_options_by_name_are_those_of_run_options(self, scene, options):
        footage, source = scene(14, visit=10), bgsub.SourceOptions(start=5)
        named = list(bgsub.masks(footage, sensitivity="high", start=5, threads=1))
        chosen = bgsub.RunOptions(sensitivity="high", source=source, threads=1)
        given = list(bgsub.masks(footage, chosen))
        assert [frame.number for frame, _ in named] == list(range(5, 15))
        np.testing.assert_array_equal([m for _, m in named], [m for _, m in given])
        assert next(bgsub.masks(footage, options(), color="gray"))[0].data.ndim <= 2
        with pytest.raises(TypeError, match="sensitvity"):
            next(bgsub.masks(footage, sensitvity="high"))
        with pytest.raises(bgsub.BgsubError, match="sensitivity"):
            next(bgsub.masks(footage, sensitivity="loud"))

    @pytest.mark.parametrize("case", FOOTAGE)
    def test_bytes_are_those_of_one_thread(self, case, scene, encode, tmp_path, options):
        clip, chosen = encode(scene(8, visit=5)), FOOTAGE[case]
        if "ignore" in chosen:
            region = np.zeros((24, 32), np.uint8)
            region[10:20, 10:25] = 255
            write_image(tmp_path / "region.png", region)
            chosen = {"ignore": str(tmp_path / "region.png")}
        contents = []
        for threads in (1, 3):
            out = tmp_path / str(threads)
            outputs = {"mask", "scores", "objects", "background"}
            bgsub.run(clip, out, options(outputs=outputs, threads=threads, **chosen))
            contents.append(
                {path.name: path.read_bytes() for path in out.iterdir() if path.name != "run.json"}
            )
        assert len(contents[0]) == 4
        assert contents[0] == contents[1]


@pytest.mark.parametrize("still", [None, 0.3])
def test_a_stream_frame_by_frame_has_the_masks_of_a_file(whole_run, options, still):
    """As `watch` passes them: each frame is a block, in no thread but that of the caller."""
    model = bgsub.BackgroundModel.load(whole_run.out / "model.npz")
    scene = saved_scene(model, options())
    source = open_source(whole_run.path, exact_color=True, start=31, end=44)
    blocks = list(decoded_blocks(source))
    with Workers(2) as workers:
        together = [frame.mask for frame in Loop(scene, workers, {"mask"}, still).frames(blocks)]
    loop, alone = Loop(scene, None, {"mask"}, still), []
    for block in blocks:
        for i in range(len(block.rows)):
            one = FrameBlock(*(column[i : i + 1] for column in block[:3]))
            alone += [frame.mask for frame in loop.frames([one])]
    assert any(mask.any() for mask in alone)
    np.testing.assert_array_equal(alone, together)


class Recorder:
    needs = frozenset()

    def __init__(self):
        self.seen, self.threads = [], set()

    def prepare(self, frame):
        self.threads.add(threading.current_thread().name)
        return -frame.number

    def write(self, frame, prepared):
        self.seen.append((frame.number, prepared, threading.current_thread().name))


@pytest.mark.parametrize("size", [(6, 8), (400, 300)])
def test_sinks_get_frames_in_order_in_one_thread_whoever_prepares_them(size):
    layout = Layout("gray", *size)
    blocks = [
        FrameBlock(np.zeros((3, layout.size), np.uint8), np.arange(n, n + 3), np.arange(3) / 25)
        for n in (1, 4, 7)
    ]
    one, other = Recorder(), Recorder()
    with Workers(3) as workers:
        passed = [
            f.number for f in Loop(LearnedScene(layout), workers, ()).feed(blocks, [one, other])
        ]
    own = threading.current_thread().name
    assert passed == list(range(1, 10))
    assert one.seen == other.seen == [(n, -n, own) for n in range(1, 10)]
    # Small frames are not worth a thread of their own.
    assert (own in one.threads) == (layout.pixels < 100_000)


class BrightSegmenter(Segmenter):
    """A third kind: what is brighter than the frames that it has seen is foreground."""

    name, needs_background, score_level, min_area = "bright", False, 100, 1
    threshold = scene = None

    @classmethod
    def fit(cls, sample, options, *, model=None, each=map):
        made = cls()
        made.level = int(sample.small.mean()) + 60
        return made

    def mask(self, frame, *_, inside=None, with_scores=False, everywhere=True):
        luma = frame.layout.luma(frame.row)
        scores = luma.astype(np.uint16) * np.uint16(100) // np.uint16(self.level)
        mask = np.where(scores >= self.score_level, np.uint8(255), np.uint8(0))
        return MaskResult(mask, scores if with_scores else None)


class BrightOptions(bgsub.RunOptions):
    mask_model = "bright"


def test_a_third_segmenter_is_a_class_and_a_line(scene, save, tmp_path, monkeypatch, video):
    monkeypatch.setitem(SEGMENTERS, "bright", BrightSegmenter)
    frames = scene(n=60, color=False)
    outputs = frozenset({"mask", "scores", "foreground"})
    options = BrightOptions(outputs=outputs, format="mkv", foreground="cutout")
    result = bgsub.run(save(frames), tmp_path / "out", options)
    level = round(frames.reshape(60, -1).mean()) + 60
    masks = video(tmp_path / "out" / "mask.mkv", "gray")
    assert masks[40:].any(axis=(1, 2)).all()
    sure = np.abs(frames.astype(int) - level) > 10
    np.testing.assert_array_equal(masks[sure] > 0, frames[sure] > level)
    cut = video(tmp_path / "out" / "foreground.mkv", "gray")
    np.testing.assert_array_equal(cut, np.where(masks > 0, frames, 0))
    assert result.manifest["mask_model"] == "bright"
    assert result.manifest["score_level"] == 100
    assert "k" not in result.manifest  # nothing was fitted for it
