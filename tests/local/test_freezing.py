"""The noise of film that a codec freezes."""

import numpy as np
import pytest

from bgsub.local.freezing import frozen_noise
from bgsub.local.objects import judge_changes
from bgsub.local.params import DEFAULTS
from bgsub.local.scene_fit import fit_scene

N, SHAPE = 60, (60, 80, 3)


def frozen(jump, last=12, seed=0):
    """Give a film that repeats its place but for the last frames, which repeat another error."""
    rng = np.random.default_rng(seed)
    place = rng.integers(60, 190, SHAPE)
    later = np.clip(place + rng.normal(0, jump, SHAPE).round(), 0, 255)
    return np.stack([place] * (N - last) + [later] * last).astype(np.uint8), place


@pytest.mark.parametrize("jump", [1.0, 2.0, 4.0])
def test_the_noise_is_that_between_complete_pictures(jump):
    pictures, place = frozen(jump)
    assert frozen_noise(pictures, place.astype(np.float32)) == pytest.approx(jump, abs=0.5)


def test_it_is_twice_what_codecs_usually_add_at_most():
    pictures, place = frozen(20.0)
    assert frozen_noise(pictures, place.astype(np.float32)) == 2 * DEFAULTS.least_noise


def test_film_that_only_repeats_has_none_and_somebody_in_it_is_no_noise():
    pictures, place = frozen(0.0)
    pictures[10:30, 20:50, 20:40] = 230
    assert frozen_noise(pictures, place.astype(np.float32)) == 0


@pytest.mark.parametrize("frames", [1, N])
def test_film_of_a_camera_is_not_frozen(frames):
    rng = np.random.default_rng(1)
    place = rng.integers(60, 190, SHAPE)
    pictures = np.clip(place + rng.normal(0, 1, (frames, *SHAPE)).round(), 0, 255).astype(np.uint8)
    assert frozen_noise(pictures, place.astype(np.float32)) == 0


def test_what_another_complete_picture_changes_is_no_thing_that_was_moved(workers):
    """It was: blocks all over the picture, each with a layer for either part of the film."""
    rng = np.random.default_rng(2)
    place = np.full(SHAPE, 120) + rng.integers(-40, 40, SHAPE)
    errors = np.kron(rng.choice([-9, 9], (6, 8, 1)), np.ones((10, 10, 1), int))
    pictures = np.stack([place] * 45 + [place + errors] * 15).astype(np.uint8)
    scene = fit_scene(pictures, seed=0, workers=workers)
    assert scene.regions == ()
    assert len(scene.colors) == 1
    assert scene.sigma == DEFAULTS.least_noise  # of single frames


@pytest.mark.parametrize("jump", [0.0, 4.0])
def test_changes_are_judged_as_those_of_frozen_film_where_all_of_it_jumps(
    jump, workers, monkeypatch
):
    told = {}

    def judge(*arguments, is_frozen):
        told["is_frozen"] = is_frozen
        return judge_changes(*arguments, is_frozen=is_frozen)

    monkeypatch.setattr("bgsub.local.scene_fit.judge_changes", judge)
    fit_scene(frozen(jump)[0], seed=0, workers=workers)
    assert told["is_frozen"] == (jump > 0)
