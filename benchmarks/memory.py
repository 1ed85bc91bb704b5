"""Estimated against measured peak memory of whole runs.

``python -m benchmarks.memory`` makes clips of its own; ``python -m benchmarks.memory VIDEO`` takes
footage. Each run is a process of its own, whose peak resident memory the system counts.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

TOLERANCE = 0.2
"""Share by which estimate and peak may differ, and by which the peak may exceed the limit."""


@dataclass(frozen=True)
class Case:
    """A clip of a size, and the options of the run on it."""

    width: int
    height: int
    frames: int
    options: tuple[str, ...] = ()


CASES = (
    Case(64, 36, 2000),
    Case(160, 128, 633),
    Case(640, 360, 374),
    Case(1280, 720, 250),
    Case(1280, 720, 576, ("--memory", "700M")),
    Case(1280, 720, 250, ("--only", "errors")),
    Case(3840, 2160, 60),
)
# Below, at and above the number of frames from which a sample is fitted, in every storage.
LONG = (
    Case(160, 120, 1999),
    Case(160, 120, 1999, ("--memory", "380M")),
    Case(160, 120, 1999, ("--memory", "300M")),
    Case(160, 120, 2001),
    Case(160, 120, 2001, ("--memory", "380M")),
    Case(160, 120, 2001, ("--memory", "300M")),
    Case(160, 120, 40_000, ("--only", "errors")),
    Case(160, 120, 40_000, ("--only", "errors", "--memory", "500M")),
    Case(160, 120, 40_000, ("--only", "errors", "--memory", "300M")),
    Case(64, 36, 20_000),
    Case(1280, 720, 2000, ("--memory", "700M")),
)


@dataclass(frozen=True)
class Measured:
    """What a run was thought to take, and took; bytes."""

    case: str
    limit: int
    storage: str
    fit_frames: int | None
    estimate: int
    peak: int

    @property
    def ratio(self) -> float:
        """Estimate over peak."""
        return self.estimate / self.peak

    @property
    def verdict(self) -> str:
        """Whether the estimate was good enough, and the limit kept."""
        if self.peak > (1.0 + TOLERANCE) * self.limit:
            return "over the limit"
        return "ok" if abs(self.ratio - 1.0) <= TOLERANCE else "off"


def make_clip(case: Case, path: Path) -> None:
    """Encode a swaying texture with a square that walks through it for a part of the time."""
    import av
    import cv2
    import numpy as np

    width, height = case.width, case.height
    rng = np.random.default_rng(0)
    coarse = rng.integers(60, 180, (height // 16, width // 16 + 2), dtype=np.uint8)
    texture = cv2.resize(coarse, (width + 16, height), interpolation=cv2.INTER_CUBIC)
    grain = rng.integers(0, 5, (3, height, width), dtype=np.uint8)
    with av.open(str(path), "w") as container:
        options = {"preset": "ultrafast", "crf": "30"}
        stream = container.add_stream("libx264", rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(case.frames):
            shift = round(4 + 4 * np.sin(number / 9))
            planes = np.full((height * 3 // 2, width), 128, dtype=np.uint8)
            luma = cv2.add(texture[:, shift : shift + width], grain[number % 3])
            if number % 100 > 70:
                left = (number * 7) % (width - width // 8)
                luma[height // 3 : height // 2, left : left + width // 8] = 235
            planes[:height] = luma
            container.mux(stream.encode(av.VideoFrame.from_ndarray(planes, format="yuv420p")))
        container.mux(stream.encode(None))


def measure(video: Path, name: str, options: tuple[str, ...], folder: Path) -> Measured:
    """Run bgsub on a video and wait for it."""
    out = folder / "results"
    command = [sys.executable, "-m", "bgsub", "run", str(video), "--out", str(out), "--quiet"]
    process = subprocess.Popen([*command, "--force", *options])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = f"bgsub run on {name} ended with exit code {process.returncode}"
        raise SystemExit(message)
    manifest = json.loads((out / "run.json").read_text(encoding="utf-8"))
    memory = manifest["memory"]
    scale = 1 if sys.platform == "darwin" else 1024
    return Measured(
        case=name,
        limit=memory["limit_bytes"],
        storage=memory["frames_kept"],
        fit_frames=manifest.get("fit_frames"),  # of a film in segments each has its own
        estimate=memory["expected_bytes"],
        peak=usage.ru_maxrss * scale,
    )


def name_of(case: Case) -> str:
    """Describe a case: size, frames and options."""
    return " ".join([f"{case.width}x{case.height}x{case.frames}", *case.options])


def prepare(case: Case, folder: Path) -> Path:
    """Make the clip of a case in a process of its own, so that this one stays small.

    The peak of a process that is started counts that of the one it was started from.
    """
    video = folder / f"{case.width}x{case.height}x{case.frames}.mp4"
    if not video.exists():
        code = f"from benchmarks.memory import *; make_clip({case!r}, Path({str(video)!r}))"
        subprocess.run([sys.executable, "-c", code], check=True)
    return video


def row(found: Measured) -> str:
    """Put a measurement into a line of the table."""
    megabytes = (f"{count / 1e6:8.0f}" for count in (found.limit, found.estimate, found.peak))
    return (
        f"{found.case:<32} {found.storage:<7} {found.fit_frames or '':>5} {' '.join(megabytes)} "
        f"{found.ratio:6.2f}  {found.verdict}"
    )


def main() -> None:
    """Print the table, and write it as JSON."""
    parser = argparse.ArgumentParser(description="Estimated against measured peak memory.")
    parser.add_argument("video", nargs="?", type=Path, help="footage; made here otherwise")
    parser.add_argument("--out", type=Path, help="write the table as JSON, too")
    parser.add_argument("--long", action="store_true", help="the long clips as well: minutes")
    parser.add_argument("--temp", type=Path, help="folder for clips and results")
    given, options = parser.parse_known_args()
    found = []
    print(f"{'case':<32} {'frames':<7} {'fit':>5} {'limit':>8} {'estimate':>8} {'peak':>8}  ratio")
    with tempfile.TemporaryDirectory(prefix="bgsub-bench-", dir=given.temp) as name:
        folder = Path(name)
        cases = [] if given.video else [*CASES, *(LONG if given.long else ())]
        for case in cases or [None]:
            if case is None:
                label = " ".join([given.video.name, *options])
                done = measure(given.video, label, tuple(options), folder)
            else:
                done = measure(prepare(case, folder), name_of(case), case.options, folder)
            found.append(done)
            print(row(done), flush=True)
    if given.out is not None:
        entries = [asdict(m) | {"ratio": round(m.ratio, 3), "verdict": m.verdict} for m in found]
        facts = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
            "python": platform.python_version(),
            "tolerance": TOLERANCE,
            "runs": entries,
        }
        given.out.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    if any(m.verdict != "ok" for m in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
