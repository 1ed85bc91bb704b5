"""Scores of objects against the truth: ``python -m benchmarks.detections DATA``.

In frames with a truth every row of objects.csv is a detection, true where its box and that of a
region of the truth, not yet taken, overlap by an IoU of .3; of its box the part counts that has a
truth, and one that has a truth for less than half is not false. Average precision is the area under
precision by recall, detections being sorted by score; `by area` sorts them by their size instead.
Sequences whose truth marks few objects of many (flock) are left out.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.footage import Footage, sequences, truths
from benchmarks.tracks import apart
from bgsub.evaluation.measures import UNSCORED
from bgsub.options import RunOptions
from bgsub.pipeline.run import run
from bgsub.tracking.detections import Box
from bgsub.tracking.tables import read_objects
from bgsub.video.source import open_source

_LEAST = 30
"""Pixels that a region of the truth covers, at least."""


def detections(footage: Footage) -> tuple[NDArray[np.float64], int, float]:
    """Return the detections of a sequence.

    Returns
    -------
    ndarray of shape (n, 3), float
        Score, area and truth (0, 1) of each.
    int
        True regions of all frames.
    float
        Mean difference between the numbers of detections and of true regions in a frame.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        run(footage.frames, out, RunOptions(outputs=frozenset({"objects"})))
        rows = list(read_objects(out / "objects.csv"))
    numbers = np.arange(1, 1 + sum(1 for _ in open_source(footage.frames)))
    found, total, off = [], 0, []
    for number, truth in truths(footage, numbers).items():
        marked = ((truth > 0) & (truth != UNSCORED)).astype(np.uint8)
        _, _, stats, _ = cv2.connectedComponentsWithStats(marked, connectivity=8)
        boxes = [tuple(map(float, one[:4])) for one in stats[1:] if one[4] >= _LEAST]
        here = sorted((row for row in rows if row.frame == number), key=lambda row: -row.score)
        parts = [_scored(row.box, truth) for row in here]
        away = apart(boxes, [box for box, _ in parts])
        count = 0
        for i, (row, (_, share)) in enumerate(zip(here, parts, strict=True)):
            free = away[:, i] if boxes else np.array([np.nan])
            hit = not np.isnan(free).all()
            if not hit and share < 0.5:
                continue
            if hit:
                away[np.nanargmin(free)] = np.nan
            found.append((row.score, row.area, hit))
            count += 1
        total += len(boxes)
        off.append(abs(count - len(boxes)))
    return np.array(found, float).reshape(-1, 3), total, float(np.mean(off))


def _scored(box: Box, truth: NDArray[np.uint8]) -> tuple[Box, float]:
    """Return the box around the scored pixels of a box, and their share of it."""
    x, y, width, height = (max(round(side), 0) for side in box)
    scored = truth[y : y + height, x : x + width] != UNSCORED
    if not scored.any():
        return box, 0.0
    down, across = np.flatnonzero(scored.any(axis=1)), np.flatnonzero(scored.any(axis=0))
    left, top, right, bottom = across[0], down[0], across[-1] + 1, down[-1] + 1
    part = float(x + left), float(y + top), float(right - left), float(bottom - top)
    return part, float(scored.mean())


def average_precision(order: NDArray[np.float64], hit: NDArray[np.float64], total: int) -> float:
    """Return the area under precision by recall, detections being taken by falling `order`."""
    taken = hit[np.argsort(-order, kind="stable")]
    precision = np.cumsum(taken) / np.arange(1, len(taken) + 1)
    return float((precision * taken).sum() / max(total, 1))


def main() -> None:
    """Print the table."""
    print(f"{'sequence':18s} found  true  AP     by area  median score of true, false  count error")
    means = []
    for footage in sequences(Path(sys.argv[1])):
        if footage.name == "flock":
            continue
        found, total, off = detections(footage)
        if not total:
            continue
        score, area, hit = found.T
        ap = [average_precision(order, hit, total) for order in (score, area)]
        medians = [
            float(np.median(s)) if len(s) else np.nan for s in (score[hit > 0], score[hit == 0])
        ]
        means.append([*ap, *medians, off])
        print(
            f"{footage.name:18s} {len(found):5d} {total:5d}  {ap[0]:.3f}  {ap[1]:.3f}    "
            f"{medians[0]:.2f}, {medians[1]:.2f}   {off:.2f}",
            flush=True,
        )
    print("mean", " ".join(f"{one:.3f}" for one in np.nanmean(means, axis=0)))


if __name__ == "__main__":
    main()
