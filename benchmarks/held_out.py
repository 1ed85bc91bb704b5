"""How much of the masks' quality is tuning: ``python -m benchmarks.held_out DATA``.

The scenes fall into five groups that are fixed here. For each group the parameters are chosen among
`CANDIDATES` by the mean F of all scenes outside of it, and scored on the scenes within. The mean
over all scenes of these figures is the held-out mean; its difference to the mean of the shipped
parameters says how much the scenes themselves have chosen. All candidates draw with models that are
fitted once, with the shipped parameters: 18 fits instead of 340.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cases import Setting, mean_f, table
from benchmarks.masks import sequences
from bgsub.local.params import DEFAULTS

GROUPS = (
    ("bmc_video003", "hall_and_monitor", "highway", "sleeper"),
    ("people_in_shade", "sits_down", "fog_traffic", "waving_trees"),
    ("fall", "daylight", "highway_shadows", "bootstrap"),
    ("board", "thermal_settling", "light_switch"),
    ("ocean", "office_people", "moved_object"),
)
"""Names of scenes; those that are in none make a group of their own."""

VALUES: dict[str, tuple[Any, ...]] = {
    "threshold": (2.5, 3.0, 3.5),
    "contrast_share": (0.1, 0.2, 0.3),
    "detail": (0.2, 0.4),
}
"""Values of the parameters that were chosen on scenes with a truth, in all combinations."""

CANDIDATES = [
    replace(DEFAULTS, **dict(zip(VALUES, values, strict=True)))
    for values in itertools.product(*VALUES.values())
]


def main() -> int:
    """Measure, and print a line a group and the two means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", help="names of sequences")
    given = parser.parse_args()
    wanted = [one for one in sequences(given.data) if not given.only or one.name in given.only]
    if len(wanted) < 2:
        print(f"{given.data}: fewer than two sequences with a truth", file=sys.stderr)
        return 1
    names = [one.name for one in wanted]
    listed = {name for group in GROUPS for name in group}
    groups = [*GROUPS, tuple(name for name in names if name not in listed)]
    rows = table(wanted, [Setting(), *(Setting(one, DEFAULTS) for one in CANDIDATES)])
    shipped, others = rows[0], rows[1:]
    held_out = []
    for group in groups:
        inside = [i for i, name in enumerate(names) if name in group]
        outside = [i for i in range(len(names)) if i not in inside]
        if not inside or not outside:
            continue
        means = [mean_f(row[i] for i in outside) for row in others]
        best = max(range(len(others)), key=means.__getitem__)
        scored = [others[best][i] for i in inside]
        held_out += scored
        chosen = " ".join(f"{name} {getattr(CANDIDATES[best], name):g}" for name in VALUES)
        print(f"{', '.join(names[i] for i in inside)}: {chosen}: mean F {mean_f(scored):.3f}")
    print(f"held-out mean F {mean_f(held_out):.3f}, with the shipped {mean_f(shipped):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
