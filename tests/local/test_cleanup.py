from dataclasses import replace

import cv2
import numpy as np
import pytest

from bgsub.local.cleanup import (
    SCORE_LEVEL,
    SOLID,
    BlobRule,
    in_hundredths,
    mean_score,
    shadow_reach,
    solid_parts,
    solid_reach,
    vote,
    without_shadows,
)
from bgsub.local.params import DEFAULTS
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
    for foreground in (1, 255):
        open_hole = BlobRule(16, fill=False).apply(foreground * mask)
        assert np.count_nonzero(open_hole == 255) == np.count_nonzero(open_hole) == 40


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


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_is_that_of_clipped_scores_of_five_by_five_pixels(seed):
    score = np.random.default_rng(seed).integers(0, 256, (13, 17), dtype=np.uint8)
    wide = np.pad(np.minimum(score, 48).astype(float), 2, mode="reflect")
    expected = np.lib.stride_tricks.sliding_window_view(wide, (5, 5)).mean(axis=(2, 3))
    found = mean_score(score)
    assert np.abs(found - expected).max() <= 0.5
    np.testing.assert_array_equal(vote(found), found > 28)  # 0.9 of 32
    np.testing.assert_array_equal(mean_score(score, 8.0), cv2.blur(score, (5, 5)))


def test_the_reach_of_shadows_is_that_of_their_windows():
    """Texture of 21 pixels, means of 5 in 15; opening by 5, closing by 15; a step between."""
    assert shadow_reach(1, DEFAULTS) == 22
    assert shadow_reach(2, DEFAULTS) == 44
    plain = replace(DEFAULTS, texture_kept=1.1, bay_px=1)
    assert shadow_reach(1, plain) == 10
    assert shadow_reach(2, plain) == 20
    assert solid_reach(1, plain) == 9
    assert solid_reach(2, plain) == 10
    assert solid_reach(2, replace(plain, bay_px=11)) == 14
    assert solid_reach(1, replace(plain, close_px=3)) == 6
    assert solid_reach(4, replace(plain, close_px=3)) == 9


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_shadows_are_taken_out_part_by_part_as_from_all_of_the_picture(seed, step):
    """A part that ends so far from the mask, or with the picture, is enough."""
    rng = np.random.default_rng(seed)
    place = np.kron(rng.integers(60, 200, (24, 30, 3)), np.ones((4, 4, 1))).astype(np.uint8)
    seen, mask = place.copy(), np.zeros(place.shape[:2], np.uint8)
    mask[40:58, 50:76] = 1
    mask[2:9, 1:7] = 1
    seen[40:58, 50:76] = seen[40:58, 50:76] * 0.65
    seen[44:54, 54:64] = rng.integers(0, 256, 3)
    seen[2:9, 1:7] = (10, 240, 20)
    params = replace(DEFAULTS, texture_kept=1.1)

    def at_once(mask):
        return without_shadows(
            mask, seen, lambda rows, columns: place[rows, columns], 3.0, step, params
        )

    everything = at_once(mask)
    assert 0 < everything.sum() < mask.sum()
    reach = max(shadow_reach(step, params), solid_reach(step, params))
    for top, bottom, left, right in ((40, 58, 50, 76), (2, 9, 1, 7)):
        rows = slice(max(top - reach, 0) // step * step, bottom + reach)
        columns = slice(max(left - reach, 0) // step * step, right + reach)
        alone = np.zeros_like(mask)
        alone[top:bottom, left:right] = 1
        found = without_shadows(
            np.ascontiguousarray(alone[rows, columns]),
            seen[rows, columns],
            lambda r, c, down=rows.start, over=columns.start: place[
                r.start + down : r.stop + down : r.step, c.start + over : c.stop + over : c.step
            ],
            3.0,
            step,
            params,
        )
        np.testing.assert_array_equal(found, (everything * alone)[rows, columns])


def test_evidence_is_opened_by_five_and_closed_by_fifteen_pixels():
    """A line of four goes, gaps of fourteen close."""
    place = np.full((60, 90, 3), 120, np.uint8)
    seen, mask = place.copy(), np.zeros((60, 90), np.uint8)
    mask[10:50, 10:80] = 1
    seen[mask > 0] = 84
    red = (30, 40, 220)
    for left, right in ((14, 24), (38, 48)):
        seen[15:45, left:right] = red
    found = kept(seen, place, mask)
    assert found[20:40, 14:48].all()
    seen[15:45, 24:48] = 84
    seen[15:45, 70] = red  # evidence reaches two pixels to either side of it, or less
    found = kept(seen, place, mask)
    assert found[20:40, 14:24].all()
    assert not found[:, 30:66].any()


def walker(legs_shaded):
    """A body with two legs of three pixels, on ground that may be in its shadow around them."""
    evidence = np.zeros((80, 60), np.uint8)
    evidence[10:40, 20:40] = 1
    evidence[40:70, 22:25] = evidence[40:70, 34:37] = 1
    mask = evidence.copy()
    if legs_shaded:
        mask[45:70, 15:50] = 1
    return mask, evidence


@pytest.mark.parametrize("legs_shaded", [False, True])
def test_thin_parts_of_a_large_object_stay_but_in_shadow(legs_shaded):
    mask, evidence = walker(legs_shaded)
    found = solid_parts(mask, evidence, 1, DEFAULTS, 150)
    assert (found[10:40, 20:40] == 1).all()
    assert found[58:70].any() != legs_shaded
    if not legs_shaded:
        np.testing.assert_array_equal(found, evidence)


@pytest.mark.parametrize("least", [151, np.inf])
def test_thin_parts_of_what_is_small_do_not(least):
    """The body has 600 pixels, four times 150."""
    assert not solid_parts(*walker(False), 1, DEFAULTS, least)[45:].any()
