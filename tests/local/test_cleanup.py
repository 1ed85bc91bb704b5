import numpy as np
import pytest

from bgsub.local.cleanup import (
    SCORE_LEVEL,
    BlobRule,
    _thinned,
    in_hundredths,
    mean_score,
    vote,
)
from bgsub.local.scoring import UNIT


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


@pytest.mark.parametrize("shape", [(12, 18), (13, 18, 3), (12, 18, 3), (1, 2, 3)])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_thinned_pictures_have_every_so_many_pixels(shape, step):
    picture = np.random.default_rng(0).integers(
        0, 256, (*np.add(shape[:2], 4), *shape[2:]), np.uint8
    )
    part = picture[2 : 2 + shape[0], 1 : 1 + shape[1]]
    np.testing.assert_array_equal(_thinned(part, step), part[::step, ::step])
