"""Compute what outputs are made of for one frame: each thing once, when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar, overload

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.backdrop import Backdrop
from bgsub.background.plates import at_working_size
from bgsub.background.render import largest_difference
from bgsub.segmenter.masks import LeftOut, Seen
from bgsub.tracking.absorption import Absorber
from bgsub.video.frames import Bytes, Layout

Scores = NDArray[np.uint16]
Value = TypeVar("Value")


class Once(Generic[Value]):
    """A property that is computed when it is first asked for.

    `functools.cached_property` locks out all other objects while it computes, before Python 3.12.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value


@dataclass(frozen=True, eq=False)
class FrameRules:
    """What is alike for all frames of a run.

    Attributes
    ----------
    layout : Layout
    decide : callable
        Gives the mask of a frame, and its scores where they are wanted.
    draw_foreground : callable
        Gives the foreground of a frame.
    """

    layout: Layout
    decide: Callable[[SceneFrame], Seen]
    draw_foreground: Callable[[SceneFrame], Bytes]


class SceneFrame:
    """One frame of a run, with its background, residual, mask and scores.

    The last four are computed when they are first asked for, which is best done by a thread of its
    own; see `bgsub.pipeline.consumers`.

    Attributes
    ----------
    number : int
        Position in the input, from 1.
    time_s : float
        Seconds since the input's beginning.
    outlier_score : float or None
        Robust z-score of its error; None where no frames are fitted.
    row : ndarray of uint8, shape (size,)
        The frame in its layout.
    own : ndarray of uint8, shape (size,), or None
        Its background in the plain layout; None where no output needs it.
    """

    def __init__(
        self,
        rules: FrameRules,
        number: int,
        time_s: float,
        row: Bytes,
        own: Bytes | None = None,
        outlier_score: float | None = None,
    ) -> None:
        self._rules = rules
        self.number, self.time_s, self.outlier_score = number, time_s, outlier_score
        self.row, self._estimate = row, own
        self.previous: SceneFrame | None = None
        self._backdrop: Backdrop | None = None
        self._rested: Bytes | None = None

    @property
    def layout(self) -> Layout:
        """Arrangement of `row` and `own`."""
        return self._rules.layout

    def place_before(self, estimate: Bytes, backdrop: Backdrop | None = None) -> None:
        """Take a background, shape (size,), and what corrects it by the mask."""
        self._estimate, self._backdrop = estimate, backdrop

    @Once
    def own(self) -> Bytes:
        """Its background in the layout without added chroma, shape (size,)."""
        if self._estimate is None:
            message = "no background was asked for"
            raise RuntimeError(message)
        if self._backdrop is None:
            return self._estimate
        return self._backdrop.compose(self.row, self.mask, self._estimate, self._rested)

    @Once
    def picture(self) -> Bytes:
        """Give the frame, (h, w, 3) BGR or (h, w) grey."""
        return self.layout.to_bgr(self.row)

    @Once
    def seen(self) -> Bytes:
        """Give the frame as objects are looked for in it, (h, w, 3) BGR or (h, w) grey."""
        return self.layout.seen(self.row) if self.layout.with_chroma else self.picture

    @Once
    def small(self) -> Bytes:
        """The frame at the size at which objects are looked for, (h', w', 3)."""
        return at_working_size(self.seen)

    @Once
    def background(self) -> Bytes:
        """Its background, (h, w, 3) BGR or (h, w) grey."""
        return self.layout.to_bgr(self.own)

    @Once
    def residual(self) -> Bytes:
        """max over the colour channels of |x − x_b|, grey levels, (h, w)."""
        return largest_difference(self.layout, self.row, self.own)

    @Once
    def _decided(self) -> Seen:
        return self._rules.decide(self)

    @property
    def mask(self) -> Bytes:
        """Its mask, (h, w), 0 or 255."""
        return self._decided.mask

    @property
    def trust(self) -> float | None:
        """How far its mask deserves trust, from 0 to 1; None where nothing says."""
        return self._decided.trust

    @property
    def left_out(self) -> LeftOut | None:
        """Shares of it that other options would mark; None where nothing says."""
        return self._decided.left_out

    @property
    def scores(self) -> Scores:
        """What its mask is cut from, (h, w), in hundredths of a threshold."""
        scores = self._decided.scores
        if scores is None:
            message = "no scores were asked for"
            raise RuntimeError(message)
        return scores

    def decide(self, seen: Seen) -> None:
        """Take what it shows, which was found out together with other frames."""
        self.__dict__["_decided"] = seen

    def settle(self, absorber: Absorber) -> None:
        """Take what has come to rest out of the mask; frames are settled in their order."""
        mask = self._decided.mask
        left = absorber.apply(mask, self.seen, self.time_s)
        self._rested = np.asarray(cv2.subtract(mask, left), dtype=np.uint8)
        self.__dict__["_decided"] = self._decided._replace(mask=left)

    @Once
    def foreground(self) -> Bytes:
        """Its foreground in the style that is asked for, a picture or a vector in the layout."""
        return self._rules.draw_foreground(self)
