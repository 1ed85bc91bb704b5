"""Scores are evidence in thresholds, which follow noise, contrast and darkness of the place."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.noise import NOISE_UNIT
from bgsub.local.params import DEFAULTS
from bgsub.local.scene import Scene
from bgsub.local.scoring import UNIT, SceneMatcher, comparing_bytes, thresholds, usual_share
from bgsub.robustpca.median import NORMAL_MAD

SHAPE = 20, 32


def scene(level=128, noise=2.0, contrast=0.0, layers=1, **more):
    colors = np.stack([np.full((*SHAPE, 3), level + 40 * k, np.uint8) for k in range(layers)])
    restless = np.zeros(SHAPE, np.uint8)
    steps = None if noise is None else np.full(SHAPE, round(noise * NOISE_UNIT), np.uint8)
    return Scene(colors, restless, 2.5, [], noise=steps, contrast=contrast, **more)


def test_a_threshold_is_so_many_times_the_noise_of_the_place():
    found = thresholds(scene(noise=2.0), DEFAULTS)
    assert found.shape == SHAPE
    assert (found == 2 * DEFAULTS.threshold).all()
    twice = thresholds(scene(noise=2.0), replace(DEFAULTS, threshold=2 * DEFAULTS.threshold))
    assert (twice == 2 * found).all()


def test_models_without_a_map_of_noise_have_that_of_the_scene():
    found = thresholds(scene(noise=None), DEFAULTS)
    np.testing.assert_allclose(found, DEFAULTS.threshold * 2.5 * NORMAL_MAD, rtol=1e-6)


def test_what_is_faint_beside_the_films_contrast_is_below_the_threshold():
    strong = thresholds(scene(contrast=100.0), DEFAULTS)
    np.testing.assert_allclose(strong, 100 * DEFAULTS.contrast_share, rtol=1e-6)
    assert (thresholds(scene(contrast=10.0), DEFAULTS) == 2 * DEFAULTS.threshold).all()


def test_thresholds_follow_the_halos_of_a_codec_by_half_at_most():
    noisy, strong = scene(noise=2.0), scene(contrast=100.0)
    usual = DEFAULTS.halo_noise
    for halo, factor in ((0, 1), (0.5 * usual, 1), (usual, 1), (1.2 * usual, 1.2), (99, 1.5)):
        for one in (noisy, strong):
            expected = factor * thresholds(one, DEFAULTS)
            found = thresholds(replace(one, halo=halo), DEFAULTS)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
    never = replace(DEFAULTS, halo_noise=1000)
    np.testing.assert_array_equal(
        thresholds(replace(strong, halo=99), never), thresholds(strong, never)
    )


def test_in_the_dark_less_contrast_is_asked_for_and_noise_counts_as_everywhere():
    dark, lit, bright = (
        thresholds(scene(level, noise=0.5, contrast=100.0), DEFAULTS)[0, 0]
        for level in (0, 128, 250)
    )
    assert dark == pytest.approx(lit * 20 / 148, rel=1e-4)
    assert bright == lit
    assert (thresholds(scene(0, noise=8.0, contrast=100.0), DEFAULTS) == 24).all()


@pytest.mark.parametrize(("sensitivity", "expected"), [(1.0, UNIT), (2.0, UNIT // 2)])
def test_a_deviation_by_a_threshold_scores_one_unit(sensitivity, expected):
    matcher = SceneMatcher(scene(noise=2.0), sensitivity)
    picture = np.full((*SHAPE, 3), 128 + round(2 * DEFAULTS.threshold), np.uint8)
    score, own, index = matcher.score(picture, 2.5)
    assert (score == expected).all()
    assert (own == 6).all()
    assert not index.any()
    assert (matcher.in_units(own, 2.5) == expected).all()
    assert matcher.in_units(own[0, :2], 2.5, np.array([5, 7])).tolist() == 2 * [expected]


def test_a_frame_noisier_than_its_scene_scores_less():
    matcher = SceneMatcher(scene(noise=2.0), 1.0)
    picture = np.full((*SHAPE, 3), 140, np.uint8)
    plain = matcher.score(picture, 2.5)[0].copy()
    noisy = matcher.score(picture, 5.0)[0]
    assert (plain == 2 * UNIT).all()
    assert (noisy == UNIT).all()


def test_the_background_is_that_of_the_nearest_layer():
    matcher = SceneMatcher(scene(100, layers=3), 1.0)
    picture = np.full((*SHAPE, 3), 100, np.uint8)
    picture[:, 10:20], picture[:, 20:] = 141, 178
    _, _, index = matcher.score(picture, 2.5)
    shown = matcher.background(index, slice(2, 9), slice(5, 30))
    assert shown.shape == (7, 25, 3)
    assert (shown[:, :5] == 100).all()
    assert (shown[:, 5:15] == 140).all()
    assert (shown[:, 15:] == 180).all()


@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_background_of_every_so_many_pixels_is_cut_out_of_all(step):
    rng = np.random.default_rng(0)
    colors = rng.integers(0, 256, (3, 25, 34, 3), dtype=np.uint8)
    grey = np.full((25, 34), 8, np.uint8)
    matcher = SceneMatcher(Scene(colors, grey, 2.5, [], noise=grey), 1.0)
    index = rng.integers(0, 3, (25, 34), dtype=np.uint8)
    everywhere = matcher.background(index, slice(0, 25), slice(0, 34))
    for rows, columns in ((slice(0, 25), slice(6, 34)), (slice(6, 40), slice(12, 21))):
        some = [slice(one.start, one.stop, step) for one in (rows, columns)]
        found = matcher.background(index, *some)
        np.testing.assert_array_equal(found, everywhere[tuple(some)])
        assert found.flags.c_contiguous
    every = slice(None, None, step)
    np.testing.assert_array_equal(matcher.background(index, every, every), everywhere[every, every])


def test_a_usual_frame_is_explained_a_little_less_than_most_are():
    assert usual_share(np.ones(8, np.float32)) == 0.9
    assert usual_share(np.array([0.2, 0.8, 0.8, 0.8, 0.8])) == pytest.approx(0.75)


def left_by(look):
    """Bytes that are still in use after a look at a frame, in a thread of its own."""

    def measure():
        tracemalloc.start()
        look()
        now = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return now

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(measure).result()


def test_tables_and_scratch_memory_are_within_what_is_planned():
    """All layers and a band of turbulence, in a thread of its own."""
    shape = 60, 80
    rng = np.random.default_rng(0)
    colors = rng.integers(0, 256, (DEFAULTS.kept_layers, *shape, 3), dtype=np.uint8)
    band = np.stack([colors[0], colors[0] + 1])
    grey = np.full(shape, 20, np.uint8)
    matcher = SceneMatcher(Scene(colors, grey, 2.5, [], band, noise=grey), 1.0)
    scratch = left_by(lambda: matcher.score(colors[0], 2.5))
    assert matcher.threshold.any()
    meter = vars(matcher)["_meter"]
    arrays = [*vars(matcher).values(), *vars(meter).values(), *vars(matcher.scene).values()]
    tables = sum(one.nbytes for one in arrays if isinstance(one, np.ndarray))
    pixels = shape[0] * shape[1]
    assert 10 * pixels < scratch < comparing_bytes(*shape, 1) - comparing_bytes(*shape, 0)
    assert 30 * pixels < tables < comparing_bytes(*shape, 0)


def test_what_large_frames_are_glanced_at_with_is_within_the_plan_too():
    """In place of a band of turbulence, of which they have none."""
    shape = 60, 80
    rng = np.random.default_rng(0)
    colors = rng.integers(0, 256, (DEFAULTS.kept_layers, *shape, 3), dtype=np.uint8)
    grey = np.full(shape, 20, np.uint8)
    matcher = SceneMatcher(Scene(colors, grey, 2.5, [], noise=grey), 1.0)

    def glance_and_score():
        matcher.glance(colors[0], 2.5)
        matcher.score(colors[0], 2.5)

    both = left_by(glance_and_score)
    assert matcher.threshold.any()
    arrays = [*vars(matcher).values(), *vars(vars(matcher)["_meter"]).values()]
    arrays += vars(matcher.scene).values()
    tables = sum(one.nbytes for one in arrays if isinstance(one, np.ndarray))
    assert tables + both < comparing_bytes(*shape, 1)
