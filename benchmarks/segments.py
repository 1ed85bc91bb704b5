"""Run films as one and in segments: what segments cost, and how masks jump at their borders.

python -m benchmarks.segments                  two generated films, 64×36 and 320×240
python -m benchmarks.segments FILM LENGTH      a film, in segments of so many frames

Cost is processor time of the complete command on one thread. A border's jump is the share of the
pixels of the mask that change from the frame before it to the one behind it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

import bgsub
from benchmarks.day import make_film

_ROUNDS = 2
_FILMS = {(36, 64): (10_000, 5_000), (240, 320): (3_000, 1_500)}
_RUN = ("--threads", "1", "--only", "mask,errors,objects", "--quiet", "--force")


def _seconds(film: str, segment: str, out: Path) -> float:
    """Return processor seconds of a run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "bgsub", "run", film, "--segment", segment, *_RUN]
    subprocess.run([*command, "--out", str(out)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _changes(out: Path) -> dict[int, float]:
    """Return the share of the mask that changes towards each frame."""
    masks = ((one.number, one.image[..., 0] > 127) for one in bgsub.open_source(out / "mask.mp4"))
    return {number: float((a != b).mean()) for (_, a), (number, b) in pairwise(masks)}


def compare(film: str, length: int, rounds: int = 1) -> None:
    """Run a film both ways, so often, and print the least cost and the jumps."""
    spent: dict[str, list[float]] = {"off": [], str(length): []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for segment, seconds in spent.items():
                seconds.append(_seconds(film, segment, Path(folder) / segment))
        one, many = (min(seconds) for seconds in spent.values())
        print(f"{film}: as one {one:.1f} s, in segments {many:.1f} s: {many / one:.2f}")
        facts = json.loads((Path(folder) / str(length) / "run.json").read_text(encoding="utf-8"))
        changes = [_changes(Path(folder) / segment) for segment in spent]
    usual = 100 * float(np.median(list(changes[0].values())))
    for segment in facts["segments"][1:]:
        first = segment["first"]
        jumps = " and ".join(f"{100 * each[first]:.2f}" for each in changes)
        print(
            f"  {first} ({segment['reason']}): {jumps} % of the mask change (usual {usual:.2f} %)"
        )


def main() -> None:
    """Measure the film that is given, or those that are made."""
    if len(sys.argv) > 1:
        compare(sys.argv[1], int(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        for (height, width), (frames, length) in _FILMS.items():
            film = Path(folder) / f"{width}x{height}.mp4"
            make_film(film, frames, (height, width))
            compare(str(film), length, _ROUNDS)


if __name__ == "__main__":
    main()
