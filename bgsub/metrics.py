"""Measure how good a centre and components are, and how well errors separate outliers.

In all of them r_i(m, U) = ‖(UUᵀ − I)(x_i − m)‖² is the reconstruction error of an observation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.stats
from numpy.typing import ArrayLike, NDArray

from bgsub.robustpca.base import residuals
from bgsub.robustpca.checks import check_matrix

__all__ = ["auc", "average_precision", "tre"]


def tre(center: ArrayLike, components: ArrayLike, T: NDArray[Any]) -> float:
    r"""Compute the error of the true observations above the least that is possible.

    .. math::
        \mathrm{tre}(m, U) = \frac{1}{|T|} \Big( \sum_{i \in T} r_i(m, U)
                             - \sum_{i \in T} r_i(m_T, U_T) \Big)

    where (m_T, U_T) is the classical PCA of T alone with as many components.

    Parameters
    ----------
    center : array_like of shape (p,)
    components : array_like of shape (k, p)
        Orthonormal rows.
    T : ndarray of shape (|T|, p)
        The true observations.

    Returns
    -------
    float
        At least 0 up to rounding; 0 for the PCA of the true observations. In squared units of T.

    Notes
    -----
    The second sum is that of the squared singular values of T − 1m_Tᵀ after the k-th.
    O(|T| p min(|T|, p)) operations and a copy of T in float64.
    """
    components = np.atleast_2d(np.asarray(components, dtype=np.float64))
    T = check_matrix(T, components.shape[1])
    reached = residuals(T, np.asarray(center, dtype=np.float64), components).sum()
    centred = T - T.mean(axis=0, dtype=np.float64)
    least = (scipy.linalg.svdvals(centred)[len(components) :] ** 2).sum()
    return float((reached - least) / len(T))


def auc(errors: ArrayLike, outliers: ArrayLike) -> float:
    r"""Compute the area under the receiver operating characteristic of errors as outlier scores.

    .. math::
        \mathrm{AUC} = P(r_o > r_i) + \tfrac12 P(r_o = r_i)

    for a random outlier o and a random true observation i.

    Parameters
    ----------
    errors : array_like of shape (n,)
        r_i, or any score that grows with outlyingness.
    outliers : array_like of shape (n,), bool
        True for outliers.

    Returns
    -------
    float
        In [0, 1]; 0.5 for a score that knows nothing.

    Raises
    ------
    ValueError
        If the lengths differ, or there is no outlier or nothing else.

    Examples
    --------
    >>> auc([0.1, 0.2, 0.9], [False, False, True])
    1.0
    """
    values, marked = _check_labels(errors, outliers)
    ranks = scipy.stats.rankdata(values)
    positive = int(marked.sum())
    above = ranks[marked].sum() - positive * (positive + 1) / 2
    return float(above / (positive * (len(marked) - positive)))


def average_precision(errors: ArrayLike, outliers: ArrayLike) -> float:
    r"""Compute the average precision of errors as outlier scores.

    .. math::
        \mathrm{AP} = \sum_j (R_j - R_{j-1}) P_j

    over the distinct errors in descending order, with P_j and R_j the precision and recall of
    taking everything from the j-th up as an outlier.

    Parameters
    ----------
    errors : array_like of shape (n,)
        r_i, or any score that grows with outlyingness.
    outliers : array_like of shape (n,), bool
        True for outliers.

    Returns
    -------
    float
        In (0, 1]; the share of outliers for a score that knows nothing.

    Raises
    ------
    ValueError
        If the lengths differ, or there is no outlier or nothing else.

    Examples
    --------
    >>> average_precision([3.0, 2.0, 1.0], [True, False, True])
    0.8333333333333333
    """
    values, marked = _check_labels(errors, outliers)
    order = np.argsort(values)[::-1]
    values, marked = values[order], marked[order]
    found = np.cumsum(marked)
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    precision = found[last] / (last + 1)
    recall = found[last] / found[-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def _check_labels(errors: ArrayLike, outliers: ArrayLike) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    values, marked = np.asarray(errors), np.asarray(outliers, dtype=bool)
    if values.ndim != 1 or values.shape != marked.shape:
        message = (
            f"errors {values.shape}, outliers {marked.shape}: two vectors of one length are needed"
        )
        raise ValueError(message)
    if not np.isfinite(values).all():
        message = "errors: every entry must be a finite number"
        raise ValueError(message)
    if marked.all() or not marked.any():
        message = f"outliers marks {marked.sum()} of {marked.size}: some but not all are needed"
        raise ValueError(message)
    return values, marked
