"""Algorithm 1 of Podosinnikova, Setzer and Hein (GCPR 2014) on weights, all restarts at once.

With m = m₀ + Aᵀw and U = AᵀB in one of the spaces of `spaces`, everything the algorithm looks at
follows from products with K (or X₀): the scores Y = X̃U = F B − 1(wᵀMB), the residuals
r_i = ‖x̃_i‖² − ‖Y_i‖² with ‖x̃_i‖² = ‖x₀_i‖² − 2(Fw)_i + wᵀMw, the supergradient's coefficients
C = lift(D_I Y) − w(1ᵀD_I Y), and the new centre w = lift(1_I'/t). An iteration costs O(n²k) per
restart in the row space, whatever the number of pixels.

The residuals depend on U through its span alone, and so does the span of the next supergradient. So
in place of the polar factor any orthonormal basis of the same span serves; the one used here is
aligned with the principal axes of the supergradient, which keeps small components accurate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.spaces import Fit, Floats, Space

# Squared lengths below this share of what they could have been are rounding noise.
_NOISE = 64 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Descent:
    """Where one restart ended.

    Attributes
    ----------
    fit : Fit
        Centre and components; its support holds the t rows with the smallest residuals.
    objectives : list of float
        R(m, U) at the start and after each iteration; never increases.
    converged : bool
        Whether the relative descent fell below the tolerance.
    """

    fit: Fit
    objectives: list[float]
    converged: bool

    @property
    def objective(self) -> float:
        """The last objective."""
        return self.objectives[-1]

    @property
    def n_iter(self) -> int:
        """Iterations done."""
        return len(self.objectives) - 1


class _State:
    """Centre and components of all running restarts, with their products."""

    def __init__(self, space: Space, n_restarts: int) -> None:
        self.space = space
        empty = space.lift(np.zeros((space.n_samples, n_restarts)))
        self.weights = empty
        self.projected_weights = np.zeros((space.n_samples, n_restarts))
        self.metric_weights = np.zeros_like(empty)

    def squared_distances(self) -> Floats:
        """‖x_i − m‖² for every restart, shape (n, R)."""
        constant = np.einsum("qr,qr->r", self.weights, self.metric_weights)
        norms = self.space.squared_norms[:, None]
        return np.asarray(norms - 2.0 * self.projected_weights + constant)

    def centre_on(self, support: NDArray[np.bool_]) -> None:
        """Move each centre to the mean of its support."""
        indicator = support / support.sum(axis=0, keepdims=True)
        self.weights = self.space.lift(indicator)
        self.projected_weights = self.space.project(self.weights)
        self.metric_weights = self.space.metric(self.weights, self.projected_weights)

    def keep(self, running: NDArray[np.bool_]) -> None:
        """Drop the restarts that have ended."""
        self.weights = self.weights[:, running]
        self.projected_weights = self.projected_weights[:, running]
        self.metric_weights = self.metric_weights[:, running]


def descend(
    space: Space,
    starts: Floats,
    n_support: int,
    *,
    tol: float = 1e-5,
    max_iter: int = 1000,
) -> list[Descent]:
    """Run Algorithm 1 from m⁰ = m₀ and every given U⁰.

    Parameters
    ----------
    space : Space
        The data.
    starts : ndarray of shape (R, n, k)
        X₀U⁰ of each restart.
    n_support : int
        t, the number of rows of which the objective takes the mean.
    tol : float
        Stop when the objective falls by less than this share of itself.
    max_iter : int
        Stop after this many iterations.

    Returns
    -------
    list of Descent, one per restart, in order

    Notes
    -----
    Ties between residuals are broken by row number, so equal starts give equal results. O(R n² k)
    operations per iteration in the row space, O(R n p k) in the feature space.
    """
    n_restarts = starts.shape[0]
    state = _State(space, n_restarts)
    scores = np.ascontiguousarray(starts)
    residuals = _residuals(state, scores)
    histories = [[value] for value in _objective(residuals, n_support)]
    support = smallest(residuals, n_support)
    ended: list[Descent | None] = [None] * n_restarts
    running = np.arange(n_restarts)
    for iteration in range(1, max_iter + 1):
        basis, projected, metric = _ascend(state, scores, support)
        scores = _scores(state, projected, metric)
        state.centre_on(smallest(_residuals(state, scores), n_support))
        scores = _scores(state, projected, metric)
        residuals = _residuals(state, scores)
        support = smallest(residuals, n_support)
        for restart, value in zip(running, _objective(residuals, n_support), strict=True):
            histories[restart].append(value)
        converged = np.array([_has_settled(histories[restart], tol) for restart in running])
        done = converged if iteration < max_iter else np.ones_like(converged)
        for j in np.flatnonzero(done):
            fit = Fit(state.weights[:, j], basis[j], scores[j], residuals[:, j], support[:, j])
            ended[running[j]] = Descent(fit, histories[running[j]], bool(converged[j]))
        if done.all():
            break
        state.keep(~done)
        scores, residuals, support = scores[~done], residuals[:, ~done], support[:, ~done]
        running = running[~done]
    return [descent for descent in ended if descent is not None]


def smallest(residuals: Floats, count: int) -> NDArray[np.bool_]:
    """Mark the `count` smallest residuals of every column, ties by row number, shape (n, R)."""
    order = np.argsort(residuals, axis=0, kind="stable")[:count]
    mask = np.zeros(residuals.shape, dtype=bool)
    np.put_along_axis(mask, order, values=True, axis=0)
    return mask


def _objective(residuals: Floats, n_support: int) -> list[float]:
    """R, the mean of the t smallest residuals, for every restart."""
    ordered = np.sort(residuals, axis=0)[:n_support]
    return [float(value) for value in ordered.mean(axis=0)]


def _has_settled(history: list[float], tol: float) -> bool:
    before, now = history[-2:]
    return before - now <= tol * before


def _residuals(state: _State, scores: Floats) -> Floats:
    """r_i(m, U), never below zero, shape (n, R)."""
    captured = np.einsum("rnk,rnk->nr", scores, scores)
    return np.asarray(np.maximum(state.squared_distances() - captured, 0.0))


def _scores(state: _State, projected: Floats, metric: Floats) -> Floats:
    """Y = X̃U, shape (R, n, k)."""
    return np.asarray(projected - np.einsum("qr,rqk->rk", state.weights, metric)[:, None, :])


def _ascend(
    state: _State, scores: Floats, support: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats]:
    """Orthonormal basis of the supergradient's span: B, FB and MB, each of shape (R, ·, k)."""
    n_restarts, n, k = scores.shape
    chosen = _whiten(scores * support.T[:, :, None])
    sums = chosen.sum(axis=1)
    flat = np.ascontiguousarray(chosen.transpose(1, 0, 2)).reshape(n, n_restarts * k)
    C = state.space.lift(flat).reshape(-1, n_restarts, k)
    C = C - state.weights[:, :, None] * sums
    flat_C = np.ascontiguousarray(C).reshape(-1, n_restarts * k)
    FC = state.space.project(flat_C)
    MC = state.space.metric(flat_C, FC)
    C, FC, MC = (
        np.ascontiguousarray(a.reshape(a.shape[0], n_restarts, k).transpose(1, 0, 2))
        for a in (flat_C, FC, MC)
    )
    return orthonormalise(C, FC, MC, _NOISE * (support.T @ state.space.squared_norms))


