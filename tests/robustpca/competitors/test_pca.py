from __future__ import annotations

import numpy as np
import pytest

from bgsub.robustpca.competitors.pca import PCA
from tests.robustpca.helpers import contaminated, frames, subspace_angle


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_pca_is_the_svd(shape):
    X = contaminated(*shape)
    fit = PCA(4).fit(X)
    mean = X.mean(axis=0)
    _, singular, Vt = np.linalg.svd(X - mean, full_matrices=False)
    np.testing.assert_allclose(fit.center_, mean, atol=1e-12)
    np.testing.assert_allclose(np.abs(fit.components_ @ Vt[:4].T), np.eye(4), atol=1e-9)
    np.testing.assert_allclose((fit.scores_**2).sum(axis=0), singular[:4] ** 2, rtol=1e-9)
    assert fit.support_.all()
    assert fit.converged_


def test_more_components_begin_with_the_fewer():
    X = frames(40, 90)
    np.testing.assert_allclose(PCA(5).fit(X).components_[:2], PCA(2).fit(X).components_, atol=1e-9)


def test_signs_and_order_are_fixed():
    X = contaminated(30, 50)
    first, second = PCA(3).fit(X), PCA(3).fit(X[::-1])
    np.testing.assert_allclose(first.components_, second.components_, atol=1e-9)
    variances = first.scores_.var(axis=0)
    assert (np.diff(variances) < 0).all()
    assert (np.take_along_axis(first.scores_, np.abs(first.scores_).argmax(0)[None], 0) > 0).all()


def test_pca_is_not_robust():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 60))
    U = np.linalg.svd(X)[2][:2]
    X[0] += 1000 * rng.normal(size=60)
    assert subspace_angle(PCA(2).fit(X).components_, U) > 0.5
