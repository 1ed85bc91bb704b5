from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse.linalg  # noqa: F401 - what libraries take is no part of a fit

from bgsub.errors import ConvergenceWarning
from bgsub.robustpca.competitors import METHODS
from bgsub.robustpca.competitors.pixel_methods import PCP, RobustSubspace
from bgsub.robustpca.competitors.row_methods import PCA
from bgsub.robustpca.gram import ArrayColumns
from tests.robustpca.helpers import contaminated, frames, subspace_angle


def published(n, p, rank, share, *, seed=0):
    """The random matrices of the paper: Gaussian factors, signs at random places."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) / np.sqrt(n)
    S = np.where(rng.random((n, p)) < share, rng.choice([-1.0, 1.0], (n, p)), 0.0)
    return L, S


def direct(X, lam, iterations=2000):
    """The alternating direction method with a fixed penalty, on the matrix itself."""
    Y, S, mu = np.zeros_like(X), np.zeros_like(X), X.size / (4.0 * np.abs(X).sum())
    for _ in range(iterations):
        U, s, Vt = np.linalg.svd(X - S + Y / mu, full_matrices=False)
        L = (U * np.maximum(s - 1 / mu, 0)) @ Vt
        W = X - L + Y / mu
        S = np.sign(W) * np.maximum(np.abs(W) - lam / mu, 0)
        Y = Y + mu * (X - L - S)
    return L, S


def noisy(n, p, rank, share, sigma, size, seed):
    """Low rank and gross entries, and noise everywhere: nothing can be recovered exactly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) + sigma * rng.normal(size=(n, p))
    return X + np.where(rng.random(X.shape) < share, size * rng.normal(size=X.shape), 0.0)


# Parameters of `noisy`, λ, and what cvxpy 1.9 with Clarabel finds: the optimum, and the three
# largest singular values of its L.
OPTIMA = [
    ((20, 30, 2, 0.1, 0.1, 3.0, 0), 0.18257418583505536, 73.470388, [27.865, 11.73, 0.78602]),
    ((25, 20, 3, 0.2, 0.5, 5.0, 1), 0.2, 132.79699, [17.546, 15.02, 8.9698]),
    ((25, 20, 3, 0.2, 0.5, 5.0, 1), 0.1, 78.257724, [2.789, 0.0, 0.0]),
    ((15, 40, 1, 0.05, 1.0, 10.0, 2), 0.15811388300841897, 111.4983, [17.805, 4.1509, 3.2816]),
    ((15, 40, 1, 0.05, 1.0, 10.0, 2), 0.07905694150420949, 60.65095, [0.0, 0.0, 0.0]),
    ((24, 24, 4, 0.3, 0.2, 4.0, 3), 0.20412414523193154, 195.17929, [31.305, 26.977, 18.522]),
    ((20, 30, 2, 0.1, 0.1, 3.0, 0), 0.3651483716701107, 99.012204, [28.443, 12.354, 3.9772]),
    ((12, 60, 2, 0.1, 0.3, 2.0, 4), 0.12909944487358055, 84.352589, [30.332, 18.687, 0.97777]),
    ((12, 60, 2, 0.1, 0.3, 2.0, 4), 0.06454972243679027, 56.640422, [6.8002, 0.0, 0.0]),
]


@pytest.mark.filterwarnings("ignore::bgsub.errors.RankWarning")
@pytest.mark.parametrize(("parameters", "lam", "optimum", "lengths"), OPTIMA)
def test_the_optimum_of_noisy_matrices_is_that_of_cvxpy(parameters, lam, optimum, lengths):
    X = noisy(*parameters)
    fit = PCP(1, lam=lam).fit(X)
    assert fit.converged_
    L = fit.left_ @ fit.right_
    found = np.linalg.svd(L, compute_uv=False)
    objective = found.sum() + lam * np.abs(X - L).sum()
    assert optimum * (1 - 1e-6) <= objective <= optimum * 1.001
    np.testing.assert_allclose(found[:3], lengths, atol=0.01 * max(lengths))


@pytest.mark.parametrize("shape", [(60, 60), (60, 100), (100, 60)])
def test_recovers_at_the_published_rank_and_sparsity(shape):
    # Table I of the paper: rank 0.05 n, 5 % of the entries.
    L, S = published(*shape, round(0.05 * min(shape)), 0.05)
    fit = PCP(3, tol=1e-8).fit(L + S)
    assert fit.rank_ == round(0.05 * min(shape))
    np.testing.assert_allclose((fit.left_ @ fit.right_), L, atol=1e-6)
    assert fit.lam_ == pytest.approx(1 / np.sqrt(max(shape)))
    assert fit.converged_


