from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.params import DEFAULTS
from bgsub.local.scoring import UNIT
from bgsub.local.trust import marked_for_certain, seen_for_certain


@pytest.mark.parametrize(
    ("contrast", "threshold", "trust"),
    [(80, 10, 1.0), (40, 10, 1.0), (20, 10, 0.5), (0, 10, 1.0), (0, 50, 0.5), (100, 100, 0.25)],
)
def test_what_moves_is_seen_for_certain_from_four_thresholds_on(contrast, threshold, trust):
    assert seen_for_certain(contrast, threshold) == pytest.approx(trust)


def test_clear_marks_are_certain_and_faint_ones_are_not():
    mask = np.zeros((20, 30), np.uint8)
    mask[5:15, 5:20] = 255
    found = [
        marked_for_certain(mask, np.full(mask.shape, int(level * UNIT), np.uint8))
        for level in (0.9, 1.2, 1.5)
    ]
    assert found == pytest.approx([0.0, 0.5, 1.0], abs=0.05)
    assert marked_for_certain(np.zeros_like(mask), np.zeros_like(mask)) == 1.0


def test_the_rim_of_a_mask_does_not_make_it_doubtful():
    mean = np.zeros((20, 30), np.uint8)
    mean[5:15, 5:20] = int(0.95 * UNIT)
    mean[7:13, 7:18] = int(1.5 * UNIT)
    assert marked_for_certain((mean > 0) * np.uint8(255), mean) == pytest.approx(1, abs=0.02)


def test_a_frame_in_strange_light_or_noise_is_trusted_less(passing):
    decided = [passing.model.look(frame, with_scores=False) for frame in passing.frames]
    for frame, one in zip(passing.frames, decided, strict=True):
        np.testing.assert_array_equal(one.mask, passing.model.mask(frame))
        assert one.scores is None
        assert 0 <= one.trust <= 1
    strange = np.random.default_rng(0).integers(0, 256, passing.frames[0].shape, dtype=np.uint8)
    assert passing.model.look(strange).trust < 0.5
    assert np.median([one.trust for one in decided]) > 0.8
    both = passing.model.look(passing.frames[-1])
    np.testing.assert_array_equal(both.scores, passing.model.scores(passing.frames[-1]))


@pytest.mark.parametrize("seed", range(3))
def test_a_mark_is_as_clear_as_its_third_quartile(seed):
    """From 0.9 thresholds, nothing, to 1.5, certainty."""
    rng = np.random.default_rng(seed)
    mean = rng.integers(20, 60, (30, 40), dtype=np.uint8)
    mask = np.where(rng.random(mean.shape) < 0.5, 255, 0).astype(np.uint8)
    values = np.sort(mean[mask > 0])
    quartile = values[int(np.ceil(0.75 * values.size)) - 1] / 32
    expected = min(max((quartile - 0.9) / 0.6, 0), 1)
    assert marked_for_certain(mask, mean) == pytest.approx(expected)


def test_a_level_as_high_as_can_be_is_all_or_nothing():
    strict = replace(DEFAULTS, vote_level=1.0, vote_most=1.0)
    mask = np.full((4, 4), 255, np.uint8)
    for level, trust in ((UNIT, 0), (UNIT + 1, 1)):
        assert marked_for_certain(mask, np.full((4, 4), level, np.uint8), strict) == trust


@pytest.mark.parametrize(("threshold", "trust"), [(0.0, 1.0), (25.0, 1.0), (50.0, 0.5)])
def test_where_nothing_moves_a_threshold_of_25_hides_nobody(threshold, trust):
    assert seen_for_certain(0.0, threshold) == pytest.approx(trust)
