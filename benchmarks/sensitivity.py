"""Measure how small and how faint a thing may be: what events, errors and MOG2 find of patches.

python -m benchmarks.sensitivity DATA

The footage is what two films of Wallflower (4 frames a second, noise of a real sensor) show while
nobody is there: 2.6 minutes of moved_object, and 3.1 of light_switch in the dark, which end before
somebody who passes behind the door darkens the strip of light under it (frames 1635-1637, 1647-1652
and from 1703 on), for that is an event. Each way has a threshold, the lowest that gives at most one
false event in ten minutes, which of so few minutes is none; alarms less than a second apart are one
event. bgsub learns from these frames; then squares wander over 240 of them, a pixel a frame, of one
colour and with the camera's noise, brighter or darker than the mean of what they hide by some σ of
the noise from frame to frame. Printed, for each size and contrast: the share of these frames that
`bgsub events` lists, that are above the cut-off (`bgsub errors --cutoff …`), that are above the
share of foreground of MOG2, which sees the 300 frames before first, and in which there is an object
(`--min-area …`). Events are objects or errors.
"""

from __future__ import annotations

import sys
import tempfile
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
    "light_switch, dark": ("light_switch/light_switch.mp4", 880, 1630),
}
"""Path, and the first and the last frame, from 1, with nobody in sight."""

WAYS = ("events", "errors", "MOG2", "objects")

MINUTES = 10.0
"""For one false event."""


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


def lowest_level(values: Values) -> float:
    """Return the lowest threshold that keeps to the rate of false events in an empty film."""
    allowed = len(values) / RATE / 60 / MINUTES
    levels = (float(level) for level in np.unique(values[values > 0]))
    return next((level for level in levels if false_events(values > level) <= allowed), 0.0)


class Meter:
    """Learns from an empty film, and says in what share of the frames each way finds something.

    Parameters
    ----------
    empty : ndarray of uint8, shape (n, h, w, 3)
    folder : Path
        For the model and the results.

    Attributes
    ----------
    thresholds : dict of str to float
        Of each way, the lowest that gives no more false events than are allowed.
    """

    def __init__(self, empty: Frames, folder: Path) -> None:
        self._folder = folder
        outputs = frozenset({"model", "errors"})
        self._source = bgsub.SourceOptions(fps=RATE)
        options = bgsub.RunOptions(source=self._source, outputs=outputs, k=1)
        np.save(folder / "empty.npy", empty[..., ::-1])
        bgsub.run(folder / "empty.npy", folder / "run", options)
        values = self._of_bgsub(empty) | {"MOG2": of_mog2(empty)}
        self.thresholds = {name: lowest_level(own) for name, own in values.items()}

    def found(self, shown: Frames) -> dict[str, float]:
        """Share of the last `COUNT` frames that each way finds; those before are empty."""
        values = self._of_bgsub(shown[-COUNT:]) | {"MOG2": of_mog2(shown)[-COUNT:]}
        alarms = {name: own > self.thresholds[name] for name, own in values.items()}
        alarms["events"] = alarms["objects"] | alarms["errors"]
        return {name: float(own.mean()) for name, own in alarms.items()}

    def _of_bgsub(self, frames: Frames) -> dict[str, Values]:
        """Largest object of each frame, and its score."""
        np.save(self._folder / "shown.npy", frames[..., ::-1])
        wanted = frozenset({"objects", "errors"})
        options = bgsub.RunOptions(source=self._source, outputs=wanted, min_area=1, force=True)
        out = self._folder / "out"
        bgsub.apply(self._folder / "run" / "model.npz", self._folder / "shown.npy", out, options)
        largest = np.zeros(len(frames))
        for number, group in groupby(read_objects(out / "objects.csv"), lambda each: each.frame):
            largest[number - 1] = max(each.area for each in group)
        table = read_csv(out / "errors.csv")
        local = table.scores if table.local is None else table.local
        return {
            "objects": largest,
            "errors": np.maximum(np.maximum(table.scores, local), 0.0),
        }


def of_mog2(frames: Frames) -> Values:
    """Share of each frame that is foreground, 0 while it learns."""
    subtractor = cv2.createBackgroundSubtractorMOG2()
    shares = [float((subtractor.apply(frame) == 255).mean()) for frame in frames]
    shares[:BEFORE] = [0.0] * BEFORE
    return np.array(shares)


def main() -> None:
    """Print a table for each film: events / errors / MOG2, and objects alone."""
    for name, (path, first, last) in FILMS.items():
        empty = empty_film(Path(sys.argv[1]) / path, first, last)
        sigma = noise_of(empty)
        minutes = len(empty) / RATE / 60
        print(f"\n{name}: {len(empty)} frames, {minutes:.1f} minutes, σ {sigma:.2f} grey levels")
        with tempfile.TemporaryDirectory() as place:
            meter = Meter(empty, Path(place))
            print("  ".join(f"{way} above {own:.4g}" for way, own in meter.thresholds.items()))
            heads = [f"{contrast} σ" for contrast in CONTRASTS]
            print("of picture  " + "".join(f"{head:>28}" for head in heads))
            for share in AREAS:
                print(f"{100 * share:8.2f} %  ", end="")
                for contrast in CONTRASTS:
                    shown = empty[START - BEFORE : START + COUNT].copy()
                    shown[-COUNT:] = with_patch(shown[-COUNT:], share, sigma, contrast)
                    found = meter.found(shown)
                    cell = " / ".join(f"{found[way]:.2f}" for way in WAYS)
                    print(f"{cell:>28}", end="", flush=True)
                print(flush=True)


if __name__ == "__main__":
    main()
