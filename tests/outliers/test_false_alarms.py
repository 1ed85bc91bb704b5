from __future__ import annotations

import numpy as np
import pytest

from bgsub.errors import UsageError
from bgsub.outliers.false_alarms import DEFAULT_CUTOFF, clean_level, cutoff_for


@pytest.mark.parametrize("rate", [1 / 20, 1 / 100, 1 / 1000])
def test_a_rate_is_the_share_of_clean_frames_above_its_cutoff(rate: float) -> None:
    values = np.random.default_rng(0).gumbel(3.0, 0.5, 200_000)
    scores = clean_level(values, 1e-3).scores(values)
    assert float((scores > cutoff_for(rate)).mean()) == pytest.approx(rate, rel=0.25)


def test_the_default_is_one_in_a_thousand() -> None:
    assert cutoff_for(1 / 1000) == pytest.approx(DEFAULT_CUTOFF)
    assert cutoff_for(0.5) == 0.0
    assert np.isfinite(cutoff_for(1e-300))


@pytest.mark.parametrize("rate", [0.0, -0.1, 0.51, float("nan")])
def test_rates_that_are_none(rate: float) -> None:
    with pytest.raises(UsageError, match="1/1000"):
        cutoff_for(rate)


def test_visitors_in_a_fifth_of_the_frames_do_not_move_the_level() -> None:
    values = np.random.default_rng(1).gumbel(3.0, 0.5, 2000)
    clean = clean_level(values, 1e-3)
    values[:400] = 100.0
    level = clean_level(values, 1e-3)
    assert level.location == pytest.approx(clean.location, rel=0.2)
    assert level.scale < 3.0 * clean.scale


def test_no_camera_is_steadier_than_the_floor() -> None:
    assert clean_level(np.full(10, 2.0), 0.7).scale == 0.7
