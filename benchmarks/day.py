"""Run a generated day in segments: memory, time per frame and visitors found, segment by segment.

python -m benchmarks.day               a twenty-fourth of it: 90,000 frames of 64×36
python -m benchmarks.day 24 FOLDER     all of it: 2.16 million frames

In a folder that is given film and results are kept, and a run that was stopped goes on: memory is
that of a process, so let one process do most of it.

Daylight comes and goes once, with a night; the camera is knocked at 0.7 of the film; a visitor
walks through every five minutes. The film is made frame by frame and encoded.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np

from bgsub.options import RunOptions
from bgsub.pipeline.results import is_complete
from bgsub.segments.plan import SegmentPlan
from bgsub.segments.run import run, run_segment
from bgsub.video.frames import Layout
from bgsub.video.sink import open_sink

FPS, SIZE = 25, (36, 64)
EVERY_S, VISIT_S = 300, 12
KNOCK = 0.7


def visits(frames: int) -> list[tuple[int, int]]:
    """First and last frame of every visit, from 1."""
    starts = range(EVERY_S * FPS // 2, frames - VISIT_S * FPS, EVERY_S * FPS)
    return [(start + 1, start + VISIT_S * FPS) for start in starts]


def make_film(path: Path, frames: int, size: tuple[int, int] = SIZE) -> None:
    """Write the film, of a height and width."""
    rng = np.random.default_rng(0)
    unit = size[0] / SIZE[0]
    tall, wide = round(16 * unit), round(8 * unit)
    coarse = rng.uniform(60, 220, (9, 16, 3)).astype(np.float32)
    room = cv2.resize(coarse, size[::-1], interpolation=cv2.INTER_CUBIC)
    visitor = rng.uniform(0, 255, (tall, wide, 3)).astype(np.float32)
    noise = rng.normal(0, 2, (64, *size, 3)).astype(np.float32)
    comings = iter(visits(frames))
    first, last = next(comings, (frames + 1, frames + 1))
    sink = open_sink(path, "day", layout=Layout("bgr", *size), kind="mp4", rate=Fraction(FPS))
    for number in range(1, frames + 1):
        light = 0.15 + 0.85 * max(0.0, np.sin(np.pi * (24 * number / frames - 6) / 12))
        picture = room.copy()
        if number > last:
            first, last = next(comings, (frames + 1, frames + 1))
        if first <= number <= last:
            left = int(-wide + (size[1] + wide) * (number - first) / (last - first))
            x0, x1 = max(left, 0), min(left + wide, size[1])
            top = round(14 * unit)
            picture[top : top + tall, x0:x1] = visitor[:, x0 - left : x1 - left]
        if number > KNOCK * frames:
            picture = np.roll(picture, (round(2 * unit), round(3 * unit)), axis=(0, 1))
        picture = light * picture + noise[int(rng.integers(64))]
        sink.write(np.clip(picture, 0, 255).astype(np.uint8), (number - 1) / FPS)
    sink.close()


def resident() -> tuple[float, float]:
    """Megabytes that this process has, and the most that it has had since it was asked last."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    now, most = (int(text.split(f"{name}:")[1].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return now, most


def measure(hours: float, folder: Path) -> None:
    """Make a film of so many hours, run it and print what it took."""
    frames = round(hours * 3600 * FPS)
    film, out = folder / "day.mp4", folder / "out"
    if not film.is_file():
        partial = folder / "day.partial.mp4"
        start = time.process_time()
        make_film(partial, frames)
        partial.rename(film)
        print(f"{frames} frames written in {time.process_time() - start:.0f} s of CPU", flush=True)
    if not is_complete(out):
        _run(film, out, frames)
    events = json.loads((out / "events.json").read_text(encoding="utf-8"))["events"]
    spans = [(event["first_frame"], event["last_frame"]) for event in events]
    shown = visits(frames)
    found = [any(a <= last and b >= first for a, b in spans) for first, last in shown]
    false = [(a, b) for a, b in spans if not any(a <= q and b >= p for p, q in shown)]
    print(f"{sum(found)} of {len(found)} visits are in events; {len(spans)} events")
    print(f"visits missed: {[visit for visit, seen in zip(shown, found, strict=True) if not seen]}")
    print(f"events of no visit: {len(false)} {false[:10]}")


def _run(film: Path, out: Path, frames: int) -> None:
    """Run a film, or what is left of it, segment by segment."""
    print(
        f"{'segment':>7} {'frames':>17} {'ms/frame':>9} {'resident MB':>12} {'most':>5}  reason",
        flush=True,
    )

    def work(plan: SegmentPlan, numbers: Sequence[int]) -> None:
        for number in numbers:
            begin = time.process_time()
            run_segment(out, number, plan=plan)
            segment = plan.segments[number - 1]
            last = segment.last or frames
            cost = 1000 * (time.process_time() - begin) / (last - segment.first + 1)
            span, (now, most) = f"{segment.first}-{last}", resident()
            line = f"{number:7} {span:>17} {cost:9.2f} {now:12.0f} {most:5.0f}  {segment.reason}"
            print(line, flush=True)

    outputs = {"mask", "errors", "plot", "spectrum", "objects", "tracks", "events"}
    start = time.process_time()
    run(str(film), out, RunOptions(outputs=frozenset(outputs), threads=1, resume=True), work=work)
    now, most = resident()
    took = time.process_time() - start
    print(f"joined, resident {now:.0f} MB, most {most:.0f}; {took:.0f} s of CPU in all", flush=True)


def main() -> None:
    """Measure in the folder that is given, or in one that is removed."""
    hours = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    if len(sys.argv) > 2:
        folder = Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        measure(hours, folder)
    else:
        with tempfile.TemporaryDirectory() as name:
            measure(hours, Path(name))


if __name__ == "__main__":
    main()
