"""Compare whole runs of several versions with programs that only read and write.

``python -m benchmarks.ratios TREE[,TREE...] ROUNDS FILM[:N]...`` runs ``bgsub run FILM --only
mask`` of each source tree and decode, MOG2, encode (`benchmarks.floor`) in turns on the first N
frames; with ``--all``, all outputs and the codecs alone. Seconds are medians, on the clock and of
processors, those of helping processes included.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_ALL_FRAMES = 10**9


def _spent(tree: Path, arguments: list[str]) -> tuple[float, float]:
    """Return the seconds of a process of a source tree, on the clock and of processors."""
    command = [sys.executable, "-m", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, cwd=tree, env=environment, capture_output=True)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _compare(trees: list[Path], film: str, rounds: int, *, all_outputs: bool) -> None:
    """Run everything in turns on a film, and print a line for each tree."""
    path, _, count = film.partition(":")
    film, frames = str(Path(path).resolve()), count or str(_ALL_FRAMES)
    last = ["--end", count] if count else []
    wanted = [] if all_outputs else ["--only", "mask"]
    floor = ["benchmarks.floor", "codec" if all_outputs else "mog2", film, frames]
    spent: list[list[tuple[float, float]]] = [[] for _ in range(len(trees) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        ours = ["bgsub", "run", film, *last, *wanted, "--out", str(out), "--quiet"]
        for _ in range(rounds):
            for tree, times in zip(trees, spent, strict=False):
                times.append(_spent(tree, ours))
                shutil.rmtree(out)
            spent[-1].append(_spent(trees[-1], floor))
    least = [statistics.median(column) for column in zip(*spent[-1], strict=True)]
    for tree, times in zip(trees, spent, strict=False):
        clock, cpu = (statistics.median(column) for column in zip(*times, strict=True))
        print(
            f"| {Path(path).name}:{count or 'all'} | {tree.name} | {clock:.2f} s | {cpu:.2f} s "
            f"| {least[0]:.2f} s | {least[1]:.2f} s | {clock / least[0]:.2f} "
            f"| {cpu / least[1]:.2f} |",
            flush=True,
        )


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ratios")
    parser.add_argument("trees", help="folders with versions of this repository, by commas")
    parser.add_argument("rounds", type=int, help="how often each is run")
    parser.add_argument("films", nargs="+", metavar="FILM[:N]")
    parser.add_argument("--all", action="store_true", help="all outputs instead of masks alone")
    chosen = parser.parse_args()
    trees = [Path(name).resolve() for name in chosen.trees.split(",")]
    print("| film | version | clock | CPU | the alternative's | its CPU | ratio | of CPU |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for film in chosen.films:
        _compare(trees, film, chosen.rounds, all_outputs=chosen.all)


if __name__ == "__main__":
    main()
