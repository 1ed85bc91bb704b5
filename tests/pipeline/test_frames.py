"""One frame of a run: everything is computed once, and only what is asked for."""

import numpy as np
import pytest

from bgsub.background.render import largest_difference
from bgsub.pipeline.loop import FrameRules, SceneFrame
from bgsub.segmenter.masks import Seen
from bgsub.video.frames import Layout

LAYOUT = Layout("bgr", 6, 8)


class Calls:
    """Rules that remember what was asked of them."""

    def __init__(self, *, scores=True):
        self.decided = self.drawn = 0
        self.scores = np.full((6, 8), 7, np.uint16) if scores else None

    def decide(self, frame):
        self.decided += 1
        bright = (frame.layout.luma(frame.row) > 128).astype(np.uint8) * np.uint8(255)
        return Seen(bright, self.scores)

    def draw(self, frame):
        self.drawn += 1
        return frame.residual

    def frame(self, own=None):
        row = np.random.default_rng(0).integers(0, 256, LAYOUT.size, dtype=np.uint8)
        return SceneFrame(FrameRules(LAYOUT, self.decide, self.draw), 3, 0.08, row, own, 1.5)


def test_a_mask_is_decided_once_whatever_asks_for_it():
    calls = Calls()
    frame = calls.frame()
    assert calls.decided == 0
    first, again, scores = frame.mask, frame.mask, frame.scores
    assert calls.decided == 1
    assert first is again
    assert set(np.unique(first)) == {0, 255}
    assert scores[0, 0] == 7


def test_pictures_and_residual_are_those_of_frame_and_background():
    own = np.random.default_rng(1).integers(0, 256, LAYOUT.size, dtype=np.uint8)
    frame = Calls().frame(own)
    np.testing.assert_array_equal(frame.picture, LAYOUT.to_bgr(frame.row))
    np.testing.assert_array_equal(frame.background, LAYOUT.to_bgr(own))
    expected = largest_difference(LAYOUT, frame.row, own)
    np.testing.assert_array_equal(frame.residual, expected)
    assert frame.residual is frame.residual
    assert (frame.number, frame.time_s, frame.outlier_score) == (3, 0.08, 1.5)


def test_a_foreground_is_drawn_once_for_video_and_preview():
    calls = Calls()
    frame = calls.frame(np.zeros(LAYOUT.size, np.uint8))
    assert frame.foreground is frame.foreground
    assert calls.drawn == 1


def test_what_nobody_asked_for_in_time_is_a_mistake_of_ours():
    frame = Calls(scores=False).frame()
    with pytest.raises(RuntimeError, match="no scores"):
        _ = frame.scores
    with pytest.raises(RuntimeError, match="no background"):
        _ = frame.residual
