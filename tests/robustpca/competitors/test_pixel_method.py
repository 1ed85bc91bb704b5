"""What the methods with outlying entries share, by one that takes the mean and given axes."""

import warnings

import numpy as np
import pytest

from bgsub.errors import RankWarning
from bgsub.robustpca.base import residuals
from bgsub.robustpca.competitors.pixel_method import PixelMethod, column_blocks
from bgsub.robustpca.gram import ArrayColumns, gram_matrix
from bgsub.robustpca.reweight import predictive_errors, robust_scores
from bgsub.robustpca.spaces import Fit


class Given(PixelMethod):
    """The mean of the rows, and components that are given."""

    def __init__(self, n_components=2, *, axes=None, tol=1e-3, max_iter=5):
        self.n_components = n_components
        self.axes = axes
        self.tol = tol
        self.max_iter = max_iter

    def _fit_pixels(self, reader, dtype):
        self.read_as = dtype
        rows = reader.columns(0, reader.shape[1]).astype(dtype)
        return rows.mean(axis=0), np.asarray(self.axes, dtype=dtype)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 700)), rng.normal(size=(2, 700))


@pytest.mark.parametrize(("n", "p"), [(1, 10), (600, 5000), (100_000, 300), (7, 64)])
def test_blocks_cover_all_columns_once_and_stay_small(n, p):
    parts = list(column_blocks(n, p))
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert (parts[0].start, parts[-1].stop) == (0, p)
    assert max(part.stop - part.start for part in parts) <= max(64, 2**19 // n)


def test_errors_are_those_of_the_projection_on_the_span(data):
    X, axes = data
    fit = Given(axes=axes).fit(X)
    np.testing.assert_allclose(fit.components_ @ fit.components_.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(fit.errors_, residuals(X, fit.center_, fit.components_), rtol=1e-9)
    np.testing.assert_allclose(fit.scores_, fit.transform(X), atol=1e-10)
    # The span is that of what was given, in its order: the first one keeps its direction.
    assert abs(fit.components_[0] @ axes[0]) == pytest.approx(np.linalg.norm(axes[0]))
    assert fit.support_.all()


def test_outlier_scores_are_of_errors_as_if_a_row_had_been_left_out(data):
    X, axes = data
    fit = Given(axes=axes).fit(X)
    whole = Fit(np.zeros(1), np.zeros((1, 2)), fit.scores_, fit.errors_, fit.support_)
    np.testing.assert_allclose(fit.outlier_scores_, robust_scores(predictive_errors(whole)))


@pytest.mark.parametrize(
    ("kind", "inside"), [("uint8", "float32"), ("float32", "float32"), ("float64", "float64")]
)
def test_the_precision_is_that_of_the_data(kind, inside, data):
    X = np.clip(100 + 20 * data[0], 0, 255).astype(kind)
    before = X.copy()
    fit = Given(axes=data[1]).fit(X)
    assert fit.read_as == np.dtype(inside)
    assert fit.center_.dtype == fit.components_.dtype == np.float64
    np.testing.assert_array_equal(X, before)
    by_reader = Given(axes=data[1]).fit(ArrayColumns(X))
    np.testing.assert_array_equal(by_reader.errors_, fit.errors_)


def test_fewer_components_than_asked_for_are_said(data):
    X, axes = data
    with pytest.warns(RankWarning, match="rank 1"):
        fit = Given(axes=axes[:1]).fit(X)
    assert fit.components_.shape == (1, 700)
    assert fit.scores_.shape == (20, 1)
    assert fit.n_iter_ == 1


def test_a_gram_matrix_does_not_do(data):
    with pytest.raises(TypeError, match="Given needs the pixels: use fit"):
        Given().fit_gram(gram_matrix(data[0]))


@pytest.mark.parametrize("wrong", [{"tol": -1.0}, {"max_iter": 0}, {"n_components": 0}])
def test_parameters_are_checked_before_anything_is_read(wrong, data):
    with warnings.catch_warnings(), pytest.raises(ValueError, match=next(iter(wrong))):
        Given(axes=data[1]).set_params(**wrong).fit(data[0])
