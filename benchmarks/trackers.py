"""Compare the tracker with norfair and ByteTrack: the same detections, IDF1 and MOTA.

python -m benchmarks.trackers

Needs `pip install norfair trackers supervision motmetrics`. The scenes are those of
`benchmarks.tracks` whose ground is drawn, the detections those of bgsub's masks (for the insects
with a least area of 15 pixels). All wait a second for who is missed, and three frames before
somebody counts. norfair measures by overlap or by the distance of corners, up to twice the median
size.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

import bgsub
from benchmarks.tracks import RATE, Scene, measure, scenes
from bgsub.tracking.detections import Detection, find_detections
from bgsub.tracking.tracker import Observation, Tracker

Found = list[list[Detection]]


def corners(detection: Detection) -> list[float]:
    """Return the upper left and the lower right corner."""
    x, y, width, height = detection.box
    return [x, y, x + width, y + height]


def seen(frame: int, track: int, box: Any) -> Observation:
    """Make an object of a frame from the corners of its box."""
    left, top, right, bottom = (float(value) for value in box)
    area = (left, top, right - left, bottom - top)
    return Observation(frame, frame / RATE, track, area, 0.0, 0.0, 0.0, 0.0, "")


def ours(scene: Scene, found: Found) -> list[Observation]:
    """Follow with the tracker of bgsub."""
    height, width = scene.frames.shape[1:3]
    tracker = Tracker((width, height), rate=RATE)
    decided = [
        tracker.update(t + 1, t / RATE, here, scene.frames[t]) for t, here in enumerate(found)
    ]
    frames = chain.from_iterable(one.settled for one in [*decided, tracker.finish()])
    return [each for frame in frames for each in frame]


def norfair_by(distance: str) -> Callable[[Scene, Found], list[Observation]]:
    """Follow with norfair."""

    def follow(scene: Scene, found: Found) -> list[Observation]:
        del scene
        import norfair

        size = np.median([np.sqrt(each.box[2] * each.box[3]) for here in found for each in here])
        most = 0.9 if distance == "iou" else 2 * size
        tracker = norfair.Tracker(distance, most, hit_counter_max=25, initialization_delay=2)
        result = []
        for t, here in enumerate(found):
            points = [norfair.Detection(np.reshape(corners(each), (2, 2))) for each in here]
            result += [
                seen(t + 1, track.id, track.last_detection.points.ravel())
                for track in tracker.update(points)
                if any(track.last_detection is point for point in points)
            ]
        return result

    return follow


def byte_track(scene: Scene, found: Found) -> list[Observation]:
    """Follow with ByteTrack."""
    del scene
    import supervision
    from trackers import ByteTrackTracker

    tracker = ByteTrackTracker(25, RATE, 0.25, minimum_consecutive_frames=3)
    result = []
    for t, here in enumerate(found):
        boxes = np.array([corners(each) for each in here], dtype=float).reshape(-1, 4)
        sure, kind = np.full(len(boxes), 0.9), np.zeros(len(boxes), int)
        given = supervision.Detections(xyxy=boxes, confidence=sure, class_id=kind)
        known = tracker.update(given)
        for box, number in zip(known.xyxy, known.tracker_id, strict=True):
            if number is not None and number >= 0:
                result.append(seen(t + 1, int(number), box))
    return result


WAYS: dict[str, Callable[[Scene, Found], list[Observation]]] = {
    "bgsub": ours,
    "norfair, overlap": norfair_by("iou"),
    "norfair, corners": norfair_by("mean_euclidean"),
    "ByteTrack": byte_track,
}


def main() -> None:
    """Print the table."""
    for scene in scenes():
        least = 15 if scene.name == "twenty insects" else None
        options = bgsub.RunOptions(min_area=least)
        masks = [mask for _, mask in bgsub.masks(scene.frames[..., ::-1].copy(), options)]
        found = [
            find_detections(mask, picture=frame)
            for mask, frame in zip(masks, scene.frames, strict=True)
        ]
        for name, follow in WAYS.items():
            result = measure(scene, follow(scene, found))
            numbers = f"IDF1 {result['idf1']:.3f}  MOTA {result['mota']:.3f}"
            print(f"{scene.name:20} {name:18} {numbers}", flush=True)


if __name__ == "__main__":
    main()
