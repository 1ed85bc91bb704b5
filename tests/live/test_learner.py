"""The process that learns a scene: its models, and what happens when it fails."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from bgsub.live.decoding import LearningSettings
from bgsub.live.learning import Learner, Schedule
from bgsub.segmenter.protocol import MaskOptions
from bgsub.video.frames import Layout

from .conftest import blocked_in, walk

LAYOUT = Layout("bgr", 72, 96)


def row_of(picture):
    return LAYOUT.pack(np.ascontiguousarray(picture[..., ::-1]))


@pytest.fixture
def learner():
    """One that frames wait for."""
    settings = LearningSettings(LAYOUT, MaskOptions(), 60.0, 1, gives_way=False)
    schedule = Schedule(window_s=60, refresh_s=30, warm_up_s=1)
    learner = Learner(settings, schedule, threading.Event())
    learner.start()
    yield learner
    learner.close()


def test_a_model_scores_frames_by_what_is_usual(learner):
    frames = walk(60, [(50, 60)])
    for i, frame in enumerate(frames[:50]):
        learner.offer(row_of(frame), i / 25)
    assert learner.model is not None
    usual, visited = (learner.model.frame_score(LAYOUT.luma(row_of(f))) for f in frames[49:51])
    assert usual < 6 < visited
    json.dumps([usual, visited])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_ctrl_c_does_not_reach_a_process_that_begins(learner):
    while learner._process is None:
        time.sleep(0.001)
    assert {"SIGINT", "SIGTERM"} <= blocked_in(learner._process.pid)


def test_another_process_takes_the_place_of_one_that_died(learner):
    frames = walk(40, [])
    for i, frame in enumerate(frames):
        learner.offer(row_of(frame), i / 25)
    first = learner.model
    learner._process.kill()
    assert "another one begins" in learner.complaints.get(timeout=60)
    deadline = time.monotonic() + 60
    while learner.model is first and time.monotonic() < deadline:
        i += 1
        learner.offer(row_of(frames[i % 40]), i / 25)
        time.sleep(0.01)
    assert first is not None
    assert learner.model is not first


def test_a_model_that_cannot_be_learned_is_said_and_the_next_one_serves(learner):
    learner.offer(np.zeros(7, np.uint8), 0.0)
    for i, frame in enumerate(walk(40, [])):
        learner.offer(row_of(frame), (i + 1) / 25)
    assert "could not be learned" in learner.complaints.get(timeout=60)
