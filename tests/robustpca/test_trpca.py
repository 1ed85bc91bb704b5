from __future__ import annotations

import functools
import tracemalloc
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bgsub import TRPCA
from bgsub.errors import ConvergenceWarning, PrecisionWarning, RankWarning
from bgsub.paper.curves import data1, data2, tre
from bgsub.robustpca.descent import algorithm1, random_orthonormal
from bgsub.robustpca.gram import gram_matrix
from bgsub.robustpca.spaces import residuals
from tests.robustpca.helpers import subspace_angle

from .helpers import Columns, contaminated, frames

SHAPES = [(40, 90), (90, 40)]


def check_fit(fit, X, k):
    """What must hold of every fit, whatever the data."""
    n, p = X.shape
    rank = len(fit.components_)
    assert rank <= k
    assert (fit.center_.shape, fit.components_.shape) == ((p,), (rank, p))
    assert (fit.scores_.shape, fit.errors_.shape) == ((n, rank), (n,))
    assert (fit.support_.shape, fit.support_.dtype) == ((n,), bool)
    assert (fit.outlier_scores_.shape, fit.objectives_.shape) == ((n,), (fit.n_init,))
    learned = {name: value for name, value in vars(fit).items() if name.endswith("_")}
    for name, value in learned.items():
        assert np.isfinite(value).all(), name
    for components in (fit.components_, fit.raw_components_):
        np.testing.assert_allclose(
            components @ components.T, np.eye(len(components)), rtol=0, atol=1e-12
        )
    scale = ((X - fit.center_) ** 2).sum(axis=1).max()
    direct = fit.reconstruction_error(X)
    np.testing.assert_allclose(fit.errors_, direct, rtol=1e-6, atol=1e-12 * scale)
    np.testing.assert_allclose(fit.scores_, fit.transform(X), rtol=0, atol=1e-6 * np.sqrt(scale))
    assert fit.objective_ == fit.objectives_.min()
    assert fit.raw_support_.sum() == (n + 1) // 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
