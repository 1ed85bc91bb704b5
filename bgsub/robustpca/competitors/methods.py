"""Every method by name: what `--method` accepts and `bgsub methods` lists.

Nothing heavy is imported before a factory is called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

    from bgsub.robustpca.competitors.hrpca import HRPCA
    from bgsub.robustpca.competitors.orpca import ORPCA
    from bgsub.robustpca.competitors.outlier_pursuit import OutlierPursuit
    from bgsub.robustpca.competitors.pca import PCA
    from bgsub.robustpca.competitors.pcp import PCP
    from bgsub.robustpca.competitors.pixel_method import Progress
    from bgsub.robustpca.competitors.robust_subspace import RobustSubspace
    from bgsub.robustpca.trpca import TRPCA

    Estimator = TRPCA | PCA | ORPCA | OutlierPursuit | HRPCA | PCP | RobustSubspace


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a factory may be told; each takes what concerns it.

    Attributes
    ----------
    k : int
        Components.
    support_fraction : float, optional
        t/n; None is each method's default.
    random_state : int, numpy.random.Generator or None
    lam : float, optional
        λ; None is each method's default.
    max_removals : int, optional
        Of HRPCA; None is its default.
    progress : callable, optional
        Called with the iterations done and the residual, by the methods that need the pixels.
    """

    k: int = 10
    support_fraction: float | None = None
    random_state: int | np.random.Generator | None = None
    lam: float | None = None
    max_removals: int | None = None
    progress: Progress | None = None


@dataclass(frozen=True, kw_only=True)
class MethodInfo:
    """A method, in words and as a factory.

    Attributes
    ----------
    name : str
        For `--method`.
    paper : str
    outlier_model : str
        What may be an outlier, and how.
    parameters : str
    cost : str
        Operations and memory; n frames, p pixels.
    needs_pixels : bool
        False if `fit_gram` suffices.
    nested : bool
        Whether a fit with more components begins with those of a fit with fewer.
    memory_bytes : callable
        (n, p, k) to the bytes that a fit needs besides an 8-bit X.
    make : callable
        `Settings` to an unfitted estimator.
    """

    name: str
    paper: str
    outlier_model: str
    parameters: str
    cost: str
    needs_pixels: bool
    nested: bool
    memory_bytes: Callable[[int, int, int], int]
    make: Callable[[Settings], Estimator]


def _load(module: str, name: str) -> Any:
    """Import what is named in a module beside this one or above."""
    return getattr(importlib.import_module(f"bgsub.robustpca.{module}"), name)


def _trimmed(module: str, name: str, settings: Settings) -> Any:
    """Return TRPCA or its like: given the true t, its rows are the inliers without reweighting."""
    return _load(module, name)(
        settings.k,
        support_fraction=settings.support_fraction,
        reweight=settings.support_fraction is None,
        random_state=settings.random_state,
    )


def _outlier_pursuit(settings: Settings) -> OutlierPursuit:
    from bgsub.robustpca.competitors.outlier_pursuit import OutlierPursuit

    unknown: Literal["rank", "support"]
    unknown = "rank" if settings.support_fraction is None else "support"
    return OutlierPursuit(
        settings.k,
        lam=unknown if settings.lam is None else settings.lam,
        support_fraction=settings.support_fraction,
    )


def _row_bytes(n_samples: int, n_features: int, k: int) -> int:
    """Eight matrices of n × n (or n × p where p is less), weights, centre and components."""
    least = min(n_samples, n_features)
    return 8 * (8 * n_samples * least + 2 * (k + 1) * (n_samples + n_features)) + (1 << 26)


def _online_bytes(n_samples: int, n_features: int, k: int) -> int:
    """Count the bytes of a fit of a window, and of its rows."""
    window = min(n_samples, 500)
    return window * n_features + _row_bytes(window, n_features, k)


