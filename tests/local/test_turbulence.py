from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.layers import LAYERS, UNSEEN, Layers
from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS
from bgsub.local.passing import is_passed
from bgsub.local.turbulence import (
    BAND,
    find_band,
    large_places,
    level_band,
    restless_places,
    turbulent_pixels,
)


def flickering(scenes):
    """A screen that shows any brightness, and somebody who passes before it in the end."""
    rng = np.random.default_rng(2)
    frames, truths = [], []
    for i in range(scenes.frames):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        frame[10:50, 20:70] = rng.uniform(60, 200) + rng.uniform(-15, 15, (40, 1, 1))
        if i >= 70:
            scenes.put(frame, truth, 25, 8 * (i - 70), scenes.thing())
        frames.append(frame)
        truths.append(truth)
    return scenes.finish(frames), truths


def test_what_flickers_through_all_levels_is_background(scenes, learn):
    frames, truths = flickering(scenes)
    model = learn(frames)
    assert model.scenes[0].band is not None
    masks = [model.mask(frame) for frame in frames]
    assert np.mean(masks[:70]) < 0.02 * 255
    assert scenes.f_measure(masks[70:], truths[70:]) > 0.7
    again = LocalModel.from_arrays(model.arrays())
    for frame, mask in zip(frames[::11], masks[::11], strict=True):
        np.testing.assert_array_equal(again.mask(frame), mask)


def test_a_calm_place_has_no_band(passing):
    assert passing.model.scenes[0].band is None


def test_the_band_leaves_out_rare_levels_at_both_ends():
    levels = np.arange(101, dtype=np.uint8)[np.random.default_rng(0).permutation(101)]
    pictures = np.broadcast_to(levels[:, None, None, None], (101, 2, 3, 3))
    where = np.array([[True, False, True], [False, False, False]])
    low, high = level_band(pictures, where, np.full((2, 3, 3), 7, np.uint8))
    assert (low[where] == round(100 * BAND[0])).all()
    assert (high[where] == round(100 * BAND[1])).all()
    assert (low[~where] == 7).all()
    assert (high[~where] == 7).all()


def test_large_places_count_with_what_is_calmer_beside_them():
    where = np.zeros((80, 100), bool)
    where[5:15, 5:15] = where[30:60, 30:60] = True
    calmer = np.zeros_like(where)
    calmer[5:30, 30:60] = calmer[5:25, 80:95] = True
    found = large_places(where, calmer)
    assert found[8:57, 33:57].all()
    assert not found[:, 70:].any()
    assert not found[:20, :20].any()


def test_patches_of_one_place_count_together():
    """Of three patches none covers two per cent of the picture; two are in a calmer place."""
    where, calmer = np.zeros((100, 200), bool), np.zeros((100, 200), bool)
    where[20:36, 20:36] = where[20:36, 60:76] = where[70:86, 150:166] = True
    assert not large_places(where, calmer).any()
    calmer[15:40, 15:80] = True
    found = large_places(where, calmer)
    assert found[20:36, 20:76].all()
    assert not found[60:].any()


def test_slow_change_is_turbulent_unless_one_color_is_usual():
    counts = np.zeros((LAYERS, 1, 3), np.uint8)
    counts[:, 0, 0] = 16  # six colours, each for two frames at a time
    counts[:3, 0, 1] = (60, 20, 16)  # a road, and what drives there
    counts[:2, 0, 2] = (48, 48)  # somebody stands half of the time
    visits = np.zeros_like(counts)
    visits[:, 0, 0], visits[:3, 0, 1], visits[:2, 0, 2] = 8, (20, 14, 14), 1
    empty = np.zeros((LAYERS, 1, 3, 3), np.uint8)
    layers = Layers(empty, counts, counts, visits, np.zeros((96, 1, 3), np.uint8))
    accepted = np.zeros((4, 1, 3), bool)
    accepted[0] = True
    np.testing.assert_array_equal(turbulent_pixels(layers, accepted), [[True, False, False]])


@pytest.mark.parametrize(("visits", "lively"), [(80, True), (74, False)])
def test_a_place_whose_usual_colour_stays_no_longer_than_a_frame_is_turbulent(visits, lively):
    """Of 96 frames a visit lasts 1.2 on average, or 1.3; the first colour is there in 42 %."""
    counts = np.zeros((LAYERS, 1, 1), np.uint8)
    counts[:3, 0, 0] = 40, 30, 26
    each = np.zeros_like(counts)
    each[:3, 0, 0] = visits - 40, 20, 20
    empty = np.zeros((LAYERS, 1, 1, 3), np.uint8)
    layers = Layers(empty, counts, counts, each, np.zeros((96, 1, 1), np.uint8))
    accepted = np.zeros((4, 1, 1), bool)
    accepted[0] = True
    assert turbulent_pixels(layers, accepted)[0, 0] == lively


