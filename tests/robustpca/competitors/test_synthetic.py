from __future__ import annotations

import numpy as np
import pytest

from bgsub.robustpca.competitors.reference import residuals
from bgsub.robustpca.competitors.synthetic import data1, data2


@pytest.mark.parametrize("make", [data1, data2])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.45])
def test_true_observations_lie_near_the_subspace(make, share):
    data = make(400, 30, 4, outlier_share=share, random_state=1)
    assert data.X.shape == (400, 30)
    assert (~data.labels).sum() == round(share * 400)
    np.testing.assert_allclose(data.components @ data.components.T, np.eye(4), atol=1e-12)
    np.testing.assert_array_equal(data.true_observations, data.X[data.labels])
    errors = residuals(data.X, np.zeros(30), data.components.T)
    assert errors[data.labels].mean() == pytest.approx(26 * 0.05**2, rel=0.1)
    if share:
        assert errors[~data.labels].min() > errors[data.labels].max()


def test_outliers_of_data1_fill_the_space_and_those_of_data2_a_subspace():
    shapes = {}
    for make in (data1, data2):
        data = make(2000, 30, 4, outlier_share=0.4, random_state=1)
        variances = np.linalg.eigvalsh(np.cov(data.X[~data.labels].T))[::-1]
        shapes[make] = variances
    np.testing.assert_allclose(shapes[data1], 1.0, atol=0.5)
    np.testing.assert_allclose(shapes[data2][:4], 9.0, rtol=0.3)
    np.testing.assert_allclose(shapes[data2][4:], 0.05**2, rtol=0.5)


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