def _whiten(scores: Floats) -> Floats:
    """Orthonormal columns of the same span, zero where the scores have no more directions.

    The supergradient then spans what it spanned before, but its singular values are those of the
    data instead of their squares.
    """
    values, V = np.linalg.eigh(np.swapaxes(scores, 1, 2) @ scores)
    kept = values > np.maximum(values[:, -1:], 0.0) * _NOISE
    roots = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    return np.asarray(scores @ (V * roots[:, None, :]))


def orthonormalise(
    C: Floats, FC: Floats, MC: Floats, noise: Floats
) -> tuple[Floats, Floats, Floats]:
    """Combine the columns of C so that AᵀC becomes orthonormal, in order of singular value.

    Parameters
    ----------
    C, FC, MC : ndarray of shape (R, q, k), (R, n, k), (R, q, k)
        Coefficients, their projection and their metric.
    noise : ndarray of shape (R,)
        Squared lengths ‖AᵀC‖² up to this are rounding noise.

    Returns
    -------
    tuple of three ndarrays
        The same three for the orthonormal basis. Columns without a direction of their own are zero.

    Notes
    -----
    Twice: the first rotation separates the scales of the columns, the second, on columns scaled to
    one length, is accurate for small ones too (forming CᵀMC squares the condition number).
    """
    S = np.swapaxes(C, 1, 2) @ MC
    _, V = np.linalg.eigh(S)
    V = V[:, :, ::-1]
    C, FC, MC = C @ V, FC @ V, MC @ V
    S = np.swapaxes(C, 1, 2) @ MC
    squares = np.einsum("rkk->rk", S)
    alive = squares > noise[:, None]
    scale = np.where(alive, 1.0 / np.sqrt(np.where(alive, squares, 1.0)), 0.0)
    values, V = np.linalg.eigh(S * scale[:, :, None] * scale[:, None, :])
    kept = values > 1e-8
    roots = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    T = scale[:, :, None] * ((V * roots[:, None, :]) @ np.swapaxes(V, 1, 2))
    return C @ T, FC @ T, MC @ T