@pytest.mark.parametrize(
    ("visits", "times", "turbulent"), [(4, 1, False), (6, 1, True), (7, 3, False), (8, 3, True)]
)
def test_a_place_that_is_seen_for_longer_than_what_covers_it_is_calm(visits, times, turbulent):
    """Of 150 frames 45 show the place, in few visits; what passes stays for three frames or one."""
    counts = np.zeros((LAYERS, 1, 1), np.uint8)
    counts[:4, 0, 0] = 45, 30, 24, 21
    each = np.zeros_like(counts)
    each[:4, 0, 0] = visits, 10 * times, 8 * times, 7 * times
    empty = np.zeros((LAYERS, 1, 1, 3), np.uint8)
    layers = Layers(empty, counts, counts, each, np.zeros((150, 1, 1), np.uint8))
    accepted = np.zeros((4, 1, 1), bool)
    accepted[0] = True
    assert turbulent_pixels(layers, accepted, 1.5)[0, 0] == turbulent


@pytest.mark.parametrize("calmer", [1.0, 1.5])
def test_turbulent_pixels_are_their_definition(calmer):
    rng = np.random.default_rng(0)
    n, shape = 90, (40, 50)
    counts = -np.sort(-rng.integers(0, 50, (LAYERS, *shape)), axis=0)
    counts = np.minimum(counts, np.maximum(n - np.cumsum(counts, axis=0) + counts, 0))
    stays = rng.choice([1, 1.2, 1.5, 2, 3, 8, 10], (1, *shape))  # frames
    visits = np.ceil(counts / stays).astype(int)
    accepted = rng.random((4, *shape)) < 0.4
    bytes_of = (one.astype(np.uint8) for one in (counts, counts, visits))
    empty = np.zeros((LAYERS, *shape, 3), np.uint8)
    layers = Layers(empty, *bytes_of, np.zeros((n, *shape), np.uint8))
    found = turbulent_pixels(layers, accepted, calmer)
    for y, x in np.ndindex(*shape):
        count, visit = counts[:, y, x], visits[:, y, x]
        covered = count[:4][accepted[:, y, x]].sum() / n
        changes = visit.sum() + n - count.sum()
        slow = n < calmer * 2.2 * changes and count[0] < calmer * 0.35 * n
        steady = max(c / max(v, 1) for c, v in zip(count, visit, strict=True)) > 0.1 * n
        others = max(count[1:].sum() / max(visit[1:].sum(), 1), 1)
        steady |= bool(count[0] / max(visit[0], 1) >= max(3 * others, 0.04 * n))
        lively = slow or n < 1.25 * changes
        assert found[y, x] == (lively and not steady and covered < min(calmer * 0.75, 1))
    assert 0.02 < found.mean() < 0.6


@pytest.mark.parametrize("side", range(16, 28))
def test_a_place_is_turbulent_from_two_per_cent_of_the_picture_on(side):
    where = np.zeros((100, 200), bool)
    where[10:30, 10 : 10 + side] = True
    size = large_places(where, where, replace(DEFAULTS, turbulent_place=0.0)).sum()
    assert 0 < size <= where.sum()
    assert large_places(where, where).any() == (size >= 400)
    exactly = replace(DEFAULTS, turbulent_place=size / where.size)
    assert large_places(where, where, exactly).sum() == size


def test_a_place_that_touches_a_large_one_by_a_corner_is_part_of_it():
    where, calmer = np.zeros((100, 100), bool), np.zeros((100, 100), bool)
    where[10:40, 10:40] = True
    calmer[40:52, 40:52] = True
    found = large_places(where, calmer)
    assert found[12:38, 12:38].all()
    assert found[42:50, 42:50].all()
    assert not found[60:].any()


def test_most_of_seven_by_seven_pixels_are_turbulent():
    """Of every column in four some is calm: half of all pixels are not most of them."""
    for calm, expected in ((2, True), (4, False)):
        where = np.ones((60, 80), bool)
        where[:, ::8] = where[::8] = False
        for k in range(1, calm):
            where[:, k::8] = False
        assert large_places(where, where)[20:40, 20:60].any() == expected


def test_bands_of_many_pixels_are_those_of_each():
    """Worked on part by part."""
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (12, 130, 140, 3), dtype=np.uint8)
    where = rng.random((130, 140)) < 0.95
    low, high = level_band(pictures, where, pictures[0])
    ordered = np.sort(pictures, axis=0)
    np.testing.assert_array_equal(low, np.where(where[..., None], ordered[0], pictures[0]))
    np.testing.assert_array_equal(high, np.where(where[..., None], ordered[11], pictures[0]))


