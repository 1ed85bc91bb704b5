"""What all sources do: select frames, count bad ones, store them; those of any order too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import EmptySelectionError, InputError, plural
from bgsub.video.frames import Bytes, Frame, Layout, LayoutKind, Matrix
from bgsub.video.geometry import ColorMode, Geometry, MaskImage, Orientation, Picture
from bgsub.video.selection import Region, Selection, format_time

OnBadFrame = Literal["skip", "repeat", "fail"]

#: Frames a second of inputs that do not say it, such as images, so that they have times too.
ASSUMED_RATE = Fraction(25)

#: 16-bit pictures that never reach this become nearly black in 8 bits.
_FAINT_16_BIT = 1 << 14


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


class BadPicture(Exception):  # noqa: N818 - a finding that the iteration handles
    """A single picture cannot be decoded; the text is the reason."""


class Item(NamedTuple):
    """A frame of the input, before it is known whether anyone wants its pixels.

    `load` decodes or converts it and may raise `BadPicture`; it is None for a frame that is already
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

    def __init__(self, name: str, path: str, options: Options) -> None:
        self.name = name
        self.path = path
        self.options = options
        self.rate: Fraction | None = None
        self.codec = ""
        self.pixel_format = ""
        self.input_frames: int | None = None
        self.duration_s: float | None = None
        self.bad_frames: list[BadFrame] = []
        self.doubtful_frames: list[int] = []
        self.unseen_damage = ""
        self.decoded = 0
        # Number and time of frames of which it was found out later that they may be wrong.
        self._late_doubts: list[tuple[int, float]] = []
        self.warnings: list[str] = []
        self._peak_16_bit = 0
        self._opening_warnings: list[str] = []

    @property
    def input_size(self) -> tuple[int, int]:
        """Width and height of the input after rotation, before roi and scale."""
        return self.geometry.input_size

    @property
    def frames_estimate(self) -> int | None:
        """About how many frames an iteration yields; None if the input does not say."""
        return self.options.selection.estimate(self.input_frames, self.rate or self._assumed_rate)

    _assumed_rate: Fraction | None = None

    def _warn_of_fps(self, what: str) -> None:
        """Warn of a rate that is given for frames that have times."""
        if self.options.fps is not None:
            message = f"--fps has no effect on {self.name}, {what} with times of its own"
            self.note_at_opening(message)

    def note_at_opening(self, warning: str) -> None:
        """Warn, after every iteration, of what was found when the input was opened."""
        self._opening_warnings.append(warning)

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
        *,
        orientation: Orientation | None = None,
        matrix: Matrix = "bt601",
    ) -> None:
        options = self.options
        self.geometry = Geometry.plan(
            native_size, orientation or Orientation(), options.roi, options.scale, self.name
        )
        self.layout = self.geometry.layout(
            kind,
            matrix,
            options.color,
            exact_color=options.exact_color,
            with_chroma=options.with_chroma,
        )
        if options.mask is not None:
            self.pixel_mask = options.mask.pixel_mask(self.geometry)
        if options.ignore is not None:
            self.ignored = options.ignore.ignored(self.geometry, self.pixel_mask)

    def __iter__(self) -> Iterator[Frame]:
        return self.frames_into(None)

    def frames_into(self, room: Callable[[], Bytes] | None) -> Iterator[Frame]:
        """Iterate as usual, but let each frame be stored where `room` says, to spare a copy.

        Nothing is stored there for a frame that turns out to be bad.
        """
        picker = self.options.selection.picker()
        self._late_doubts = []
        bad: list[BadFrame] = []
        doubtful: list[int] = []
        notes: list[str] = []
        decoded = given = 0
        previous: Bytes | None = None
        last: tuple[int, float] = (0, 0.0)
        self._peak_16_bit = 0
        with closing(self._items(notes)) as items:
            for number, time_s, load, known, may_be_wrong in items:
                if picker.is_past(number, time_s):
                    break
                last = (number, time_s)
                if not picker.wants(number, time_s):
                    decoded += load is not None
                    continue
                vector, reason = self._load(load, known, room)
                if vector is None:
                    bad.append(BadFrame(number, time_s, reason))
                    if self.options.on_bad_frame == "fail":
                        raise self._failure(number, time_s, reason)
                    if self.options.on_bad_frame != "repeat" or previous is None:
                        continue
                    vector = previous
                else:
                    decoded += 1
                if may_be_wrong or vector is previous:
                    doubtful.append(number)
                given += 1
                previous = vector
                yield Frame(number, time_s, vector, self.layout)
        wants = self.options.selection.picker().wants
        late = (number for number, time_s in self._late_doubts if wants(number, time_s))
        self.doubtful_frames = sorted({*doubtful, *late})
        self._finish(bad, decoded, notes)
        if not given:
            raise self._explain_nothing(last)

    def _load(
        self,
        load: Callable[[], Picture] | None,
        reason: str,
        room: Callable[[], Bytes] | None,
    ) -> tuple[Bytes | None, str]:
        if load is None:
            return None, reason
        try:
            picture = load()
            place = None if room is None else room()
            return self.geometry.pack(picture, self.layout, place), ""
        except BadPicture as error:
            return None, str(error)

    def _failure(self, number: int, time_s: float, reason: str) -> InputError:
        where = f"frame {number} at {format_time(time_s)}"
        message = f"{self.name}: {where} cannot be decoded ({reason})"
        return InputError(f"{message}; --on-bad-frame skip leaves such frames out")

    def _finish(self, bad: list[BadFrame], decoded: int, notes: list[str]) -> None:
        self.bad_frames = bad
        self.decoded = decoded
        if 0 < self._peak_16_bit < _FAINT_16_BIT:
            notes.append(
                f"values reach only {self._peak_16_bit} of 65535: as 8-bit frames they are nearly "
                "black; stretch them to the full 16 bits first"
            )
        self.warnings = self._opening_warnings + notes

    def _explain_nothing(self, last: tuple[int, float]) -> InputError | EmptySelectionError:
        if last[0] and not self.bad_frames:
            return self._nothing_selected(*last)
        reason = f" ({self.bad_frames[0].reason})" if self.bad_frames else ""
        which = "" if self.options.selection.is_everything else " of those selected"
        message = f"{self.name}: no frame{which} can be decoded{reason}"
        return InputError(f"{message}; check that the file plays, or get a new copy")

    def _nothing_selected(self, frames: int, last_time: float) -> EmptySelectionError:
        extent = f"it has {plural(frames, 'frame')}, the last at {format_time(last_time)}"
        message = f"{self.name}: no frame is selected by {self.options.selection}"
        return EmptySelectionError(f"{message}; {extent}")

    def _to_8_bit(self, image: NDArray[np.uint8] | NDArray[np.uint16]) -> Bytes:
        """Take the upper byte of 16-bit values; their peak is kept for a warning at the end."""
        if image.dtype == np.uint8:
            return image.astype(np.uint8, copy=False)
        self._peak_16_bit = max(self._peak_16_bit, int(image.max()))
        return (image >> 8).astype(np.uint8)


