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

from bgsub.robustpca.spaces import Fit, Floats, Space, column_median, inverse_roots, residuals

_NOISE = 64 * float(np.finfo(float).eps)  # squared lengths below this share are rounding noise


@dataclass(frozen=True)
class Descent:
    """Where one restart ended; the support of its fit are the t rows with the least residuals."""

    fit: Fit
    objectives: list[float]  # R(m, U) at the start and after each iteration; never increases
    converged: bool  # whether it fell by less than the tolerance in the end


def descend(
    space: Space, starts: Floats, n_support: int, *, tol: float = 1e-5, max_iter: int = 1000
) -> list[Descent]:
    """Run Algorithm 1 from m⁰ = m₀ and every X₀U⁰ among starts, shape (R, n, k).

    Ties between residuals are broken by row number, so equal starts give equal results. O(R n² k)
    operations per iteration in the row space, O(R n p k) in the feature space.
    """
    n_restarts = starts.shape[0]
    state = _State(space, n_restarts)
    scores = np.ascontiguousarray(np.swapaxes(starts, 1, 2))
    support, objectives = _smallest_of_rows(state.residuals(scores), n_support)
    histories = [[value] for value in objectives.tolist()]
    ended: dict[int, Descent] = {}
    running = np.arange(n_restarts)
    for iteration in range(1, max_iter + 1):
        basis, projected, metric = state.ascend(scores, support)
        scores = state.scores(projected, metric)
        state.centre_on(_smallest_of_rows(state.residuals(scores), n_support)[0])
        scores = state.scores(projected, metric)
        errors = state.residuals(scores)
        support, objectives = _smallest_of_rows(errors, n_support)
        converged = np.empty(running.size, dtype=bool)
        for j, value in enumerate(objectives.tolist()):
            history = histories[running[j]]
            converged[j] = history[-1] - value <= tol * history[-1]
            history.append(value)
            if converged[j] or iteration == max_iter:
                weights, B, Y = state.weights[j].copy(), basis[j].T.copy(), scores[j].T.copy()
                fit = Fit(weights, B, Y, errors[j].copy(), support[j].copy())
                ended[int(running[j])] = Descent(fit, history, bool(converged[j]))
        if len(ended) == n_restarts:
            break
        if converged.any():
            state.keep(~converged)
            scores, support = scores[~converged], support[~converged]
            running = running[~converged]
    return [ended[restart] for restart in range(n_restarts)]


