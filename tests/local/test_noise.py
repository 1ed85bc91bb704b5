"""The noise of every place, and the contrast of what moves."""

import numpy as np

from bgsub.local.noise import NOISE_UNIT
from bgsub.local.params import MaskOptions


def walking(scenes, noise, contrast=120):
    """Somebody plain walks by a place that is noisy in its right half, nearly clean in the left."""
    rng, frames, truths = np.random.default_rng(4), [], []
    height, width = scenes.shape
    for i in range(scenes.frames):
        frame, truth = np.full((height, width, 3), 90.0), np.zeros(scenes.shape, bool)
        scenes.put(frame, truth, 20, 4 * (i % 30) - 14, np.full((24, 14, 3), 90.0 + contrast))
        frame += rng.normal(0, 1, frame.shape) * np.linspace(1, noise, width)[:, None]
        frames.append(np.clip(np.rint(frame), 0, 255).astype(np.uint8))
        truths.append(truth)
    return np.stack(frames), truths


def test_noise_follows_the_place(scenes, learn):
    frames, _ = walking(scenes, 8)
    found = learn(frames).scenes[0].noise / NOISE_UNIT
    left, right = np.median(found[:, :16]), np.median(found[:, -16:])
    assert right > 1.5 * left


def test_contrast_is_that_of_what_moves(scenes, learn):
    for contrast in (40, 120):
        frames, _ = walking(scenes, 1, contrast)
        assert abs(learn(frames).scenes[0].contrast - contrast) < 0.15 * contrast


def test_what_is_faint_beside_strong_objects_is_a_halo_and_otherwise_an_object(scenes, learn):
    for contrast, expected in ((16, True), (120, False)):
        frames, truths = walking(scenes, 1, contrast)
        model = learn(frames).with_options(MaskOptions(shadows="keep"))
        frame = np.full_like(frames[0], 90)
        frame[30:50, 40:60] += np.uint8(10)
        assert model.mask(frame)[35:45, 45:55].any() == expected
        masks = [model.mask(one) for one in frames]
        assert scenes.f_measure(masks, truths) > 0.85


def test_models_without_a_map_of_noise_draw_masks(passing):
    arrays = passing.model.arrays()
    for name in [one for one in arrays if "noise" in one or "contrast" in one]:
        del arrays[name]
    del arrays["local_params"]
    old = type(passing.model).from_arrays(arrays)
    mask = old.mask(passing.frames[8])
    assert np.count_nonzero(mask[passing.truths[8]]) > 0.7 * np.count_nonzero(passing.truths[8])


def test_noise_that_hides_what_moves_is_said(scenes, learn):
    rng = np.random.default_rng(6)
    frames, _ = walking(scenes, 1, 60)
    clean = learn(frames).history
    assert not clean.notes
    assert clean.states[0]["trust"] > 0.9
    noisy = np.clip(frames + rng.normal(0, 45, frames.shape), 0, 255).astype(np.uint8)
    found = learn(noisy).history
    assert any(note.startswith("noise: what differs by less than") for note in found.notes)
    assert found.states[0]["trust"] < 0.5
