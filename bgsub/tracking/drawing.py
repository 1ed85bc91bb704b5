"""Draw boxes and track numbers on pictures, legible at any size."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from bgsub.tracking.tracker import Observation
from bgsub.video.frames import Bytes, in_color

# The palette of Okabe and Ito, which colour-blind people tell apart, as BGR; black is left out.
_COLORS = (
    *((0, 159, 230), (233, 180, 86), (115, 158, 0), (66, 228, 240)),
    *((178, 114, 0), (0, 94, 213), (167, 121, 204)),
)

_MOST_HEIGHT = 1080  # pixels above which a narrow picture is not enlarged
_LEAST_WIDTH = 480  # pixels below which a picture is enlarged: letters need them


def enlargement(width: int, height: int) -> int:
    """Return the whole number of times that a picture is enlarged, so that letters are legible."""
    return max(1, min(-(-_LEAST_WIDTH // width), _MOST_HEIGHT // height))


def draw_objects(
    picture: Bytes, objects: Sequence[Observation], *, size: tuple[int, int] | None = None
) -> Bytes:
    """Draw boxes and track numbers on a copy of a picture, of a `size` or enlarged to read."""
    height, width = picture.shape[:2]
    if size is None:
        size = (enlargement(width, height) * width, enlargement(width, height) * height)
    across, down = size[0] / width, size[1] / height
    way = cv2.INTER_AREA if across < 1 else cv2.INTER_NEAREST
    canvas = in_color(np.asarray(cv2.resize(picture, size, interpolation=way), dtype=np.uint8))
    thick = max(1, round(max(canvas.shape[:2]) / 640))
    for seen in objects:
        left, top, wide, high = seen.box
        x, y = round(across * left), round(down * top)
        corner = (round(across * (left + wide)), round(down * (top + high)))
        color = _COLORS[(seen.track - 1) % len(_COLORS)]
        cv2.rectangle(canvas, (x, y), corner, (0, 0, 0), 3 * thick, cv2.LINE_AA)
        cv2.rectangle(canvas, (x, y), corner, color, thick, cv2.LINE_AA)
        text = str(seen.track)
        plate = _plate(canvas, text)[1]
        bottom = y if y >= plate else min(corner[1] + plate, canvas.shape[0])
        write_on_plate(canvas, text, (x, bottom), (0, 0, 0), color)
    return canvas


def letter_height(canvas: Bytes) -> int:
    """Return the height of letters in pixels that are legible on a picture of this size."""
    return int(max(12, min(canvas.shape[:2]) // 25))


def _plate(canvas: Bytes, text: str) -> tuple[int, int, float, int]:
    """Width and height of the plate of a text, scale of its letters, and margin around them."""
    height = letter_height(canvas)
    scale, pad = height / 22, max(2, height // 6)
    (wide, high), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, max(1, round(scale)))
    return wide + 2 * pad, high + 2 * pad, scale, pad


def write_on_plate(
    canvas: Bytes,
    text: str,
    corner: tuple[int, int],
    ink: tuple[int, int, int],
    paper: tuple[int, int, int],
) -> None:
    """Write ASCII on a plate with a lower left corner, moved to where there is room; BGR."""
    wide, high, scale, pad = _plate(canvas, text)
    x = min(max(corner[0], 0), max(canvas.shape[1] - wide, 0))
    cv2.rectangle(canvas, (x, corner[1] - high), (x + wide, corner[1]), paper, cv2.FILLED)
    at, thick = (x + pad, corner[1] - pad), max(1, round(scale))
    cv2.putText(canvas, text, at, cv2.FONT_HERSHEY_SIMPLEX, scale, ink, thick, cv2.LINE_AA)
