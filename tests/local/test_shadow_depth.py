"""How deep the shadows of a film are: all leave one share of the light, things show any."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from bgsub.local.noise import NOISE_UNIT
from bgsub.local.params import DEFAULTS
from bgsub.local.scene import Scene
from bgsub.local.scoring import SceneMatcher
from bgsub.local.shadow_depth import _below_mode, _Darkened, darkest_shadow


def walk(scenes, light):
    """People of many greys walk by; beside each the sun leaves a share of the light on the ground.

    Returns the frames, and where the shadows are.
    """
    place = 90 + 0.5 * scenes.place()
    rng, frames, shadows = np.random.default_rng(3), [], []
    for i in range(scenes.frames):
        frame, person, shaded = place.copy(), *np.zeros((2, *scenes.shape), bool)
        left = 4 * (i % 32) - 20
        scenes.put(frame, shaded, 46, left + 14, np.zeros((14, 26, 3)))
        frame[shaded] = light * place[shaded]
        scenes.put(frame, person, 30, left, np.full((28, 14, 3), rng.uniform(20, 250)))
        frames.append(frame)
        shadows.append(shaded & ~person)
    return scenes.finish(frames, noise=1.5), np.stack(shadows)


@pytest.mark.parametrize("light", [0.3, 0.45])
def test_the_shadows_of_a_film_tell_how_deep_they_are_and_go(scenes, learn, light):
    """Learned by no share of the light, the bound is the usual one; a saved model keeps it."""
    frames, shadows = walk(scenes, light)
    model = learn(frames)
    assert 0.7 * light < model.scenes[0].darkest < light
    assert type(model).from_arrays(model.arrays()).scenes[0].darkest == model.scenes[0].darkest
    unaware = learn(frames, params=replace(DEFAULTS, shadow_mode=1.1))
    assert unaware.scenes[0].darkest == DEFAULTS.shadow_darkest
    kept, before = (np.stack([one.mask(f) > 0 for f in frames[::4]]) for one in (model, unaware))
    assert kept[shadows[::4]].mean() < 0.2
    assert before[shadows[::4]].mean() > 0.5


def test_large_pictures_tell_the_same_at_a_glance(scenes):
    frames, _ = walk(scenes, 0.3)
    large = [cv2.resize(frame, None, fx=10, fy=10) for frame in frames[::12]]
    place = np.median(large, axis=0).astype(np.uint8)
    steps = np.full(place.shape[:2], 2 * NOISE_UNIT, np.uint8)
    scene = Scene(place[None], np.zeros_like(steps), 2.5, [], noise=steps)
    matcher = SceneMatcher(scene, 1.0)
    assert matcher.is_glanced_at
    glanced = darkest_shadow(matcher, np.stack(large), 2)
    matcher.is_glanced_at = False
    assert glanced == darkest_shadow(matcher, np.stack(large), 2)
    assert 0.7 * 0.3 < glanced < 0.3


def test_without_deep_shadows_the_bound_is_about_the_usual_one(scenes, learn):
    assert learn(walk(scenes, 1)[0]).scenes[0].darkest == DEFAULTS.shadow_darkest
    assert learn(walk(scenes, 0.8)[0]).scenes[0].darkest > 0.5


def test_somebody_who_stays_in_dark_clothes_is_no_shadow(scenes, learn):
    """He keeps the colour of a grey place, and all of him leaves one share of its light."""
    place = 90 + 0.5 * scenes.place()
    frames = np.stack([place] * scenes.frames)
    box = np.s_[33:52, 30:60, 50:80]
    frames[box] = 0.35 * frames[box]
    model = learn(scenes.finish(list(frames), noise=1.5))
    assert model.scenes[0].darkest == DEFAULTS.shadow_darkest


def walk_in_grey(scenes, coat, light):
    """People in plain coats before a grey place with texture; the sun shades the ground behind.

    Returns the frames, where the coats are, and where the shadows are.
    """
    place = np.random.default_rng(7).normal(130, 12, scenes.shape)[..., None] * np.ones(3)
    rng, frames, coats, shadows = np.random.default_rng(3), [], [], []
    for i in range(scenes.frames):
        frame, person, shaded = place.copy(), *np.zeros((2, *scenes.shape), bool)
        left, top = 4 * (i % 32) - 20, 10 + int(rng.integers(0, 20))
        scenes.put(frame, shaded, top + 12, left + 6, np.zeros((22, 40, 3)))
        frame[shaded] = light * place[shaded]
        scenes.put(frame, person, top, left, np.full((28, 20, 3), coat))
        frames.append(frame)
        coats.append(person)
        shadows.append(shaded & ~person)
    return scenes.finish(frames, noise=1.5), np.stack(coats), np.stack(shadows)


def test_plain_dark_coats_are_no_shadows(scenes, learn):
    """All wear one grey, so one share of light; but nobody's coat shows the place behind."""
    frames, coats, _ = walk_in_grey(scenes, coat=55.0, light=1)
    model = learn(frames)
    assert model.scenes[0].darkest == DEFAULTS.shadow_darkest
    masks = np.stack([model.mask(frame) > 0 for frame in frames[::4]])
    assert masks[coats[::4]].mean() > 0.9


