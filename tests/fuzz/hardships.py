"""Runs that are killed at any moment, and disks that are full at any byte."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.judging import Ending, Try, environment, left_behind, violations
from tests.fuzz.mutations import Rng
from tests.fuzz.parts import Place

_LONGEST_RUN_S = 1.5
_LARGEST_FILE = 30_000


def _command(place: Place, *more: str) -> list[str]:
    clip = str(place.sound / "clip.npy")
    return ["run", clip, "--k", "1", "--out", str(place.out), *more]


def killed(place: Place, tree: Path, rng: Rng) -> list[str]:
    """Kill a run after a while, and run again: nothing half done is in the way."""
    command = [sys.executable, "-m", "bgsub", *_command(place)]
    process = subprocess.Popen(
        command, cwd=tree, env=environment(tree), stderr=subprocess.PIPE, text=True
    )
    which = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[int(rng.integers(3))]
    # An interpreter that has not come to bgsub yet ends as every program does.
    while process.poll() is None and not any(place.work.iterdir()):
        time.sleep(0.01)
    time.sleep(float(rng.uniform(0.0, _LONGEST_RUN_S)))
    process.send_signal(which)
    stderr = process.communicate()[1]
    broken = []
    is_whole = (place.out / "run.json").is_file()
    if which == signal.SIGKILL:
        named = [path for path in place.out.glob("*") if not path.name.startswith(".bgsub-")]
        if named and not is_whole:
            broken.append("SIGKILL leaves results without a run.json")
    else:
        ending = Ending(process.returncode, stderr)
        broken += violations(Try([], place.out), ending)
        if process.returncode not in {0, 130}:
            broken.append(f"{which.name} ends with {process.returncode}")
    again = subprocess.run(
        [*command, "--force"],
        cwd=tree,
        env=environment(tree),
        capture_output=True,
        text=True,
        check=False,
    )
    broken += violations(Try([], place.out), Ending(again.returncode, again.stderr))
    if again.returncode != 0:
        broken.append(f"the run after {which.name} ends with {again.returncode}")
    return broken


def full_disk(place: Place, tree: Path, rng: Rng) -> list[str]:
    """Let no file grow beyond some size, as on a disk that fills up."""
    size = int(rng.integers(1, _LARGEST_FILE))
    kinds = (("--format", "png"), ("--format", "mkv"), (), ("--preview",), ("--only", "errors"))
    arguments = _command(place, *kinds[int(rng.integers(len(kinds)))])
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
        f"sys.argv[1:] = {arguments!r}; from bgsub.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tree,
        env=environment(tree),
        capture_output=True,
        text=True,
        check=False,
    )
    broken = violations(Try([], place.out), Ending(done.returncode, done.stderr))
    if done.returncode not in {0, 5}:
        broken.append(f"a full disk ends with {done.returncode}")
    if done.returncode == 5 and place.out.is_dir():
        broken += left_behind(place.out, 5)
    return broken


HARDSHIPS = {"kills": killed, "disks": full_disk}
