"""Draw tracks and regions over the background, as shapes of an SVG picture."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from bgsub.page.result import Result
from bgsub.tracking.tracker import Observation

_STOPS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
"""Viridis, which people with any colour vision read in the same order, from first to last."""

_MOST_TRACKS = 300
_MOST_POINTS = 9000
_PIECES = 6
"""Pieces of a track that have a colour each, at most."""


@dataclass(frozen=True)
class DrawnTrack:
    """A track as lines.

    Attributes
    ----------
    number : int
    frame : int
        Its first frame.
    label : str
    pieces : list of (str, str)
        Colour and the points of a polyline.
    start : (float, float)
        Where it begins, in pixels of the input.
    """

    number: int
    frame: int
    label: str
    pieces: list[tuple[str, str]]
    start: tuple[float, float]


def time_color(share: float) -> str:
    """Give the colour of a time, from 0 for the first frame to 1 for the last.

    Examples
    --------
    >>> time_color(0.0), time_color(1.0)
    ('#440154', '#fde725')
    """
    place = min(max(share, 0.0), 1.0) * (len(_STOPS) - 1)
    left = min(int(place), len(_STOPS) - 2)
    part = place - left
    ends = zip(_STOPS[left], _STOPS[left + 1], strict=True)
    mixed = (round((1 - part) * low + part * high) for low, high in ends)
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def draw_tracks(result: Result) -> list[DrawnTrack]:
    """Draw the longest tracks in order of their numbers, thinned where there are many points.

    Parameters
    ----------
    result : Result
    """
    by_track: dict[int, list[Observation]] = defaultdict(list)
    for seen in result.objects:
        by_track[seen.track].append(seen)
    longest = sorted(by_track, key=lambda number: -len(by_track[number]))[:_MOST_TRACKS]
    room = max(8, _MOST_POINTS // max(1, len(longest)))
    begin, end = float(result.times[0]), float(result.times[-1])
    span = max(end - begin, 1e-9)
    drawn = []
    for number in sorted(longest):
        path = _thin(by_track[number], room)
        size = max(2, -(-len(path) // _PIECES) + 1)
        pieces = []
        for first in range(0, max(len(path) - 1, 1), size - 1):
            part = path[first : first + size]
            middle = part[len(part) // 2]
            points = " ".join(f"{seen.cx:.1f},{seen.cy:.1f}" for seen in part)
            pieces.append((time_color((middle.time_s - begin) / span), points))
        label = f"Track {number}: frames {path[0].frame} to {path[-1].frame}"
        drawn.append(DrawnTrack(number, path[0].frame, label, pieces, (path[0].cx, path[0].cy)))
    return drawn


def _thin(path: list[Observation], most: int) -> list[Observation]:
    """Keep at most so many places, evenly spaced, the first and the last among them."""
    if len(path) <= most:
        return path
    return [path[round(i * (len(path) - 1) / (most - 1))] for i in range(most)]


def region_boxes(manifest: Any, result: Result) -> list[dict[str, Any]]:
    """List the regions that were decided, with their boxes in pixels of the input."""
    left, top, wide, high = result.region
    width, height = manifest.get("frame_size") or (wide, high)
    across, down = wide / max(width, 1), high / max(height, 1)
    return [
        {
            **region,
            "number": number,
            "box": [
                round(left + across * region["x"], 1),
                round(top + down * region["y"], 1),
                round(across * region["width"], 1),
                round(down * region["height"], 1),
            ],
        }
        for number, region in enumerate(manifest.get("mask_regions") or [], start=1)
    ]
