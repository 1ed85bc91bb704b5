from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

from bgsub.errors import ConvergenceWarning, RankWarning
from bgsub.paper.curves import data1, tre
from bgsub.robustpca.competitors import COMPARED, METHODS, Settings
from bgsub.robustpca.gram import gram_matrix
from tests.robustpca.helpers import Columns, contaminated, frames, subspace_angle

NAMES = ["trpca", "pca", "orpca", "outlier-pursuit", "hrpca", "pcp", "robust-subspace"]
ROW_METHODS = [name for name in NAMES if not METHODS[name].needs_pixels]
PIXEL_METHODS = [name for name in NAMES if METHODS[name].needs_pixels]


def make(name, k=3, **settings):
    return METHODS[name].make(Settings(k=k, random_state=0, **settings))


def test_importing_the_registry_imports_nothing_heavy():
    heavy = "{'numpy', 'scipy'} & set(sys.modules)"
    code = f"import sys, bgsub.robustpca.competitors; assert not {heavy}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_settings_reach_the_estimators():
    assert make("orpca", lam=7.0).lam == 7.0
    assert make("pcp", lam=0.1).lam == 0.1
    assert make("outlier-pursuit", lam=0.1).lam == 0.1
    assert make("outlier-pursuit").lam == "rank"
    assert make("outlier-pursuit", support_fraction=0.6).lam == "support"
    for method in (COMPARED["trpca"], COMPARED["online"]):
        assert method.make(Settings()).reweight
        assert not method.make(Settings(support_fraction=0.6)).reweight
    assert make("hrpca", support_fraction=0.6).support_fraction == 0.6
    assert all(make(name, 4).n_components == 4 for name in NAMES)


@pytest.mark.parametrize("name", PIXEL_METHODS)
def test_progress_is_called_with_iterations_and_residual(name):
    seen = []
    fit = make(name, progress=lambda done, residual: seen.append((done, residual)))
    fit.fit(contaminated(30, 40))
    assert [done for done, _ in seen] == list(range(1, fit.n_iter_ + 1))
    assert seen[-1][1] == fit.residual_ <= fit.tol


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_contract(name, shape):
    X = contaminated(*shape)
    before = X.copy()
    fit = make(name)
    assert fit.fit(X) is fit
    np.testing.assert_array_equal(X, before)
    n, p = shape
    assert fit.center_.shape == (p,)
    assert fit.center_.dtype == fit.components_.dtype == np.float64
    assert fit.components_.shape == (3, p)
    np.testing.assert_allclose(fit.components_ @ fit.components_.T, np.eye(3), atol=1e-12)
    assert fit.support_.shape == fit.errors_.shape == fit.outlier_scores_.shape == (n,)
    assert fit.support_.dtype == bool
    assert fit.n_iter_ >= 1
    assert fit.converged_
    assert fit.error_scale_ > 0.0
    np.testing.assert_allclose(fit.errors_, fit.reconstruction_error(X), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(fit.scores_, fit.transform(X), atol=1e-7)
    np.testing.assert_allclose(
        fit.reconstruct(X), fit.center_ + fit.transform(X) @ fit.components_, atol=1e-12
    )


@pytest.mark.parametrize("name", ROW_METHODS)
def test_row_methods_need_the_gram_matrix_alone(name):
    X = frames(40, 120)
    fit = make(name).fit(X)
    gram = gram_matrix(X)
    from_gram = make(name).fit_gram(gram)
    np.testing.assert_array_equal(fit.errors_, from_gram.errors_)
    np.testing.assert_array_equal(fit.support_, from_gram.support_)
    np.testing.assert_array_equal(fit.component_weights_, from_gram.component_weights_)
    # A background is an affine combination of frames, whatever the offset.
    w, B = fit.center_weights_, fit.component_weights_
    assert w.sum() == pytest.approx(1.0, abs=1e-10)
    np.testing.assert_allclose(B.sum(axis=0), 0.0, atol=1e-9 * np.abs(B).max())
    np.testing.assert_allclose(w @ X, fit.center_, atol=1e-7)
    np.testing.assert_allclose(B.T @ X, fit.components_, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(30, 90), (90, 30)])
