"""Algorithm 1 of Podosinnikova, Setzer and Hein (GCPR 2014) on weights, all restarts at once.

With m = m₀ + Aᵀw and U = AᵀB in one of the spaces of `spaces`, everything the algorithm looks at
follows from products with K (or X₀): the scores Y = X̃U = F B − 1(wᵀMB), the residuals
r_i = ‖x̃_i‖² − ‖Y_i‖² with ‖x̃_i‖² = ‖x₀_i‖² − 2(Fw)_i + wᵀMw, the supergradient's coefficients
C = lift(D_I Y) − w(1ᵀD_I Y), and the new centre w = lift(1_I'/t). An iteration costs O(n²k) per
restart in the row space, whatever the number of pixels.

The residuals depend on U through its span alone, and so does the span of the next supergradient. So
in place of the polar factor any orthonormal basis of the same span serves; the one used here is
aligned with the principal axes of the supergradient, which keeps small components accurate.

Arrays of all restarts hold what belongs to a component or a centre in one row: (R, k, n) for scores
and (R, k, q) for coefficients, so that every product runs over contiguous memory.
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
        self.weights = _lift(space, np.zeros((n_restarts, space.n_samples)))
        self.projected_weights = np.zeros((n_restarts, space.n_samples))
        self.metric_weights = np.zeros_like(self.weights)

    def squared_distances(self) -> Floats:
        """‖x_i − m‖² for every restart, shape (R, n)."""
        constant = np.einsum("rq,rq->r", self.weights, self.metric_weights)
        distances = -2.0 * self.projected_weights
        distances += self.space.squared_norms
        distances += constant[:, None]
        return distances

    def centre_on(self, support: NDArray[np.bool_]) -> None:
        """Move each centre to the mean of its support."""
        indicator = support / support.sum(axis=1, keepdims=True)
        self.weights = _lift(self.space, indicator)
        self.projected_weights, self.metric_weights = _products(self.space, self.weights)

    def keep(self, running: NDArray[np.bool_]) -> None:
        """Drop the restarts that have ended."""
        self.weights = self.weights[running]
        self.projected_weights = self.projected_weights[running]
        self.metric_weights = self.metric_weights[running]


def _lift(space: Space, D: Floats) -> Floats:
    """Rows of coefficients with AᵀC = X₀ᵀD, contiguous."""
    return np.ascontiguousarray(space.lift(D.T).T)


def _products(space: Space, C: Floats) -> tuple[Floats, Floats]:
    """Projection and metric of rows of coefficients: one array where they are the same."""
    projected = space.project(C.T)
    metric = space.metric(C.T, projected)
    rows = np.ascontiguousarray(projected.T)
    return rows, rows if metric is projected else np.ascontiguousarray(metric.T)


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
    scores = np.ascontiguousarray(np.swapaxes(starts, 1, 2))
    residuals = _residuals(state, scores)
    support, objectives = _smallest_of_rows(residuals, n_support)
    histories = [[value] for value in objectives.tolist()]
    ended: list[Descent | None] = [None] * n_restarts
    running = np.arange(n_restarts)
    for iteration in range(1, max_iter + 1):
        basis, projected, metric = _ascend(state, scores, support)
        scores = _scores(state, projected, metric)
        state.centre_on(_smallest_of_rows(_residuals(state, scores), n_support)[0])
        scores = _scores(state, projected, metric)
        residuals = _residuals(state, scores)
        support, objectives = _smallest_of_rows(residuals, n_support)
        for restart, value in zip(running, objectives.tolist(), strict=True):
            histories[restart].append(value)
        converged = np.array([_has_settled(histories[restart], tol) for restart in running])
        done = converged if iteration < max_iter else np.ones_like(converged)
        for j in np.flatnonzero(done):
            weights, B, Y = state.weights[j].copy(), basis[j].T.copy(), scores[j].T.copy()
            fit = Fit(weights, B, Y, residuals[j].copy(), support[j].copy())
            ended[running[j]] = Descent(fit, histories[running[j]], bool(converged[j]))
        if done.all():
            break
        if done.any():
            state.keep(~done)
            scores, residuals, support = scores[~done], residuals[~done], support[~done]
            running = running[~done]
    return [descent for descent in ended if descent is not None]


def smallest(residuals: Floats, count: int) -> NDArray[np.bool_]:
    """Mark the `count` smallest residuals of every column, ties by row number, shape (n, R)."""
    return _smallest_of_rows(np.ascontiguousarray(residuals.T), count)[0].T


def _smallest_of_rows(residuals: Floats, count: int) -> tuple[NDArray[np.bool_], Floats]:
    """Mark the `count` smallest of every row, ties by position, and give their mean."""
    ordered = np.partition(residuals, count - 1, axis=1)
    largest = ordered[:, count - 1 : count]
    mask = residuals < largest
    ties = residuals == largest
    room = count - mask.sum(axis=1, keepdims=True)
    mask |= ties & (np.cumsum(ties, axis=1) <= room)
    return mask, ordered[:, :count].mean(axis=1)


def _has_settled(history: list[float], tol: float) -> bool:
    before, now = history[-2:]
    return before - now <= tol * before


def _residuals(state: _State, scores: Floats) -> Floats:
    """r_i(m, U), never below zero, shape (R, n)."""
    residuals = state.squared_distances()
    residuals -= np.einsum("rkn,rkn->rn", scores, scores)
    return np.maximum(residuals, 0.0, out=residuals)


def _scores(state: _State, projected: Floats, metric: Floats) -> Floats:
    """Y = X̃U as rows, shape (R, k, n)."""
    return np.asarray(projected - metric @ state.weights[:, :, None])


def _ascend(
    state: _State, scores: Floats, support: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats]:
    """Orthonormal basis of the supergradient's span: B, FB and MB, each of shape (R, k, ·)."""
    n_restarts, k, n = scores.shape
    chosen = _whiten(scores * support[:, None, :])
    C = _lift(state.space, chosen.reshape(n_restarts * k, n)).reshape(n_restarts, k, -1)
    C = C - chosen.sum(axis=2)[:, :, None] * state.weights[:, None, :]
    FC, MC = _products(state.space, C.reshape(n_restarts * k, -1))
    shared = MC is FC
    FC = FC.reshape(n_restarts, k, n)
    MC = FC if shared else MC.reshape(n_restarts, k, -1)
    return orthonormalise(C, FC, MC, _NOISE * (support @ state.space.squared_norms))


