"""States of a scene go into arrays and come back; what no fit gives is refused."""

from dataclasses import fields

import numpy as np
import pytest

from bgsub.local.archive import arrays_of, scenes_in
from bgsub.local.noise import NOISE_BINS
from bgsub.local.palette import COLORS, Palette
from bgsub.local.scene import Scene

SHAPE = (6, 8)
rng = np.random.default_rng(0)


def levels(*shape):
    return rng.integers(1, 256, shape, dtype=np.uint8)


def full():
    cells = rng.integers(-1, 2, SHAPE, dtype=np.int16)
    return Scene(
        levels(2, *SHAPE, 3),
        levels(*SHAPE),
        2.25,
        [],
        levels(2, *SHAPE, 3),
        palette=Palette(cells, levels(2, COLORS)),
        noise=levels(*SHAPE),
        contrast=31.5,
        grain=1.75,
        darkest=0.3,
        shade=0.02,
        weak_inside=0.125,
        halo=2.5,
        shared=0.75,
        grain_shares=np.linspace(0, 1, NOISE_BINS, dtype=np.float32),
    )


def plain():
    """What models of earlier versions hold."""
    return Scene(levels(3, *SHAPE, 3), levels(*SHAPE), 255.0, [])


@pytest.mark.parametrize("make", [full, plain])
def test_a_scene_comes_back(make):
    scenes = [make(), plain(), make()]
    back = scenes_in(arrays_of(scenes), 3)
    for one, other in zip(scenes, back, strict=True):
        for field in fields(Scene):
            was, now = getattr(one, field.name), getattr(other, field.name)
            if isinstance(was, Palette):
                np.testing.assert_array_equal(now.cells, was.cells)
                np.testing.assert_array_equal(now.distances, was.distances)
            else:
                np.testing.assert_array_equal(now, was)


def test_a_model_that_says_nothing_of_shadows_or_objects_is_read():
    arrays = arrays_of([full()])
    kept = arrays["local_contrast_0"]
    for count, darkest, shade in ((2, 0.0, 0.0), (3, 0.3, 0.0), (4, 0.3, 0.02)):
        arrays["local_contrast_0"] = kept[:count]
        (scene,) = scenes_in(arrays, 1)
        assert (scene.contrast, scene.grain, scene.darkest) == (31.5, 1.75, darkest)
        assert (scene.shade, scene.weak_inside, scene.halo, scene.shared) == (shade, 1, 0, 0)


def test_only_the_scenes_that_are_asked_for_come_back():
    arrays = arrays_of([full(), plain()])
    assert len(scenes_in(arrays, 1)) == 1
    with pytest.raises(KeyError):
        scenes_in(arrays, 3)


BAD = {
    "colors": [
        levels(2, 6, 9, 3),
        levels(2, *SHAPE, 4),
        levels(0, *SHAPE, 3),
        np.zeros((2, *SHAPE, 3)),
    ],
    "restless": [levels(*SHAPE, 1), np.zeros(SHAPE)],
    "sigma": [np.array(0.99), np.array(255.5), np.array(np.nan), np.array(-3.0)],
    "band": [levels(3, *SHAPE, 3), np.zeros((2, *SHAPE, 3)), levels(2, 6, 9, 3)],
    "noise": [levels(6, 9), np.ones(SHAPE), np.zeros(SHAPE, np.uint8)],
    "grain_shares": [
        np.ones(NOISE_BINS),
        np.ones(NOISE_BINS + 1, np.float32),
        np.full(NOISE_BINS, 1.01, np.float32),
        np.full(NOISE_BINS, -0.01, np.float32),
        np.full(NOISE_BINS, np.nan, np.float32),
    ],
    "cells": [np.zeros(SHAPE, np.int32), np.full(SHAPE, 2, np.int16), np.full(SHAPE, -2, np.int16)],
    "distances": [levels(2, COLORS + 1), np.zeros((2, COLORS))],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_arrays_that_no_fit_gives_are_refused(name, value):
    arrays = arrays_of([full()])
    arrays[f"local_{name}_0"] = value
    with pytest.raises(ValueError):  # noqa: PT011 - the loader says the same of all
        scenes_in(arrays, 1)


@pytest.mark.parametrize("sigma", [1.0, 255.0])
def test_the_least_and_the_most_noise_are_allowed(sigma):
    arrays = arrays_of([full()]) | {"local_sigma_0": np.array(sigma)}
    assert scenes_in(arrays, 1)[0].sigma == sigma


def test_states_of_different_sizes_are_refused():
    other = Scene(levels(1, 5, 5, 3), levels(5, 5), 2.0, [])
    with pytest.raises(ValueError, match="5, 5"):
        scenes_in(arrays_of([full(), other]), 2)
