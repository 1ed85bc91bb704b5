"""What comes back to a place again and again, against what was chosen in its stead."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from bgsub.local.layers import Layers
from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS
from bgsub.local.returning import came_and_left, comes_back, is_around
from bgsub.runtime.threads import Workers

HEIGHT, WIDTH, COUNT = 48, 64, 120
HERE = np.s_[12:36, 16:48]
INSIDE = np.s_[18:30, 22:42]
CALM, LEAVES = 1.0, 12.0
"""Grey levels by which pixels change from frame to frame."""


def looks(number, low, high, seed=0):
    """So many textured pictures."""
    rng = np.random.default_rng(seed)
    small = rng.integers(low, high, (number, HEIGHT // 4, WIDTH // 4, 3))
    return small.repeat(4, axis=1).repeat(4, axis=2).astype(np.uint8)


def film(place, visits, noise):
    """A place before which visitors stand: first frame, end, and look."""
    frames = place + np.random.default_rng(1).normal(0, noise, (COUNT, *place.shape))
    for start, stop, look in visits:
        frames[(slice(start, stop), *HERE)] = look[HERE]
    return np.clip(frames, 0, 255).astype(np.uint8)


@pytest.fixture
def place():
    return looks(1, 60, 200)[0]


def put(picture, other):
    """A picture that is another one where somebody stands."""
    found = picture.copy()
    found[HERE] = other[HERE]
    return found


def test_leaves_that_come_back_overrule_who_stood_there_once(place):
    visitors = looks(4, 0, 255, seed=2)
    visits = [(30 * i + 8, 30 * i + 20, look) for i, look in enumerate(visitors)]
    marked = comes_back(film(place, visits, LEAVES), place, put(place, visitors[1]))
    assert marked.shape == (HEIGHT, WIDTH)
    assert marked[INSIDE].mean() > 0.95
    assert not marked[:8].any()


def test_who_stays_and_comes_back_once_overrules_no_calm_place(place):
    somebody = looks(1, 0, 60, seed=2)[0]
    pictures = film(place, [(5, 60, somebody), (75, 115, somebody)], CALM)
    assert not comes_back(pictures, put(place, somebody), place).any()


def test_what_is_seen_as_often_overrules_nothing(place):
    """Two states of a place by turns."""
    other = looks(1, 60, 200, seed=3)[0]
    visits = [(start, start + 10, other) for start in range(0, COUNT, 20)]
    assert not comes_back(film(place, visits, CALM), place, put(place, other)).any()


def test_what_is_far_away_changes_nothing(place):
    visitors = looks(4, 0, 255, seed=2)
    visits = [(30 * i + 8, 30 * i + 20, look) for i, look in enumerate(visitors)]
    given = film(place, visits, LEAVES), place, put(place, visitors[1])
    wide = [np.pad(one, [(0, 0)] * (one.ndim - 3) + [(24, 17), (40, 9), (0, 0)]) for one in given]
    marked = comes_back(*wide)[24:-17, 40:-9]
    np.testing.assert_array_equal(marked, comes_back(*given))


def test_pictures_need_not_be_made_of_whole_squares(place):
    visitors = looks(4, 0, 255, seed=2)
    visits = [(30 * i + 8, 30 * i + 20, look) for i, look in enumerate(visitors)]
    given = film(place, visits, LEAVES), place, put(place, visitors[1])
    marked = comes_back(*(one[..., :35, :47, :] for one in given))
    assert marked.shape == (35, 47)
    assert marked[INSIDE].mean() > 0.95


def test_where_nothing_was_chosen_nothing_is_overruled(place):
    assert not comes_back(film(place, [], LEAVES), place, place).any()


def test_pictures_smaller_than_a_block_have_no_looks():
    pictures = np.zeros((5, 6, 6, 3), np.uint8)
    assert not comes_back(pictures, pictures[0], pictures[0] + 9).any()


def swaying_leaves(count, height, width):
    """Blurred texture that smooth fields push to and fro."""
    rng = np.random.default_rng(0)
    texture = rng.integers(20, 230, (height + 16, width + 16, 3)).astype(np.uint8)
    texture = cv2.normalize(cv2.GaussianBlur(texture, (0, 0), 1.2), None, 10, 240, cv2.NORM_MINMAX)
    down, right = np.indices((height, width), dtype=np.float32) + 8
    frames = []
    for _ in range(count):
        push = cv2.GaussianBlur(rng.normal(0, 1, (height, width, 2)), (0, 0), 6)
        push = (3 * push / np.abs(push).max()).astype(np.float32)
        shifted = right + push[..., 0], down + push[..., 1]
        frames.append(cv2.remap(texture, *shifted, cv2.INTER_LINEAR))
    return np.stack(frames)


def test_leaves_before_which_many_stand_are_no_worse_than_their_median():
    """They were: of most outlines some edges were leaves', and visitors became the place."""
    empty = swaying_leaves(80, 80, 120)
    rng, pictures = np.random.default_rng(0), empty.copy()
    for top in range(0, 80, 16):
        for left in range(0, 120, 15):
            for _ in range(3):
                start, frames = rng.integers(0, 80), rng.integers(3, 15)
                look = rng.integers(0, 255, 3) + rng.normal(0, 12, (16, 15, 3))
                part = np.s_[start : start + frames, top : top + 16, left : left + 15]
                pictures[part] = np.clip(look, 0, 255)
    with Workers(1) as workers:
        model = LocalModel.fit(pictures.copy(), workers=workers)
    place, usual = np.median(empty, axis=0), np.median(pictures, axis=0)
    found = model.scenes[0].colors[0]
    assert np.abs(found - place).mean() < np.abs(usual - place).mean()


