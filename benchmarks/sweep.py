"""What a number does on every scene: ``python -m benchmarks.sweep NAME VALUES --data DATA``.

NAME is a field of `bgsub.local.params.LocalParams`, VALUES some numbers, as in
``python -m benchmarks.sweep threshold 2.5 3 3.5 --data ../shared/data``. Models are fitted anew for
every value; masks and truths are those of `benchmarks.masks` (see `benchmarks.cases`).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields, replace
from pathlib import Path

from benchmarks.cases import Setting, mean_f, table
from benchmarks.footage import sequences
from benchmarks.masks import shown
from bgsub.local.params import DEFAULTS


def main() -> int:
    """Measure and print the table, a line a scene and a column a value."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=[one.name for one in fields(DEFAULTS)])
    parser.add_argument("values", type=float, nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help="names of sequences")
    given = parser.parse_args()
    kind = type(getattr(DEFAULTS, given.name))
    settings = [Setting(replace(DEFAULTS, **{given.name: kind(one)})) for one in given.values]
    wanted = [one for one in sequences(given.data) if not given.only or one.name in given.only]
    if not wanted:
        print(f"{given.data}: no sequence with a truth is there", file=sys.stderr)
        return 1
    rows = table(wanted, settings)
    print(f"{given.name:20s}" + " ".join(f"{one:>10g}" for one in given.values))
    for i, footage in enumerate(wanted):
        print(f"{footage.name:20s}" + " ".join(f"{shown(row[i]):>10s}" for row in rows))
    print(f"{'mean F':20s}" + " ".join(f"{mean_f(row):10.3f}" for row in rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
