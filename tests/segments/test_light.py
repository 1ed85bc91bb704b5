"""Gain and offset between two pictures of a scene."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.segments.changes import fit_light


def test_light_is_fitted_although_a_part_is_another_thing():
    rng = np.random.default_rng(2)
    before = rng.uniform(20, 120, 2000).astype(np.float32)
    after = (1.7 * before + 11).astype(np.float32)
    after[:500] = 5
    gain, offset = fit_light(before, after)
    assert gain == pytest.approx(1.7, abs=0.01)
    assert offset == pytest.approx(11, abs=0.5)
