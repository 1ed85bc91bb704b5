"""Methods as the experiments run them, and their scores."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.paper.curves import VARIANTS, judge, mean_and_deviation
from bgsub.paper.synthetic import data1
from bgsub.robustpca.competitors import METHODS


def test_all_row_methods_take_part_with_true_t_and_half():
    told = {(v.method, v.t) for v in VARIANTS}
    for name in ("trpca", "orpca", "outlier-pursuit", "hrpca"):
        assert {(name, "true"), (name, "half")} <= told
    assert ("pca", "") in told
    assert all(not METHODS[v.method].needs_pixels for v in VARIANTS)
    assert len({v.name for v in VARIANTS}) == len(VARIANTS)


def test_a_score_is_that_of_the_true_observations():
    data = data1(60, 20, 3, outlier_share=0.3, random_state=0)
    scores = {v.name: judge(v, data.X, data.labels, 3, 0) for v in VARIANTS}
    assert scores["TRPCA"].tre < 1e-9 < scores["PCA"].tre
    assert scores["TRPCA"].seconds > 0


def test_the_deviation_is_that_of_a_sample():
    assert mean_and_deviation([1.0, 3.0]) == (2.0, pytest.approx(np.sqrt(2.0)))
    assert mean_and_deviation([5.0]) == (5.0, 0.0)


def test_hrpca_of_the_paper_goes_on_until_no_row_can_be_removed():
    data = data1(60, 20, 3, outlier_share=0.1, random_state=0)
    made = {v.name: v.make(3, 0.9, 0).fit(data.X) for v in VARIANTS if v.method == "hrpca"}
    assert made["HRPCA"].n_iter_ == 12
    assert made["HRPCA, T = n"].n_iter_ == 60 - 3 - 1
