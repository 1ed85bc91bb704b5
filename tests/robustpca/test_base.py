from __future__ import annotations

import numpy as np
import pytest

from bgsub.robustpca.base import AffineEstimator, alive, form_pixels, orthonormal_rows, residuals
from bgsub.robustpca.checks import check_components
from bgsub.robustpca.gram import gram_matrix
from bgsub.robustpca.spaces import RowSpace
from bgsub.runtime.pool import ThreadPool

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


def test_pixels_are_formed_in_several_blocks():
    X = frames(10, 30000)
    gram = gram_matrix(X)
    fit = RowSpace(gram.values, 30000).principal(np.ones(10, dtype=bool), 2)
    reader = Columns(X)
    ((m, U),) = form_pixels(reader, gram.offset, [fit], ThreadPool(2))
    assert reader.widest < 30000
    np.testing.assert_allclose(m, X.mean(axis=0))
    np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-10)


def test_residuals_over_many_row_blocks():
    X = frames(24, 1 << 16)
    U = np.zeros((1, X.shape[1]))
    U[0, 3] = 1.0
    expected = (np.delete(X[:3], 3, axis=1).astype(float) ** 2).sum(axis=1)
    found = residuals(X, np.zeros(X.shape[1]), U)
    assert found.shape == (24,)
    np.testing.assert_allclose(found[:3], expected)


@pytest.mark.parametrize("value", [0, -3])
def test_too_few_components(value):
    with pytest.raises(ValueError, match=f"n_components={value}: at least 1 is needed"):
        check_components(value)


def test_orthonormal_rows():
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 3)))[0]
    rows = orthonormal_rows(np.column_stack([U * (1 + 1e-7), np.zeros(9)]))
    np.testing.assert_allclose(rows @ rows.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(rows, U.T, atol=1e-9)
    assert orthonormal_rows(np.zeros((9, 2))).shape == (0, 9)
    assert alive(np.zeros((9, 2))).shape == (9, 0)
