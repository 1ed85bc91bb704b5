"""Fuzz bgsub: ``python -m tests.fuzz films --seed 7 --tries 1000``; exit code 1 if rules broke.

Every try follows from the seed and its number, so that ``--first N --tries 1`` makes one again.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.fuzz.hardships import HARDSHIPS
from tests.fuzz.judging import Crew, violations
from tests.fuzz.parts import PARTS, Place, prepare
from tests.fuzz.witnesses import witnessed

WITNESSES = "witnesses"


def fuzz(
    part: str, *, seed: int, tries: int, first: int = 0, place: Place, crew: Crew
) -> list[tuple[int, str, list[str]]]:
    """Make the tries of a part; give number, command and broken rules of those that broke some."""
    found = []
    for number in range(first, first + tries):
        rng = np.random.default_rng([seed, number, *part.encode()])
        place.clear()
        if part in HARDSHIPS:
            broken, command = HARDSHIPS[part](place, crew, rng), ""
        elif part == WITNESSES:
            command, broken = witnessed(crew, place.work, rng)
        else:
            one = PARTS[part](place, rng)
            broken, command = violations(one, crew.run(one)), " ".join(one.arguments)[:300]
        if broken:
            found.append((number, command, broken))
    return found


def main() -> int:
    """Fuzz the parts that are asked for, and print a line for each."""
    every = [*PARTS, WITNESSES, *HARDSHIPS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=every, metavar="PART", help=", ".join(every))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tree", type=Path, default=Path.cwd(), help="the tree to be tried")
    parser.add_argument("--show", type=int, default=20, help="how many of the tries that broke one")
    options = parser.parse_args()
    total = 0
    with tempfile.TemporaryDirectory(prefix="bgsub-fuzz-") as folder:
        for part in options.parts or every:
            # What takes a process of its own is tried less often.
            tries = max(1, options.tries // 20) if part in HARDSHIPS else options.tries
            begun = time.perf_counter()
            with Crew(options.tree.resolve()) as crew:
                found = fuzz(
                    part,
                    seed=options.seed,
                    tries=tries,
                    first=options.first,
                    place=prepare(Path(folder) / part, crew),
                    crew=crew,
                )
            seconds = time.perf_counter() - begun
            print(f"{part}: {tries} tries, {len(found)} break a rule ({seconds:.0f} s)", flush=True)
            kinds = collections.Counter(rule for _, _, broken in found for rule in broken)
            for rule, count in kinds.most_common(20):
                print(f"    {count:5d}  {rule}")
            for number, command, broken in found[: options.show]:
                print(f"    try {number}: {'; '.join(broken)}: {command}", file=sys.stderr)
            total += len(found)
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
