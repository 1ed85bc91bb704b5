"""Runs that are killed at any moment, and disks that are full at any byte."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.judging import Crew, Ending, Try, environment, left_behind, violations
from tests.fuzz.mutations import Rng
from tests.fuzz.parts import Place

_LONGEST_RUN_S = 0.9
_LARGEST_FILE = 30_000
_QUICK = ("--only", "background,mask,errors,model")  # a figure takes longer than all of it

# Seconds that the last steps of a run take, and somewhat more.
_LAST_STEPS_S = {"writes": 0.4, "replaces": 0.03, "ends": 0.05}


def _command(place: Place, *more: str) -> list[str]:
    clip = str(place.sound / "clip.npy")
    return ["run", clip, "--k", "1", "--out", str(place.out), *more]


def killed(place: Place, crew: Crew, rng: Rng) -> list[str]:
    """Kill a run after a while, and run again: nothing half done is in the way."""
    command = [sys.executable, "-m", "bgsub", *_command(place, *_QUICK)]
    process = subprocess.Popen(
        command, cwd=crew.tree, env=environment(crew.tree), stderr=subprocess.PIPE, text=True
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
    one = Try(_command(place, *_QUICK, "--force"), place.out)
    again = crew.run(one)
    broken += violations(one, again)
    if again.code != 0:
        broken.append(f"the run after {which.name} ends with {again.code}")
    return broken


def full_disk(place: Place, crew: Crew, rng: Rng) -> list[str]:
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
        cwd=crew.tree,
        env=environment(crew.tree),
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


def exchanged(place: Place, crew: Crew, rng: Rng) -> list[str]:
    """Stop a run that replaces earlier results near its end: these or its own are there.

    It comes while its writers end, while names change, or when the results are said to be in.
    """
    shutil.copytree(place.sound / "results", place.out)
    earlier = _contents(place.out)
    which = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[int(rng.integers(4))]
    step = sorted(_LAST_STEPS_S)[int(rng.integers(len(_LAST_STEPS_S)))]
    log = place.work / "stderr"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "bgsub", *_command(place, "--force", *_QUICK)],
            cwd=crew.tree,
            env=environment(crew.tree),
            stderr=file,
        )
        while process.poll() is None and not _has_come_to(step, place.out, log):
            time.sleep(0.0002)
        time.sleep(float(rng.uniform(0.0, _LAST_STEPS_S[step])))
        process.send_signal(which)
        code = process.wait()
    stderr = log.read_text(errors="replace")
    broken = []
    if which == signal.SIGKILL:
        # Whatever reads there next finishes what was begun.
        following = crew.run(Try(["errors", str(place.out)]))
        if following.code != 0:
            broken.append(f"the command after SIGKILL ends with {following.code}")
    else:
        broken += violations(Try([]), Ending(code, stderr))
        if code not in {0, 130}:
            broken.append(f"{which.name} ends with {code}")
        if "results are in" in stderr and code != 0:
            broken.append("results are said to be in, but the code says another thing")
        if "bgsub: warning" in stderr or "warning:" in stderr:
            broken.append("a warning of what is no damage")
        if code == 130 and (_contents(place.out) == earlier) == ("are complete" in stderr):
            broken.append("an interrupted run does not say which results are there")
        broken += left_behind(place.out, 0)
    return broken + _mixed_up(place.out)


def _has_come_to(step: str, out: Path, log: Path) -> bool:
    if step == "writes":
        return any(path.stat().st_size for path in out.glob(".bgsub-partial-*/*.mp4"))
    if step == "replaces":
        return any(out.glob(".bgsub-partial-*/run.json"))
    return b"results are in" in log.read_bytes()


def _contents(out: Path) -> dict[str, str]:
    """Give the SHA-256 of all files but those under temporary names."""
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file() and not path.relative_to(out).parts[0].startswith(".bgsub-")
    }


def _mixed_up(out: Path) -> list[str]:
    """Say whether a folder holds anything but the results that its run.json names."""
    found = _contents(out)
    if "run.json" not in found:
        return ["neither the earlier results nor the new ones are there"]
    outputs = json.loads((out / "run.json").read_text())["outputs"]
    names = {name.split("/")[0] for name in found} - {"run.json"}
    if names != set(outputs):
        return [f"files and run.json differ: {sorted(names ^ set(outputs))}"]
    changed = [name for name in names if name in found and found[name] != outputs[name]["sha256"]]
    return [f"{name} is not what run.json says" for name in changed]


HARDSHIPS = {"kills": killed, "exchanges": exchanged, "disks": full_disk}
