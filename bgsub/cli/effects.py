"""Refuse options that somebody has typed although the outputs make nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from bgsub.errors import UsageError
from bgsub.options import RunOptions
from bgsub.pipeline.needs import needs_fit, needs_masks, needs_objects


def _shows(*outputs: str) -> Callable[[RunOptions], bool]:
    return lambda options: not options.outputs.isdisjoint(outputs)


def _needs_threshold(options: RunOptions) -> bool:
    """Differences are shown in terms of the threshold."""
    return needs_masks(options) or "foreground" in options.outputs


_RULES: tuple[tuple[frozenset[str], Callable[[RunOptions], bool], str], ...] = (
    (
        frozenset({"k", "support_fraction", "lam", "n_init", "tol", "max_iter", "reweight"}),
        needs_fit,
        "such masks need no fit",
    ),
    (frozenset({"model", "threshold"}), _needs_threshold, "no mask is made"),
    (
        frozenset({"sensitivity", "shadows", "fill_holes", "min_area", "clean", "still_objects"}),
        needs_masks,
        "no mask is made",
    ),
    (
        frozenset({"max_area", "min_track", "max_gap", "regions", "line"}),
        needs_objects,
        "no object is followed",
    ),
    (
        frozenset({"format"}),
        _shows("background", "foreground", "mask", "scores"),
        "no video is written that can have another",
    ),
    (frozenset({"foreground"}), _shows("foreground", "preview"), "no foreground is shown"),
    (frozenset({"plot_format"}), _shows("plot"), "nothing is plotted"),
)


def check_effects(options: RunOptions, typed: Collection[str]) -> None:
    """Raise UsageError for an option that does nothing to the outputs that are asked for.

    Parameters
    ----------
    options : RunOptions
    typed : collection of str
        Names of the options that stand on the command line. What an earlier run was given
        (--from-json) may be superfluous.
    """
    for names, has_effect, reason in _RULES:
        idle = sorted(names.intersection(typed))
        if idle and not has_effect(options):
            outputs = ",".join(sorted(options.outputs))
            message = f"{options.as_given(idle[0])} has no effect with --only {outputs}: {reason}"
            raise UsageError(f"{message}; leave it out")
