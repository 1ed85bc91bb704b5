"""Draw the peak frames of events side by side in one picture."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from bgsub.export.stretches import Stretches
from bgsub.tracking.events import SceneEvent
from bgsub.video.frames import Bytes
from bgsub.video.timecode import format_time

_THUMB = 240
"""Width of a picture of the contact sheet in pixels."""


def contact_sheet(film: Stretches, events: Sequence[SceneEvent]) -> Bytes:
    """Draw the peak frames of events side by side, with their numbers and times.

    Parameters
    ----------
    film : Stretches
    events : sequence of SceneEvent

    Returns
    -------
    ndarray of shape (h, w, 3), uint8
        A single dark picture where there is no event.
    """
    thumbs = [_thumb(film, event) for event in events]
    across = max(1, min(4, len(thumbs)))
    height = max((thumb.shape[0] for thumb in thumbs), default=_THUMB)
    rows = []
    for begin in range(0, max(len(thumbs), 1), across):
        row = [*thumbs[begin : begin + across]]
        row += [np.zeros((height, _THUMB, 3), np.uint8)] * (across - len(row))
        rows.append(np.hstack(row))
    return np.vstack(rows)


def _thumb(film: Stretches, event: SceneEvent) -> Bytes:
    frame = next(iter(film.frames(event.peak_s, event.peak_s)))
    picture = frame.layout.to_bgr(frame.data)
    colored = cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR) if picture.ndim == 2 else picture
    size = (_THUMB, max(1, round(_THUMB * colored.shape[0] / colored.shape[1])))
    small = cv2.resize(colored, size, interpolation=cv2.INTER_AREA)
    plate = np.full((24, _THUMB, 3), 30, np.uint8)
    text = f"{event.number}  {format_time(event.peak_s)}"
    at = (6, 17)
    cv2.putText(plate, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
    return np.vstack([plate, small]).astype(np.uint8)
