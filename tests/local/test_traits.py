"""What is usual of a film's objects, and that only solid ones lose what is weak at outlines."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS
from bgsub.local.scoring import SceneMatcher
from bgsub.local.traits import traits_of


def walk(scenes, halos=0.4, patch=False):
    """Somebody walks by, in grey and now and then in black, in film with halos."""
    place = np.full((*scenes.shape, 3), (220.0, 230, 210))
    frames, bodies = [], []
    for i in range(scenes.frames):
        clothes = np.full((34, 12, 3), 8.0 if i % 4 == 0 else 160)
        if patch:  # of the colour of the place
            clothes[4:16, 3:9] = place[0, 0]
        frame, body = place.copy(), np.zeros(scenes.shape, bool)
        scenes.put(frame, body, 24, 7 * (i % 40) - 20, clothes)
        sharp, halo = (cv2.GaussianBlur(frame, (0, 0), sigma) for sigma in (0.8, 2.5))
        frames.append((1 - halos) * sharp + halos * halo)
        bodies.append(body)
    return scenes.finish(frames, noise=1.0), np.stack(bodies)


def masks_of(model, frames):
    return np.stack([model.mask(one) > 0 for one in frames[::4]])


def test_solid_objects_lose_their_blur(scenes, learn):
    frames, bodies = walk(scenes)
    model = learn(frames)
    assert model.scenes[0].weak_inside < 0.02
    kept = LocalModel.from_arrays(model.arrays()).scenes[0].weak_inside
    assert kept == model.scenes[0].weak_inside
    now = masks_of(model, frames)
    before = masks_of(learn(frames, params=replace(DEFAULTS, outline_px=1)), frames)
    assert not (now & ~before).any()
    assert (now & ~bodies[::4]).sum() < 0.9 * (before & ~bodies[::4]).sum()
    assert now[bodies[::4]].mean() > before[bodies[::4]].mean() - 0.005


def test_objects_with_the_colours_of_the_place_keep_their_outlines(scenes, learn):
    frames, _ = walk(scenes, halos=0.05, patch=True)
    model = learn(frames)
    assert 0.08 < model.scenes[0].weak_inside < 0.9
    before = learn(frames, params=replace(DEFAULTS, outline_px=1))
    np.testing.assert_array_equal(masks_of(model, frames), masks_of(before, frames))


def test_nothing_is_said_where_nothing_is_seen(scenes, learn):
    frames = scenes.finish(np.repeat(scenes.place()[None], scenes.frames, axis=0))
    scene = learn(frames).scenes[0]
    assert (scene.shade, scene.weak_inside) == (0, 1)


@pytest.mark.parametrize(("step", "looked_at"), [(1, 24), (2, 12), (3, 8)])
def test_of_large_pictures_fewer_frames_are_looked_at(scenes, learn, step, looked_at):
    frames = scenes.finish(np.repeat(scenes.place()[None], scenes.frames, axis=0))
    seen = []

    def each(count, pictures):
        seen.extend(pictures)
        return map(count, seen)

    traits_of(SceneMatcher(learn(frames).scenes[0], 1.0), frames, step, DEFAULTS, each)
    assert len(seen) == looked_at
