"""Measure how small and how faint a thing may be: what events, errors and MOG2 find of patches.

python -m benchmarks.sensitivity DATA

The footage is what two films of Wallflower (4 frames a second, noise of a real sensor) show while
nobody is there: 2.6 minutes of moved_object, and 4 of light_switch in the dark. Each way has a
threshold, the lowest that gives at most one false event in ten minutes, which of so few minutes is
none; alarms less than a second apart are one event. bgsub learns from these frames; then squares
wander over 240 of them, a pixel a frame, of one colour and with the camera's noise, brighter or
darker than the mean of what they hide by some σ of the noise from frame to frame. Printed: the
share of these frames in which there is an object (`--min-area …`), that are above the cut-off
(`bgsub errors --cutoff …`), that are either, as `bgsub events` lists both, or that are above the
share of foreground of MOG2, which sees the 300 frames before first.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

import bgsub
from bgsub.outliers.errors_table import read_csv
from bgsub.tracking.tables import read_objects

Frames = NDArray[np.uint8]
Values = NDArray[np.float64]

AREAS = (0.0001, 0.0003, 0.001, 0.003, 0.01)
CONTRASTS = (2, 4, 8, 16)
RATE = 4
COUNT, BEFORE, START = 240, 300, 320
FILMS = {
    "moved_object": ("moved_object/moved_object.mp4", 10, 630),
    "light_switch, dark": ("light_switch/light_switch.mp4", 880, 1840),
}
"""Path, and the first and the last frame, from 1, with nobody in sight."""

MINUTES = 10.0
"""For one false event."""


@dataclass(frozen=True)
class Way:
    """A way to find frames: a value for each, and the lowest that is an alarm."""

    name: str
    measure: Callable[[Frames], Values]
    threshold: float = np.inf

    def calibrated(self, empty: Frames) -> Way:
        """Give the way with the lowest threshold that keeps to the rate of false events."""
        values = self.measure(empty)
        allowed = len(empty) / RATE / 60 / MINUTES
        for level in np.unique(values[values > 0]):
            if false_events(values > level) <= allowed:
                return Way(self.name, self.measure, float(level))
        return Way(self.name, self.measure, 0.0)

    def found(self, shown: Frames) -> float:
        """Share of the last `COUNT` frames that are above the threshold."""
        return float((self.measure(shown)[-COUNT:] > self.threshold).mean())


def false_events(alarms: NDArray[np.bool_]) -> int:
    """Count alarms; those less than a second apart are one."""
    frames = np.flatnonzero(alarms)
    return 0 if not frames.size else 1 + int((np.diff(frames) > RATE).sum())


def empty_film(path: Path, first: int, last: int) -> Frames:
    """Read frames, BGR."""
    source = bgsub.open_source(path, start=first, end=last)
    return np.stack([frame.layout.to_bgr(frame.data) for frame in source])


def noise_of(empty: Frames) -> float:
    """Standard deviation from frame to frame in grey levels, the median over the pixels."""
    steps = empty[1::20].astype(np.float32) - empty[:-1:20]
    return float(np.median(steps.std(axis=0)) / np.sqrt(2))


def with_patch(frames: Frames, share: float, sigma: float, contrast: int) -> Frames:
    """Let a square wander about, brighter where the place is dark and darker where it is bright."""
    height, width = frames.shape[1:3]
    wide = max(1, round(np.sqrt(share * height * width)))
    high = max(1, round(share * height * width / wide))
    rng = np.random.default_rng(contrast)
    place, heading = np.array([height / 2, width / 2]), rng.uniform(0, 6.3)
    shown = frames.copy()
    for frame in shown:
        heading += rng.normal(0, 0.2)
        place = place + np.array([np.sin(heading), np.cos(heading)])
        limits = np.array([height - high - 1, width - wide - 1])
        if (place < 0).any() or (place > limits).any():
            heading, place = heading + np.pi / 2, np.clip(place, 0, limits)
        y, x = (int(value) for value in place)
        part = frame[y : y + high, x : x + wide].astype(float)
        sign = 1 if part.mean() < 128 else -1
        level = part.mean(axis=(0, 1)) + sign * contrast * sigma
        look = level + rng.normal(0, sigma, part.shape)
        frame[y : y + high, x : x + wide] = np.clip(look, 0, 255)
    return shown


def ways(empty: Frames, folder: Path) -> list[Way]:
    """Learn from the empty film, and give the ways with their thresholds."""
    outputs = frozenset({"model", "errors"})
    source = bgsub.SourceOptions(fps=RATE)
    options = bgsub.RunOptions(source=source, outputs=outputs, k=1)
    np.save(folder / "empty.npy", empty[..., ::-1])
    bgsub.run(folder / "empty.npy", folder / "run", options)

    def applied(frames: Frames, wanted: Sequence[str]) -> Path:
        np.save(folder / "shown.npy", frames[..., ::-1])
        chosen = bgsub.RunOptions(source=source, outputs=frozenset(wanted), min_area=1, force=True)
        bgsub.apply(folder / "run" / "model.npz", folder / "shown.npy", folder / "out", chosen)
        return folder / "out"

    def objects(frames: Frames) -> Values:
        out, largest = applied(frames, ["objects"]), np.zeros(len(frames))
        seen = read_objects(out / "objects.csv")
        for number, group in groupby(seen, lambda each: each.frame):
            largest[number - 1] = max(each.area for each in group)
        return largest

    def errors(frames: Frames) -> Values:
        table = read_csv(applied(frames, ["errors"]) / "errors.csv")
        local = table.scores if table.local is None else table.local
        return np.maximum(np.maximum(table.scores, local), 0.0)

    def mog2(frames: Frames) -> Values:
        subtractor = cv2.createBackgroundSubtractorMOG2()
        shares = [float((subtractor.apply(frame) == 255).mean()) for frame in frames]
        shares[:BEFORE] = [0.0] * BEFORE  # it is still learning
        return np.array(shares)

    flagged = Way("errors", errors).calibrated(empty)

    def events(frames: Frames) -> Values:
        return np.where(errors(frames) > flagged.threshold, np.inf, objects(frames))

    others = {"objects": objects, "events": events, "MOG2": mog2}
    return [flagged, *(Way(name, way).calibrated(empty) for name, way in others.items())]


def table(chosen: Way, empty: Frames, sigma: float) -> None:
    """Print what a way finds."""
    print(f"\n{chosen.name}: above {chosen.threshold:.4g}")
    print("of picture " + "".join(f"{contrast:>6} σ" for contrast in CONTRASTS))
    start = START if chosen.name != "MOG2" else START - BEFORE
    for share in AREAS:
        cells = []
        for contrast in CONTRASTS:
            shown = empty[start : START + COUNT].copy()
            shown[-COUNT:] = with_patch(shown[-COUNT:], share, sigma, contrast)
            cells.append(chosen.found(shown))
        print(f"{100 * share:8.2f} % " + "".join(f"{cell:8.2f}" for cell in cells), flush=True)


def main() -> None:
    """Print a table for each film and way."""
    for name, (path, first, last) in FILMS.items():
        empty = empty_film(Path(sys.argv[1]) / path, first, last)
        sigma = noise_of(empty)
        minutes = len(empty) / RATE / 60
        print(f"\n{name}: {len(empty)} frames, {minutes:.1f} minutes, σ {sigma:.2f} grey levels")
        with tempfile.TemporaryDirectory() as place:
            for way in ways(empty, Path(place)):
                table(way, empty, sigma)


if __name__ == "__main__":
    main()
