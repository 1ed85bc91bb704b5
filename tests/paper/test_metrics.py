from __future__ import annotations

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.paper.curves import auc, average_precision, tre
from bgsub.robustpca.descent import random_orthonormal


def pca(T, k):
    m = T.mean(axis=0)
    return m, np.linalg.svd(T - m, full_matrices=False)[2][:k]


def direct_errors(X, m, U):
    return np.array([((x - m - U.T @ (U @ (x - m))) ** 2).sum() for x in X])


@pytest.mark.parametrize(("n", "p"), [(40, 12), (12, 40)])
def test_tre_is_zero_at_the_pca_and_positive_elsewhere(n, p):
    rng = np.random.default_rng(0)
    T = 50 + rng.normal(size=(n, p)) * np.linspace(1, 4, p)
    m, U = pca(T, 3)
    assert abs(tre(m, U, T)) < 1e-12
    other = random_orthonormal(p, 3, rng).T
    expected = (direct_errors(T, m + 1, other).sum() - direct_errors(T, m, U).sum()) / n
    assert expected > 0.1
    assert tre(m + 1, other, T) == pytest.approx(expected)


def test_tre_of_bytes_and_of_no_components():
    T = np.random.default_rng(0).integers(0, 256, (10, 6)).astype(np.uint8)
    assert abs(tre(T.mean(axis=0), np.zeros((0, 6)), T)) < 1e-9
    assert tre(np.zeros(6), np.zeros((0, 6)), T) == pytest.approx((T.mean(axis=0) ** 2).sum())


@given(
    hnp.arrays(np.float64, 12, elements=st.integers(0, 6)),
    hnp.arrays(bool, 12).filter(lambda a: 0 < a.sum() < 12),
)
def test_auc_and_average_precision_count_pairs_and_cuts(errors, outliers):
    bad, good = errors[outliers], errors[~outliers]
    pairs = (bad[:, None] > good) + 0.5 * (bad[:, None] == good)
    assert auc(errors, outliers) == pytest.approx(pairs.mean())
    area, recall = 0.0, 0.0
    for cut in np.unique(errors)[::-1]:
        taken = errors >= cut
        reached = (taken & outliers).sum() / outliers.sum()
        area += (reached - recall) * (taken & outliers).sum() / taken.sum()
        recall = reached
    assert average_precision(errors, outliers) == pytest.approx(area)
    assert auc(-errors, outliers) == pytest.approx(1 - auc(errors, outliers))


def test_perfect_and_worthless_scores():
    outliers = np.arange(10) >= 7
    assert auc(np.arange(10), outliers) == average_precision(np.arange(10), outliers) == 1.0
    assert auc(np.ones(10), outliers) == 0.5
    assert average_precision(np.ones(10), outliers) == pytest.approx(0.3)
