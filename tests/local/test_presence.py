"""What moved before it stood still, and what came back, tells objects from places."""

import numpy as np

from bgsub.local.layers import LAYERS, Layers, find_layers
from bgsub.local.presence import motion_around, moving_colors, what_came_back
from bgsub.runtime.threads import Workers

SHAPE = 40, 60
BOX = np.s_[10:30, 24:36]


def film(phases):
    """Somebody red walks in, stands and leaves: frames by the place of each phase."""
    rng, frames = np.random.default_rng(0), []
    for left in phases:
        frame = np.full((*SHAPE, 3), 100.0)
        if left is not None:
            frame[10:30, max(left, 0) : max(left + 12, 0)] = (40, 50, 200)
        frames.append(frame + rng.normal(0, 1, frame.shape))
    return np.clip(np.rint(frames), 0, 255).astype(np.uint8)


def layers_of(pictures):
    with Workers(1) as workers:
        middle = np.median(pictures, axis=0).astype(np.uint8)
        return find_layers(pictures, middle, 8, seed=0, workers=workers)


def judged(phases, frame):
    pictures = film(phases)
    layers = layers_of(pictures)
    region = np.zeros(SHAPE, bool)
    region[BOX] = True
    before, after = (layers.labels[at].astype(np.int8) for at in (frame - 8, frame + 8))
    states = (before, after)
    moved = moving_colors(pictures, layers, region, states, frame)
    return moved, what_came_back(layers, region, states)


IN = [-12, -6, 0, 6, 12, 18]
OUT = [30, 36, 42, 48, 54, 60]


def test_who_walked_in_came():
    moved, _ = judged([None] * 20 + IN + [24] * 34, 26)
    assert moved < -0.4


def test_who_walked_out_left():
    moved, _ = judged([24] * 34 + OUT + [None] * 20, 34)
    assert moved > 0.4


def test_a_place_that_comes_back_was_there_all_the_time():
    phases = [None] * 12 + IN + [24] * 34 + OUT + [None] * 14
    assert judged(phases, 18)[1] == -1
    assert judged(phases, 52)[1] == 1
    assert judged([24] * 34 + OUT + [None] * 20, 34)[1] == 0


def test_two_states_in_turns_tell_nothing():
    phases = ([None] * 12 + [24] * 12) * 3
    assert judged(phases, 24)[1] == 0


def test_nothing_moves_nothing_is_told():
    assert judged([None] * 30 + [24] * 30, 30)[0] == 0


def walked(phases, last_before, first_after):
    region = np.zeros(SHAPE, bool)
    region[BOX] = True
    return motion_around(layers_of(film(phases)), region, last_before, first_after)


def test_who_walks_in_and_not_out_is_a_visitor():
    slowly = list(range(-12, 24, 3))
    assert walked([None] * 20 + slowly + [24] * 34, 30, 32) < -0.25
    slowly = list(range(26, 60, 3))
    assert walked([24] * 34 + slowly + [None] * 20, 33, 34) > 0.25


def test_who_passes_by_is_none():
    passing = [*IN, 24, *OUT]
    assert abs(walked([None] * 20 + passing + [None] * 27, 26, 26)) < 0.25
    assert walked([None] * 40, 1, 2) == 0


def test_what_moves_long_before_or_after_a_change_tells_nothing_of_it():
    assert judged([None] * 30 + [24] * 20 + OUT, 30)[0] == 0
    assert judged(IN + [24] * 20 + [None] * 30, 26)[0] == 0


def test_what_is_usual_at_a_place_does_not_move_whatever_its_rank():
    """The sixth colour fills the second half of the film, and is no motion."""
    labels = np.zeros((40, *SHAPE), np.uint8)
    labels[20:] = LAYERS - 1
    counts = np.stack([(labels == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    layers = Layers(np.zeros((*counts.shape, 3), np.uint8), counts, counts, counts, labels)
    region = np.zeros(SHAPE, bool)
    region[BOX] = True
    assert motion_around(layers, region, 18, 20) == 0