N = 60


def stripes(random):
    """Something 42 pixels wide, again and again, at another place in every frame."""
    columns = np.arange(60) + random.integers(0, 64, (N, 1))
    return np.repeat((columns % 64 < 42)[:, None], 40, axis=1)


def ripples(random):
    """Patches of 4×4 pixels that are away as often, each on its own."""
    return np.kron(random.random((N, 10, 15)) < 42 / 64, np.ones((1, 4, 4), bool)) > 0


@pytest.mark.parametrize(("draw", "turbulent"), [(stripes, False), (ripples, True)])
def test_what_many_pass_in_a_film_of_few_frames_is_not_turbulent(draw, turbulent):
    random = np.random.default_rng(0)
    labels = np.where(draw(random), UNSEEN, 0).astype(np.uint8)
    counts, visits = np.zeros((2, LAYERS, 40, 60), np.uint8)
    counts[0] = (labels == 0).sum(axis=0)
    visits[0] = (np.diff(np.where(labels == 0, 1, 0), axis=0, prepend=0) > 0).sum(axis=0)
    layers = Layers(np.zeros((LAYERS, 40, 60, 3), np.uint8), counts, counts, visits, labels)
    pictures = random.integers(0, 256, (N, 40, 60, 3)).astype(np.uint8)
    first = np.zeros((1, 40, 60), bool)
    passed = is_passed(layers)
    assert find_band(pictures, layers, ~first, ~first[0], pictures[0], 9)[0] is None
    assert find_band(pictures, layers, ~first, first[0], pictures[0], 9)[0] is None  # all of it
    most = first[0].copy()
    most[:, :25] = True
    assert find_band(pictures, layers, ~first, most, pictures[0], 9)[0] is not None
    found = find_band(pictures, layers, ~first, passed | most, pictures[0], 9)[0]
    assert (found is not None) == turbulent


def wanderer(scenes, step, seed):
    """Somebody in large checks before most of a place, who moves a little in every frame."""
    rng = np.random.default_rng(seed)
    cloth = np.kron(rng.uniform(20, 235, (20, 20, 3)), np.ones((3, 3, 1)))
    frames, truths = [], []
    at = np.array([15.0, 25.0])
    for _ in range(N):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        at = np.clip(at + rng.normal(0, step, 2), 0, (30, 50))
        scenes.put(frame, truth, int(at[0]), int(at[1]), cloth[:40, :44])
        frames.append(frame)
        truths.append(truth)
    return scenes.finish(frames), truths


@pytest.mark.parametrize("seed", range(3))
def test_somebody_who_moves_about_before_a_place_is_not_turbulent(scenes, learn, seed):
    """No colour lasts there, but from one frame to the next most of him is where he was."""
    frames, truths = wanderer(scenes, 0.8, seed)
    model = learn(frames)
    assert model.scenes[0].band is None
    masks = [model.mask(frame) for frame in frames]
    assert scenes.f_measure(masks, truths) > 0.7


def test_a_place_is_restless_that_changes_at_once():
    """Of three places one changes in every frame, one in every other frame, and one slowly."""
    random = np.random.default_rng(0)
    pictures = np.zeros((N, 20, 70, 3), np.uint8)
    pictures[:, 4:16, 5:20] = random.integers(0, 256, (N, 12, 15, 1))
    pictures[:, 4:16, 25:40] = random.integers(0, 256, (N, 12, 15, 1))
    pictures[1::2, 4:16, 25:40] = pictures[::2, 4:16, 25:40]
    pictures[:, 4:16, 45:60] = np.linspace(0, 255, N)[:, None, None, None]
    where = pictures.any(axis=(0, 3))
    found = restless_places(pictures, where, 9)
    np.testing.assert_array_equal(found.any(axis=0).nonzero()[0], np.arange(5, 20))


@pytest.mark.parametrize(("stays", "is_turbulent"), [(0.35, True), (0.55, False)])
def test_what_changes_at_once_by_more_than_half_is_turbulent(stays, is_turbulent):
    """Of two levels a pixel keeps the one that it has in so many frames, and half of the others."""
    rng = np.random.default_rng(4)
    shown = rng.integers(0, 2, (90, 30, 40))
    keeps = rng.random(shown.shape) < stays
    for now, before, same in zip(shown[1:], shown, keeps[1:], strict=False):
        now[same] = before[same]
    pictures = np.repeat((90 * shown)[..., None], 3, axis=3).astype(np.uint8)
    where = np.ones((30, 40), bool)
    assert (restless_places(pictures, where, 9) == is_turbulent).all()
