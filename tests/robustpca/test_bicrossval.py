from __future__ import annotations

import numpy as np
import pytest

from bgsub.robustpca.bicrossval import BandColumns, centred_gram, held_out_errors, median_gains
from bgsub.robustpca.gram import ArrayColumns


@pytest.mark.parametrize("p", [16, 20, 33, 100, 1001])
def test_the_halves_share_the_columns(p):
    X = np.arange(3 * p).reshape(3, p)
    rows = np.array([0, 2])
    halves = [BandColumns(ArrayColumns(X), rows, half) for half in (0, 1)]
    parts = [half.columns(0, half.shape[1]) for half in halves]
    assert all(part.shape == half.shape for part, half in zip(parts, halves, strict=True))
    assert sorted(np.concatenate(parts, axis=1)[0]) == list(range(p))
    assert abs(halves[0].shape[1] - halves[1].shape[1]) <= 8
    for half, part in zip(halves, parts, strict=True):
        assert half.dtype == X.dtype
        middle = half.shape[1] // 2
        np.testing.assert_array_equal(half.columns(1, middle + 1), part[:, 1 : middle + 1])
        np.testing.assert_array_equal(half.columns(middle, middle + 1), part[:, [middle]])


def test_centred_gram_is_that_of_centred_rows():
    X = np.random.default_rng(0).normal(size=(7, 30)) + 5.0
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(centred_gram(X @ X.T), centred @ centred.T, atol=1e-9)


def test_errors_are_those_of_the_regression_on_the_pixels():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(40, 11)), rng.normal(size=(40, 9))
    A[:, :4] += B[:, :4]
    inliers = np.sort(rng.permutation(40)[:32])
    errors = held_out_errors((A @ A.T, B @ B.T), inliers, 3)
    assert errors.shape == (64, 4)

    fold = np.arange(32) * 16 // 32 % 2
    expected = []
    for seen, hidden in ((A, B), (B, A)):
        for learnt in (0, 1):
            rows, others = inliers[fold == learnt], inliers[fold != learnt]
            m, h = seen[rows].mean(axis=0), hidden[rows].mean(axis=0)
            axes = np.linalg.svd(seen[rows] - m, full_matrices=False)[2]
            of_fold = []
            for k in range(4):
                scores, new = (seen[rows] - m) @ axes[:k].T, (seen[others] - m) @ axes[:k].T
                slopes = np.linalg.lstsq(scores, hidden[rows] - h, rcond=None)[0]
                of_fold.append((((hidden[others] - h) - new @ slopes) ** 2).sum(axis=1))
            expected.append(np.array(of_fold).T)
    np.testing.assert_allclose(errors, np.concatenate(expected), rtol=1e-9)


def test_components_that_do_not_exist_change_nothing():
    rng = np.random.default_rng(2)
    s = rng.normal(size=(20, 1))
    A, B = s @ rng.normal(size=(1, 12)), s @ rng.normal(size=(1, 12))
    errors = held_out_errors((A @ A.T, B @ B.T), np.arange(20), 4)
    gains = median_gains(errors)
    assert gains[0] > 10.0
    np.testing.assert_array_equal(gains[1:], 0.0)
    assert (errors[:, 1] < 1e-6 * errors[:, 0].mean()).all()
    np.testing.assert_array_equal(errors[:, 2:], errors[:, [1, 1, 1]])


def test_gains_are_medians_of_logarithms():
    errors = np.exp(-np.array([[0.0, 1.0, 1.5], [3.0, 4.2, 4.1], [1.0, 1.0, 9.0]]))
    np.testing.assert_allclose(median_gains(errors), [1.0, 0.5])
    np.testing.assert_array_equal(median_gains(np.zeros((4, 3))), [0.0, 0.0])


def test_a_fold_of_few_rows_has_as_many_components_as_it_can():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(6, 20)), rng.normal(size=(6, 20))
    errors = held_out_errors((A @ A.T, B @ B.T), np.arange(6), 5)
    assert errors.shape == (12, 6)
    # Folds of four and two rows, which have three principal components and one.
    for first in (0, 6):
        by_four, by_two = errors[first : first + 2], errors[first + 2 : first + 6]
        np.testing.assert_allclose(by_four[:, 4:], by_four[:, [3, 3]])
        np.testing.assert_allclose(by_two[:, 2:], by_two[:, [1, 1, 1, 1]])
        assert np.abs(np.diff(by_four[:, :4], axis=1)).min() > 1e-9
