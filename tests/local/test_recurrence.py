"""What every part of a picture comes back to."""

import tracemalloc

import numpy as np
import pytest

from bgsub.local.clustering import find_layers
from bgsub.local.params import DEFAULTS
from bgsub.local.recurrence import colors_that_come_back, what_comes_back
from bgsub.runtime.threads import Workers

HEIGHT, WIDTH, COUNT = 48, 64, 120
HERE = np.s_[12:36, 16:48]
"""Where somebody stands; inside of it no block meets its outline."""
INSIDE = np.s_[18:30, 22:42]


def looks(number, low, high, seed=0):
    """So many textured pictures."""
    rng = np.random.default_rng(seed)
    small = rng.integers(low, high, (number, HEIGHT // 4, WIDTH // 4, 3))
    return small.repeat(4, axis=1).repeat(4, axis=2).astype(np.uint8)


def film(visits, place, *, noise=1.0):
    """A place of so many frames, in which visits hide `HERE`: first frame, end, and look."""
    rng = np.random.default_rng(1)
    frames = np.repeat(place[None], COUNT, axis=0)
    for start, stop, look in visits:
        frames[(slice(start, stop), *HERE)] = look[HERE]
    return np.clip(frames + rng.normal(0, noise, frames.shape), 0, 255).astype(np.uint8)


@pytest.fixture
def place():
    return looks(1, 60, 200)[0]


def test_a_plate_that_frames_look_like_stands(place):
    somebody = looks(1, 0, 60, seed=2)[0]
    shown = what_comes_back(film([(20, 60, somebody)], place), place)
    assert shown.shape == (COUNT, HEIGHT, WIDTH)
    assert not shown.any()


def test_what_several_hide_by_turns_comes_back(place):
    """Three quarters of the time; the plate is a mixture of them that no frame shows."""
    people = looks(12, 0, 60, seed=2)
    visits = [(10 * i, 10 * i + 7, look) for i, look in enumerate(people)]
    plate = place.copy()
    plate[HERE] = np.median(people, axis=0)[HERE]
    shown = what_comes_back(film(visits, place), plate)
    hidden = np.arange(COUNT) % 10 < 7
    assert not shown[(hidden, *INSIDE)].any()
    assert shown[(~hidden, *INSIDE)].mean() > 0.9
    assert not shown[:, :8].any()


def test_who_came_to_stay_is_not_what_comes_back(place):
    """He is seen for most of the film, once, and the place before him only: the plate decides."""
    somebody = looks(1, 0, 60, seed=2)[0]
    frames = film([(15, COUNT, somebody)], place)
    assert not what_comes_back(frames, place).any()
    unlike = place.copy()
    unlike[HERE] = 255
    assert not what_comes_back(frames, unlike).any()


@pytest.mark.parametrize(("away", "place_back"), [(3, False), (6, True)])
def test_who_leans_aside_for_a_moment_hides_no_place(place, away, place_back):
    """Of a look that is gone for less than a tenth of the film, all in all, nothing is told."""
    somebody = looks(1, 0, 60, seed=2)[0]
    frames = film([(start, start + away, somebody) for start in (20, 50, 80)], place)
    unlike = place.copy()
    unlike[HERE] = 255
    shown = what_comes_back(frames, unlike)
    assert shown[(slice(0, 20), *INSIDE)].all() == place_back
    assert shown.any() == place_back


def test_where_somebody_may_have_come_back_a_place_does_so_again_and_again(place):
    """He sits there twice for most of the film, and the place is known to be seen in between."""
    somebody = looks(1, 0, 60, seed=2)[0]
    frames = film([(0, 55, somebody), (75, COUNT, somebody)], place)
    unlike = place.copy()
    unlike[HERE] = 255
    assert what_comes_back(frames, unlike)[(slice(0, 55), *INSIDE)].all()
    everywhere = np.ones((HEIGHT, WIDTH), np.bool_)
    assert not what_comes_back(frames, unlike, everywhere).any()
    people = looks(12, 0, 60, seed=2)
    frames = film([(10 * i, 10 * i + 7, look) for i, look in enumerate(people)], place)
    hidden = np.arange(COUNT) % 10 < 7
    shown = what_comes_back(frames, unlike, everywhere)
    assert shown[(~hidden, *INSIDE)].mean() > 0.9


def test_colors_of_a_place_are_those_that_come_back_but_for_what_was_judged_an_object(place):
    people = looks(12, 0, 60, seed=2)
    frames = film([(10 * i, 10 * i + 7, look) for i, look in enumerate(people)], place)
    unlike = place.copy()
    unlike[HERE] = 255
    with Workers(1) as workers:
        layers = find_layers(frames, place, 9, seed=0, workers=workers)
    nothing = np.zeros(layers.counts.shape, np.bool_)
    arguments = (frames, unlike, layers)
    found = colors_that_come_back(*arguments, nothing, 2.5, DEFAULTS)
    assert np.abs(found[INSIDE].astype(int) - place[INSIDE]).max() <= 4
    np.testing.assert_array_equal(found[:8], place[:8])
    assert colors_that_come_back(*arguments, ~nothing, 2.5, DEFAULTS) is None
    assert colors_that_come_back(frames, place, layers, nothing, 2.5, DEFAULTS) is None
    for object_until, is_found in ((24, True), (40, False)):  # of columns 16 to 48
        partly = ~nothing
        partly[..., object_until:] = False
        one = colors_that_come_back(*arguments, partly, 2.5, DEFAULTS)
        assert (one is not None) == is_found
    dim = place.copy()
    dim[HERE] = 0.75 * place[HERE]
    assert what_comes_back(frames, dim).any()
    assert colors_that_come_back(frames, dim, layers, nothing, 2.5, DEFAULTS) is None


def test_leaves_are_never_twice_the_same_and_their_median_stands(place):
    rng = np.random.default_rng(3)
    frames = film([], place)
    frames[:, 12:36] = rng.integers(40, 120, frames[:, 12:36].shape)
    plate = np.median(frames, axis=0).astype(np.uint8)
    assert not what_comes_back(frames, plate).any()


@pytest.mark.parametrize(
    "shape", [(5, 6, 7), (5, 6, 7, 3), (3, 40, 50), (4, 5, 300, 3), (5, 1, 9, 3), (9, 1, 1)]
)
def test_few_and_small_pictures(shape):
    frames = np.random.default_rng(0).integers(0, 255, shape).astype(np.uint8)
    assert what_comes_back(frames, frames[0]).shape == shape[:3]


def test_it_takes_as_much_memory_as_the_pictures_at_most(place):
    pictures = film([(20, 60, looks(1, 0, 60, seed=2)[0])], place)
    tracemalloc.start()
    try:
        what_comes_back(pictures, place)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= pictures.nbytes