_METHODS = (
    MethodInfo(
        name="trpca",
        paper="Podosinnikova, Setzer, Hein 2014",
        outlier_model="up to n − t whole frames, anywhere",
        parameters="k, t (--support-fraction; reweighted without)",
        cost="O(n²k) an iteration after the Gram matrix",
        needs_pixels=False,
        nested=False,
        memory_bytes=_row_bytes,
        make=lambda given: _trimmed("trpca", "TRPCA", given),
    ),
    MethodInfo(
        name="pca",
        paper="Pearson 1901",
        outlier_model="none",
        parameters="k",
        cost="O(n²k) after the Gram matrix",
        needs_pixels=False,
        nested=True,
        memory_bytes=_row_bytes,
        make=lambda given: _load("competitors.pca", "PCA")(given.k),
    ),
    MethodInfo(
        name="orpca",
        paper="Mateos, Giannakis 2012",
        outlier_model="n − t whole frames, each with an outlier term of its own",
        parameters="k, t (--support-fraction) or λ (--lambda)",
        cost="O(n²k) an iteration after the Gram matrix",
        needs_pixels=False,
        nested=False,
        memory_bytes=_row_bytes,
        make=lambda given: _load("competitors.orpca", "ORPCA")(
            given.k, lam=given.lam, support_fraction=given.support_fraction
        ),
    ),
    MethodInfo(
        name="outlier-pursuit",
        paper="Xu, Caramanis, Sanghavi 2012; McCoy, Tropp 2011",
        outlier_model="whole frames that do not fit a low-rank matrix (convex)",
        parameters="k (λ such that L has rank k), t (--support-fraction) or λ (--lambda)",
        cost="O(n³) an iteration after the Gram matrix",
        needs_pixels=False,
        nested=False,
        memory_bytes=_row_bytes,
        make=_outlier_pursuit,
    ),
    MethodInfo(
        name="hrpca",
        paper="Xu, Caramanis, Mannor 2013",
        outlier_model="up to n − t whole frames, removed at random",
        parameters="k, seed, t (--support-fraction)",
        cost="O(n²k) a removal after the Gram matrix",
        needs_pixels=False,
        nested=False,
        memory_bytes=_row_bytes,
        make=lambda given: _load("competitors.hrpca", "HRPCA")(
            given.k,
            support_fraction=given.support_fraction,
            max_removals=given.max_removals,
            random_state=given.random_state,
        ),
    ),
    MethodInfo(
        name="pcp",
        paper="Candès, Li, Ma, Wright 2009",
        outlier_model="sparse pixels of any size, spread over all frames (convex)",
        parameters="k, λ (--lambda; 1/√max(n, p))",
        cost="O(n²p) an iteration, 12np bytes",
        needs_pixels=True,
        nested=True,
        memory_bytes=lambda n, p, k: (
            _load("competitors.pcp", "memory_bytes")(n, p) + 16 * (k + 1) * p
        ),
        make=lambda given: _load("competitors.pcp", "PCP")(
            given.k, lam=given.lam, progress=given.progress
        ),
    ),
    MethodInfo(
        name="robust-subspace",
        paper="De la Torre, Black 2001",
        outlier_model="single pixels, by an M-estimator with a scale per pixel",
        parameters="k",
        cost="O(npk²) an iteration",
        needs_pixels=True,
        nested=False,
        memory_bytes=lambda n, p, k: _load("competitors.robust_subspace", "memory_bytes")(n, p, k),  # noqa: PLW0108 - not before it is called
        make=lambda given: _load("competitors.robust_subspace", "RobustSubspace")(
            given.k, progress=given.progress
        ),
    ),
)

METHODS: dict[str, MethodInfo] = {method.name: method for method in _METHODS}
"""Every method by its name, TRPCA first."""

_ONLINE = MethodInfo(
    name="online",
    paper="Podosinnikova, Setzer, Hein 2014, of a sliding window",
    outlier_model="up to half of the last 500 frames, whole",
    parameters="k, t (--support-fraction; reweighted without)",
    cost="O(500·p) a frame, O(500²k) an iteration every 50 frames",
    needs_pixels=True,
    nested=False,
    memory_bytes=_online_bytes,
    make=lambda given: _trimmed("online", "OnlineTRPCA", given),
)
"""A method for streams: each frame is seen by a fit to those before it."""

COMPARED = {**METHODS, _ONLINE.name: _ONLINE}
"""Every method that a comparison can have, by its name."""
