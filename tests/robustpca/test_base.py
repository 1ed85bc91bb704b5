from __future__ import annotations

import numpy as np
import pytest

from bgsub.robustpca.base import AffineEstimator
from bgsub.robustpca.gram import gram_matrix

from .helpers import Columns, contaminated, frames


class ClassicalPCA(AffineEstimator):
    """The least that a subclass needs: PCA of all rows."""

    def __init__(self, n_components):
        self.n_components = n_components

    def _fit_space(self, space):
        return [space.principal(np.ones(space.n_samples, dtype=bool), self.n_components)]


@pytest.mark.parametrize("shape", [(30, 70), (70, 30)])
def test_a_subclass_gets_all_attributes_and_maps(shape):
    X = contaminated(*shape)
    pca = ClassicalPCA(4)
    assert pca.fit(X) is pca
    mean = X.mean(axis=0)
    _, _, Vt = np.linalg.svd(X - mean, full_matrices=False)
    np.testing.assert_allclose(pca.center_, mean)
    np.testing.assert_allclose(np.abs(pca.components_ @ Vt[:4].T), np.eye(4), atol=1e-8)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(4), atol=1e-12)
    scores = (X - mean) @ pca.components_.T
    np.testing.assert_allclose(pca.transform(X), scores, atol=1e-9)
    np.testing.assert_allclose(pca.scores_, scores, atol=1e-9)
    rebuilt = mean + scores @ pca.components_
    np.testing.assert_allclose(pca.inverse_transform(scores), rebuilt)
    np.testing.assert_allclose(pca.reconstruct(X), rebuilt)
    errors = ((X - rebuilt) ** 2).sum(axis=1)
    np.testing.assert_allclose(pca.reconstruction_error(X), errors)
    np.testing.assert_allclose(pca.errors_, errors, rtol=1e-9)


def test_weights_of_the_rows_make_centre_and_components():
    X = frames(20, 60)
    pca = ClassicalPCA(3).fit(X)
    centred = X - gram_matrix(X).offset.astype(float)
    m = gram_matrix(X).offset + centred.T @ pca.center_weights_
    np.testing.assert_allclose(m, pca.center_)
    np.testing.assert_allclose(centred.T @ pca.component_weights_, pca.components_.T, atol=1e-10)


def test_fit_gram_sets_everything_but_pixels():
    X = frames(20, 60)
    pca, alone = ClassicalPCA(3).fit(X), ClassicalPCA(3).fit_gram(gram_matrix(X))
    np.testing.assert_array_equal(alone.errors_, pca.errors_)
    np.testing.assert_array_equal(alone.component_weights_, pca.component_weights_)
    assert not hasattr(alone, "center_")


@pytest.mark.parametrize("shape", [(20, 12000), (60, 20)])
def test_a_reader_gives_what_the_array_gives(shape):
    X = frames(*shape)
    a, b = ClassicalPCA(3).fit(X), ClassicalPCA(3).fit(Columns(X))
    np.testing.assert_array_equal(a.center_, b.center_)
    np.testing.assert_array_equal(a.components_, b.components_)
