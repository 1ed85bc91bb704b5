"""Compare the events of a road camera with labels that were drawn by hand.

python -m benchmarks.events DATA

traffic_camera_events.csv says when a car is in 631,532,210,127 of the first 576 frames of
``speed/traffic_camera_1280x720.mp4``: the first and the last frame, from 1, in which a part of one
can be seen there; its shadow does not count. Every frame was looked at as a picture, enlarged and
brightened around each passage. Labels are joined as events are, by `--merge-gap`. Printed, with the
default gap of a second and with none: the labels, the event that overlaps each, and how far their
ends are apart; then the events that overlap no label.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path

import bgsub
from bgsub.tracking.events import EventFilter
from bgsub.tracking.tables import read_objects

ROI = (631, 532, 210, 127)
LABELS = Path(__file__).with_name("traffic_camera_events.csv")
RATE = 25
CLOSE = 5
"""Frames by which an event may begin or end earlier or later."""

Spans = list[tuple[int, int]]


def labels(gap_s: float) -> Spans:
    """Read the labels, those near each other joined."""
    joined: Spans = []
    with LABELS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            first, last = int(row["first_frame"]), int(row["last_frame"])
            if joined and (first - joined[-1][1]) / RATE <= gap_s:
                joined[-1] = (joined[-1][0], last)
            else:
                joined.append((first, last))
    return joined


def compare(true: Spans, found: Spans) -> tuple[int, int]:
    """Print what belongs together; give the number of labels that were met, and of inventions."""
    met, used = 0, set()
    for first, last in true:
        over = [span for span in found if span[0] <= last and span[1] >= first]
        used |= set(over)
        if len(over) == 1:
            off = over[0][0] - first, over[0][1] - last
            is_met = max(map(abs, off)) <= CLOSE
            met += is_met
            print(f"  {first:4}-{last:<4} found {over[0][0]:4}-{over[0][1]:<4} off by {off}")
        else:
            print(f"  {first:4}-{last:<4} found {over or 'not at all'}")
    invented = [span for span in found if span not in used]
    for span in invented:
        print(f"  invented: {span[0]}-{span[1]}")
    return met, len(invented)


def main() -> None:
    """Print the comparison."""
    film = Path(sys.argv[1]) / "speed" / "traffic_camera_1280x720.mp4"
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        source = bgsub.SourceOptions(roi=ROI, end=576)
        outputs = frozenset({"objects"})
        bgsub.run(film, out, bgsub.RunOptions(source=source, outputs=outputs))
        objects = list(read_objects(out / "objects.csv"))
    for gap in (1.0, 0.0):
        events = EventFilter(merge_gap_s=gap).events(objects)
        found = [(event.first_frame, event.last_frame) for event in events]
        print(f"--merge-gap {gap:g}")
        met, invented = compare(labels(gap), found)
        print(f"  {met} of {len(labels(gap))} within {CLOSE} frames, {invented} invented")


if __name__ == "__main__":
    main()
