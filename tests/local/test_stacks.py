"""Frames that are compared together give what each gives alone, bit for bit."""

import numpy as np
import pytest

from bgsub.local.cleanup import mean_score
from bgsub.local.palette import Palette
from bgsub.local.params import LocalParams
from bgsub.local.scene import Scene
from bgsub.local.scoring import SceneMatcher
from bgsub.local.stacks import SceneStack, frames_of_stack


def scene_of(rng, size, layers=3):
    """A scene of which everything differs from pixel to pixel."""
    colors = rng.integers(0, 256, (layers, *size, 3), dtype=np.uint8)
    band = np.sort(rng.integers(0, 256, (2, *size, 3), dtype=np.uint8), axis=0)
    cells = rng.integers(-1, 2, size).astype(np.int16)
    palette = Palette(cells, rng.integers(0, 256, (2, 1 << 15), dtype=np.uint8))
    noise = rng.integers(8, 80, size, dtype=np.uint8)
    restless = rng.integers(0, 256, size, dtype=np.uint8)
    return Scene(colors, restless, 2.5, [], band, palette=palette, noise=noise, contrast=20.0)


def near(rng, scene, count):
    """Frames some of whose pixels are those of the scene."""
    signs = rng.normal(0, 12, (count, *scene.colors.shape[1:]))
    return np.clip(scene.colors[0] + np.rint(signs), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("size", [(36, 64), (7, 5), (1, 9), (2, 3), (25, 33)])
@pytest.mark.parametrize("numbers", [{}, {"smooth_px": 1}, {"smooth_px": 7, "vote_most": 3.0}])
def test_a_stack_sees_what_each_frame_shows_alone(size, numbers):
    rng, params = np.random.default_rng(0), LocalParams(**numbers)
    scene = scene_of(rng, size)
    matcher = SceneMatcher(scene, 0.8, params)
    pictures = near(rng, scene, 5)
    found = SceneStack(matcher, 6, params).compare(list(pictures), 3.1)
    assert len(found) == len(pictures)
    for picture, planes in zip(pictures, found, strict=True):
        alone = matcher.score(picture, 3.1)
        for plane, expected in zip(planes, (*alone, mean_of(alone, params)), strict=True):
            np.testing.assert_array_equal(plane, expected)
            assert plane.flags.c_contiguous
    assert any(planes[3].any() for planes in found)


def mean_of(scored, params):
    return mean_score(scored[0], params.vote_most)


@pytest.mark.parametrize(
    ("size", "numbers", "frames"),
    [((36, 64), {}, 16), ((120, 160), {}, 2), ((240, 320), {}, 1), ((36, 64), {"smooth_px": 2}, 1)],
)
def test_stacks_are_of_small_frames_and_of_windows_with_a_middle(size, numbers, frames):
    assert frames_of_stack(*size, LocalParams(**numbers)) == frames
