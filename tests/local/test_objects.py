"""Arrivals and departures: people are objects, things that were put down become background."""

import numpy as np
import pytest

from bgsub.local.layers import find_layers
from bgsub.local.objects import judge_changes


def film(scenes, there, *, moves, n=60):
    """A place where something stands in the frames of `there`."""
    thing = scenes.thing()
    rng = np.random.default_rng(3)
    frames, truths = [], []
    for i in range(n):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        if there[0] <= i < there[1]:
            shift = int(rng.integers(-1, 2)) if moves else 0
            scenes.put(frame, truth, 30, 40 + shift, thing)
        frames.append(frame)
        truths.append(truth)
    return scenes.finish(frames), np.array(truths)


def judge(scenes, workers, there, *, moves):
    frames, truths = film(scenes, there, moves=moves)
    first = np.rint(frames.mean(axis=0)).astype(np.uint8)
    layers = find_layers(frames, first, 12, seed=0, workers=workers)
    verdict = judge_changes(frames, layers, 3.0)
    return layers, verdict, truths.all(axis=0) | (truths.mean(axis=0) > 0.3)


@pytest.mark.parametrize("there", [(25, 60), (0, 35)])
def test_a_thing_that_is_put_down_or_taken_is_background(scenes, workers, there):
    layers, verdict, region = judge(scenes, workers, there, moves=False)
    assert verdict.changes
    shown = layers.labels[there[0] + 10]
    is_thing = np.take_along_axis(verdict.is_thing, shown[None].astype(int) % 6, axis=0)[0]
    assert is_thing[region].mean() > 0.7
    assert not verdict.is_object[:, ~region].any()


def test_nothing_changes_in_an_empty_place(scenes, workers):
    _, verdict, _ = judge(scenes, workers, (0, 0), moves=False)
    assert not verdict.changes
    assert not verdict.is_object.any()
    assert not verdict.is_thing.any()