def test_gross_entries_of_any_size_are_recovered():
    L, S = published(40, 60, 2, 0.05)
    fit = PCP(2, tol=1e-10).fit(L + 1000 * S)
    np.testing.assert_allclose((fit.left_ @ fit.right_), L, atol=1e-6)


@pytest.mark.parametrize("shape", [(20, 30), (30, 20)])
def test_same_result_as_the_direct_method_on_the_matrix(shape):
    X = frames(*shape).astype(np.float64)
    fit = PCP(3, tol=1e-7).fit(X)
    L, _ = direct(X, 1 / np.sqrt(30))
    np.testing.assert_allclose((fit.left_ @ fit.right_), L, atol=1e-4 * 255)


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_centre_and_components_are_the_pca_of_the_low_rank_part(shape):
    L, S = published(*shape, 4, 0.03)
    fit = PCP(3).fit(L + S)
    low = fit.left_ @ fit.right_
    np.testing.assert_allclose(fit.center_, low.mean(axis=0), atol=1e-9)
    centred = low - low.mean(axis=0)
    assert subspace_angle(fit.components_, np.linalg.svd(centred)[2][:3]) < 1e-7
    more = PCP(4).fit(L + S)
    np.testing.assert_allclose(more.components_[:3], fit.components_, atol=1e-9)


def test_uint8_runs_in_float32_block_by_block(monkeypatch):
    X = frames(30, 200)
    monkeypatch.setattr("bgsub.robustpca.competitors.pixel_methods._BLOCK_ELEMENTS", 1)
    fit = PCP(3, tol=1e-5).fit(ArrayColumns(X))
    assert fit.right_.dtype == np.float32
    wide = PCP(3, tol=1e-6).fit(X.astype(np.float64))
    np.testing.assert_allclose((fit.left_ @ fit.right_), (wide.left_ @ wide.right_), atol=0.05)


def test_a_large_lambda_leaves_everything_to_the_low_rank_part():
    X = frames(30, 50).astype(np.float64)
    fit = PCP(3, lam=10.0, tol=1e-8).fit(X)
    np.testing.assert_allclose((fit.left_ @ fit.right_), X, atol=1e-4)


def test_not_converging_is_said_with_the_residual():
    with pytest.warns(ConvergenceWarning, match=r"PCP did not converge in max_iter=2 .*residual"):
        fit = PCP(1, max_iter=2).fit(frames(30, 50))
    assert not fit.converged_
    assert fit.residual_ > fit.tol


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("lam", [None, 0.06, 0.2])
def test_footage_of_8_bits_has_the_optimum_of_the_same_numbers_in_float64(lam, seed):
    """L and S of 8-bit frames are float32, but its singular values must not be less certain."""
    rng = np.random.default_rng(seed)
    place = (
        120
        + 40 * rng.normal(size=(1, 900))
        + rng.normal(size=(30, 2)) @ rng.normal(scale=8, size=(2, 900))
    )
    noisy = place + rng.normal(scale=2, size=place.shape)
    noisy[rng.random(noisy.shape) < 0.05] = 250
    X = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)

    def objective(fit):
        sparse = X - (fit.left_ @ fit.right_).astype(np.float64)
        return np.linalg.norm((fit.left_ @ fit.right_), "nuc") + fit.lam_ * np.abs(sparse).sum()

    short, wide = (PCP(1, lam=lam).fit(kind) for kind in (X, X.astype(np.float64)))
    assert short.converged_
    assert abs(short.n_iter_ - wide.n_iter_) <= 2
    assert objective(short) == pytest.approx(objective(wide), rel=1e-4)
    assert np.abs((short.left_ @ short.right_) - (wide.left_ @ wide.right_)).max() < 0.5


