"""Small regions that did not become objects: which are worth following."""

import numpy as np
import pytest

from bgsub.local.cleanup import mean_score, vote
from bgsub.local.scoring import UNIT
from bgsub.local.specks import find_specks

SIZE = (60, 80)
LEAST = 40


def scores(*things):
    """Scores of squares, each (x, y, side, thresholds)."""
    drawn = np.zeros(SIZE, np.uint8)
    for x, y, side, strength in things:
        drawn[y : y + side, x : x + side] = round(strength * UNIT)
    return drawn


def found(score, mask=None, edge=0.0):
    raw = vote(mean_score(score)).copy()
    return find_specks(raw, np.zeros(SIZE, np.uint8) if mask is None else mask, score, LEAST, edge)


def test_a_speck_is_found_at_its_place_with_its_strength():
    (speck,) = found(scores((20, 30, 5, 4)))
    y, x = np.nonzero(speck.inside)
    assert abs(x.mean() + speck.x - 22) < 1
    assert abs(y.mean() + speck.y - 32) < 1
    assert 2.5 < speck.strength <= 4


@pytest.mark.parametrize(
    "thing", [(20, 30, 5, 1.5), (20, 30, 2, 7), (20, 30, 12, 4)], ids=["faint", "tiny", "large"]
)
def test_what_is_faint_or_tiny_or_large_is_none(thing):
    assert found(scores(thing)) == ()


def test_what_touches_an_object_is_part_of_it():
    mask = np.zeros(SIZE, np.uint8)
    mask[30:34, 20:22] = 255
    assert found(scores((20, 30, 5, 4)), mask) == ()


def test_of_many_only_the_strong_count():
    weak = [(x, y, 5, 2.5) for x in range(2, 78, 9) for y in range(2, 56, 9)]
    assert len(found(scores(*weak[:20]))) == 20
    assert found(scores(*weak)) == ()
    (strong,) = found(scores(*weak[1:], (*weak[0][:2], 5, 7)))
    assert strong.strength > 3


def test_what_is_not_of_its_strength_is_no_part_of_a_speck():
    score = scores((20, 30, 6, 2), (20, 30, 3, 7), (20, 33, 3, 7))
    (wide,), (narrow,) = (found(score, edge=edge) for edge in (0.0, 0.6))
    faint = (
        score[wide.y : wide.y + len(wide.inside), wide.x :][:, : wide.inside.shape[1]] < 3 * UNIT
    )
    assert np.count_nonzero(wide.inside[faint])
    assert not np.count_nonzero(narrow.inside[faint])
    assert np.array_equal(narrow.inside[~faint], wide.inside[~faint])