def layers_of(shown, colors):
    """Layers of a film that shows one of these colours in each frame, the same at all pixels."""
    labels = np.array(shown, np.uint8)[:, None, None].repeat(20, axis=1).repeat(20, axis=2)
    wide = np.zeros((6, 20, 20, 3), np.uint8)
    wide[: len(colors)] = np.array(colors, np.uint8)[:, None, None, None]
    counts = np.stack([np.count_nonzero(labels == k, axis=0) for k in range(6)]).astype(np.uint8)
    return Layers(wide, counts, np.zeros_like(counts), np.ones_like(counts), labels)


PLACE, VISITOR, LEAF = 0, 1, 2


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ([PLACE] * 12 + [VISITOR] * 10 + [PLACE] * 8, True),
        ([PLACE] * 12 + [VISITOR] * 5 + [LEAF] + [VISITOR] * 4 + [PLACE] * 8, True),
        ([PLACE] * 20 + [VISITOR] * 10, False),  # it may have been moved there
        ([VISITOR] * 10 + [PLACE] * 20, False),
        ([PLACE] + [VISITOR] * 10 + [PLACE] * 19, False),  # noise, or who passed
        ([VISITOR] * 5 + [PLACE] * 20 + [VISITOR] * 5, False),  # who stood there has come back
    ],
)
def test_what_is_seen_before_and_after_a_visit_stands(shown, expected):
    layers = layers_of(shown, [100, 30, 220])
    chosen = layers.colors[0].copy()
    chosen[5:15, 5:15] = 30
    marked = is_around(layers, chosen)
    assert marked[5:15, 5:15].all() == expected
    assert marked.any() == expected
    assert not marked[:5].any()
    asked = np.zeros((3, 20, 20), bool)
    asked[PLACE], asked[VISITOR, 5:15] = True, True
    found = came_and_left(layers, asked)
    np.testing.assert_array_equal(found[VISITOR], asked[VISITOR] & expected)
    assert not found[[PLACE, LEAF]].any()


def test_leaves_stand_where_a_part_of_them_does():
    shown = [PLACE] * 10 + [LEAF] * 4 + [VISITOR] * 8 + [PLACE] * 10
    layers = layers_of(shown, [100, 30, 220])
    layers.labels[:10, :, ::3] = LEAF  # a third shows its usual colours only later
    marked = is_around(layers, np.full_like(layers.colors[0], 30))
    assert marked.all()
    layers.labels[:10, :, 1::3] = LEAF
    assert is_around(layers, np.full_like(layers.colors[0], 30))[:, 4:-4].all()
    layers.labels[:10, ::2] = LEAF
    assert not is_around(layers, np.full_like(layers.colors[0], 30)).all()


@pytest.mark.parametrize(("before", "stands"), [(3, False), (4, True)])
def test_before_and_after_are_a_fiftieth_of_a_long_film(before, stands):
    layers = layers_of([PLACE] * before + [VISITOR] * 50 + [PLACE] * (150 - before), [100, 30])
    assert is_around(layers, np.full_like(layers.colors[0], 30)).all() == stands


def test_nothing_chosen_is_nothing_overruled():
    layers = layers_of([PLACE] * 10, [100])
    assert not is_around(layers, layers.colors[0]).any()


def test_specks_are_not_overruled():
    layers = layers_of([PLACE] * 12 + [VISITOR] * 10 + [PLACE] * 8, [100, 30])
    chosen = layers.colors[0].copy()
    chosen[5:7, 5] = 30
    assert not is_around(layers, chosen, replace(DEFAULTS, least_area=0.01)).any()
