"""How much of the masks' quality is tuning: ``python -m benchmarks.held_out DATA``.

The scenes fall into five groups that are fixed here. For each group every number of `VALUES` is
chosen anew, alone, among the shipped value and those beside it, by the mean F of all scenes outside
of the group, and stays as it is unless that gains .001; then all that were chosen draw the scenes
within. The mean over all scenes of these figures is the held-out mean; its difference to the mean
of the shipped numbers says how much the scenes themselves have chosen. The rules, and the numbers
that are not in `VALUES`, are not left out. Nothing is thinned: masks and truths are those of
`benchmarks.masks` (see `benchmarks.cases`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cases import Setting, mean_f, table
from benchmarks.footage import sequences
from benchmarks.masks import shown
from bgsub.evaluation.measures import Counts
from bgsub.local.params import DEFAULTS

GROUPS = (
    ("bmc_video003", "hall_and_monitor", "highway", "sleeper"),
    ("people_in_shade", "sits_down", "fog_traffic", "waving_trees"),
    ("fall", "daylight", "highway_shadows", "bootstrap"),
    ("board", "thermal_settling", "light_switch"),
    ("ocean", "office_people", "moved_object"),
)
"""Names of scenes; those that are in none make a group of their own."""

FITTED: dict[str, tuple[float, ...]] = {
    "far_share": (0.18, 0.35),
    "majority_weight": (0.15, 0.6),
    "change_area": (0.001, 0.004),
}
"""Values beside the shipped one, of numbers that the fit depends on."""

VALUES: dict[str, tuple[float, ...]] = {
    "threshold": (2.5, 3.5),
    "contrast_share": (0.1, 0.3),
    "detail": (0.2, 0.6),
    "least_area": (0.0005, 0.0013),
    "close_px": (9, 21),
    "texture_kept": (0.3, 0.5),
    "shadow_chroma": (2.0, 3.2),
    "shadow_darkest": (0.5, 0.7),
    "shade_share": (0.2, 0.5),
    "outline_edge": (0.4, 0.6),
    "lasting_strength": (1.05, 1.25),
    "lasting_contrast": (25.0, 60.0),
    **FITTED,
}
"""Values beside the shipped one, of the numbers that were chosen on scenes with a truth."""

_WORTH = 0.001
"""Mean F outside of a group that moves a number; for less nobody would."""


def _changed(**numbers: Any) -> Setting:
    """Give the shipped numbers but for some; one model serves all that no fit depends on."""
    refit = {name: value for name, value in numbers.items() if name in FITTED}
    return Setting(replace(DEFAULTS, **numbers), fitted=replace(DEFAULTS, **refit))


def _chosen(means: dict[tuple[str, float], float], shipped: float) -> dict[str, float]:
    """Pick the best value of every number, where one beside the shipped one is worth it."""
    best = {}
    for name, values in VALUES.items():
        highest, value = max((means[name, one], one) for one in values)
        if highest > shipped + _WORTH:
            best[name] = value
    return best


def _outside(row: Sequence[Counts], inside: Sequence[int]) -> float:
    return mean_f(counts for i, counts in enumerate(row) if i not in inside)


def main() -> int:
    """Measure, and print a line a group, the scenes of each, and the two means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", help="names of sequences")
    given = parser.parse_args()
    wanted = [one for one in sequences(given.data) if not given.only or one.name in given.only]
    names = [one.name for one in wanted]
    listed = {name for group in GROUPS for name in group}
    groups = [*GROUPS, tuple(name for name in names if name not in listed)]
    inside = [[i for i, name in enumerate(names) if name in group] for group in groups]
    inside = [one for one in inside if 0 < len(one) < len(names)]
    if len(inside) < 2:
        print(f"{given.data}: its sequences with a truth are of one group", file=sys.stderr)
        return 1
    alone = [(name, value) for name, values in VALUES.items() for value in values]
    shipped, *rows = table(wanted, [Setting(), *(_changed(**{name: v}) for name, v in alone)])
    choices = []
    for group in inside:
        means = {one: _outside(row, group) for one, row in zip(alone, rows, strict=True)}
        choices.append(_chosen(means, _outside(shipped, group)))
    held_out = [Counts()] * len(wanted)
    for group, numbers in zip(inside, choices, strict=True):
        (row,) = table([wanted[i] for i in group], [_changed(**numbers)])
        for i, counts in zip(group, row, strict=True):
            held_out[i] = counts
        said = ", ".join(f"{name} {value:g}" for name, value in numbers.items())
        print(f"mean F {mean_f(row):.3f}, {mean_f(shipped[i] for i in group):.3f} shipped: {said}")
        for i in group:
            print(f"  {names[i]:18s}{shown(held_out[i]):>10s}{shown(shipped[i]):>10s}", flush=True)
    print(f"held-out mean F {mean_f(held_out):.3f}, with the shipped {mean_f(shipped):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
