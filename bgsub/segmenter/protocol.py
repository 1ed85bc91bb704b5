"""The seam between a run and what makes its masks: `Segmenter`, its options and its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.background.camera import Each
from bgsub.background.plates import shrunk, small_of
from bgsub.background.render import largest_difference
from bgsub.background.sample import Sample
from bgsub.background.scene import Scene, Shown
from bgsub.video.frames import Bytes, Layout, Seen

if TYPE_CHECKING:
    from bgsub.background.model import BackgroundModel

Flags = NDArray[np.bool_]
Shadows = Literal["drop", "keep"]
Sensitivity = Literal["low", "normal", "high"]


@dataclass(frozen=True)
class MaskOptions:
    """How masks are drawn."""

    shadows: Shadows = "drop"
    sensitivity: Sensitivity = "normal"
    min_area: int | None = None  # pixels of the smallest object; None to choose by the frame's size
    fill: bool = True  # small holes of objects
    clean: bool = True  # without it, neither `min_area` nor `fill` has an effect


class LeftOut(NamedTuple):
    """Shares of a frame that other options would mark: why each was left out of its mask."""

    shadow: float = 0.0
    speck: float = 0.0
    doubt: float = 0.0


class MaskResult(NamedTuple):
    """What a frame shows; what is not known, or was not asked for, is None."""

    mask: Bytes  # (h, w), 0 or 255
    scores: NDArray[np.uint16] | None = None  # that it is cut from, at a `score_level`
    confidence: float | None = None  # expected F-measure of the mask
    shadows: Flags | None = None  # cast ones
    left_out: LeftOut | None = None
    shown: Shown | None = None  # None where masks are made without a scene


class FrameView:
    """A frame and the pictures that are made of it, each once, when it is first used.

    `row` is the frame in its layout, and `background` what a fit or a model says that lies behind
    it, in the layout without added chroma.
    """

    def __init__(self, layout: Layout, row: Bytes, background: Bytes | None = None) -> None:
        self.layout, self.row, self.background = layout, row, background
        self.seen = Seen(layout, row)
        # Not `functools.cached_property`, which locks out all other frames before Python 3.12.
        self._made: dict[str, Bytes] = {}

    @classmethod
    def of(cls, picture: Bytes) -> FrameView:
        """Return the view of a picture, (h, w, 3) BGR or (h, w) grey."""
        layout = Layout("bgr" if picture.ndim == 3 else "gray", *picture.shape[:2])
        return cls(layout, layout.pack(picture))

    def _once(self, name: str, make: Callable[[], Bytes]) -> Bytes:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    @property
    def picture(self) -> Bytes:
        """The frame, (h, w, 3) BGR or (h, w) grey."""
        return self._once("picture", lambda: self.layout.to_bgr(self.row))

    @property
    def small(self) -> Bytes:
        """The frame at the size at which objects are looked for, (h', w', 3)."""
        return self._once("small", lambda: small_of(self.layout, self.row, self.small_luma))

    @property
    def small_luma(self) -> Bytes:
        """The luma of the frame at that size, (h', w')."""
        return self._once("small luma", lambda: shrunk(self.layout.luma(self.row)))

    @property
    def residual(self) -> Bytes:
        """max over the colour channels of |x − x_b|, grey levels, (h, w)."""
        own = self.background
        if own is None:
            raise RuntimeError("the residual of a frame without a background")
        return self._once("residual", lambda: largest_difference(self.layout, self.row, own))


class Segmenter(Protocol):
    """Segment the frames of a video into objects and background.

    Masks are cut from x − x_b where a background is needed, so that frames have to be fitted. Other
    segmenters learn from a sample of the frames.
    """

    name: ClassVar[str]  # among the values of --model
    needs_background: ClassVar[bool]
    score_level: ClassVar[int]  # from which a pixel belongs to the mask, before it is cleaned
    min_area: int  # pixels that an object covers, at least
    threshold: float | None  # grey levels above which a pixel is foreground, if that is one number
    scene: Scene | None  # the hypotheses that masks are made with, which a model.npz keeps

    @classmethod
    def fit(
        cls,
        sample: Sample | None,
        options: MaskOptions,
        *,
        model: BackgroundModel | None = None,
        each: Each = map,
    ) -> Self:
        """Learn from a sample of the frames, or take what a model of them or of others knows.

        There is no sample where a background is needed instead or a model was saved, and no model
        where no frames are fitted.
        """

    def observe(self, frame: FrameView, before: FrameView | None = None) -> Any:
        """Return what masks of a frame and of the next one are made of, given the one before."""

    def mask(
        self,
        frame: FrameView,
        observed: Any = None,
        earlier: Any = None,
        *,
        inside: Flags | None = None,
        with_scores: bool = False,
        everywhere: bool = True,
    ) -> MaskResult:
        """Mark objects `inside` a frame, given what was observed of it and of the one before.

        Scores that are not wanted `everywhere` may be 0 where no object can be.
        """
