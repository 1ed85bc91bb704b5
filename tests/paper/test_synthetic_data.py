from __future__ import annotations

import numpy as np
import pytest

from bgsub.paper.synthetic import data1, data2
from bgsub.robustpca.base import residuals


@pytest.mark.parametrize(("make", "scale"), [(data1, 1.0), (data2, 0.5)])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.45])
def test_true_observations_lie_near_the_subspace(make, scale, share):
    data = make(400, 30, 4, outlier_share=share, random_state=1)
    assert data.X.shape == (400, 30)
    assert (~data.labels).sum() == round(share * 400)
    np.testing.assert_allclose(data.components @ data.components.T, np.eye(4), atol=1e-12)
    np.testing.assert_array_equal(data.true_observations, data.X[data.labels])
    errors = residuals(data.X, np.zeros(30), data.components)
    assert errors[data.labels].mean() == pytest.approx(26 * (0.05 * scale) ** 2, rel=0.1)
    if share:
        assert errors[~data.labels].min() > errors[data.labels].max()
    # Coordinates are uniform on an interval around 0, up to the noise.
    coordinates = data.true_observations @ data.components.T / scale
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
