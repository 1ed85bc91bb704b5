"""Draw on the frames of clips: boxes, masks, the number of the event and the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal

import cv2
import numpy as np

from bgsub.export.run_data import RunData, by_frame
from bgsub.tracking.drawing import draw_objects, letter_height, write_on_plate
from bgsub.tracking.events import SceneEvent
from bgsub.tracking.tracker import Observation
from bgsub.video.frames import Bytes, Frame
from bgsub.video.timecode import format_time

Overlay = Literal["none", "boxes", "mask", "side-by-side"]

_TINT, _OPACITY = (66, 228, 240), 0.45
"""Colour of the mask upon the picture, BGR, and its share."""


class Painter:
    """Draws on the frames of clips.

    Parameters
    ----------
    run : RunData
    overlay : {"none", "boxes", "mask", "side-by-side"}
        Nothing; boxes and numbers of the objects; the mask as a tint with an outline; or boxes, and
        the mask beside them.
    captions : bool
        Whether the number of the event and the time are written below.
    began : datetime, optional
        When the film began: captions show the time of day.

    Attributes
    ----------
    needs_numbers : bool
        Whether frames must have their numbers, and come in their order.
    """

    def __init__(
        self,
        run: RunData,
        overlay: Overlay,
        *,
        captions: bool = False,
        began: datetime | None = None,
    ) -> None:
        self._overlay, self._captions, self._began = overlay, captions, began
        self.needs_numbers = overlay in {"mask", "side-by-side"}
        self._masks = _Masks(run) if self.needs_numbers else None
        objects = by_frame(run.objects()) if overlay in {"boxes", "side-by-side"} else {}
        self._times = np.array([seen[0].time_s for seen in objects.values()])
        self._objects = list(objects.values())
        self._half = 0.5 / float(run.rate or 25)
        self._lasts = (2 * run.step - 1) * self._half

    def of(self, events: Sequence[SceneEvent]) -> Callable[[Frame], Bytes]:
        """Give what draws on the frames of a clip of these events."""

        def draw(frame: Frame) -> Bytes:
            canvas = self._draw(frame)
            if self._captions:
                number = _nearest(events, frame.time_s).number
                _caption(canvas, f"event {number}   {self._clock(frame.time_s)}")
            return canvas

        return draw

    def _draw(self, frame: Frame) -> Bytes:
        picture = frame.layout.to_bgr(frame.data)
        if self._masks is None:
            return draw_objects(picture, self._near(frame.time_s))
        mask = self._masks.at(frame.number)
        if mask is None:  # a frame that the run left out
            mask = np.zeros(picture.shape[:2], np.uint8)
        if self._overlay == "mask":
            return draw_objects(tinted(picture, mask), [])
        shown = draw_objects(picture, self._near(frame.time_s))
        size = (shown.shape[1], shown.shape[0])
        beside = cv2.resize(mask, size, interpolation=cv2.INTER_NEAREST)
        return np.hstack([shown, np.repeat(beside[..., None], 3, axis=2)]).astype(np.uint8)

    def _near(self, time_s: float) -> list[Observation]:
        """Give the objects of the frame of this time; one that was sought has no number.

        In frames that the run left out objects are where they were in the one before.
        """
        if not self._objects:
            return []
        place = int(np.abs(self._times - time_s).argmin())
        if abs(self._times[place] - time_s) > self._half:
            place = max(int(np.searchsorted(self._times, time_s)) - 1, 0)
            if not 0 <= time_s - self._times[place] <= self._lasts:
                return []
        return self._objects[place]

    def _clock(self, time_s: float) -> str:
        if self._began is None:
            return format_time(time_s)
        return f"{self._began + timedelta(seconds=time_s):%Y-%m-%d %H:%M:%S}"


class _Masks:
    """Masks of a run by the numbers of their frames, which must not go back."""

    def __init__(self, run: RunData) -> None:
        numbers, masks = run.masks()
        self._rest: Iterator[tuple[int, Bytes]] = zip(numbers, masks, strict=True)
        self._step = run.step
        self._last = self._next = next(self._rest, None)

    def at(self, number: int) -> Bytes | None:
        """Give the mask of a frame, or of the one before that the run looked at."""
        while self._next is not None and self._next[0] <= number:
            self._last, self._next = self._next, next(self._rest, None)
        if self._last is None or not 0 <= number - self._last[0] < self._step:
            return None
        return self._last[1]


def tinted(picture: Bytes, mask: Bytes) -> Bytes:
    """Tint what a mask marks, with an outline that shows on any ground.

    Parameters
    ----------
    picture : ndarray of shape (h, w) or (h, w, 3), uint8
    mask : ndarray of shape (h, w), uint8

    Returns
    -------
    ndarray of shape (h, w, 3), uint8
    """
    colored = cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR) if picture.ndim == 2 else picture.copy()
    inside = mask > 0
    colored[inside] = (1 - _OPACITY) * colored[inside] + _OPACITY * np.array(_TINT)
    outlines, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    thick = max(1, round(max(mask.shape) / 640))
    cv2.drawContours(colored, outlines, -1, _TINT, thick)
    return np.asarray(colored, dtype=np.uint8)


def _nearest(events: Sequence[SceneEvent], time_s: float) -> SceneEvent:
    return min(events, key=lambda each: max(each.start_s - time_s, time_s - each.end_s, 0.0))


def _caption(canvas: Bytes, text: str) -> None:
    margin = letter_height(canvas) // 2
    write_on_plate(canvas, text, (margin, canvas.shape[0] - margin), (255, 255, 255), (0, 0, 0))
