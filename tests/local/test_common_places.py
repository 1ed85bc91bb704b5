"""What states of a scene have in common, against who stands there in one of them."""

import numpy as np
import pytest

from bgsub.local.common_places import with_common_places
from bgsub.local.params import DEFAULTS
from bgsub.local.scene import Scene

HEIGHT, WIDTH, COUNT, DARK = 48, 64, 40, 20
HERE = np.s_[12:36, 16:48]
INSIDE = np.s_[18:30, 22:42]
DAY, NIGHT = np.arange(COUNT), np.arange(COUNT, COUNT + DARK)


def looks(low, high, seed):
    """A textured picture."""
    small = np.random.default_rng(seed).integers(low, high, (HEIGHT // 4, WIDTH // 4, 3))
    return small.repeat(4, axis=0).repeat(4, axis=1)


PLACE, SOMEBODY = looks(60, 200, 1), looks(0, 255, 2)


def at_night(picture):
    """A picture in less light."""
    return 0.6 * picture + 5


def shown(visits):
    """Frames of day and night before which somebody stands."""
    frames = np.stack([PLACE] * COUNT + [at_night(PLACE)] * DARK)
    for start, stop in visits:
        frames[(slice(start, stop), *HERE)] = SOMEBODY[HERE]
    frames = frames + np.random.default_rng(3).normal(0, 1, frames.shape)
    return np.clip(np.rint(frames), 0, 255).astype(np.uint8)


def scene(picture, further=()):
    colors = np.clip(np.stack([picture, *further]), 0, 255).astype(np.uint8)
    return Scene(colors, np.zeros((HEIGHT, WIDTH), np.uint8), 2.5, [])


def put(picture):
    """A picture with somebody in it."""
    found = picture.copy()
    found[HERE] = SOMEBODY[HERE]
    return found


def corrected(pictures, *scenes):
    return with_common_places(list(scenes), pictures, (DAY, NIGHT), DEFAULTS)


@pytest.mark.parametrize("visit", [(COUNT + 4, COUNT + 18), (COUNT + 3, COUNT + DARK)])
def test_the_place_of_another_state_overrules_who_stays_in_a_short_one(visit):
    pictures = shown([visit])
    taken = scene(put(at_night(PLACE)), [put(at_night(PLACE)), at_night(PLACE)])
    day, night = corrected(pictures, scene(PLACE), taken)
    away = np.abs(night.colors[0].astype(float) - at_night(PLACE))
    assert away[INSIDE].max() < 4
    assert np.abs(night.colors[1].astype(float) - at_night(PLACE))[INSIDE].max() < 4
    np.testing.assert_array_equal(night.colors[0][:8], taken.colors[0][:8])
    np.testing.assert_array_equal(day.colors[0], PLACE)


def test_colours_are_those_that_the_state_itself_shows_though_its_light_falls_otherwise():
    """A lamp stands at the side: what differs by much more is still told from the place."""
    lamp = np.zeros((HEIGHT, WIDTH, 1))
    lamp[HERE] = 12
    pictures = shown([])
    night = at_night(PLACE) + lamp
    pictures[NIGHT] = np.clip(night + np.random.default_rng(5).normal(0, 1, night.shape), 0, 255)
    pictures[(slice(COUNT + 4, COUNT + 18), *HERE)] = SOMEBODY[HERE]
    _, found = corrected(pictures, scene(PLACE), scene(put(night)))
    here = np.abs(SOMEBODY.astype(int) - at_night(PLACE)).max(axis=2)[INSIDE] > 60
    away = np.abs(found.colors[0].astype(float) - night).max(axis=2)[INSIDE]
    assert (away[here] < 4).mean() > 0.95


def test_a_short_state_tells_who_stays_in_a_long_one():
    given = scene(put(PLACE)), scene(at_night(PLACE))
    day, night = corrected(shown([(0, 16)]), *given)
    assert (np.abs(day.colors[0].astype(float) - PLACE)[INSIDE].max(axis=2) < 4).mean() > 0.9
    np.testing.assert_array_equal(night.colors, given[1].colors)


def test_what_is_seen_nearly_as_often_stays():
    given = scene(put(PLACE)), scene(at_night(PLACE))
    day, _ = corrected(shown([(0, 24)]), *given)
    np.testing.assert_array_equal(day.colors, given[0].colors)


def test_what_one_state_alone_shows_stays():
    """A lamp, which is on whenever it is dark."""
    pictures = shown([(COUNT, COUNT + DARK)])
    given = scene(PLACE), scene(put(at_night(PLACE)))
    for one, other in zip(given, corrected(pictures, *given), strict=True):
        np.testing.assert_array_equal(one.colors, other.colors)


def test_what_goes_on_with_a_state_stays():
    """It is off in a frame or two, before it is on."""
    pictures = shown([(COUNT + 2, COUNT + DARK)])
    given = scene(PLACE), scene(put(at_night(PLACE)))
    for one, other in zip(given, corrected(pictures, *given), strict=True):
        np.testing.assert_array_equal(one.colors, other.colors)


def test_a_light_that_is_not_understood_tells_nothing():
    """In the dark nothing is seen, and who stood there in the light was dark, too."""
    pictures = shown([])
    dark = np.full_like(PLACE, 10)
    pictures[DAY] = dark
    pictures[(slice(COUNT, COUNT + 4), *HERE)] = dark[HERE]
    given = scene(dark), scene(at_night(PLACE))
    for one, other in zip(given, corrected(pictures, *given), strict=True):
        np.testing.assert_array_equal(one.colors, other.colors)


def test_specks_are_left():
    pictures, picture = shown([]), at_night(PLACE)
    speck = np.s_[20:22, 20]
    picture[speck] = 255
    pictures[(slice(COUNT + 4, None), *speck)] = 255
    given = scene(picture)
    _, night = corrected(pictures, scene(PLACE), given)
    np.testing.assert_array_equal(night.colors, given.colors)


def test_one_state_has_nothing_in_common():
    given = [scene(PLACE)]
    assert with_common_places(given, shown([])[:COUNT], [DAY], DEFAULTS) == given
