"""Masks of large pictures are told at half their size; outlines, and scores, are not."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.glancing import Glance
from bgsub.local.model import LocalModel
from bgsub.local.noise import NOISE_UNIT
from bgsub.local.params import MaskOptions
from bgsub.local.scene import Scene
from bgsub.local.scoring import UNIT, SceneMatcher

ODD = 721, 803


def place(shape=ODD, noise=2.0, layers=1, **more):
    """A place of gentle slopes, whose layers are 40 levels apart."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    level = (90 + 20 * np.sin(y / 90) + 20 * np.cos(x / 70)).astype(np.uint8)
    colors = np.stack([np.repeat((level + 40 * k)[..., None], 3, axis=2) for k in range(layers)])
    steps = np.full(shape, round(noise * NOISE_UNIT), np.uint8)
    return Scene(colors.astype(np.uint8), np.zeros(shape, np.uint8), 2.5, [], noise=steps, **more)


def model_of(scene, *, glances=True, **options):
    model = LocalModel([scene], [0.9], MaskOptions(**options))
    for matcher in model._matchers:
        assert matcher.is_glanced_at
        matcher.is_glanced_at = glances
    return model


def seen_by_both(scene, frame, inside=None, **options):
    return [model_of(scene, glances=one, **options).look(frame, inside) for one in (True, False)]


def with_noise(frame):
    noise = np.random.default_rng(0).normal(0, 1.5, frame.shape)
    return np.clip(frame + noise + 0.5, 0, 255).astype(np.uint8)


def test_only_large_calm_pictures_whose_noise_hides_drift_are_glanced_at():
    scene = place()
    assert SceneMatcher(scene, 1.0).is_glanced_at
    assert not SceneMatcher(place((360, 640)), 1.0).is_glanced_at
    assert not SceneMatcher(place(noise=0.3), 1.0).is_glanced_at
    turbulent = replace(scene, band=np.repeat(scene.colors, 2, axis=0))
    assert not SceneMatcher(turbulent, 1.0).is_glanced_at


@pytest.mark.parametrize("shape", [ODD, (720, 804)])
def test_where_nothing_is_in_sight_nothing_is_told(shape):
    scene = place(shape)
    for seen in seen_by_both(scene, with_noise(scene.colors[0])):
        assert seen.mask.shape == shape
        assert not seen.mask.any()


@pytest.mark.parametrize("corner", [(300, 301), (641, 723), (0, 0)])  # the second at both ends
def test_an_object_has_the_outline_that_every_pixel_gives_it(corner):
    scene = place()
    frame, (y, x) = scene.colors[0].copy(), corner
    there = slice(y, y + 80), slice(x, x + 80)
    frame[there] = (30, 40, 220)
    glanced, whole = seen_by_both(scene, with_noise(frame))
    truth = np.zeros(ODD, bool)
    truth[there] = True
    for seen in (glanced, whole):
        assert np.count_nonzero((seen.mask > 0) != truth) < 0.03 * np.count_nonzero(truth)
    assert np.count_nonzero(glanced.mask != whole.mask) < 0.03 * np.count_nonzero(truth)
    assert glanced.trust == pytest.approx(whole.trust, abs=0.05)


def test_scores_that_are_asked_for_are_those_of_every_pixel():
    scene = place()
    frame = scene.colors[0].copy()
    frame[200:300, 300:360] = 220
    frame = with_noise(frame)
    inside = np.ones(ODD, bool)
    inside[:230] = False
    model = model_of(scene)
    glanced, whole = seen_by_both(scene, frame, inside)
    np.testing.assert_array_equal(glanced.scores, whole.scores)
    np.testing.assert_array_equal(model.scores(frame, inside), whole.scores)
    unasked = model.look(frame, inside, with_scores=False)
    assert unasked.scores is None
    np.testing.assert_array_equal(unasked.mask, glanced.mask)
    assert glanced.mask[240:300].any()
    assert not glanced.mask[:230].any()


@pytest.mark.parametrize("shape", [(20, 30), (21, 31)])
def test_the_nearest_layer_counts(shape):
    colors = place(shape, layers=3).colors
    glance = Glance(colors, np.full(shape, 4, np.float32))
    frame = colors[1].copy()
    frame[:, shape[1] // 2 :] = colors[2][:, shape[1] // 2 :]
    score, index, mean = glance.compare(frame, 1.0, 48)
    assert score.shape == index.shape == mean.shape == shape
    assert (index[:, : shape[1] // 2 - 1] == 1).all()
    assert (index[:, shape[1] // 2 + 1 :] == 2).all()
    score, index, mean = glance.compare(colors[0], 1.0, 48)
    assert not score.any()
    assert not index.any()
    assert not mean.any()


def test_layers_that_few_pixels_have_count_there():
    """Two lamps of different colours, and one of them that is off."""
    first, bright, brighter = place((80, 120), layers=3).colors
    colors = np.stack([first] * 3)
    left, right = np.s_[20:24, 40:46], np.s_[50:54, 80:86]
    colors[1][left] = bright[left]
    colors[1:, 50:54, 80:86] = bright[right], brighter[right]
    glance = Glance(colors, np.full((80, 120), 4, np.float32))
    for shown in (0, 1, 2):
        score, index, _ = glance.compare(colors[shown], 1.0, 48)
        assert not score.any()
        expected = np.zeros((80, 120), int)
        expected[left], expected[right] = min(shown, 1) * (shown < 2), shown
        np.testing.assert_array_equal(index, expected)


def test_scores_are_in_the_unit_of_thresholds():
    colors = place((40, 60)).colors
    glance = Glance(colors, np.full((40, 60), UNIT / 8, np.float32))
    score, _, mean = glance.compare(colors[0] + np.uint8(8), 0.5, 48)
    assert (score == UNIT // 2).all()
    assert (mean == UNIT // 2).all()
    _, _, mean = glance.compare(colors[0] + np.uint8(80), 1.0, 48)
    assert (mean == 48).all()
