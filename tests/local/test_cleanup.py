import numpy as np
import pytest

from bgsub.local.cleanup import (
    SCORE_LEVEL,
    SOLID,
    BlobRule,
    in_hundredths,
    mean_score,
    vote,
    without_shadows,
)
from bgsub.local.scoring import UNIT
from bgsub.local.shadows import object_evidence


def test_one_loud_pixel_is_no_majority():
    score = np.zeros((11, 11), np.uint8)
    score[5, 5] = 255
    assert not vote(mean_score(score)).any()
    score[3:8, 3:8] = UNIT
    assert vote(mean_score(score))[5, 5]


def test_the_vote_keeps_a_straight_edge():
    score = np.zeros((20, 20), np.uint8)
    score[:, 10:] = 255
    assert (vote(mean_score(score))[10] == [0] * 10 + [1] * 10).all()


def test_the_scores_cut_at_their_level_are_the_vote():
    means = np.arange(256, dtype=np.uint8)[None]
    scores = in_hundredths(means)
    assert scores.dtype == np.uint16
    assert scores[0, UNIT] == 100
    np.testing.assert_array_equal(scores >= SCORE_LEVEL, vote(means) > 0)
    assert (scores >= SCORE_LEVEL).any()
    assert (np.diff(scores.astype(int)) > 0).all()


def test_a_pixel_counts_for_one_and_a_half_thresholds_at_most():
    score = np.full((9, 9), 255, np.uint8)
    assert (in_hundredths(mean_score(score)) == 150).all()


def test_blobs_below_the_least_area_go_and_holes_count():
    mask = np.zeros((20, 30), np.uint8)
    mask[2:7, 2:7] = 1
    mask[4, 4] = 0
    mask[10:14, 20:24] = 1
    assert np.count_nonzero(BlobRule(25).apply(mask)) == 25
    assert np.count_nonzero(BlobRule(16).apply(mask)) == 41
    assert np.count_nonzero(BlobRule(16, fill=False).apply(mask)) == 40


def beside_shadow(rows, width=4, height=8):
    """A small blob of which so many rows are somebody in red, and the rest is a shadow."""
    place = np.full((40, 50, 3), 120, np.uint8)
    seen, mask = place.copy(), np.zeros((40, 50), np.uint8)
    mask[10 : 10 + height, 20 : 20 + width] = 1
    seen[mask > 0] = 84
    seen[10 : 10 + rows, 20 : 20 + width] = (30, 40, 220)
    return seen, place, mask


def kept(seen, place, mask):
    return without_shadows(mask, seen, lambda rows, columns: place[rows, columns], 3.0, 1)


def test_small_blobs_stay_where_they_are_evidence_throughout():
    shares = []
    for rows in range(9):
        seen, place, mask = beside_shadow(rows)
        shares.append(object_evidence(seen, place, mask, 3.0)[mask > 0].mean())
        expected = mask if shares[-1] >= SOLID else np.zeros_like(mask)
        np.testing.assert_array_equal(kept(seen, place, mask), expected)
    assert any(0.6 < one < SOLID for one in shares)
    assert any(SOLID <= one < 0.9 for one in shares)


@pytest.mark.parametrize(
    ("width", "height", "stays"), [(4, 8, True), (8, 4, False), (12, 4, False)]
)
def test_small_blobs_are_upright_as_people_are(width, height, stays):
    seen, place, mask = beside_shadow(height, width, height)
    assert kept(seen, place, mask).any() == stays


def test_large_blobs_keep_their_evidence_and_lose_their_shadow():
    seen, place, mask = beside_shadow(16, 14, 26)
    found = kept(seen, place, mask)
    assert found[10:26, 20:34].all()
    assert not found[30:].any()
