"""Time films and segments on the workers of a local Dask cluster beside --jobs.

``python -m benchmarks.cluster [FILM]``, with ``pip install 'bgsub[cluster]'``.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import bgsub

_WAYS = {
    "--jobs 1": ("--jobs", "1"),
    "1 worker": ("--scheduler", "local:1"),
    "--jobs 2": ("--jobs", "2"),
    "2 workers": ("--scheduler", "local:2"),
}
_FILMS, _FRAMES = 8, 120


def _seconds(arguments: list[str]) -> tuple[float, float]:
    """Return wall-clock and processor seconds of a call of bgsub."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "bgsub", *arguments, "--quiet"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu


def main() -> None:
    """Print a table for docs/cluster.md."""
    film = sys.argv[1] if len(sys.argv) > 1 else "sample_videos/water.avi"
    frames = np.stack([frame.image for frame in bgsub.open_source(film, end=_FRAMES)])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for number in range(_FILMS):
            np.save(place / f"film{number}.npy", frames)
        np.save(place / "long.npy", np.concatenate([frames] * _FILMS))
        films = [str(place / f"film{number}.npy") for number in range(_FILMS)]
        step = str(len(frames))
        cases = {
            f"{_FILMS} films of {len(frames)} frames": films,
            f"1 film of {_FILMS * len(frames)} frames, in {_FILMS} segments": [
                str(place / "long.npy"),
                "--segment",
                step,
            ],
        }
        print("| | " + " | ".join(_WAYS) + " |\n|" + "---|" * (1 + len(_WAYS)))
        for name, given in cases.items():
            row = []
            for way, options in _WAYS.items():
                out = str(place / f"{len(given)}-{way}")
                more = ["--only", "mask,errors", "--k", "1"]
                wall, cpu = _seconds(["run", *given, *more, *options, "--out", out])
                row.append(f"{wall:.0f} s ({cpu:.0f})")
            print(f"| {name} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
