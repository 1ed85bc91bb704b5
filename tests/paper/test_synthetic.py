"""Synthetic data, methods as the experiments run them, and their scores."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from bgsub.paper.curves import VARIANTS, SyntheticOptions, data1, data2, judge, run_synthetic
from bgsub.robustpca.competitors import METHODS
from bgsub.robustpca.spaces import residuals


@pytest.mark.parametrize(("make", "scale"), [(data1, 1.0), (data2, 0.5)])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.45])
def test_true_observations_lie_near_the_subspace(make, scale, share):
    data = make(400, 30, 4, outlier_share=share, random_state=1)
    assert data.X.shape == (400, 30)
    assert (~data.labels).sum() == round(share * 400)
    np.testing.assert_allclose(data.components @ data.components.T, np.eye(4), atol=1e-12)
    errors = residuals(data.X, np.zeros(30), data.components)
    assert errors[data.labels].mean() == pytest.approx(26 * (0.05 * scale) ** 2, rel=0.1)
    if share:
        assert errors[~data.labels].min() > errors[data.labels].max()
    # Coordinates are uniform on an interval around 0, up to the noise.
    coordinates = data.X[data.labels] @ data.components.T / scale
    assert np.abs(coordinates).max() < 1.0 + 6 * 0.05
    assert coordinates.var() == pytest.approx(1 / 3 + 0.05**2, rel=0.1)


def test_outliers_of_data1_are_uniform_on_a_cube_beside_the_origin():
    data = data1(2000, 30, 4, outlier_share=0.4, random_state=1)
    outliers = data.X[~data.labels]
    assert outliers.min() >= 0.0
    assert outliers.max() <= 2.0
    np.testing.assert_allclose(outliers.mean(axis=0), 1.0, atol=0.1)
    np.testing.assert_allclose(outliers.var(axis=0), 4 / 12, rtol=0.15)


def test_outliers_of_data2_lie_in_a_half_space():
    outliers = data2(4000, 10, 4, outlier_share=0.4, random_state=1)
    rows = outliers.X[~outliers.labels]
    variances, axes = np.linalg.eigh(np.cov(rows.T))
    # Along w one half lies at 0 and the other is half a normal: its variance is the smallest.
    along = rows @ axes[:, 0]
    along = along if along.mean() < 0 else -along
    assert (along < 0.08).mean() > 0.98
    assert along.min() < -0.8
    np.testing.assert_allclose(variances[1:], 0.35**2, rtol=0.2)
    assert variances[0] == pytest.approx(0.35**2 * (0.5 - 0.5 / np.pi), rel=0.15)


def test_seeds():
    a, b, c = (data2(random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.labels, b.labels)
    assert not np.array_equal(a.X, c.X)
    assert 0 < np.flatnonzero(~a.labels).mean() < 199
    assert not a.labels[:60].all()


@pytest.mark.parametrize("make", [data1, data2])
def test_values_out_of_range(make):
    with pytest.raises(ValueError, match="n_components=8: from 1 to n_features=5 is needed"):
        make(20, 5, 8)
    with pytest.raises(ValueError, match=r"outlier_share=1\.0: at least 0 and less than 1"):
        make(20, 5, 2, outlier_share=1.0)


def test_sigma_may_be_a_variance():
    own = data2(4000, 30, 3, outlier_share=0.5, noise=0.0, variance=True, random_state=0)
    spread = own.X[~own.labels].std()
    assert spread == pytest.approx(np.sqrt(0.35), rel=0.05)
    for make, scale in ((data1, 1.0), (data2, 0.5)):
        noisy = make(2000, 30, 3, outlier_share=0.0, noise=0.04, variance=True, random_state=0)
        U = noisy.components
        left = noisy.X - noisy.X @ U.T @ U
        assert left.std() == pytest.approx(scale * 0.2 * np.sqrt(27 / 30), rel=0.02)


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
    tre, seconds, _ = scores["TRPCA"]
    assert tre < 1e-9 < scores["PCA"][0]
    assert seconds > 0


def test_hrpca_of_the_paper_goes_on_until_no_row_can_be_removed():
    data = data1(60, 20, 3, outlier_share=0.1, random_state=0)
    made = {v.name: v.make(3, 0.9, 0).fit(data.X) for v in VARIANTS if v.method == "hrpca"}
    assert made["HRPCA"].n_iter_ == 12
    assert made["HRPCA, T = n"].n_iter_ == 60 - 3 - 1


SMALL = SyntheticOptions(samples=60, features=(20,), components=3, shares=(0.4,), sets=2)


def without_seconds(points):
    return [{**point, "seconds": 0.0} for point in points]


@pytest.fixture(scope="module")
def points():
    return run_synthetic(SMALL)


def test_there_is_a_point_for_every_variant(points):
    assert len(points) == 2 * len(VARIANTS)
    assert all(p["sets"] == 2 and p["tre_mean"] >= 0 <= p["tre_std"] for p in points)


def test_the_claim_of_the_paper(points):
    """On Data1 with 40 % of outliers, TRPCA with true t has the smallest tre of all."""
    at = {p["variant"]: p["tre_mean"] for p in points if (p["data"], p["share"]) == ("Data1", 0.4)}
    assert at["TRPCA"] < 1e-9
    others = [v.name for v in VARIANTS if v.method != "trpca"]
    assert at["TRPCA"] < min(at[name] for name in others) / 100


def test_the_same_seed_gives_the_same_numbers_whatever_else_is_drawn(points):
    quick = tuple(v for v in VARIANTS if v.method in {"trpca", "pca"})
    more = dataclasses.replace(SMALL, shares=(0.2, 0.4))
    both = run_synthetic(more, variants=quick)
    again = [p for p in both if p["share"] == 0.4]
    names = {v.name for v in quick}
    before = [p for p in points if p["variant"] in names]
    assert without_seconds(again) == without_seconds(before)
    assert len(both) == 2 * len(again)
    other = run_synthetic(dataclasses.replace(SMALL, seed=1), variants=quick)
    assert without_seconds(other) != without_seconds(again)


def test_progress_goes_to_its_end():
    seen = []
    tiny = dataclasses.replace(SMALL, shares=(0.2,), sets=1)
    run_synthetic(tiny, variants=VARIANTS[-1:], progress=lambda *step: seen.append(step))
    assert seen == [("data sets", 1, 2), ("data sets", 2, 2)]
