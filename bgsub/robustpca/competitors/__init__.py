"""Every method by name: what `--method` accepts and `bgsub methods` lists.

Nothing heavy is imported before a factory is called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from bgsub.robustpca.competitors.pixel_methods import PCP, Progress, RobustSubspace
    from bgsub.robustpca.competitors.row_methods import HRPCA, PCA
    from bgsub.robustpca.competitors.row_sparse import ORPCA, OutlierPursuit
    from bgsub.robustpca.trpca import TRPCA

    Estimator = TRPCA | PCA | ORPCA | OutlierPursuit | HRPCA | PCP | RobustSubspace


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What methods are told, each what concerns it; None is its own default."""

    k: int = 10
    support_fraction: float | None = None
    random_state: int | np.random.Generator | None = None
    lam: float | None = None
    max_removals: int | None = None
    progress: Progress | None = None

    @property
    def reweight(self) -> bool:
        """Given the true t, the rows of a trimmed fit are the inliers without reweighting."""
        return self.support_fraction is None


def _row_bytes(n: int, p: int, k: int) -> int:
    """Eight matrices of n × n (or n × p where p is less), weights, centre and components."""
    return 8 * (8 * n * min(n, p) + 2 * (k + 1) * (n + p)) + (1 << 26)


@dataclass(frozen=True, kw_only=True)
class MethodInfo:
    """A method, in words and as a factory."""

    name: str
    paper: str
    outlier_model: str
    parameters: str
    cost: str
    estimator: str  # its module in this package and its class
    takes: tuple[str, ...] = ()  # parameters of the estimator that are attributes of `Settings` too
    memory_bytes: Callable[[int, int, int], int] = _row_bytes  # of n, p, k, besides an 8-bit X
    needs_pixels: bool = False  # False if `fit_gram` suffices
    nested: bool = False  # whether a fit with more components begins with those of a fit with fewer

    def make(self, given: Settings) -> Estimator:
        """Make an unfitted estimator."""
        module, name = self.estimator.split(":")
        kind: Any = getattr(importlib.import_module(f"bgsub.robustpca.{module}"), name)
        told = {own: getattr(given, own) for own in self.takes}
        if self.name == "outlier-pursuit" and given.lam is None:  # what λ is searched by
            told["lam"] = "rank" if given.support_fraction is None else "support"
        return kind(given.k, **told)  # type: ignore[no-any-return]


_ALL = (
    MethodInfo(
        name="trpca",
        paper="Podosinnikova, Setzer, Hein 2014",
        outlier_model="up to n − t whole frames, anywhere",
        parameters="k, t (--support-fraction; reweighted without)",
        cost="O(n²k) an iteration after the Gram matrix",
        estimator="trpca:TRPCA",
        takes=("support_fraction", "reweight", "random_state"),
    ),
    MethodInfo(
        name="pca",
        paper="Pearson 1901",
        outlier_model="none",
        parameters="k",
        cost="O(n²k) after the Gram matrix",
        estimator="competitors.row_methods:PCA",
        nested=True,
    ),
    MethodInfo(
        name="orpca",
        paper="Mateos, Giannakis 2012",
        outlier_model="n − t whole frames, each with an outlier term of its own",
        parameters="k, t (--support-fraction) or λ (--lambda)",
        cost="O(n²k) an iteration after the Gram matrix",
        estimator="competitors.row_sparse:ORPCA",
        takes=("lam", "support_fraction"),
    ),
    MethodInfo(
        name="outlier-pursuit",
        paper="Xu, Caramanis, Sanghavi 2012; McCoy, Tropp 2011",
        outlier_model="whole frames that do not fit a low-rank matrix (convex)",
        parameters="k (λ such that L has rank k), t (--support-fraction) or λ (--lambda)",
        cost="O(n³) an iteration after the Gram matrix",
        estimator="competitors.row_sparse:OutlierPursuit",
        takes=("lam", "support_fraction"),
    ),
    MethodInfo(
        name="hrpca",
        paper="Xu, Caramanis, Mannor 2013",
        outlier_model="up to n − t whole frames, removed at random",
        parameters="k, seed, t (--support-fraction)",
        cost="O(n²k) a removal after the Gram matrix",
        estimator="competitors.row_methods:HRPCA",
        takes=("support_fraction", "max_removals", "random_state"),
    ),
    MethodInfo(
        name="pcp",
        paper="Candès, Li, Ma, Wright 2009",
        outlier_model="sparse pixels of any size, spread over all frames (convex)",
        parameters="k, λ (--lambda; 1/√max(n, p))",
        cost="O(n²p) an iteration, 12np bytes",
        estimator="competitors.pixel_methods:PCP",
        takes=("lam", "progress"),
        # W and the right factor twice (rank n at worst) in float32, n × n matrices, blocks.
        memory_bytes=lambda n, p, k: (
            12 * n * p + 48 * min(n, p) ** 2 + 16 * (1 << 19) * 8 + 16 * (k + 1) * p
        ),
        needs_pixels=True,
        nested=True,
    ),
    MethodInfo(
        name="robust-subspace",
        paper="De la Torre, Black 2001",
        outlier_model="single pixels, by an M-estimator with a scale per pixel",
        parameters="k",
        cost="O(npk²) an iteration",
        estimator="competitors.pixel_methods:RobustSubspace",
        takes=("progress",),
        # PCA for the start, the fit and its normal equations, and blocks in float32.
        memory_bytes=lambda n, p, k: (
            (32 * min(n, p) ** 2 + (8 * n * p if n > p else 0))
            + (8 * (4 * k + 6) * (n + p) + 8 * n * k * k + 24 * max(1 << 19, 64 * n))
        ),
        needs_pixels=True,
    ),
    # For streams: each frame is seen by a fit to those before it.
    MethodInfo(
        name="online",
        paper="Podosinnikova, Setzer, Hein 2014, of a sliding window",
        outlier_model="up to half of the last 500 frames, whole",
        parameters="k, t (--support-fraction; reweighted without)",
        cost="O(500·p) a frame, O(500²k) an iteration every 50 frames",
        estimator="online:OnlineTRPCA",
        takes=("support_fraction", "reweight", "random_state"),
        # A window of rows, and the fit of it.
        memory_bytes=lambda n, p, k: min(n, 500) * p + _row_bytes(min(n, 500), p, k),
        needs_pixels=True,
    ),
)

# Methods by name, TRPCA first, that a comparison and a run can have.
COMPARED = {method.name: method for method in _ALL}
METHODS = {name: method for name, method in COMPARED.items() if name != "online"}