class IndexedSource(FrameSource):
    """A source whose frames can be read in any order: ``len(source)``, ``source[3]``, ``[2:9]``.

    Places count from 0 among the frames that are selected, those that cannot be decoded included;
    one of these raises InputError. ``Frame.number`` counts from 1 in the input, as always.
    """

    def __init__(self, name: str, path: str, options: Options) -> None:
        super().__init__(name, path, options)
        self.rate = options.fps
        self._assumed_rate = self._per_second = options.fps or ASSUMED_RATE

    @cached_property
    def _selected(self) -> list[Item]:
        picker = self.options.selection.picker()
        return [item for item in self._items([]) if picker.wants(item.number, item.time_s)]

    def __len__(self) -> int:
        return len(self._selected)

    def moments(self) -> list[tuple[int, float]]:
        """Return number and seconds of every frame that is selected, without reading any."""
        return [(item.number, item.time_s) for item in self._selected]

    @overload
    def __getitem__(self, place: int) -> Frame: ...
    @overload
    def __getitem__(self, place: slice) -> list[Frame]: ...
    def __getitem__(self, place: int | slice) -> Frame | list[Frame]:
        if isinstance(place, slice):
            return [self._frame(item) for item in self._selected[place]]
        return self._frame(self._selected[place])

    def _frame(self, item: Item) -> Frame:
        reason = item.reason
        if item.load is not None:
            try:
                data = self.geometry.pack(item.load(), self.layout, None)
                return Frame(item.number, item.time_s, data, self.layout)
            except BadPicture as error:
                reason = str(error)
        raise InputError(f"{self.name}: frame {item.number} cannot be decoded ({reason})")