@pytest.mark.parametrize("solver", ["gram", "reference"])
@pytest.mark.parametrize("reweight", [True, False])
def test_every_type_solver_and_road(shape, dtype, solver, reweight):
    X = frames(*shape).astype(dtype)
    before = X.copy()
    fit = TRPCA(3, solver=solver, reweight=reweight, n_init=3, random_state=1)
    assert fit.fit(X) is fit
    np.testing.assert_array_equal(X, before)
    check_fit(fit, X, 3)
    n = len(X)
    assert not fit.support_[-(n // 5) :].any()
    assert fit.support_[: -(n // 5)].mean() > (0.9 if reweight else 0.5)
    t = (n + 1) // 2
    raw = np.sort(residuals(X, fit.raw_center_, fit.raw_components_))[:t].mean()
    np.testing.assert_allclose(fit.objective_, raw, rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_solvers_agree_where_restarts_do(shape):
    X = contaminated(*shape)
    fast = TRPCA(3, random_state=1, n_init=20).fit(X)
    slow = TRPCA(3, random_state=2, n_init=20, solver="reference").fit(X)
    np.testing.assert_array_equal(fast.support_, slow.support_)
    np.testing.assert_allclose(fast.center_, slow.center_, atol=1e-8)
    np.testing.assert_allclose(fast.components_, slow.components_, atol=1e-8)
    np.testing.assert_allclose(fast.outlier_scores_, slow.outlier_scores_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("solver", ["gram", "reference"])
def test_with_every_row_it_is_the_svd(shape, solver):
    X = contaminated(*shape, share=0.1)
    fit = TRPCA(3, support_fraction=1.0, reweight=False, solver=solver, tol=1e-14, random_state=0)
    fit.fit(X)
    assert fit.support_.all()
    mean = X.mean(axis=0)
    _, singular, Vt = np.linalg.svd(X - mean, full_matrices=False)
    np.testing.assert_allclose(fit.center_, mean, atol=1e-9)
    np.testing.assert_allclose(fit.objective_, (singular[3:] ** 2).sum() / len(X), rtol=1e-9)
    assert subspace_angle(fit.components_, Vt[:3]) < 1e-5
    np.testing.assert_allclose(np.abs(fit.components_ @ Vt[:3].T), np.eye(3), atol=1e-5)


def test_components_come_in_order_of_variance_with_fixed_signs():
    fit = TRPCA(4, random_state=3).fit(contaminated(50, 80, k=4))
    inside = fit.scores_[fit.support_]
    assert (np.diff(inside.std(axis=0)) <= 0).all()
    assert (inside[np.abs(inside).argmax(axis=0), np.arange(4)] > 0).all()
    assert np.abs(np.corrcoef(inside.T) - np.eye(4)).max() < 1e-6


@pytest.mark.parametrize("shape", [*SHAPES, (700, 30), (680, 700)])
def test_same_seed_same_bits(shape):
    X = frames(*shape)
    a, b = (TRPCA(3, n_init=2, random_state=5).fit(X) for _ in range(2))
    for name in ("center_", "components_", "scores_", "objectives_", "raw_center_", "errors_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    c = TRPCA(3, n_init=2, random_state=6).fit(X)
    assert not np.array_equal(a.objectives_, c.objectives_)
    generator = TRPCA(3, n_init=2, random_state=np.random.default_rng(5)).fit(X)
    np.testing.assert_array_equal(generator.objectives_, a.objectives_)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((300, 9000), np.uint8), ((300, 700), np.float64), ((2200, 500), np.float32)],
)
def test_any_number_of_threads_gives_the_same_bits(shape, dtype):
    """Several blocks of columns, tiles and strips of K, and several blocks of rows."""
    X = frames(*shape).astype(dtype)
    fits = [TRPCA(2, n_init=2, tol=1e-2, random_state=0, threads=t).fit(X) for t in (1, 5)]
    for name in ("center_", "components_", "scores_", "errors_", "objectives_", "support_"):
        np.testing.assert_array_equal(*(getattr(fit, name) for fit in fits))


@pytest.mark.parametrize("shape", [(300, 900), (900, 300)])
def test_the_matrix_library_s_threads_do_not_decide_a_bit(shape):
    """What it splits among its threads it adds up in another order."""
    X = frames(*shape).astype(np.float64)
    fits = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            fits.append(TRPCA(3, n_init=4, random_state=0).fit(X))
            assert {pool["num_threads"] for pool in threadpool_info()} == {limit}
    np.testing.assert_array_equal(fits[0].components_, fits[1].components_)
    np.testing.assert_array_equal(fits[0].errors_, fits[1].errors_)


def test_fit_from_the_gram_matrix_or_a_reader_is_the_same():
    X = frames(40, 9000)
    whole = TRPCA(3, random_state=1).fit(X)
    by_column = TRPCA(3, random_state=1).fit(Columns(X))
    alone = TRPCA(3, random_state=1).fit_gram(gram_matrix(X))
    for name in ("errors_", "scores_", "support_", "center_weights_", "component_weights_"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(alone, name))
    np.testing.assert_array_equal(whole.components_, by_column.components_)
    np.testing.assert_array_equal(whole.raw_support_, alone.raw_support_)
    assert not hasattr(alone, "raw_center_")
    X = X[:, :900]
    slow = [TRPCA(2, random_state=1, solver="reference", n_init=2).fit(Y) for Y in (X, Columns(X))]
    np.testing.assert_array_equal(slow[0].components_, slow[1].components_)


def test_reweighting_can_be_switched_off():
    X = contaminated(60, 90)
    fit, raw = (TRPCA(3, random_state=1, reweight=r).fit(X) for r in (True, False))
    assert (fit.n_reweight_ > 0, raw.n_reweight_) == (True, 0)
    np.testing.assert_array_equal(fit.raw_support_, raw.support_)
    for name in ("center_", "components_", "support_"):
        # A product of more rows may round in another way.
        np.testing.assert_allclose(getattr(fit, "raw_" + name), getattr(raw, name), rtol=1e-12)
        np.testing.assert_array_equal(getattr(raw, "raw_" + name), getattr(raw, name))
    assert raw.support_.sum() == 30
    assert fit.support_.sum() > 38
    assert not fit.support_[:18].any()


def test_outlier_scores_tell_visitors():
    X = frames(100, 400)
    fit = TRPCA(2, random_state=0).fit(X)
    assert fit.outlier_scores_[80:].min() > 20
    assert np.quantile(fit.outlier_scores_[:80], 0.98) < 4
    assert fit.error_scale_ > 0


@pytest.mark.parametrize("solver", ["gram", "reference"])
@pytest.mark.parametrize("shape", SHAPES)
def test_new_rows_are_judged_as_an_outlier_detector_does(shape, solver):
    X = contaminated(*shape, share=0.2)
    fit = TRPCA(2, random_state=0, solver=solver).fit(X)
    rng = np.random.default_rng(5)
    usual = fit.center_ + rng.normal(size=(30, 2)) @ fit.components_
    foreign = usual + rng.normal(scale=9, size=usual.shape)
    assert fit.score_samples(usual).min() > fit.score_samples(foreign).max()
    assert fit.predict(usual).tolist() == [1] * 30
    assert fit.predict(foreign).tolist() == [-1] * 30
    assert set(fit.fit_predict(X)) == {-1, 1}
    assert fit.offset_ == -3.5
    np.testing.assert_allclose(fit.decision_function(X), fit.score_samples(X) + 3.5)
    # Rows that were not fitted are new ones, so both scores of them are the same.
    np.testing.assert_allclose(
        fit.score_samples(X)[~fit.support_], -fit.outlier_scores_[~fit.support_], rtol=1e-6
    )
    assert (fit.predict(X)[fit.support_] == 1).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_that_are_all_alike_are_normal_and_another_is_not(shape):
    X = np.full(shape, 7.0)
    with pytest.warns(RankWarning):
        fit = TRPCA(1, random_state=0).fit(X)
    other = X.copy()
    other[0, 0] += 1
    assert fit.predict(other).tolist() == [-1] + [1] * (shape[0] - 1)
    assert np.isfinite(fit.score_samples(other)).all()


@pytest.mark.parametrize("shape", [(80, 50_000), (20_000, 200)])
def test_bytes_are_never_copied_as_a_whole_into_floats(shape):
    X = np.random.default_rng(0).integers(0, 90, shape, dtype=np.uint8)
    tracemalloc.start()
    with threadpool_limits(1):  # each thread has a block of floats
        TRPCA(1, random_state=0, n_init=1, tol=1e-2, reweight=False).fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * X.nbytes


# --- degenerate input ---------------------------------------------------------------------------

random = np.random.default_rng(0)
low_rank = random.normal(size=(14, 2)) @ random.normal(size=(2, 40))
DEGENERATE = {
    "constant": (np.full((9, 30), 7, dtype=np.uint8), 0),
    "constant, tall": (np.full((30, 9), 0.1), 0),
    "constant, many": (np.full((260, 40), 7, dtype=np.uint8), 0),
    "one row": (random.normal(size=(1, 8)), 0),
    "one byte": (np.ones((1, 1), dtype=np.uint8), 0),
    "two rows": (random.normal(size=(2, 8)), 0),
    "all equal but one": (np.vstack([np.full((11, 30), 5.0), np.arange(30.0)[None]]), 0),
    "all equal but one, first": (np.vstack([np.arange(70.0)[None], np.full((11, 70), 0.1)]), 0),
    "duplicates": (np.repeat(random.integers(0, 256, (4, 50)).astype(np.uint8), 5, axis=0), 1),
    "duplicates, tall": (np.repeat(random.normal(size=(4, 6)), 20, axis=0), 1),
    "low rank": (low_rank, 2),
    "low rank, tall": (low_rank.T, 2),
    "low rank, tiny": (1e-8 * low_rank, 2),
    "low rank, large": (1e8 * low_rank, 2),
    "fewer rows than components": (random.normal(size=(6, 50)), 2),
    "fewer columns than components": (random.normal(size=(50, 6)), 6),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("solver", ["gram", "reference"])
@pytest.mark.parametrize("k", [1, 8, 60])
def test_degenerate_input_is_defined(name, solver, k):
    X, rank = DEGENERATE[name]
    raw = TRPCA(k, solver=solver, reweight=False, n_init=3, random_state=0)
    full = TRPCA(k, solver=solver, n_init=3, random_state=0)
    for fit in (raw, full):
        if rank < k and fit is raw:
            message = f"rank {rank}, lower than n_components={k}: {rank} components are returned"
            with pytest.warns(RankWarning, match=message):
                fit.fit(X)
            assert len(fit.components_) == rank
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RankWarning)
                fit.fit(X)
        check_fit(fit, X, k)


@pytest.mark.parametrize("solver", ["gram", "reference"])
@pytest.mark.parametrize("k", [1, 8, 60])
def test_one_of_two_states_or_the_line_through_both_leaves_nothing(solver, k):
    # Which of the two is found is for the last bits to say; what varies by these is no component.
    X = np.repeat([[0.0] * 20, [0.3] * 20], 6, axis=0)
    fit = TRPCA(k, solver=solver, reweight=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        fit.fit(X)
    assert fit.objective_ < 1e-15
    assert fit.support_.sum() == 6
    alike = not (fit.support_[:6].any() and fit.support_[6:].any())
    assert len(fit.components_) == (0 if alike else 1)
    check_fit(fit, X, k)


def test_squares_that_underflow():
    X = 1e-170 * np.random.default_rng(0).normal(size=(12, 30))
    with pytest.warns(RankWarning, match="rank 0, lower than n_components=2"):
        check_fit(TRPCA(2, random_state=0).fit(X), X, 2)


@pytest.mark.parametrize("shape", [(12, 30), (30, 12), (320, 400)])
@pytest.mark.parametrize("solver", ["gram", "reference"])
def test_the_one_different_row_is_an_outlier(shape, solver):
    X = np.full(shape, 90, dtype=np.uint8)
    X[4, ::2] = 200
    with pytest.warns(RankWarning, match="rank 0"):
        fit = TRPCA(2, solver=solver, n_init=2, random_state=0).fit(X)
    np.testing.assert_array_equal(fit.center_, X[0])
    np.testing.assert_array_equal(np.flatnonzero(~fit.support_), [4])
    assert fit.errors_[4] == shape[1] // 2 * 110**2
    assert fit.errors_.sum() == fit.errors_[4]
    assert fit.outlier_scores_[4] > 1e6


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("shape", SHAPES)
def test_scale_and_offset_do_not_matter(scale, shape):
    X = contaminated(*shape)
    plain = TRPCA(3, random_state=1).fit(X)
    other = TRPCA(3, random_state=1).fit(scale * (X + 1024.0))
    np.testing.assert_array_equal(other.support_, plain.support_)
    np.testing.assert_allclose(other.errors_, scale**2 * plain.errors_, rtol=1e-7)
    np.testing.assert_allclose(other.components_, plain.components_, atol=1e-8)
    np.testing.assert_allclose(other.center_ / scale - 1024, plain.center_, atol=1e-8)
    np.testing.assert_allclose(other.outlier_scores_, plain.outlier_scores_, rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_last_bits_do_not_choose_the_starts(shape):
    """A factor that is no power of two rounds otherwise; few starts end in the same minimum."""
    for seed in range(2):
        X = np.random.default_rng(seed).normal(size=shape)
        plain = TRPCA(3, n_init=2, random_state=seed).fit(X)
        for factor in (7.0, 1 / 3, 1e5):
            other = TRPCA(3, n_init=2, random_state=seed).fit(factor * X)
            np.testing.assert_array_equal(other.support_, plain.support_)
            np.testing.assert_allclose(other.objectives_, factor**2 * plain.objectives_, rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_huge_row_does_no_harm(shape):
    X = contaminated(*shape, share=0.0)
    clean = TRPCA(3, random_state=1).fit(X[1:])
    X[0] = 1e8 * np.random.default_rng(0).normal(size=shape[1])
    fit = TRPCA(3, random_state=1).fit(X)
    assert not fit.support_[0]
    np.testing.assert_array_equal(fit.support_[1:], clean.support_)
    assert subspace_angle(fit.components_, clean.components_) < 1e-6
    np.testing.assert_allclose(fit.center_, clean.center_, atol=1e-6)


@functools.cache
def beside_outliers(p, solver):
    """Rows with moderate outliers, which of them are inliers, the row to replace, a fit without."""
    data = data1(120, p, 4, outlier_share=0.3, random_state=0)
    row = np.flatnonzero(data.labels)[0]
    fit = TRPCA(4, random_state=0, n_init=3, solver=solver).fit(np.delete(data.X, row, axis=0))
    return data.X, data.labels, row, fit


@pytest.mark.parametrize("size", [1e9, 1e13, 1e60])
@pytest.mark.parametrize("direction", ["random", "one pixel", "in the plane"])
@pytest.mark.parametrize("p", [20, 250])
@pytest.mark.parametrize("solver", ["gram", "reference"])
def test_a_row_of_any_size_says_nothing_of_the_others(size, direction, p, solver):
    """Moderate outliers stay outliers, and no component is lost, beside a row that is huge."""
    X, inliers, row, clean = beside_outliers(p, solver)
    X, inliers = X.copy(), inliers.copy()
    inliers[row] = False
    support = np.insert(clean.support_, row, values=False)
    components, scores = clean.components_, clean.outlier_scores_
    if direction == "random":
        X[row] = np.random.default_rng(1).normal(size=p)
    elif direction == "one pixel":
        X[row] = np.arange(p) == 3
    X[row] *= size
    fit = TRPCA(4, random_state=0, n_init=3, solver=solver).fit(X)
    np.testing.assert_array_equal(fit.support_, support)
    np.testing.assert_array_equal(support, inliers)
    np.testing.assert_allclose(fit.components_, components, atol=1e-9)
    np.testing.assert_allclose(np.delete(fit.outlier_scores_, row), scores, rtol=1e-6)
    assert fit.outlier_scores_[row] > 1e3


def test_where_most_rows_are_equal_the_others_are_told_apart_whatever_their_sizes():
    X = np.full((40, 60), 5.0)
    X[:8] += np.random.default_rng(0).normal(size=(8, 60))
    X[8] = 1e60
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        fit = TRPCA(2, random_state=0).fit(X)
    np.testing.assert_array_equal(fit.support_, np.arange(40) > 8)
    assert fit.outlier_scores_[:9].min() > 1e6
    assert np.abs(fit.outlier_scores_[9:]).max() < 1


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components=0: an integer of at least 1 is needed"),
        ({"n_components": 1.5}, "n_components=1.5: an integer of at least 1 is needed"),
        ({"support_fraction": 0.49}, "support_fraction=0.49: t must be at least ⌈n/2⌉ = 20"),
        ({"support_fraction": 1.01}, "support_fraction=1.01: .* at most n = 40"),
        ({"support_fraction": float("nan")}, "support_fraction=nan"),
        ({"n_init": 0}, "n_init=0: an integer of at least 1 is needed"),
        ({"tol": -1e-3}, "tol=-0.001: a number of at least 0 is needed"),
        ({"max_iter": 0}, "max_iter=0: an integer of at least 1 is needed"),
        ({"reweight_cutoff": 0}, "reweight_cutoff=0: a number above 0 is needed"),
        ({"reweight_cutoff": float("nan")}, "reweight_cutoff=nan"),
        ({"solver": "svd"}, "solver='svd': 'gram' or 'reference' is needed"),
        ({"threads": 0}, "threads=0: an integer of at least 1 is needed"),
    ],
)
def test_parameters_out_of_range(parameters, message):
    X = contaminated(40, 60)
    estimator = TRPCA(**parameters)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X)
    with pytest.raises(ValueError, match=message):
        estimator.fit_gram(gram_matrix(X))
    with pytest.raises(ValueError, match=message):
        TRPCA(**{"solver": "reference", **parameters}).fit(X)


@pytest.mark.parametrize("solver", ["gram", "reference"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_entries_that_are_no_finite_number(solver, value):
    X = contaminated(10, 20)
    X[7, 3] = value
    shown = "NaN" if np.isnan(value) else "inf"
    with pytest.raises(ValueError, match=rf"X\[7, 3\] is {shown}: every entry must be"):
        TRPCA(2, solver=solver).fit(X)
    for other in (X, np.vstack([X] * 5)):
        with pytest.raises(ValueError, match=r"finite number"):
            TRPCA(2, solver=solver).fit(Columns(other))
    fit = TRPCA(2, solver=solver, random_state=0).fit(contaminated(10, 20))
    with pytest.raises(ValueError, match=rf"X\[7, 3\] is {shown}"):
        fit.transform(X)


@pytest.mark.parametrize(
    ("fraction", "n", "t"),
    [(None, 7, 4), (None, 8, 4), (0.5, 7, 4), (0.55, 200, 110), (0.75, 10, 8), (1.0, 9, 9)],
)
def test_size_of_the_support(fraction, n, t):
    X = contaminated(n, 30)
    fit = TRPCA(1, support_fraction=fraction, reweight=False, random_state=0).fit(X)
    assert fit.support_.sum() == t


@pytest.mark.parametrize("solver", ["gram", "reference"])
def test_no_convergence_is_a_warning(solver):
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1 iterations"):
        fit = TRPCA(3, solver=solver, max_iter=1, random_state=0).fit(contaminated(40, 60))
    assert (fit.converged_, fit.n_iter_) == (False, 1)


def heavy_tailed(seed):
    """Rows near a plane whose distances from it have a Cauchy distribution."""
    rng = np.random.default_rng(seed)
    lengths = 0.1 * rng.standard_t(1, size=(60, 1))
    return rng.normal(size=(60, 3)) @ rng.normal(size=(3, 50)) + lengths * rng.normal(size=(60, 50))


def test_heavy_tails_end_within_few_rounds():
    """Every tenth of such sets ran in a circle to the end of thirty rounds."""
    fits = [TRPCA(3, random_state=0, n_init=2).fit(heavy_tailed(seed)) for seed in range(20)]
    assert all(fit.converged_ for fit in fits)
    assert max(fit.n_reweight_ for fit in fits) < 12


# --- the paper's synthetic data, at reduced size ------------------------------------------------


@pytest.mark.parametrize("make", [data1, data2])
@pytest.mark.parametrize(("p", "share"), [(20, 0.1), (20, 0.45), (100, 0.3)])
def test_synthetic_data_of_the_paper(make, p, share):
    data = make(200, p, 5, outlier_share=share, random_state=4)
    T = data.X[data.labels]
    told = TRPCA(5, support_fraction=len(T) / 200, reweight=False, random_state=0).fit(data.X)
    assert tre(told.center_, told.components_, T) < 1e-5
    fit = TRPCA(5, random_state=0).fit(data.X)
    raw = tre(fit.raw_center_, fit.raw_components_, T)
    final = tre(fit.center_, fit.components_, T)
    assert final < 5e-4
    assert final <= 0.1 * raw
    rng = np.random.default_rng(1)
    starts = [random_orthonormal(p, 5, rng) for _ in range(10)]
    best = min(algorithm1(data.X, U, 100).objectives[-1] for U in starts)
    assert fit.objective_ <= 1.01 * best


def _beside_noise(ratio: float, shape: tuple[int, int], noise: float = 1.0):
    rng = np.random.default_rng(0)
    n, p = shape
    U = np.linalg.qr(rng.normal(size=(p, 3)))[0].T
    X = ratio * rng.normal(size=(n, 3)) @ U * np.sqrt(p) + noise * rng.normal(size=(n, p))
    X[:6] += 20 * noise * rng.normal(size=(6, p))
    return X


@pytest.mark.parametrize("shape", [(100, 400), (400, 60)])
class TestRowsMuchLargerThanTheirErrors:
    @pytest.mark.parametrize("ratio", [1e7, 1e8, 1e9])
    def test_are_warned_of_with_the_figure(self, shape, ratio):
        with pytest.warns(PrecisionWarning, match=r"the rows are [1-3]e\+\d\d times as large"):
            TRPCA(3, n_init=2, random_state=0).fit(_beside_noise(ratio, shape))

    def test_are_right_and_silent_up_to_a_million(self, shape):
        fit = TRPCA(3, n_init=2, random_state=0).fit(_beside_noise(1e6, shape))
        assert not fit.support_[:6].any()

    def test_are_silent_without_errors(self, shape):
        TRPCA(3, n_init=2, random_state=0).fit(_beside_noise(1.0, shape, noise=0.0))
