"""The state of the scene that a frame shows, and the light that it shows it in."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.light import explained, thumbnail
from bgsub.local.params import DEFAULTS
from bgsub.local.recognition import colored, recognize
from bgsub.local.scene import Scene
from bgsub.local.scoring import SceneMatcher
from bgsub.robustpca.median import NORMAL_MAD

SIZE = 60, 80
rng = np.random.default_rng(0)
PLACES = [np.kron(rng.integers(50, 200, (30, 40, 3)), np.ones((2, 2, 1))) for _ in range(3)]


def matchers(sigma=3.0, grain=0.0, common=0.0):
    restless, noise = np.zeros(SIZE, np.uint8), {"grain": grain, "shared": common}
    scenes = [Scene(one[None].astype(np.uint8), restless, sigma, [], **noise) for one in PLACES]
    return [SceneMatcher(one, 1.0) for one in scenes]


def as_bytes(picture):
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)


def hidden(picture, share):
    """The picture behind something of one level that covers so much of it."""
    covered = picture.copy()
    covered[: round(share * SIZE[0])] = 8
    return covered


@pytest.mark.parametrize("state", range(3))
@pytest.mark.parametrize("usual", [0.9, 1.0])
def test_a_frame_in_a_light_that_was_learnt_is_left_alone(state, usual):
    known, picture = matchers(), PLACES[state].astype(np.uint8)
    found = recognize(picture, known, [usual] * 3, DEFAULTS)
    assert found.matcher is known[state]
    assert found.picture is picture
    assert (found.sigma, found.explained) == (3.0, 1.0)


@pytest.mark.parametrize("state", range(3))
def test_a_frame_in_another_light_is_given_that_of_its_state(state):
    known = matchers()
    seen = as_bytes(0.7 * PLACES[state] + 10)
    found = recognize(seen, known, [0.9] * 3, DEFAULTS)
    assert found.matcher is known[state]
    assert np.abs(found.picture - PLACES[state]).max() <= 2
    assert found.sigma == 3.0
    assert found.explained == 1.0


def test_the_first_state_that_a_light_explains_as_usual_is_taken():
    """Most of the third state is covered, so the first is tried before it; neither is usual."""
    known = matchers()
    seen = as_bytes(0.7 * PLACES[2] + 10)
    seen[:12] = PLACES[0][:12]
    found = recognize(seen, known, [0.9, 0.9, 0.7], DEFAULTS)
    assert found.matcher is known[2]
    low = recognize(seen, known, [0.1, 0.9, 0.7], DEFAULTS)
    assert low.matcher is known[0]


@pytest.mark.parametrize("usual", [0.9, 0.5, 0.0])
def test_what_is_explained_counts_as_a_share_of_what_usually_is(usual):
    known = matchers()
    seen = hidden(as_bytes(0.7 * PLACES[1] + 10), 0.4)
    found = recognize(seen, known, [2.0, max(usual, 0.3), 2.0], DEFAULTS)
    assert found.matcher is known[1]
    assert found.explained == pytest.approx(min(0.6 / max(usual, 0.3), 1), abs=0.01)
    none = recognize(hidden(as_bytes(PLACES[1]), 0.4), known, [0.0] * 3, DEFAULTS)
    assert none.explained == 1


def test_without_another_light_a_covered_frame_is_taken_as_it_is():
    known = matchers()
    seen = hidden(as_bytes(PLACES[1]), 0.4)
    found = recognize(seen, known, [0.9] * 3, DEFAULTS)
    assert found.matcher is known[1]
    assert found.picture is seen
    assert found.sigma == 3.0
    plain = explained(thumbnail(seen), known[1].thumbnail, known[1].thumbnail_noise)
    assert found.explained == pytest.approx(plain / 0.9)
    params = replace(DEFAULTS, light_bonus=1.1)
    dark = recognize(as_bytes(0.7 * PLACES[1]), known, [0.9] * 3, params)
    assert dark.matcher in known


@pytest.mark.parametrize("noise", [0.7, 7.0])
def test_what_a_light_leaves_is_the_noise_of_the_frame(noise):
    """Of a thumbnail's pixels within four times the scene's noise, where that is more."""
    known = matchers()
    loud = np.kron(np.random.default_rng(3).normal(0, noise, (30, 40, 3)), np.ones((2, 2, 1)))
    seen = hidden(as_bytes(0.6 * PLACES[0] + 0.6 * loud + 20), 0.2)
    found = recognize(seen, known, [0.95] * 3, DEFAULTS)
    left = np.abs(thumbnail(found.picture).astype(int) - PLACES[0][::2, ::2]).max(axis=2)
    expected = max(3.0, np.median(left[left < 12]) / NORMAL_MAD)
    assert found.sigma == pytest.approx(expected, rel=0.1)
    assert (found.sigma > 3.0) == (noise > 3)


def test_noise_grows_with_that_of_the_frame():
    found = recognize(PLACES[0].astype(np.uint8), matchers(3.0, 2.0), [0.9] * 3, DEFAULTS)
    assert (found.noise(DEFAULTS) == 2.0).all()
    assert (replace(found, sigma=6.0).noise(DEFAULTS) == 4.0).all()
    plain = recognize(PLACES[0].astype(np.uint8), matchers(3.0), [0.9] * 3, DEFAULTS)
    assert (replace(plain, sigma=6.0).noise(DEFAULTS) == 6.0).all()


def shared(found):
    """Noise of a frame that its pixels share, in grey levels."""
    single, common = found.noise(DEFAULTS)
    assert (common <= single).all()
    return float(common[120])


def test_light_that_was_taken_out_is_noise_that_pixels_share():
    """A part of it is left; of more light, more."""
    known = matchers(2.0, 6.0, 0.8)
    own = recognize(as_bytes(PLACES[0]), known, [1.0] * 3, DEFAULTS)
    assert shared(own) == pytest.approx(0.8)
    faint, strong = (
        recognize(as_bytes(gain * PLACES[0]), known, [1.0] * 3, DEFAULTS) for gain in (0.93, 0.7)
    )
    assert 1.6 < shared(faint) < 4
    assert shared(strong) == 6.0
    evened = own.under(as_bytes(PLACES[0] + 8))
    assert evened.relit == 8
    assert shared(evened) > 0.8


def test_so_is_light_that_is_not_known():
    """What most of a frame differs by, however evenly; what an object differs by is none."""
    known = matchers(6.0, 5.0, 0.8)
    for shift in (0, 3, 4):
        seen = as_bytes(PLACES[0] + np.array([shift, 0, 0]))
        found = recognize(hidden(seen, 0.3), known, [0.3] * 3, DEFAULTS)
        assert found.relit == 0
        assert shared(found) == pytest.approx(max(shift, 0.8), abs=0.6)


def test_what_codecs_leave_is_shared():
    known = matchers(3.0, 0.5, 0.4)
    found = recognize(as_bytes(PLACES[0]), known, [1.0] * 3, DEFAULTS)
    assert (found.noise(DEFAULTS) == 1.5).all()


def test_grey_frames_are_of_three_equal_channels():
    grey = PLACES[0][..., 0].astype(np.uint8)
    assert (colored(grey) == grey[..., None]).all()
    picture = PLACES[0].astype(np.uint8)
    assert colored(picture) is picture
    assert recognize(grey, matchers(), [0.9] * 3, DEFAULTS).picture.shape == (*SIZE, 3)
