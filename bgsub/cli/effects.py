"""Name the options that were typed although the others leave them without effect."""

from __future__ import annotations

from collections.abc import Callable, Collection

from bgsub.cli.messages import Session
from bgsub.options import RunOptions
from bgsub.pipeline.inputs import needs_fit, needs_masks, needs_objects


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
        frozenset({"max_area", "min_track", "max_gap", "regions", "line", "feedback"}),
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


def name_idle(options: RunOptions, typed: Collection[str], session: Session) -> None:
    """Log one warning that names all options without effect; the run goes on without them.

    Parameters
    ----------
    typed : collection of str
        Names of the options that stand on the command line. What an earlier run was given
        (--from-json) may be superfluous.
    """
    outputs = ",".join(sorted(options.outputs))
    idle = {name: f"with {reason}" for name, reason in options.without_effect(typed).items()}
    for names, has_effect, reason in _RULES:
        if not has_effect(options):
            told = f"with --only {outputs}, for {reason}"
            idle |= dict.fromkeys(names.intersection(typed), told)
    if not idle:
        return
    parts = []
    for reason in dict.fromkeys(idle[name] for name in sorted(idle)):
        names_of = [options.as_given(name) for name in sorted(idle) if idle[name] == reason]
        verb = "has" if len(names_of) == 1 else "have"
        parts.append(f"{', '.join(names_of)} {verb} no effect {reason}")
    session.log("warning", "; ".join(parts))