def _whiten(scores: Floats) -> Floats:
    """Orthonormal rows of the same span, zero where the scores have no more directions.

    The supergradient then spans what it spanned before, but its singular values are those of the
    data instead of their squares.
    """
    values, V = np.linalg.eigh(scores @ np.swapaxes(scores, 1, 2))
    kept = values > np.maximum(values[:, -1:], 0.0) * _NOISE
    roots = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    return np.asarray(np.swapaxes(V * roots[:, None, :], 1, 2) @ scores)


def orthonormalise(
    C: Floats, FC: Floats, MC: Floats, noise: Floats
) -> tuple[Floats, Floats, Floats]:
    """Combine the rows of C so that those of CA become orthonormal, in order of singular value.

    Parameters
    ----------
    C, FC, MC : ndarray of shape (R, k, q), (R, k, n), (R, k, q)
        Coefficients, their projection and their metric; FC itself where that is the metric.
    noise : ndarray of shape (R,)
        Squared lengths ‖AᵀC‖² up to this are rounding noise.

    Returns
    -------
    tuple of three ndarrays
        The same three for the orthonormal basis. Rows without a direction of their own are zero.

    Notes
    -----
    Twice: the first rotation separates the scales of the rows, the second, on rows scaled to one
    length, is accurate for small ones too (forming CᵀMC squares the condition number).
    """
    _, V = np.linalg.eigh(C @ np.swapaxes(MC, 1, 2))
    C, FC, MC = _turn(np.swapaxes(V[:, :, ::-1], 1, 2), C, FC, MC)
    S = C @ np.swapaxes(MC, 1, 2)
    squares = np.einsum("rkk->rk", S)
    alive = squares > noise[:, None]
    scale = np.where(alive, 1.0 / np.sqrt(np.where(alive, squares, 1.0)), 0.0)
    values, V = np.linalg.eigh(S * scale[:, :, None] * scale[:, None, :])
    kept = values > 1e-8
    roots = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    T = ((V * roots[:, None, :]) @ np.swapaxes(V, 1, 2)) * scale[:, None, :]
    return _turn(T, C, FC, MC)


def _turn(T: Floats, C: Floats, FC: Floats, MC: Floats) -> tuple[Floats, Floats, Floats]:
    """Combine rows in the same way; what is one array stays one."""
    turned = T @ FC
    return T @ C, turned, turned if MC is FC else T @ MC
