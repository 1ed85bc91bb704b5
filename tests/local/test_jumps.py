"""What jumps at the complete pictures of film that a codec freezes, and what changes."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from bgsub.local.changes import Change, find_changes
from bgsub.local.jumps import Elsewhere, jump_at, weak_step
from bgsub.local.layers import LAYERS, Layers
from bgsub.local.params import DEFAULTS
from bgsub.local.telling import UNKNOWN

SHAPE = (60, 80)
N = 40

REGION = np.zeros(SHAPE, bool)
REGION[20:40, 30:50] = True


def film(*labels_and_colors):
    """Layers of a film in stretches of equal length, each with a picture of its own, and it."""
    length = N // len(labels_and_colors)
    pictures = np.repeat(np.stack(labels_and_colors), length, axis=0)
    labels = np.repeat(np.arange(len(labels_and_colors), dtype=np.uint8), length)
    shown = np.broadcast_to(labels[:, None, None], (len(labels), *SHAPE)).copy()
    colors = np.stack([*labels_and_colors, *[labels_and_colors[0]] * LAYERS])[:LAYERS]
    counts = np.stack([(shown == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    return pictures, Layers(colors, counts, counts, counts, shown)


def place(seed=0):
    return np.random.default_rng(seed).integers(60, 190, (*SHAPE, 3)).astype(np.uint8)


class TestJump:
    """All of the picture jumps, or a part of it changes."""

    @pytest.mark.parametrize("step", [0, 2, 6])
    def test_it_is_three_times_the_noise_of_which_four_fifths_are_within_the_step(self, step):
        before = place()[None]
        after = np.repeat(before + np.uint8(step), 4, axis=0)
        assert jump_at(before, after) == pytest.approx(3 * step / 1.2816)

    @pytest.mark.parametrize(("share", "jumps"), [(0.15, False), (0.25, True)])
    def test_what_more_than_a_fifth_of_the_picture_does_is_a_jump(self, share, jumps):
        before = place()[None]
        after = before.copy()
        after[0, : round(share * SHAPE[0])] += 8
        assert (jump_at(before, after) > 0) == jumps

    def test_what_comes_is_no_jump_nor_is_what_passes(self):
        before = np.stack([place()] * 5)
        after = before.copy()
        after[:, REGION] += 50
        after[2] += 50
        assert jump_at(before, after) == 0


class TestWeakStep:
    """A share of the step that half of all that differs exceeds."""

    def test_many_weak_steps_count_for_less_than_few_strong_ones(self):
        steps = [np.full(100, 8, np.uint8), np.full(50, 60, np.uint8)]
        assert weak_step(steps, DEFAULTS) == pytest.approx(0.2 * 60)

    def test_it_is_nothing_where_nothing_differs(self):
        assert weak_step([], DEFAULTS) == weak_step([np.zeros(0, np.uint8)], DEFAULTS) == 0


class TestElsewhere:
    """Edges elsewhere in the frames that show a state."""

    states = np.zeros(SHAPE, np.int8), np.ones(SHAPE, np.int8)

    def jumping(self, jump):
        """Give a film with two layers, of which the second is shown with an error of its own."""
        one = place()
        pictures, layers = film(one, one)
        pictures[N // 2 :: 2] += np.uint8(jump) * np.random.default_rng(1).choice(
            np.array([0, 1], np.uint8), pictures.shape[1:]
        )
        return Elsewhere(pictures, layers)

    def test_they_move_where_the_codec_errs_in_these_frames(self):
        before, after = (self.jumping(12).motion(REGION, one) for one in self.states)
        less = self.jumping(6).motion(REGION, self.states[1])
        assert before == 0
        assert after > 0.05
        assert less == pytest.approx(after / 2, rel=0.2)

    def test_somebody_there_moves_no_edges_elsewhere_nor_does_the_light(self):
        one = place() // 8 + np.uint8(100)
        near = cv2.dilate(REGION.view(np.uint8), np.ones((5, 5), np.uint8)) > 0
        strong = near.copy()
        strong[48:56, 56:72] = True
        pictures, layers = film(*[np.where(strong[..., None], place(), one)] * 2)
        pictures[1::2, near] = 230
        assert Elsewhere(pictures, layers).motion(REGION, self.states[0]) == 0
        pictures[::2] += 9
        assert Elsewhere(pictures, layers).motion(REGION, self.states[0]) == 0

    def test_edges_as_strong_are_those_of_a_level_more_too(self):
        """Where all edges of a place are alike, few elsewhere are so to the last bit."""
        columns = np.arange(SHAPE[1]) // 4 % 2
        stripes = np.broadcast_to(columns[None, :, None], (*SHAPE, 3))
        near = cv2.dilate(REGION.view(np.uint8), np.ones((9, 9), np.uint8)) > 0
        one = np.where(near[..., None], 90 + 40 * stripes, 90 + 42 * stripes).astype(np.uint8)
        assert Elsewhere(*film(one, one)).motion(REGION, self.states[0]) == 0

    def test_without_edges_or_frames_they_are_not_known(self):
        plain = np.full((*SHAPE, 3), 90, np.uint8)
        assert Elsewhere(*film(plain, plain)).motion(REGION, self.states[0]) == UNKNOWN
        assert self.jumping(6).motion(REGION, np.full(SHAPE, 3, np.int8)) == UNKNOWN
        weak = place() % 2 + np.uint8(90)
        assert Elsewhere(*film(weak, weak)).motion(REGION, self.states[0]) == UNKNOWN

    @pytest.mark.parametrize(("side", "known"), [(4, False), (16, True)])
    def test_few_edges_elsewhere_tell_nothing(self, side, known):
        one = np.full((*SHAPE, 3), 90, np.uint8)
        one[REGION] = one[2 : 2 + side, 60 : 60 + side] = 180
        found = Elsewhere(*film(one, one)).motion(REGION, self.states[0])
        assert (found != UNKNOWN) == known

    @pytest.mark.parametrize("frames", [2, 3])
    def test_two_frames_show_no_motion(self, frames):
        pictures, layers = film(place(), place())
        layers.labels[frames:20] = 1
        shown = Elsewhere(pictures[:20], replace(layers, labels=layers.labels[:20]))
        assert (shown.motion(REGION, self.states[0]) == UNKNOWN) == (frames == 2)


def test_nothing_is_rigid_where_things_are_objects_too():
    """As with `--still-objects foreground`, in film that a codec freezes and in other film."""
    nowhere = np.zeros(SHAPE, np.int8)
    every = replace(DEFAULTS, rigid_motion=0.0)
    for elsewhere in (UNKNOWN, 0.1):
        still = Change(7, REGION, nowhere, nowhere, motion=(0.0, 0.0), elsewhere=(elsewhere,) * 2)
        assert still.is_rigid(0)
        assert not still.is_rigid(0, every)


def test_a_thing_that_comes_while_all_of_the_picture_jumps_is_the_only_change():
    """Each block of the picture was one, or all of them together, the thing with them."""
    rng = np.random.default_rng(2)
    before = place()
    errors = np.kron(rng.choice([-12, 12], (6, 8, 1)), np.ones((10, 10, 1), int))
    after = (before + errors).astype(np.uint8)
    after[REGION] = (20, 220, 30)
    pictures, layers = film(before, after)
    everything = find_changes(pictures, layers, 2.5)
    assert sum(int(one.region.sum()) for one in everything) > 0.9 * REGION.size
    (found,) = find_changes(pictures, layers, 2.5, is_frozen=True)
    assert (found.region & ~REGION).sum() == 0
    assert found.region.sum() > 0.9 * REGION.sum()
    assert UNKNOWN not in found.elsewhere


def test_a_step_at_one_place_is_weak_beside_a_strong_change_elsewhere():
    before = place()
    after = before.copy()
    after[REGION] = (20, 220, 30)
    after[45:58, 5:25] += 12
    pictures, layers = film(before, after)
    assert len(find_changes(pictures, layers, 2.5)) == 2
    (found,) = find_changes(pictures, layers, 2.5, is_frozen=True)
    assert found.region[30, 40]
