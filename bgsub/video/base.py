"""What all sources do: select frames, count bad ones, store them; those of any order too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import EmptySelectionError, InputError, plural
from bgsub.video.frames import Bytes, Frame, Layout, LayoutKind, Matrix
from bgsub.video.geometry import ColorMode, Geometry, MaskImage, Orientation, Picture
from bgsub.video.images import ImageError
from bgsub.video.selection import Picker, Region, Selection, format_time

OnBadFrame = Literal["skip", "repeat", "fail"]
_ASSUMED_RATE = Fraction(25)  # a second, of inputs that do not say it, so that they have times too
_FAINT_16_BIT = 1 << 14  # 16-bit pictures that never reach this become nearly black in 8 bits


@dataclass(frozen=True)
class BadFrame:
    """A frame that could not be decoded: its position from 1, its time in seconds, and why."""

    number: int
    time_s: float
    reason: str


@dataclass(frozen=True, eq=False)
class Options:
    """How an input is to be read; see `bgsub.video.source.open_source`."""

    selection: Selection = field(default_factory=Selection)
    scale: float = 1.0
    roi: Region | None = None
    mask: MaskImage | None = None
    ignore: MaskImage | None = None
    color: ColorMode = "auto"
    on_bad_frame: OnBadFrame = "skip"
    threads: int | None = None
    exact_color: bool = False
    with_chroma: bool = False
    fps: Fraction | None = None


class BadPicture(ImageError):  # noqa: N818 - a finding that the iteration handles
    """A single picture cannot be decoded; the text is the reason."""


class Item(NamedTuple):
    """A frame of the input, before it is known whether anyone wants its pixels.

    `load` decodes or converts it and may raise an error; it is None for a frame that is already
    known to be bad, for the given reason. A doubtful one can be decoded, but may be wrong.
    """

    number: int
    time_s: float
    load: Callable[[], Picture] | None
    reason: str = ""
    doubtful: bool = False


class FrameSource(ABC):
    """Frames of one input, iterable any number of times with the same result.

    A subclass finds out what the input is, calls `_plan` once and implements `_items`.

    Attributes
    ----------
    kind : str
        "video", "images" or "array".
    name, path : str
        The input's name without its folders, and as it was given.
    layout : Layout
        Of every frame.
    rate : Fraction or None
        Frames a second, None if the input does not say.
    codec, pixel_format : str
    input_frames : int or None
        How many frames the whole input says it has.
    duration_s : float or None
    pixel_mask : ndarray of bool, shape (h, w), or None
        True where pixels take part in the fit, from the mask image.
    ignored : ndarray of bool, shape (h, w), or None
        True where pixels are never foreground, from `ignore`.
    bad_frames : list of BadFrame
        Those of the last complete iteration that were selected.
    doubtful_frames : list of int
        Numbers of the frames that it gave and that may be wrong: they depend on a damaged one, or
        repeat another.
    unseen_damage : str
        "cannot be seen" or "may go unseen": what is true of damage to single pictures, where their
        codec has no checksums. Empty for other inputs.
    decoded : int
        How many good frames the last complete iteration passed, selected or not.
    warnings : list of str
        What a user should know, of the opening and of the last complete iteration.
    buffer_bytes : int
        Bytes that are kept of the input while it is read, beside the frames.
    """

    kind = "input"
    layout: Layout
    geometry: Geometry
    pixel_mask: NDArray[np.bool_] | None = None
    ignored: NDArray[np.bool_] | None = None
    buffer_bytes = 0
    codec = pixel_format = unseen_damage = ""
    rate: Fraction | None = None
    input_frames: int | None = None
    duration_s: float | None = None
    decoded = 0
    _assumed_rate: Fraction | None = None

    def __init__(self, name: str, path: str, options: Options) -> None:
        self.name, self.path, self.options = name, path, options
        self.bad_frames: list[BadFrame] = []
        self.doubtful_frames: list[int] = []
        self.warnings: list[str] = []
        self._opening_warnings: list[str] = []
        # Number and time of frames of which it was found out later that they may be wrong.
        self._late_doubts: list[tuple[int, float]] = []

    @property
    def input_size(self) -> tuple[int, int]:
        """Width and height of the input after rotation, before roi and scale."""
        return self.geometry.input_size

    @property
    def frames_estimate(self) -> int | None:
        """About how many frames an iteration yields; None if the input does not say."""
        return self.options.selection.estimate(self.input_frames, self.rate or self._assumed_rate)

    def __repr__(self) -> str:
        width, height = self.input_size
        count = "" if self.frames_estimate is None else f", about {self.frames_estimate} frames"
        kind = "colour" if self.layout.is_color else "grey"
        return f"<{type(self).__name__} {self.path!r}: {width}x{height} {kind}{count}>"

    @abstractmethod
    def _items(self, notes: list[str]) -> Generator[Item, None, None]:
        """Go through the input from its beginning; put warnings into `notes`."""

    def _plan(
        self,
        native_size: tuple[int, int],
        kind: LayoutKind,
        matrix: Matrix = "bt601",
        turn: Orientation | None = None,
    ) -> None:
        own, turn = self.options, turn or Orientation()
        self.geometry = Geometry.plan(native_size, turn, own.roi, own.scale, self.name)
        self.layout = self.geometry.layout(
            kind, matrix, own.color, exact_color=own.exact_color, with_chroma=own.with_chroma
        )
        if own.mask is not None:
            self.pixel_mask = own.mask.pixel_mask(self.geometry)
        if own.ignore is not None:
            self.ignored = own.ignore.ignored(self.geometry, self.pixel_mask)

    def __iter__(self) -> Iterator[Frame]:
        return self.frames_into(None)

    def frames_into(self, room: Callable[[], Bytes] | None) -> Iterator[Frame]:
        """Iterate, storing each good frame where `room` says, to spare a copy."""
        picker, on_bad_frame = Picker(self.options.selection), self.options.on_bad_frame
        self._late_doubts = []
        bad: list[BadFrame] = []
        doubtful: set[int] = set()
        notes: list[str] = []
        decoded, given, last, previous = 0, 0, (0, 0.0), None
        with closing(self._items(notes)) as items:
            for item in items:
                number, time_s = item.number, item.time_s
                if picker.is_past(number, time_s):
                    break
                last = (number, time_s)
                if not picker.wants(number, time_s):
                    decoded += item.load is not None
                    continue
                is_doubtful = item.doubtful
                try:
                    frame = self._frame(item, room)
                    decoded += 1
                except BadPicture as error:
                    bad.append(BadFrame(number, time_s, str(error)))
                    if on_bad_frame == "fail":
                        where = f"frame {number} at {format_time(time_s)}"
                        message = f"{self.name}: {where} cannot be decoded ({error})"
                        advice = "--on-bad-frame skip leaves such frames out"
                        raise InputError(f"{message}; {advice}") from error
                    if on_bad_frame == "skip" or previous is None:
                        continue
                    frame, is_doubtful = Frame(number, time_s, previous.data, self.layout), True
                if is_doubtful:
                    doubtful.add(number)
                given += 1
                previous = frame
                yield frame
        wants = Picker(self.options.selection).wants
        doubtful |= {number for number, time_s in self._late_doubts if wants(number, time_s)}
        self.bad_frames, self.doubtful_frames, self.decoded = bad, sorted(doubtful), decoded
        self.warnings = self._opening_warnings + notes
        if not given:
            raise self._explain_nothing(*last)

    def _frame(self, item: Item, room: Callable[[], Bytes] | None = None) -> Frame:
        """Load a frame; BadPicture if that cannot be done."""
        if item.load is None:
            raise BadPicture(item.reason)
        try:
            picture = item.load()
        except OSError as error:
            raise BadPicture((error.strerror or str(error)).lower()) from error
        except ImageError as error:
            raise BadPicture(str(error)) from error
        place = None if room is None else room()
        data = self.geometry.pack(picture, self.layout, place)
        return Frame(item.number, item.time_s, data, self.layout)

    def _explain_nothing(self, frames: int, last_s: float) -> InputError | EmptySelectionError:
        if frames and not self.bad_frames:
            extent = f"it has {plural(frames, 'frame')}, the last at {format_time(last_s)}"
            message = f"{self.name}: no frame is selected by {self.options.selection}"
            return EmptySelectionError(f"{message}; {extent}")
        reason = f" ({self.bad_frames[0].reason})" if self.bad_frames else ""
        which = "" if self.options.selection.is_everything else " of those selected"
        message = f"{self.name}: no frame{which} can be decoded{reason}"
        return InputError(f"{message}; check that the file plays, or get a new copy")


class IndexedSource(FrameSource):
    """A source whose frames can be read in any order: ``len(source)``, ``source[3]``.

    Places count from 0 among the frames that are selected, those that cannot be decoded included;
    one of these raises InputError. ``Frame.number`` counts from 1 in the input, as always. A
    subclass calls `_announce` once and implements `_picture`.
    """

    def __init__(self, name: str, path: str, options: Options) -> None:
        super().__init__(name, path, options)
        self.rate = options.fps
        self._assumed_rate = self._per_second = options.fps or _ASSUMED_RATE
        self._peak_16_bit = 0

    def _announce(
        self, count: int, shape: tuple[int, ...], dtype: np.dtype[Any], colors: str = "rgb"
    ) -> None:
        """Plan for so many images, (h, w) or (h, w, 3), of uint8 or uint16."""
        is_grey, per_second = len(shape) == 2, self.rate or self._per_second
        self.input_frames, self.duration_s = count, float(count / per_second)
        self.pixel_format = f"{'gray' if is_grey else colors}{8 * dtype.itemsize}"
        if self.frames_estimate == 0:
            raise self._explain_nothing(count, float((count - 1) / per_second))
        self._plan((shape[1], shape[0]), "gray" if is_grey else "bgr")

    @abstractmethod
    def _picture(self, index: int) -> Picture:
        """Read an image, counted from 0."""

    def _to_8_bit(self, image: NDArray[Any]) -> Bytes:
        """Take the upper byte of 16-bit values; their peak is kept for a warning at the end."""
        if image.dtype != np.uint8:
            self._peak_16_bit = max(self._peak_16_bit, int(image.max()))
            image = image >> 8
        return image.astype(np.uint8, copy=False)

    def _items(self, notes: list[str]) -> Generator[Item, None, None]:
        try:
            for index in range(self.input_frames or 0):
                time_s = float(index / self._per_second)
                yield Item(index + 1, time_s, partial(self._picture, index))
        finally:
            if 0 < self._peak_16_bit < _FAINT_16_BIT:
                what = f"values reach only {self._peak_16_bit} of 65535"
                advice = "stretch them to the full 16 bits first"
                notes.append(f"{what}: as 8-bit frames they are nearly black; {advice}")

    @cached_property
    def _selected(self) -> list[Item]:
        picker = Picker(self.options.selection)
        return [item for item in self._items([]) if picker.wants(item.number, item.time_s)]

    def __len__(self) -> int:
        return len(self._selected)

    def moments(self) -> list[tuple[int, float]]:
        """Return number and seconds of every frame that is selected, without reading any."""
        return [(item.number, item.time_s) for item in self._selected]

    def __getitem__(self, place: int) -> Frame:
        item = self._selected[place]
        try:
            return self._frame(item)
        except BadPicture as error:
            message = f"{self.name}: frame {item.number} cannot be decoded ({error})"
            raise InputError(message) from error
