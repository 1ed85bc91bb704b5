"""Which colours of which pixels are taken for the background of one state."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.clean_frames import find_clean_frames, trimmed_mean
from bgsub.local.layers import MOST_FRAMES
from bgsub.local.params import DEFAULTS
from bgsub.local.scene import fit_scene, measure_noise

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


@pytest.mark.parametrize("noise", [1.0, 4.0, 8.0])
def test_the_noise_is_that_of_the_pixels(scenes, workers, noise):
    pictures = scenes.finish([scenes.place()] * N, noise)
    center = trimmed_mean(pictures, find_clean_frames(pictures[..., 1]))
    assert measure_noise(pictures, center) == pytest.approx(noise, rel=0.12)


def test_a_colour_that_comes_and_goes_every_other_frame_is_background(scenes, workers):
    def flicker(frame, i):
        if i % 3 == 0:
            frame[AT] = RED

    scene = fit(scenes, workers, flicker, noise=0.5)
    assert len(scene.colors) == 2
    assert is_background(scene, RED, AT) > 0.95
    assert scene.restless[AT].mean() > 5 * max(scene.restless[50:].mean(), 1)


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
