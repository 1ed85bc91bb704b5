"""Frames reach every consumer in their order, with backgrounds only where these are wanted."""

import threading

import numpy as np
import pytest

from bgsub.background.model import BackgroundModel
from bgsub.background.render import reconstruct
from bgsub.fit.store import decoded_blocks
from bgsub.pipeline.loop import Renderer, feed
from bgsub.pipeline.scoring import ProjectedFrames
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Layout
from bgsub.video.source import open_source


def no_foreground(frame):
    raise AssertionError


@pytest.fixture
def model(whole_run):
    return BackgroundModel.load(whole_run.out / "model.npz")


@pytest.fixture
def block(whole_run, model, workers):
    source = open_source(whole_run.path, exact_color=True)
    return next(ProjectedFrames(model, workers).blocks(decoded_blocks(source)))


def renderer_of(model, background):
    return Renderer(model.layout, background, None, None, no_foreground, with_scores=False)


def test_frames_have_their_backgrounds(model, block, workers):
    (frames,) = renderer_of(model, model).frames([block], workers)
    expected = reconstruct(model, block.coefficients, workers)
    assert [frame.number for frame in frames] == block.numbers.tolist()
    for i, frame in enumerate(frames):
        np.testing.assert_array_equal(frame.own, expected[i])
        assert frame.outlier_score == block.outlier_scores[i]


def test_frames_of_which_nothing_is_fitted(model, block, workers):
    plain = block._replace(coefficients=None, outlier_scores=None)
    ((first, *_),) = renderer_of(model, None).frames([plain], workers)
    assert first.outlier_score is None
    with pytest.raises(RuntimeError, match="no masks"):
        _ = first.mask
    with pytest.raises(RuntimeError, match="no background"):
        _ = first.background


class Recorder:
    needs = frozenset()

    def __init__(self):
        self.seen, self.threads = [], set()

    def prepare(self, frame):
        self.threads.add(threading.current_thread().name)
        return -frame.number

    def take(self, frame, prepared):
        self.seen.append((frame.number, prepared, threading.current_thread().name))


@pytest.mark.parametrize("size", [(6, 8), (400, 300)])
def test_frames_come_in_order_in_one_thread_whoever_prepares_them(size):
    layout = Layout("gray", *size)
    rows = np.zeros((9, layout.size), np.uint8)
    from bgsub.fit.store import FrameBlock

    block = FrameBlock(rows, np.arange(1, 10), np.arange(9) / 25)
    one, other = Recorder(), Recorder()
    renderer = Renderer(layout, None, None, None, no_foreground, with_scores=False)
    with Workers(3) as workers:
        for frames in renderer.frames([block], workers):
            feed(frames, [one, other], workers)
    own = threading.current_thread().name
    assert one.seen == other.seen == [(n, -n, own) for n in range(1, 10)]
    # Small pictures are not worth a thread of their own.
    assert (own in one.threads) == (layout.pixels < 100_000)
