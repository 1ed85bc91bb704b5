"""Time of a whole run against frames and against pixels: ``python -m benchmarks.growth [OUT]``.

The clips are the sample, played over and over and enlarged, so that anyone can repeat it. One line
for the masks of local models, whose fit takes its time however long the film is, and one for the
paper's formula.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bgsub.video.frames import Layout
from bgsub.video.sink import open_sink
from bgsub.video.source import open_source

FRAME_COUNTS = (125, 250, 500, 1000, 2000, 4000)
FACTORS = (1, 2, 4, 6)
FRAMES_PER_SIZE = 200
MODELS = ("local", "paper")
SAMPLE = Path("sample_videos/water.avi")

Growth = dict[str, list[tuple[int, float]]]
"""By model: pairs of frames, or pixels, and seconds."""


def make_clip(path: Path, frames: int, factor: int) -> int:
    """Write a clip of so many frames, enlarged; give its pixels per frame."""
    source = open_source(SAMPLE, exact_color=True)
    layout = Layout("bgr", source.layout.height * factor, source.layout.width * factor)
    sink = open_sink(path, "clip", layout=layout, kind="mp4", rate=source.rate)
    kept = [source.layout.to_bgr(frame.data) for frame in source]
    for picture in itertools.islice(itertools.cycle(kept), frames):
        large = cv2.resize(picture, (layout.width, layout.height), interpolation=cv2.INTER_CUBIC)
        sink.write(np.asarray(large, dtype=np.uint8))
    sink.close()
    return layout.pixels


def seconds(clip: Path, out: Path, model: str) -> float:
    """Wall-clock seconds of a whole run, the best of three."""
    command = [sys.executable, "-m", "bgsub", "run", str(clip), "-o", str(out), "--force", "-q"]
    command += ["--model", model]
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(command, check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def measure(folder: Path) -> dict[str, Growth]:
    """Seconds against frames at 160x128, and against pixels at 200 frames."""
    clip, out = folder / "clip.mp4", folder / "out"
    cases = [("frames", frames, 1) for frames in FRAME_COUNTS]
    cases += [("pixels", FRAMES_PER_SIZE, factor) for factor in FACTORS]
    found: dict[str, Growth] = {kind: {m: [] for m in MODELS} for kind in ("frames", "pixels")}
    for kind, frames, factor in cases:
        pixels = make_clip(clip, frames, factor)
        size = frames if kind == "frames" else pixels
        for model in MODELS:
            found[kind][model].append((size, seconds(clip, out, model)))
            print(f"{size} {kind}, {model}: {found[kind][model][-1][1]:.2f} s", file=sys.stderr)
    return found


def draw(measured: dict[str, Growth], path: Path) -> None:
    """Two panels, time against frames and against pixels, from zero."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for axes, (key, unit, note) in zip(
        (left, right),
        (
            ("frames", "frames", "160x128; 2000 frames at most are fitted"),
            ("pixels", "thousand pixels", f"{FRAMES_PER_SIZE} frames"),
        ),
        strict=True,
    ):
        scale = 1000 if key == "pixels" else 1
        for (model, pairs), color in zip(
            measured[key].items(), ("#0072B2", "#D55E00"), strict=True
        ):
            x = [value / scale for value, _ in pairs]
            axes.plot(x, [s for _, s in pairs], "o-", color=color, label=f"--model {model}")
        axes.legend()
        axes.set_xlabel(f"{unit} ({note})")
        axes.set_ylabel("seconds of a whole run")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main(out: Path) -> None:
    """Measure, write the figures as JSON and the chart as PNG."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Path(folder))
    (out / "growth.json").write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
    draw(measured, out / "growth.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("bench-results"))
