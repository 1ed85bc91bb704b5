"""Frames are compared with the state that they show, alone or with others."""

from dataclasses import replace

import numpy as np

from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS, MaskOptions
from bgsub.local.scene import Scene
from bgsub.local.scoring import SceneMatcher


def test_frames_in_any_state_and_light_are_as_each_alone(passing):
    """Two states, frames in another light, a visitor, and places that do not count."""
    first = passing.model.scenes[0]
    dark = Scene(first.colors[..., ::-1].copy(), first.restless, 2.5, [], noise=first.noise)
    model = LocalModel([first, dark], [0.9, 0.9], MaskOptions(), params=DEFAULTS)
    dim = (passing.frames[3:6] * 0.7).astype(np.uint8)
    frames = [*passing.frames[4:12], *dim, *passing.frames[7:10, ..., ::-1], passing.frames[0]]
    frames = [np.ascontiguousarray(frame) for frame in frames]
    inside = np.ones(model.shape, bool)
    inside[:, :20] = False
    assert model.frames_at_once == 5
    for where in (None, inside):
        found = model.look_all(frames, where)
        for frame, seen in zip(frames, found, strict=True):
            alone = model.look(frame, where)
            np.testing.assert_array_equal(seen.mask, alone.mask)
            np.testing.assert_array_equal(seen.scores, alone.scores)
            assert seen.trust == alone.trust
        assert any(seen.mask.any() for seen in found)
        assert not all(seen.mask.any() for seen in found)


def test_regions_of_faint_film_end_with_their_frame(scenes, learn):
    """Small frames of other film are compared one above the other."""
    frames = scenes.finish([np.full((*scenes.shape, 3), 100.0)] * 12, noise=0.6)
    frames[5:8, 20:40, 20:40] += np.uint8(40)
    model = learn(frames)
    assert model.frames_at_once == 1
    seen = model.look_all(list(frames[3:8]))
    assert seen[3].mask.any()
    for frame, one in zip(frames[3:8], seen, strict=True):
        np.testing.assert_array_equal(one.scores, model.look(frame).scores)


def test_a_stack_is_as_faint_as_its_scene(passing):
    """Its rows beyond the borders show a calm sky more often than the scene does."""
    first = passing.model.scenes[0]
    assert first.noise is not None
    height = first.noise.shape[0]
    noise = np.full_like(first.noise, 24)
    noise[: height // 2 - 2] = 4
    matcher = SceneMatcher(replace(first, noise=noise), 1.0)
    mirrored = np.r_[8:0:-1, 0:height, height - 20 : height - 28 : -1, 0:8]
    mirrored = np.r_[np.arange(8), mirrored[mirrored < height // 2 - 2], mirrored]
    assert SceneMatcher(matcher.scene.at_rows(mirrored), 1.0).is_faint
    assert not matcher.is_faint
    assert not matcher.at_rows(mirrored).is_faint