class _State:
    """Centres of all running restarts with their products, and what follows from them."""

    def __init__(self, space: Space, n_restarts: int) -> None:
        self._space = space
        self.weights = self._lift(np.zeros((n_restarts, space.n_samples)))
        self._projected = np.zeros((n_restarts, space.n_samples))
        self._metric = np.zeros_like(self.weights)

    def _lift(self, D: Floats) -> Floats:
        """Rows of coefficients with AᵀC = X₀ᵀD, contiguous."""
        return np.ascontiguousarray(self._space.lift(D.T).T)

    def _products(self, C: Floats) -> tuple[Floats, Floats]:
        """Projection and metric of rows of coefficients: one array where they are the same."""
        projected = self._space.project(C.T)
        metric = self._space.metric(C.T, projected)
        rows = np.ascontiguousarray(projected.T)
        return rows, rows if metric is projected else np.ascontiguousarray(metric.T)

    def centre_on(self, support: NDArray[np.bool_]) -> None:
        """Move each centre to the mean of its support."""
        self.weights = self._lift(support / support.sum(axis=1, keepdims=True))
        self._projected, self._metric = self._products(self.weights)

    def keep(self, running: NDArray[np.bool_]) -> None:
        """Drop the restarts that have ended."""
        self.weights = self.weights[running]
        self._projected = self._projected[running]
        self._metric = self._metric[running]

    def scores(self, projected: Floats, metric: Floats) -> Floats:
        """Y = X̃U as rows, shape (R, k, n)."""
        return np.asarray(projected - metric @ self.weights[:, :, None])

    def residuals(self, scores: Floats) -> Floats:
        """r_i(m, U) = ‖x_i − m‖² − ‖Y_i‖², never below zero, shape (R, n)."""
        constant = np.einsum("rq,rq->r", self.weights, self._metric)
        errors = -2.0 * self._projected
        errors += self._space.squared_norms
        errors += constant[:, None]
        errors -= np.einsum("rkn,rkn->rn", scores, scores)
        return np.maximum(errors, 0.0, out=errors)

    def ascend(self, scores: Floats, support: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
        """Orthonormal basis of the supergradient's span: B, FB and MB, each of shape (R, k, ·)."""
        n_restarts, k, n = scores.shape
        inside = scores * support[:, None, :]
        # Orthonormal rows of the same span, zero where the scores have no more directions: the
        # singular values of the supergradient are then those of the data, not their squares.
        values, V = np.linalg.eigh(inside @ np.swapaxes(inside, 1, 2))
        roots = inverse_roots(values, values > np.maximum(values[:, -1:], 0.0) * _NOISE)
        chosen = np.swapaxes(V * roots[:, None, :], 1, 2) @ inside
        C = self._lift(chosen.reshape(n_restarts * k, n)).reshape(n_restarts, k, -1)
        C = C - chosen.sum(axis=2)[:, :, None] * self.weights[:, None, :]
        FC, MC = self._products(C.reshape(n_restarts * k, -1))
        shared = MC is FC
        FC = FC.reshape(n_restarts, k, n)
        MC = FC if shared else MC.reshape(n_restarts, k, -1)
        return _orthonormalise(C, FC, MC, _NOISE * (support @ self._space.squared_norms))


def smallest(residuals: Floats, count: int) -> NDArray[np.bool_]:
    """Mark the `count` smallest residuals, ties by row number, shape (n,)."""
    return np.asarray(_smallest_of_rows(residuals[None], count)[0][0])


def _smallest_of_rows(residuals: Floats, count: int) -> tuple[NDArray[np.bool_], Floats]:
    """Mark the `count` smallest of every row, ties by position, and return their mean."""
    ordered = np.partition(residuals, count - 1, axis=1)
    largest = ordered[:, count - 1 : count]
    mask = residuals < largest
    ties = residuals == largest
    room = count - mask.sum(axis=1, keepdims=True)
    mask |= ties & (np.cumsum(ties, axis=1) <= room)
    return mask, ordered[:, :count].mean(axis=1)


def _orthonormalise(
    C: Floats, FC: Floats, MC: Floats, noise: Floats
) -> tuple[Floats, Floats, Floats]:
    """Combine the rows of C so that those of CA become orthonormal, in order of singular value.

    Their projection FC and metric MC, which may be FC itself, are combined alike. Rows with squared
    lengths ‖AᵀC‖² up to the noise (R,) are zero. Twice: the first rotation separates the scales of
    the rows, the second, on rows scaled to one length, is accurate for small ones too (forming
    CᵀMC squares the condition number).
    """
    _, V = np.linalg.eigh(C @ np.swapaxes(MC, 1, 2))
    C, FC, MC = _turn(np.swapaxes(V[:, :, ::-1], 1, 2), C, FC, MC)
    S = C @ np.swapaxes(MC, 1, 2)
    squares = np.einsum("rkk->rk", S)
    alive = squares > noise[:, None]
    scale = inverse_roots(squares, alive)
    values, V = np.linalg.eigh(S * scale[:, :, None] * scale[:, None, :])
    kept = values > 1e-8
    roots = inverse_roots(values, kept)
    T = ((V * roots[:, None, :]) @ np.swapaxes(V, 1, 2)) * scale[:, None, :]
    return _turn(T, C, FC, MC)


def _turn(T: Floats, C: Floats, FC: Floats, MC: Floats) -> tuple[Floats, Floats, Floats]:
    """Combine rows in the same way; what is one array stays one."""
    turned = T @ FC
    return T @ C, turned, turned if MC is FC else T @ MC


# --- the algorithm as printed -------------------------------------------------------------------


def random_orthonormal(n_features: int, n_components: int, rng: np.random.Generator) -> Floats:
    """Draw from the uniform distribution on the Stiefel manifold, shape (p, k)."""
    import scipy.linalg

    U, _ = scipy.linalg.polar(rng.standard_normal((n_features, n_components)))
    return np.asarray(U, dtype=np.float64)


def algorithm1(
    X: Floats, U: Floats, n_support: int, *, tol: float = 1e-5, max_iter: int = 1000
) -> Descent:
    """Run one start of Algorithm 1 as printed, on the matrix itself: slow, easy to trust."""
    import scipy.linalg

    start = m = column_median(X)
    r = residuals(X, m, U.T)
    objectives = [float(np.sort(r)[:n_support].mean())]
    converged = False
    while not converged and len(objectives) <= max_iter:
        inside = X[smallest(r, n_support)] - m
        G = -inside.T @ (inside @ U)
        U = -scipy.linalg.polar(G)[0]
        m = X[smallest(residuals(X, m, U.T), n_support)].mean(axis=0)
        r = residuals(X, m, U.T)
        objectives.append(float(np.sort(r)[:n_support].mean()))
        converged = objectives[-2] - objectives[-1] <= tol * objectives[-2]
    support = smallest(r, n_support)
    return Descent(Fit(m - start, U, (X - m) @ U, r, support), objectives, converged)
