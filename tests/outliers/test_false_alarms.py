from __future__ import annotations

import numpy as np
import pytest

from bgsub.outliers.false_alarms import (
    DEFAULT_CUTOFF,
    NOISE_VARIATION,
    clean_level,
    cutoff_for,
    frame_scores,
    score_scale,
)


@pytest.mark.parametrize("rate", [1 / 20, 1 / 100, 1 / 1000])
def test_a_rate_is_the_share_of_clean_frames_above_its_cutoff(rate: float) -> None:
    values = np.random.default_rng(0).gumbel(3.0, 0.5, 200_000)
    scores = clean_level(values, 1e-3).scores(values)
    assert float((scores > cutoff_for(rate)).mean()) == pytest.approx(rate, rel=0.25)


def test_the_default_is_one_in_a_thousand() -> None:
    assert cutoff_for(1 / 1000) == pytest.approx(DEFAULT_CUTOFF)
    assert cutoff_for(0.5) == 0.0
    assert np.isfinite(cutoff_for(1e-300))


def test_visitors_in_a_fifth_of_the_frames_do_not_move_the_level() -> None:
    values = np.random.default_rng(1).gumbel(3.0, 0.5, 2000)
    clean = clean_level(values, 1e-3)
    values[:400] = 100.0
    level = clean_level(values, 1e-3)
    assert level.location == pytest.approx(clean.location, rel=0.2)
    assert level.scale < 3.0 * clean.scale


def test_the_longer_of_two_tails_is_believed() -> None:
    """Clean frames that are calmer or wilder than Gumbel's law on one side of their median."""
    values = np.random.default_rng(2).gumbel(3.0, 0.5, 20_000)
    middle, usual = np.median(values), clean_level(values, 1e-3).scale
    for side in (values < middle, values > middle):
        wide, narrow = (
            np.where(side, middle + factor * (values - middle), values) for factor in (2, 0.5)
        )
        assert clean_level(wide, 1e-3).scale > 1.2 * usual
        assert clean_level(narrow, 1e-3).scale < 1.1 * usual


def test_no_camera_is_steadier_than_the_floor() -> None:
    assert clean_level(np.full(10, 2.0), 0.7).scale == 0.7


def test_scale_of_restless_scenes_is_their_own() -> None:
    assert score_scale(400.0, 40.0, 20_000) == 40.0


def test_scale_of_still_scenes_has_a_floor() -> None:
    assert score_scale(400.0, 1.0, 20_000) == pytest.approx(NOISE_VARIATION * 400.0)


def test_scale_of_scenes_without_noise_is_that_of_rounding() -> None:
    # One grey level of rounding has a variance of 1/12, and 1200 pixels have 100.
    assert score_scale(0.0, 0.0, 1200) == pytest.approx(NOISE_VARIATION * 10.0)


def test_camera_that_settles_is_no_outlier_and_a_visitor_is() -> None:
    # 19200 pixels with noise of 1.2 grey levels, known to 1 %: half again as much is no visitor.
    location = 1.2 * np.sqrt(19_200)
    visitor = np.sqrt(location**2 + 100 * 60**2)  # 100 pixels differ by 60 grey levels
    scores = frame_scores(np.array([location, 1.5 * location, visitor]), location, 1.5, 19_200)
    assert scores[0] == 0.0
    assert scores[1] < DEFAULT_CUTOFF < scores[2]
