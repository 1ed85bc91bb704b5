"""The frames of a video file, decoded through PyAV, which carries FFmpeg."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from pathlib import Path

from av.container import InputContainer
from av.error import ArgumentError, FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.errors import InputError, plural
from bgsub.runtime.threads import available_cores
from bgsub.video import damage, film_index, pyav
from bgsub.video.base import BadPicture, FrameSource, Item, Options
from bgsub.video.frames import Frame
from bgsub.video.selection import Picker

logger = logging.getLogger(__name__)
# Threads report an error only when frames behind the bad one have come out, up to as many as there
# are threads and a few more: so many are held back.
_LATE_ERRORS = 4
_MAX_THREADS = 16


class VideoFileSource(FrameSource):
    """The frames of a video file, decoded by FFmpeg.

    At the first sign of damage it is decoded anew on one thread (`bgsub.video.damage`), and what
    follows comes from there. Decoding may begin at an `entry`, of `FilmIndex.entry`: then frames
    before that are not given. Raises InputError if nothing in the file can be decoded.
    """

    kind = "video"

    def __init__(self, path: Path, options: Options) -> None:
        super().__init__(path.name, str(path), options)
        if options.fps is not None:
            message = f"--fps has no effect on {self.name}, a video with times of its own"
            self._opening_warnings.append(message)
        self._file = path
        self.entry: film_index.Entry | None = None
        self._is_damaged = False
        self._plan_of_packets: film_index.DecodingPlan | None = None
        with self.opened() as (container, stream):
            self._header = header = film_index.FilmHeader(container, stream)
            frame, packet = _first_frame(container, stream, header, path.name)
        self.codec, self.rate = header.codec, header.rate
        self.input_frames, self.duration_s = header.frames, header.duration_s
        self.pixel_format = frame.format.name
        self._native_size = (frame.width, frame.height)
        self._plan(self._native_size, *pyav.native(frame))
        self._maker = pyav.PictureMaker(self.layout)
        leaves_out = options.selection.start is not None or options.selection.every is not None
        has_stamps = header.step_s is not None and not header.has_decoding_times
        self._is_selective = leaves_out and has_stamps
        has_sums = header.codec == "ffv1" and damage.has_checksums(packet)
        self._is_sound = damage.has_checksums if has_sums else lambda _: True
        self.unseen_damage = damage.unseen_damage(self.codec, has_sums=has_sums)
        if header.skipped:
            text = "numbers count the frames that are there, times are those of the recording"
            left_out = f"the recorder left out {plural(header.skipped, 'frame')}"
            self._opening_warnings.append(f"{left_out}: {text}")
        if self.unseen_damage == "cannot be seen":
            text = f"{self.codec} without checksums: damage to single pictures cannot be seen"
            self._opening_warnings.append(text)
        if header.format in film_index.WITHOUT_NUMBERS:
            text = f"{header.format} does not tell when whole pictures are missing"
            self._opening_warnings.append(f"{text}: numbers are unsure if the file is damaged")
        self._is_logged = self.unseen_damage != "may go unseen"

    @contextmanager
    def opened(self) -> Iterator[tuple[InputContainer, VideoStream]]:
        """Open the file and its video stream; InputError if FFmpeg finds none to decode."""
        with ExitStack() as stack:
            try:
                container = stack.enter_context(pyav.open_input(self._file))
            except (FFmpegError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                if isinstance(error, ArgumentError):
                    reason = (
                        "it names other files, as playlists do, or is of a kind that is not read"
                    )
                message = f"{self.name}: is not a video that can be read ({reason})"
                raise InputError(f"{message}; check that it is complete and plays") from error
            stream = container.streams.best("video")
            if not isinstance(stream, VideoStream):
                raise InputError(f"{self.name}: holds no video; give a video file or images")
            if stream.codec_context is None:
                message = f"{self.name}: its codec is unknown to FFmpeg"
                raise InputError(f"{message}; convert it to H.264 or FFV1")
            yield container, stream

    def to_frame(self, frame: VideoFrame, place: film_index.Place) -> Frame | None:
        """Turn a decoded frame into that of a place; None if it is bad."""
        try:
            item = self._item(place.number, frame, place.time_s)
            return None if frame.is_corrupt else self._frame(item)
        except BadPicture:
            return None

    def _items(self, notes: list[str]) -> Generator[Item, None, None]:
        if not self._is_logged:
            text = "%s: %s has no checksums: damage to single pictures may go unseen"
            logger.info(text, self.name, self.codec)
            self._is_logged = True
        given = 0
        threads = self.options.threads or min(available_cores() + 1, _MAX_THREADS)
        while not self._is_damaged:
            is_selective = self._is_selective and self.entry is None
            items = self._decode_selected(threads) if is_selective else self._decode(threads, notes)
            try:
                for item in _held_back(items, threads + _LATE_ERRORS):
                    if item.number > given:
                        given = item.number
                        yield item
            except film_index.Unexpected:
                self._is_selective = False
            except damage.Damaged:
                self._is_damaged, self.entry = self.entry is None, None
            else:
                return
        for item in self._decode(1, notes):
            if item.number > given:
                yield item
            elif item.load is None or item.doubtful:
                self._late_doubts.append((item.number, item.time_s))

    def _decode_selected(self, threads: int) -> Generator[Item, None, None]:
        """Yield all, but decode only what leads to those selected; Unexpected where all must be."""
        selection, header = self.options.selection, self._header
        if self._plan_of_packets is None:
            with self.opened() as (container, stream):
                index = film_index.index_packets(
                    container, stream, header.step_s, Picker(selection), self._is_sound
                )
            if isinstance(index, str):
                raise film_index.Unexpected(index)
            end_s = float(index.stamps_s[-1]) + (header.step_s or 0.0)
            if not index.is_partial and header.falls_short(len(index.stamps), end_s):
                raise film_index.Unexpected("the file breaks off")
            self._plan_of_packets = film_index.DecodingPlan(index, selection)
        with self.opened() as (container, stream):
            yield from self._plan_of_packets.decode(container, stream, threads, self._item)

    def _decode(self, threads: int, notes: list[str]) -> Generator[Item, None, None]:
        """Yield the frames, from the entry on; raises Damaged at the first sign of damage.

        What came before may depend on the number of threads, for a few frames. Once a film is known
        to be damaged, it is decoded from its beginning on one thread, and gives always the same.
        """
        alone, entry, header = self._is_damaged, self.entry, self._header
        tally = damage.Tally(self.codec)
        strict = True
        if alone:
            with self.opened() as (container, stream):
                strict = not damage.departs_from_standard(container, stream)
            if not strict:
                notes.append("its codec departs from the standard: damage may go unseen")
        numbering = damage.Numbering(header, lambda: self._times, self._item, is_damaged=alone)
        with self.opened() as (container, stream):
            pyav.prepare(stream, threads=threads, strict=strict)
            if entry is not None:
                numbering.begin(entry)
                tally.packets = entry.packets
                pyav.seek(container, stream, entry.stamp_s)
            findings = damage.decode(
                container, stream, header, tally, is_sound=self._is_sound, tolerant=alone
            )
            try:
                for found in findings:
                    if entry is not None and numbering.number < entry.number:
                        if found.stamp_s is not None and found.stamp_s < entry.stamp_s:
                            continue  # depends on a frame before the key frame
                        if found.stamp_s != entry.stamp_s:
                            raise damage.Damaged
                    first_sound = 1 if entry is None else entry.sound
                    if found.doubtful and not alone and numbering.number + 1 >= first_sound:
                        raise damage.Damaged
                    yield from numbering.place(found)
                yield from numbering.end(tally)
            except GeneratorExit:
                notes += numbering.notes(tally, is_whole=False)
                raise
        if not alone:
            never_began = entry is not None and numbering.number < entry.sound
            # Several threads keep an error in the last packets to themselves; timestamps tell it.
            is_silent = entry is None and header.step_s is None and numbering.silent(tally) > 0
            if never_began or is_silent:
                raise damage.Damaged
        notes += numbering.notes(tally, is_whole=True)
        if header.falls_short(tally.packets, tally.end_s):
            self._late_doubts.append(numbering.shown)  # it may be there in part

    @cached_property
    def _times(self) -> film_index.PacketTimes:
        with self.opened() as (container, stream):
            return film_index.packet_times(container, stream)

    def _item(self, number: int, frame: VideoFrame, time_s: float) -> Item:
        width, height = frame.width, frame.height
        if (width, height) != self._native_size:
            expected = "{}×{}".format(*self._native_size)
            return Item(number, time_s, None, f"its size is {width}×{height}, not {expected}")
        return Item(number, time_s, partial(self._maker.make, frame))


def _first_frame(
    container: InputContainer, stream: VideoStream, header: film_index.FilmHeader, name: str
) -> tuple[VideoFrame, bytes]:
    """Return the first frame that can be decoded, and the data of the first packet."""
    pyav.prepare(stream, threads=1, strict=False)
    packets: dict[int, bytes] = {}
    reason, tally = "", damage.Tally(header.codec)

    def keep(packet: bytes) -> bool:
        return bool(packets.setdefault(0, packet))

    for found in damage.decode(container, stream, header, tally, is_sound=keep, tolerant=True):
        if found.frame is not None:
            return found.frame, packets.get(0, b"")
        reason = reason or found.reason
    reason = reason or tally.broke_off
    message = f"{name}: no frame can be decoded{f' ({reason})' if reason else ''}"
    raise InputError(f"{message}; the file is empty, cut off or damaged")


def _held_back(items: Iterable[Item], count: int) -> Generator[Item, None, None]:
    """Yield each item when so many more have come, and the last ones at the end."""
    held: deque[Item] = deque()
    for item in items:
        held.append(item)
        if len(held) > count:
            yield held.popleft()
    yield from held
