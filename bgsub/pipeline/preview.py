"""One picture that shows a frame, its background, its foreground and its mask side by side."""

from __future__ import annotations

import cv2
import numpy as np

from bgsub.video.frames import Bytes


def preview(
    pictures: dict[str, Bytes], number: int, time_s: float, score: float | None, *, outlier: bool
) -> Bytes:
    """Input, background, foreground and mask in one picture, with the frame's number.

    Parameters
    ----------
    pictures : dict of str to ndarray of uint8, shape (h, w) or (h, w, 3)
        Four panels by caption, all of one size.
    number : int
        Of the frame, from 1.
    time_s : float
        Seconds.
    score : float or None
        Robust z-score of the frame's error.
    outlier : bool
        Adds a red bar with the word OUTLIER, so that the mark does not rest on its colour alone.

    Returns
    -------
    ndarray of uint8, shape (H, W, 3), both even
    """
    height, width = next(iter(pictures.values())).shape[:2]
    # Small pictures grow and large ones shrink; strips of a few pixels stay pictures.
    factor = max(1.0, 320.0 / max(width, height)) if width < 640 else 640.0 / width
    size = (max(2 * round(width * factor / 2), 2), max(2 * round(height * factor / 2), 2))
    way = cv2.INTER_AREA if factor < 1 else cv2.INTER_NEAREST
    tiles_ = []
    for caption, picture in pictures.items():
        colored = cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR) if picture.ndim == 2 else picture
        tile = np.asarray(cv2.resize(colored, size, interpolation=way), dtype=np.uint8)
        _write(tile, caption, (6, 16))
        tiles_.append(tile)
    grid = np.vstack([np.hstack(tiles_[:2]), np.hstack(tiles_[2:])])
    bar = np.full((28, grid.shape[1], 3), 40, dtype=np.uint8)
    text = f"frame {number}   {time_s:.2f} s"
    if score is not None:
        text += f"   score {score:.1f}"
    if outlier:
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
