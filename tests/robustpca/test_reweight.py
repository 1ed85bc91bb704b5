from __future__ import annotations

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.paper.curves import data1
from bgsub.robustpca.reweight import (
    leverages,
    location_and_scale,
    predictive_errors,
    reweight,
    robust_scores,
)

from .helpers import both_spaces, contaminated


def test_location_and_scale_of_a_normal_sample():
    sample = np.random.default_rng(0).normal(7.0, 2.0, 200_000)
    location, scale = location_and_scale(sample)
    assert abs(location - 7.0) < 0.03
    assert abs(scale - 2.0) < 0.03


def test_location_and_scale_do_not_see_the_worst_half():
    rng = np.random.default_rng(0)
    sample = rng.normal(7.0, 2.0, 101)
    disturbed = np.where(sample > np.median(sample), 1e6 * rng.random(101) + sample, sample)
    assert location_and_scale(disturbed) == location_and_scale(sample)
    assert location_and_scale(np.where(disturbed > 1e5, 1e60, disturbed)) == (
        location_and_scale(sample)
    )


@given(
    hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1e6, width=32)),
    st.sampled_from([0.0, 1e-3, 10.0]),
)
def test_robust_scores_are_finite_and_in_order(errors, resolution):
    scores = robust_scores(errors, resolution=resolution)
    assert np.isfinite(scores).all()
    order = np.argsort(errors, kind="stable")
    assert (np.diff(scores[order]) >= 0).all()


def test_robust_scores_of_equal_errors_are_zero():
    np.testing.assert_array_equal(robust_scores(np.zeros(5)), np.zeros(5))
    np.testing.assert_allclose(robust_scores(np.full(5, 3.0)), 0.0, atol=1e-6)


def test_resolution_is_the_smallest_scale():
    errors = np.array([1.0, 1.0, 1.0, 1.0, 2.0])
    assert robust_scores(errors)[-1] > 1e6
    assert robust_scores(errors, resolution=0.5)[-1] == pytest.approx(2.0)


def test_leverages_are_the_hat_matrix():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20, 3))
    support = np.arange(20) < 14
    scores -= scores[support].mean(axis=0)
    design = np.column_stack([np.ones(14), scores[support]])
    hat = design @ np.linalg.pinv(design)
    found = leverages(scores, support)
    np.testing.assert_allclose(found[support], hat.diagonal())
    assert not found[~support].any()
    spare = np.column_stack([scores, np.zeros(20)])
    np.testing.assert_allclose(leverages(spare, support), found)
    np.testing.assert_allclose(leverages(np.zeros((20, 0)), support)[support], 1 / 14)


def test_fitted_and_other_rows_become_comparable():
    """Without the leverage's correction the rows of a fit would look better than equal others."""
    rng = np.random.default_rng(0)
    ratios, plain = [], []
    for _ in range(20):
        X = rng.normal(size=(60, 300))
        space, _ = both_spaces(X)
        fit = space.principal(np.arange(60) < 30, 4)
        errors, root = predictive_errors(fit), np.sqrt(fit.residuals)
        ratios.append(np.median(errors[:30]) / np.median(errors[30:]))
        plain.append(np.median(root[:30]) / np.median(root[30:]))
    assert abs(np.mean(ratios) - 1) < 0.05
    assert abs(np.mean(ratios) - 1) < 0.5 * abs(np.mean(plain) - 1)


def test_reweight_ends_with_a_pca_of_its_support():
    data = data1(outlier_share=0.25, random_state=3)
    for space in both_spaces(data.X):
        start = space.principal(data.labels & (np.arange(200) < 150), 5)
        fit, rounds, converged = reweight(space, start, 5)
        assert rounds >= 1
        assert converged
        assert not fit.support[~data.labels].any()
        assert fit.support[data.labels].mean() > 0.95
        again = space.principal(fit.support, 5)
        np.testing.assert_allclose(again.residuals, fit.residuals)
        assert reweight(space, fit, 5)[0].support.sum() == fit.support.sum()


def test_reweight_keeps_as_many_rows_as_it_got():
    X = contaminated(30, 40)
    for space in both_spaces(X):
        start = space.principal(np.arange(30) >= 14, 3)
        fit, *_ = reweight(space, start, 3, cutoff=-1e9)
        assert 16 <= fit.support.sum() <= 21
        assert not fit.support[:9].any()


@pytest.mark.parametrize("base", [0.0, 0.1, 3.0])
def test_of_mostly_equal_errors_every_other_one_stands_out(base):
    errors = np.full(11, base)
    errors[7:10] += [1e-6, 5.0, 1e60]
    location, scale = location_and_scale(errors)
    assert location == pytest.approx(base)
    assert 0 < scale < 1e-12
    scores = robust_scores(errors)
    assert np.abs(scores[[0, 1, 2, 10]]).max() < 1
    assert (np.diff(scores[7:10]) > 0).all()
    assert scores[7] > 1e6
