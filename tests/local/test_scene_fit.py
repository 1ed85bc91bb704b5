"""Which colours of which pixels are taken for the background of one state."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.local import scene_fit
from bgsub.local.layers import LAYERS, MOST_FRAMES, Layers
from bgsub.local.objects import Verdict
from bgsub.local.params import DEFAULTS
from bgsub.local.scene_fit import (
    _accept,
    _disputed,
    _farness,
    _restlessness,
    _settle,
    fit_scene,
)

N = 60


def fit(scenes, workers, draw, noise=2.0):
    """Fit the scene in which `draw` changes the place of every frame."""
    frames = []
    for i in range(N):
        frame = scenes.place()
        draw(frame, i)
        frames.append(frame)
    return fit_scene(scenes.finish(frames, noise), seed=0, workers=workers)


def is_background(scene, color, part):
    """Share of the pixels of a part that have a layer of about this colour."""
    far = np.abs(scene.colors[:, *part].astype(int) - np.asarray(color)).max(axis=3)
    return float((far.min(axis=0) <= 8).mean())


AT = np.s_[20:40, 30:60]
RED = (40, 50, 220)


def repeats_the_first(scene):
    """Share of the pixels where all layers are the same."""
    return float((scene.colors == scene.colors[0]).all(axis=(0, 3)).mean())


def test_a_still_place_has_one_layer_and_nothing_restless(scenes, workers):
    scene = fit(scenes, workers, lambda frame, i: None)
    assert repeats_the_first(scene) > 0.99
    assert np.abs(scene.colors[0].astype(int) - scenes.place()).max() <= 3
    assert scene.restless.mean() < 1
    assert scene.notes == []
    assert scene.band is None
    assert scene.sigma == 2.5  # what codecs add, at least
    assert scene.grain == pytest.approx(2.0, abs=0.3)


def test_a_colour_that_comes_and_goes_every_other_frame_is_background(scenes, workers):
    def flicker(frame, i):
        if i % 3 == 0:
            frame[AT] = RED

    scene = fit(scenes, workers, flicker, noise=0.5)
    assert len(scene.colors) == 2
    assert is_background(scene, RED, AT) > 0.95
    assert scene.restless[AT].mean() > 5 * max(scene.restless[50:].mean(), 1)


def test_a_colour_of_things_that_are_alike_and_move_on_is_not(scenes, workers):
    """Each place of the lane shows it every fourth frame, and the road in between."""
    order = np.random.default_rng(4).permutation(N)

    def pass_by(frame, i):
        left = int(110 * order[i] / N) - 26
        frame[20:40, max(left, 0) : left + 26] = RED

    scene = fit(scenes, workers, pass_by)
    assert is_background(scene, RED, AT) < 0.05
    np.testing.assert_allclose(scene.colors[0], scenes.place(), atol=4)


@pytest.mark.parametrize("frames", [2, 5])
def test_a_colour_of_a_few_frames_is_not(scenes, workers, frames):
    def visit(frame, i):
        if 20 <= i < 20 + frames:
            frame[AT] = RED

    scene = fit(scenes, workers, visit)
    assert is_background(scene, RED, AT) == 0
    np.testing.assert_allclose(scene.colors[0], scenes.place(), atol=4)


def test_layers_that_are_none_repeat_the_first(scenes, workers):
    def flicker(frame, i):
        if i % 3 == 0:
            frame[AT] = RED

    scene = fit(scenes, workers, flicker)
    share = (40 - 20) * (60 - 30) / (scenes.shape[0] * scenes.shape[1])
    assert repeats_the_first(scene) == pytest.approx(1 - share, abs=0.01)


def test_a_fit_does_not_depend_on_the_number_of_threads(scenes):
    from bgsub.runtime.threads import Workers

    pictures = scenes.finish([scenes.place()] * 20)
    found = []
    for threads in (1, 3):
        with Workers(threads) as workers:
            found.append(fit_scene(pictures, seed=0, workers=workers))
    np.testing.assert_array_equal(found[0].colors, found[1].colors)
    np.testing.assert_array_equal(found[0].restless, found[1].restless)


def test_most_frames_fit_into_bytes(scenes, workers):
    """Counts of frames are bytes: the longest sample must not overflow them."""
    pictures = scenes.finish([np.full((8, 8, 3), 90.0)] * MOST_FRAMES)
    scene = fit_scene(pictures, seed=0, workers=workers)
    assert np.abs(scene.colors[0].astype(int) - 90).max() <= 2


def test_what_is_no_larger_than_a_speck_is_not_worth_a_note(scenes, workers):
    frames = []
    for i in range(N):
        frame = scenes.place()
        if i < 2 * N // 3:
            frame[AT] = RED
        frames.append(frame)
    pictures = scenes.finish(frames, 2.0)
    share = 20 * 30 / pictures[0, ..., 0].size
    notes = fit_scene(pictures, seed=0, workers=workers).notes
    assert len(notes) == 1, notes
    large = replace(DEFAULTS, least_area=min(2 * share, 0.1))
    assert fit_scene(pictures, seed=0, workers=workers, params=large).notes == []


# --- the definitions, pixel by pixel ---


def crowded(seed, n=50, shape=(9, 11)):
    """Random layers of random counts, visits and absences."""
    rng = np.random.default_rng(seed)
    counts = -np.sort(-rng.integers(0, n // 2, (LAYERS, *shape)), axis=0)
    visits = np.minimum(rng.integers(0, n // 3, counts.shape), counts)
    absences = rng.integers(0, n // 2, counts.shape)
    colors = rng.choice([90, 93, 96, 100, 104], (*counts.shape, 3))
    colors[:, 5:] = rng.integers(0, 256, colors[:, 5:].shape)
    bytes_of = (
        np.ascontiguousarray(one, dtype=np.uint8) for one in (colors, counts, absences, visits)
    )
    return Layers(*bytes_of, np.zeros((n, *shape), np.uint8)), rng.uniform(0, 0.4, counts.shape)


def test_colours_around_are_those_of_the_next_strip_too(monkeypatch):
    colors = np.random.default_rng(0).integers(0, 256, (2, 37, 40, 3), np.uint8)
    whole = _farness(colors, 1, 9.0)
    monkeypatch.setattr(scene_fit, "_STRIP_PIXELS", 5 * 40)
    np.testing.assert_array_equal(_farness(colors, 1, 9.0), whole)
    assert 0 < np.count_nonzero(whole) < whole.size


@pytest.mark.parametrize("seed", range(6))
def test_layers_are_accepted_by_how_often_they_are_seen_and_how_they_come(seed, workers):
    layers, shares = crowded(seed)
    shares = shares[:4].astype(np.float32)
    rates = _restlessness(layers, 4)
    sigma = 3.0
    calm = np.zeros(shares.shape[1:], bool)
    found = _accept(layers, layers.colors[:4], shares, rates, calm, sigma, workers, DEFAULTS)
    assert found[0].all()
    first = layers.colors[0].astype(int)
    for k, y, x in np.ndindex(*shares.shape):
        count, visits = int(layers.counts[k, y, x]), int(layers.visits[k, y, x])
        rate = min(1.6 * visits / max(count, 1), 1) ** 2
        assert rates[k, y, x] == pytest.approx(rate, abs=1e-6)
        near = first[max(y - 3, 0) : y + 4, max(x - 3, 0) : x + 4]
        nearest = np.abs(layers.colors[k, y, x] - near).max(axis=2).min()
        far = min(max(nearest / (3 * sigma) - 0.5, 0), 1)
        assert _farness(layers.colors, k, sigma)[y, x] == pytest.approx(far, abs=1e-6)
        if k:
            lowest = 0.08 + (0.16 - 0.08) * (1 - rate)
            absence = layers.absences[k, y, x] / 50
            is_seen = shares[k, y, x] >= lowest + (0.25 - lowest) * far and absence <= 0.3
            often = count / 50 >= 0.07 + (0.13 - 0.07) * far and rate > 0.5 and absence <= 0.2
            assert found[k, y, x] == (is_seen or often)


def test_the_lengths_of_absences_and_shares_at_the_limit_are_allowed(workers):
    """Of 50 frames, 15 away at once, and 25 % of the clean ones in a colour of its own."""
    counts = np.zeros((LAYERS, 1, 3), np.uint8)
    counts[1] = 20
    absences = np.full_like(counts, 15)
    absences[1, 0, 1] = 16
    colors = np.zeros((LAYERS, 1, 3, 3), np.uint8)
    colors[1] = 200
    layers = Layers(colors, counts, absences, counts // 20, np.zeros((50, 1, 3), np.uint8))
    shares = np.full((2, 1, 3), 0.25, np.float32)
    shares[1, 0, 2] = 0.24
    rates = _restlessness(layers, 2)
    two = replace(DEFAULTS, kept_layers=2)
    calm = np.zeros((1, 3), bool)
    found = _accept(layers, colors[:2], shares, rates, calm, 3.0, workers, two)[1, 0]
    assert found.tolist() == [True, False, False]


@pytest.mark.parametrize("seed", range(3))
def test_a_first_layer_is_disputed_that_stays_away_for_long_with_a_rival(seed):
    layers, _ = crowded(seed)
    allowed = np.random.default_rng(seed).random(layers.counts.shape) < 0.5
    found = _disputed(layers, allowed, 0.3)
    for y, x in np.ndindex(*found.shape):
        others = [int(layers.counts[k, y, x]) for k in range(1, LAYERS) if allowed[k, y, x]]
        rival = max(others, default=0) >= layers.counts[0, y, x] / 2
        assert found[y, x] == (layers.absences[0, y, x] > 15 and rival)


def verdict_of(shape, objects=(), things=()):
    """A verdict: pairs of a layer and a part of the picture."""
    is_object, is_thing = (np.zeros((LAYERS, *shape), bool) for _ in range(2))
    for marked, pairs in ((is_object, objects), (is_thing, things)):
        for k, part in pairs:
            marked[k][part] = True
    return Verdict(is_object, is_thing, [], np.zeros(shape, bool))


class TestSettle:
    """Layers that were objects go out of the background, things that were moved come in."""

    SHAPE = 30, 40
    STOOD = np.s_[10:20, 10:20]

    def layers(self, least=20):
        """Somebody (0) before a place (1) in `STOOD`; the third colour is hardly seen."""
        colors = np.zeros((LAYERS, *self.SHAPE, 3), np.uint8)
        colors[0], colors[1], colors[2] = 100, 60, 160
        colors[0][self.STOOD], colors[1][self.STOOD] = 220, 100
        counts = np.zeros((LAYERS, *self.SHAPE), np.uint8)
        counts[0], counts[1], counts[2] = 60, least, 3
        return Layers(
            colors, counts, np.zeros_like(counts), counts, np.zeros((100, *self.SHAPE), np.uint8)
        )

    def settle(self, verdict, layers=None, *, step=1, accepted=None, params=DEFAULTS):
        layers = layers or self.layers()
        colors = layers.colors[:4].copy()
        kept = np.zeros((4, *self.SHAPE), bool)
        kept[0] = True
        if accepted:
            kept[accepted] = True
        notes = _settle(colors, kept, layers, verdict, step, 3.0, params)
        return colors, kept, notes

    def test_what_stood_there_for_most_of_the_time_gives_way_to_what_continues_the_place(self):
        colors, kept, notes = self.settle(verdict_of(self.SHAPE, [(0, self.STOOD)]), accepted=1)
        assert (colors[0] == 100).all()
        assert kept[:2].all()
        assert notes == ["100 pixels: what stood there most of the time was an object"]

    def test_an_object_of_another_layer_goes_alone(self):
        colors, kept, notes = self.settle(verdict_of(self.SHAPE, [(1, self.STOOD)]), accepted=1)
        np.testing.assert_array_equal(colors[0], self.layers().colors[0])
        assert not kept[1][self.STOOD].any()
        assert kept[1].sum() == kept[1].size - 100
        assert kept[0].all()
        assert notes == []

    def test_what_is_an_object_and_a_thing_is_a_thing(self):
        verdict = verdict_of(self.SHAPE, [(1, self.STOOD)], [(1, self.STOOD)])
        assert self.settle(verdict, accepted=1)[1][1].all()

    @pytest.mark.parametrize(
        ("until", "others", "stays"),
        [
            (60, [], False),  # he has left again
            (100, [], True),
            (60, [(0, np.s_[:])], True),  # before somebody who stood there the place is no visitor
        ],
    )
    def test_what_is_an_object_and_a_thing_is_an_object_if_it_came_and_left(
        self, until, others, stays
    ):
        layers = self.layers()
        layers.labels[(slice(30, until), *self.STOOD)] = 1
        verdict = verdict_of(self.SHAPE, [(1, self.STOOD), *others], [(1, self.STOOD)])
        kept = self.settle(verdict, layers, accepted=1)[1]
        assert kept[1][self.STOOD].all() == kept[1][self.STOOD].any() == stays
        kept[1][self.STOOD] = True
        assert kept[1].all()

    def test_a_thing_that_was_moved_is_background_and_said(self):
        _, kept, notes = self.settle(
            verdict_of(self.SHAPE, things=[(2, self.STOOD), (5, self.STOOD)])
        )
        assert kept[2].sum() == kept[2][self.STOOD].sum() == 100
        assert notes == ["100 pixels: a thing was moved there or away"]
        assert self.settle(verdict_of(self.SHAPE, things=[(0, self.STOOD)]))[2] == []

    @pytest.mark.parametrize(("share", "said"), [(100 / 1200, True), (101 / 1200, False)])
    def test_notes_are_of_what_is_as_large_as_an_object(self, share, said):
        params = replace(DEFAULTS, least_area=share)
        for verdict in (
            verdict_of(self.SHAPE, [(0, self.STOOD)]),
            verdict_of(self.SHAPE, things=[(2, self.STOOD)]),
        ):
            assert bool(self.settle(verdict, params=params)[2]) == said

    @pytest.mark.parametrize(("seen", "taken"), [(3, False), (4, True)])
    def test_four_of_a_hundred_frames_are_enough_to_take_its_place(self, seen, taken):
        colors, _, _ = self.settle(verdict_of(self.SHAPE, [(0, self.STOOD)]), self.layers(seen))
        assert (colors[0][self.STOOD] == (100 if taken else 220)).all()

    @pytest.mark.parametrize(("reach", "taken"), [(8, False), (7, True)])
    def test_disputed_pixels_up_to_seven_around_it_are_settled_too(self, reach, taken):
        layers = self.layers(40)
        beside = 14, 19 + reach
        layers.colors[0][beside], layers.colors[1][beside] = 220, 100
        layers.absences[0][beside] = 40
        colors, _, _ = self.settle(verdict_of(self.SHAPE, [(0, self.STOOD)]), layers)
        assert (colors[0][beside] == (100 if taken else 220)).all()

    def test_gaps_of_a_pixel_are_settled_too_and_specks_of_what_is_settled_smoothed(self):
        verdict = verdict_of(self.SHAPE, [(0, self.STOOD)])
        verdict.is_object[0, 14, 14] = False
        layers = self.layers()
        layers.colors[1][12, 12] = 140  # the place was seen in another colour at one pixel
        colors, _, _ = self.settle(verdict, layers)
        assert (colors[0] == 100).all()

    def test_verdicts_on_every_other_pixel_count_for_the_next_ones(self):
        coarse = verdict_of((15, 20), [(0, np.s_[5:10, 5:10])], [(2, np.s_[0:2, 0:2])])
        colors, kept, _ = self.settle(coarse, step=2)
        assert (colors[0] == 100).all()
        assert kept[2].sum() == kept[2][:4, :4].sum() == 16
