"""The frames that a model is learned from."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.live.learning import MOST_FRAMES, Schedule, Window
from bgsub.runtime.threads import Workers
from bgsub.segmenter.protocol import MaskOptions
from bgsub.video.frames import Layout


def test_a_window_is_thinned_and_forgets():
    layout = Layout("gray", 24, 32)
    schedule, due = Schedule(window_s=60, refresh_s=30, warm_up_s=2), []
    window = Window(layout, MaskOptions(), window_s=60)
    for i in range(4000):
        if schedule.wants(i / 25):
            window.add(np.zeros(layout.size, np.uint8), i / 25)
            due += [i / 25] * schedule.is_due()
    assert len(window.times) <= MOST_FRAMES
    assert window.times[0] >= 4000 / 25 - 61
    assert np.diff(window.times).max() < 0.3
    assert due == pytest.approx([2, 4, 8, 16, 32, 62, 92, 122, 152], abs=1.5)


@pytest.mark.parametrize(("frames", "has_scores"), [(8, False), (16, False), (17, True)])
def test_a_fit_to_a_handful_of_frames_scores_none(frames, has_scores):
    """A busy machine learns from few; three components fit half of eight frames exactly."""
    layout, rng = Layout("gray", 24, 32), np.random.default_rng(0)
    window = Window(layout, MaskOptions(), window_s=60)
    shown = rng.normal(120, 4, (frames + 1, 24, 32)).astype(np.uint8)
    for number, luma in enumerate(shown[:-1]):
        window.add(luma.ravel(), float(number))
    with Workers(1) as workers:
        model = window.learn(workers)
    score = model.frame_score(shown[-1])
    assert (score is not None) == has_scores
    assert score is None or score < 1000