def test_all_types_and_readers_agree(name, shape):
    X = frames(*shape)
    fit = make(name).fit(X)
    wide = make(name).fit(X.astype(np.float64))
    read = make(name).fit(Columns(X))
    np.testing.assert_array_equal(read.errors_, fit.errors_)
    if METHODS[name].needs_pixels:  # float32
        np.testing.assert_allclose(fit.center_, wide.center_, atol=0.05)
        assert subspace_angle(fit.components_, wide.components_) < 0.02
    else:
        np.testing.assert_allclose(fit.center_, wide.center_, atol=1e-5)
        assert subspace_angle(fit.components_, wide.components_) < 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_rows_does_not_matter(name):
    X = contaminated(30, 50, seed=4)
    order = np.random.default_rng(0).permutation(30)
    fit = make(name).fit(X)
    permuted = make(name).fit(X[order])
    np.testing.assert_array_equal(permuted.support_, fit.support_[order])
    np.testing.assert_allclose(permuted.errors_, fit.errors_[order], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(permuted.center_, fit.center_, atol=1e-3)
    assert subspace_angle(permuted.components_, fit.components_) < 1e-3


def degenerate(case):
    rng = np.random.default_rng(0)
    make = {
        "constant": lambda: np.full((12, 20), 7, dtype=np.uint8),
        "zero": lambda: np.zeros((12, 20)),
        "one row": lambda: rng.integers(0, 255, (1, 20), dtype=np.uint8),
        "two states": lambda: np.repeat(
            rng.integers(0, 255, (2, 20), dtype=np.uint8), (7, 5), axis=0
        ),
        "duplicates": lambda: np.repeat(rng.normal(size=(3, 20)), 5, axis=0),
        "few rows": lambda: rng.normal(size=(3, 20)),
        "rank 1": lambda: rng.normal(size=(12, 1)) @ rng.normal(size=(1, 20)),
    }
    return make[case]()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("case", "most"),
    [
        ("constant", 0),
        ("zero", 0),
        ("one row", 0),
        ("two states", 1),
        ("duplicates", 2),
        ("few rows", 2),
        ("rank 1", 1),
    ],
)
def test_degenerate_input_gives_fewer_components_with_a_warning(name, case, most):
    X = degenerate(case)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = make(name, 4).fit(X)
    kinds = {warning.category for warning in caught}
    assert RankWarning in kinds
    assert kinds <= {RankWarning, ConvergenceWarning}
    (message,) = {str(w.message) for w in caught if w.category is RankWarning}
    rank = len(fit.components_)
    assert f"rank {rank}" in message
    assert "n_components=4" in message
    assert rank <= most
    for values in (fit.center_, fit.components_, fit.errors_, fit.scores_, fit.outlier_scores_):
        assert np.isfinite(values).all()
    assert fit.scores_.shape == (len(X), rank)
    assert np.isfinite(fit.reconstruct(X)).all()
    # A single row is not low-rank by any standard of PCP, which gives part of it to S.
    if case in ("constant", "zero") or (case == "one row" and name != "pcp"):
        np.testing.assert_allclose(fit.center_, X[0], rtol=1e-5)
        np.testing.assert_allclose(fit.errors_, 0.0, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_invalid_input_is_refused(name):
    with pytest.raises(ValueError, match="n_components=0"):
        make(name, 0).fit(np.eye(5))
    with pytest.raises(ValueError, match="finite"):
        make(name).fit(np.full((5, 6), np.nan))
    with pytest.raises(ValueError, match="shape"):
        make(name).fit(np.zeros(5))


@pytest.mark.parametrize("name", ["orpca", "outlier-pursuit", "hrpca"])
def test_a_support_below_one_half_is_refused(name):
    with pytest.raises(ValueError, match=r"support_fraction=0\.4.*from 0\.5 to 1"):
        make(name, support_fraction=0.4).fit(np.eye(6))


@pytest.mark.parametrize("name", ["orpca", "outlier-pursuit", "pcp"])
def test_a_lambda_of_zero_is_refused(name):
    with pytest.raises(ValueError, match="lam=0"):
        make(name, lam=0.0).fit(np.eye(6))


@pytest.mark.parametrize("n_features", [20, 60])
def test_with_the_true_t_trpca_has_the_smallest_tre_of_all(n_features):
    """The claim of the paper, at reduced size."""
    data = data1(120, n_features, 3, outlier_share=0.4, random_state=3)
    reached = {}
    for name in NAMES:
        takes_t = name in ("trpca", "orpca", "outlier-pursuit", "hrpca")
        fit = make(name, 3, support_fraction=0.6 if takes_t else None).fit(data.X)
        reached[name] = tre(fit.center_, fit.components_, data.X[data.labels])
    others = [reached[name] for name in NAMES if name != "trpca"]
    assert reached["trpca"] < 1e-9
    assert min(others) > 10 * max(reached["trpca"], 1e-9)