def test_shadows_in_grey_film_show_the_texture_of_the_place(scenes, learn):
    frames, coats, shadows = walk_in_grey(scenes, coat=230.0, light=0.42)
    model = learn(frames)
    assert 0.7 * 0.42 < model.scenes[0].darkest < 0.42
    masks = np.stack([model.mask(frame) > 0 for frame in frames[::4]])
    assert masks[coats[::4]].mean() > 0.9
    assert masks[shadows[::4]].mean() < 0.2


# --- the histogram: bins of a tenth in the logarithm of the share of light, from .2 to 1 ---


def shown(counts, known=0.0, kept=0.0):
    """Shares of the pixels whose places have texture, and of those that show it."""
    known = known * counts.sum(axis=(1, 2))
    return _Darkened(counts, known, kept * known)


def spread(counts):
    """All over the picture, of 9×9 cells."""
    return shown(np.repeat(np.repeat(counts[:, None, None], 9, axis=1), 9, axis=2))


def test_the_bound_lies_two_bins_below_the_range_that_holds_a_fifth():
    counts = np.full(16, 1000)
    counts[6:8] = 2000  # a fifth of all: 4000 of 18000
    assert _below_mode(spread(counts), DEFAULTS) == pytest.approx(np.exp(-1.2))
    counts[6:8] = 1700  # 3400 of 17400
    assert _below_mode(spread(counts), DEFAULTS) == DEFAULTS.shadow_darkest


def test_a_faint_shadow_does_not_raise_the_bound():
    counts = np.full(16, 100)
    counts[14:] = 9000
    assert _below_mode(spread(counts), DEFAULTS) == DEFAULTS.shadow_darkest


def test_the_darkest_of_all_are_no_mode():
    """Black things have more bins below the last one."""
    counts = np.full(16, 100)
    counts[:2] = 1000, 900
    assert _below_mode(spread(counts), DEFAULTS) == DEFAULTS.shadow_darkest
    assert _below_mode(spread(np.roll(counts, 1)), DEFAULTS) < 0.3


def test_few_pixels_tell_nothing():
    counts = np.zeros((16, 9, 9), int)
    counts[5, 0, 0] = counts[5, 8, 8] = 999
    assert _below_mode(shown(counts), DEFAULTS) == DEFAULTS.shadow_darkest
    counts[5, 0, 0] = 1001
    assert _below_mode(shown(counts), DEFAULTS) < 0.5


def test_what_is_dark_in_one_place_alone_tells_nothing():
    """A place is a third of the picture's height and width, wherever it lies."""
    counts = np.zeros((16, 9, 9), int)
    counts[5, 4:7, 3:6] = 2000
    counts[6, 0, 0] = 8000
    assert _below_mode(shown(counts), DEFAULTS) == DEFAULTS.shadow_darkest
    counts[6, 0, 0] = 10000
    assert _below_mode(shown(counts), DEFAULTS) < 0.5


def test_what_hides_the_texture_of_its_place_tells_nothing():
    """Where places have no texture nothing hides it; what else is dark has no say."""
    counts = np.full((16, 9, 9), 10)
    counts[5:7] = 100
    deep = pytest.approx(np.exp(-1.3))
    assert _below_mode(shown(counts, known=0.31, kept=0.29), DEFAULTS) == DEFAULTS.shadow_darkest
    assert _below_mode(shown(counts, known=0.31, kept=0.31), DEFAULTS) == deep
    assert _below_mode(shown(counts, known=0.29, kept=0), DEFAULTS) == deep
    hidden = shown(counts, known=0.5)
    hidden.kept[8:] = hidden.known[8:]
    assert _below_mode(hidden, DEFAULTS) == DEFAULTS.shadow_darkest


def test_another_light_is_no_shadow(scenes, learn):
    """Half of the film is as dark as a shadow; what most of the frame shows is light."""
    frames = np.stack([90 + 0.5 * scenes.place()] * scenes.frames)
    frames[::12] *= 0.3
    model = learn(scenes.finish(list(frames), noise=1.5), params=replace(DEFAULTS, light_bonus=1.1))
    assert model.scenes[0].darkest == DEFAULTS.shadow_darkest
