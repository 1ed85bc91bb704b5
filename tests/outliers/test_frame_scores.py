from __future__ import annotations

import numpy as np
import pytest

from bgsub.outliers.false_alarms import DEFAULT_CUTOFF
from bgsub.outliers.frame_scores import (
    NOISE_VARIATION,
    frame_scores,
    score_scale,
)


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