def speckled(n=60, p=80, k=2, *, share=0.1, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    L = 5 + rng.normal(size=(n, k)) @ rng.normal(size=(k, p))
    outlying = rng.random((n, p)) < share
    X = L + noise * rng.normal(size=(n, p))
    X[outlying] += rng.choice([-1, 1], outlying.sum()) * rng.uniform(5, 20, outlying.sum())
    return X, L, outlying


def objective(X, fit, sigma):
    squares = (X - fit.inverse_transform(fit.coefficients_)) ** 2
    return (squares / (squares + sigma**2)).sum()


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_a_huge_scale_is_pca(shape):
    X = contaminated(*shape)
    fit, pca = RobustSubspace(3, scale=1e7, tol=1e-10).fit(X), PCA(3).fit(X)
    np.testing.assert_allclose(fit.center_, pca.center_, atol=1e-6)
    np.testing.assert_allclose(fit.components_, pca.components_, atol=1e-6)
    np.testing.assert_allclose(fit.coefficients_, pca.scores_, atol=1e-5)


@pytest.mark.parametrize("shape", [(60, 80), (80, 60)])
def test_outlying_entries_do_not_matter(shape):
    X, L, outlying = speckled(*shape)
    fit = RobustSubspace(2, tol=1e-8).fit(X)
    background = fit.inverse_transform(fit.coefficients_)
    assert np.abs(background - L).max() < 0.2  # 4 σ of the noise
    clean = PCA(2).fit(np.where(outlying, L, X))
    ordinary = PCA(2).fit(X)
    angle = subspace_angle(fit.components_, clean.components_)
    assert angle < 0.02
    assert subspace_angle(ordinary.components_, clean.components_) > 10 * angle


def test_the_scale_is_that_of_the_noise_of_each_pixel():
    rng = np.random.default_rng(0)
    sigma = rng.uniform(0.5, 2.0, size=50)
    X = rng.normal(size=(400, 1)) @ rng.normal(size=(1, 50)) * 5 + sigma * rng.normal(
        size=(400, 50)
    )
    fit = RobustSubspace(1).fit(X)
    np.testing.assert_allclose(fit.scales_ / 2.5, sigma, rtol=0.25)


def test_the_objective_falls_and_no_neighbour_is_better():
    X, _, _ = speckled(40, 30)
    fit = RobustSubspace(2, scale=1.0, tol=1e-12, max_iter=2000).fit(X)
    reached = objective(X, fit, 1.0)
    assert reached == pytest.approx(fit.objective_, rel=1e-6)
    assert reached < objective(X, RobustSubspace(2, scale=1e7, tol=1e-9).fit(X), 1.0)
    # Stationary: no small step of the centre or of a component helps.
    rng = np.random.default_rng(0)
    for name in ("center_", "components_", "coefficients_"):
        value = getattr(fit, name).copy()
        for _ in range(10):
            setattr(fit, name, value + 1e-4 * rng.normal(size=value.shape))
            assert objective(X, fit, 1.0) > reached - 1e-6
        setattr(fit, name, value)


def test_without_annealing_it_starts_at_the_last_scale():
    X, _, _ = speckled()
    fit = RobustSubspace(2, scale=1.0, n_anneal=0, tol=1e-8).fit(X)
    annealed = RobustSubspace(2, scale=1.0, tol=1e-8).fit(X)
    assert fit.converged_
    assert fit.objective_ >= annealed.objective_ * (1 - 1e-3)


def test_constant_pixels_and_blocks():
    X = frames(40, 300)
    X[:, 5] = 17
    whole = RobustSubspace(2).fit(X)
    # More columns than a block has, of which every 300 are the same.
    blocks = RobustSubspace(2).fit(ArrayColumns(np.tile(X, 15)))
    np.testing.assert_allclose(blocks.center_[-300:], whole.center_, atol=0.02)
    assert subspace_angle(blocks.components_[:, -300:], whole.components_) < 0.01
    assert whole.center_[5] == pytest.approx(17, abs=1e-3)
    assert (whole.scales_ > 0).all()


def test_not_converging_is_said():
    with pytest.warns(ConvergenceWarning, match="RobustSubspace did not converge in max_iter=3"):
        fit = RobustSubspace(2, max_iter=3).fit(speckled()[0])
    assert not fit.converged_


def test_memory_is_less_than_that_of_the_matrix_for_long_rows():
    assert METHODS["robust-subspace"].memory_bytes(600, 1_000_000, 10) < 4 * 600 * 1_000_000


@pytest.mark.parametrize(("n", "p"), [(700, 5000), (2000, 500)])
def test_a_fit_takes_the_memory_that_is_announced(n, p):
    X = np.random.default_rng(0).integers(0, 256, (n, p)).astype(np.float32)
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            RobustSubspace(3, max_iter=2, n_anneal=1).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    announced = METHODS["robust-subspace"].memory_bytes(n, p, 3)
    assert 0.7 * announced <= peak <= announced


@pytest.mark.parametrize(("name", "value"), [("scale", 0.0), ("n_anneal", -1)])
def test_parameters_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        RobustSubspace(2, **{name: value}).fit(np.eye(6))
