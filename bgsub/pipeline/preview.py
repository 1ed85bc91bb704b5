"""Draw a frame, its background, its foreground and its mask side by side in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np

from bgsub.video.frames import Bytes

if TYPE_CHECKING:
    from bgsub.tracking.tracker import Observation


@dataclass(frozen=True, eq=False)
class PreviewPanels:
    """What one picture of a preview shows.

    Attributes
    ----------
    pictures : dict of str to ndarray of uint8, shape (h, w) or (h, w, 3)
        Four panels by caption, all of one size; the first is the input.
    number : int
        Of the frame, from 1.
    time_s : float
        Seconds.
    score : float or None
        Robust z-score of the frame's error.
    outlier : bool
        Adds a red bar with the word OUTLIER, so that the mark does not rest on its colour alone.
    """

    pictures: dict[str, Bytes]
    number: int
    time_s: float
    score: float | None
    outlier: bool


def preview(panels: PreviewPanels, objects: Sequence[Observation] = ()) -> Bytes:
    """Show input, background, foreground and mask in one picture, with the frame's number.

    Parameters
    ----------
    panels : PreviewPanels
    objects : sequence of Observation
        In pixels of the input panel, on which they are drawn.

    Returns
    -------
    ndarray of uint8, shape (H, W, 3), both even
    """
    from bgsub.tracking.drawing import draw_objects

    height, width = next(iter(panels.pictures.values())).shape[:2]
    # Small pictures grow and large ones shrink; strips of a few pixels stay pictures.
    factor = max(1.0, 320.0 / max(width, height)) if width < 640 else 640.0 / width
    size = (max(2 * round(width * factor / 2), 2), max(2 * round(height * factor / 2), 2))
    tiles = []
    for index, (caption, picture) in enumerate(panels.pictures.items()):
        tile = draw_objects(picture, objects if index == 0 else (), size=size)
        _write(tile, caption, (6, 16))
        tiles.append(tile)
    grid = np.vstack([np.hstack(tiles[:2]), np.hstack(tiles[2:])])
    bar = np.full((28, grid.shape[1], 3), 40, dtype=np.uint8)
    text = f"frame {panels.number}   {panels.time_s:.2f} s"
    if panels.score is not None:
        text += f"   score {panels.score:z.1f}"
    if panels.outlier:
        bar[:] = (0, 0, 190)
        text += "   OUTLIER"
    _write(bar, text, (8, 20))
    return np.vstack([bar, grid])


def _write(picture: Bytes, text: str, at: tuple[int, int]) -> None:
    """White letters on a dark box, which are read on any picture."""
    (width, height), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)
    corner = (at[0] - 3, at[1] - height - 3)
    cv2.rectangle(picture, corner, (at[0] + width + 3, at[1] + below), (0, 0, 0), cv2.FILLED)
    cv2.putText(picture, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
