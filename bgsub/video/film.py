"""The frames of a video file, decoded through PyAV, which carries FFmpeg."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from av.container import InputContainer
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.errors import InputError
from bgsub.runtime.threads import available_cores
from bgsub.video import pyav
from bgsub.video.base import FrameSource, Item, Options
from bgsub.video.damage import (
    Damaged,
    Finding,
    Numbering,
    Tally,
    decode_alone,
    departs_from_standard,
    has_checksums,
    unseen_damage,
)
from bgsub.video.film_index import (
    DecodingPlan,
    Entry,
    FilmIndex,
    PacketTimes,
    Unexpected,
    index_packets,
    open_video,
    packet_times,
    read_header,
)
from bgsub.video.frames import Frame

logger = logging.getLogger(__name__)

# Threads report an error only when frames behind the bad one have come out, up to as many as there
# are threads and a few more: so many are held back.
_LATE_ERRORS = 4
_MAX_THREADS = 16


class VideoFileSource(FrameSource):
    """The frames of a video file, decoded by FFmpeg.

    At the first sign of damage it is decoded anew on one thread (`bgsub.video.damage`), and what
    follows comes from there. Raises InputError if nothing in the file can be decoded.
    """

    kind = "video"

    def __init__(self, path: Path, options: Options) -> None:
        super().__init__(path.name, str(path), options)
        self._warn_of_fps("a video")
        self._file = path
        self._entry: Entry | None = None
        self._is_damaged = False
        self._times: PacketTimes | None = None
        self._plan_of_packets: DecodingPlan | None = None
        with self.opened() as (container, stream):
            self._header = header = read_header(container, stream)
            frame, packet = _first_frame(container, stream, path.name)
        self.codec, self.rate = header.codec, header.rate
        self.input_frames, self.duration_s = header.frames, header.duration_s
        self.pixel_format = frame.format.name
        self._native_size = (frame.width, frame.height)
        self._plan(
            self._native_size,
            pyav.native_kind(frame),
            orientation=pyav.orientation(frame),
            matrix=pyav.matrix(frame),
        )
        self._maker = pyav.PictureMaker(self.layout)
        self._is_selective = (
            (options.selection.start is not None or options.selection.every is not None)
            and header.step_s is not None
            and not header.has_decoding_times
        )
        self._has_sums = header.codec == "ffv1" and has_checksums(packet)
        self.unseen_damage = unseen_damage(self.codec, has_sums=self._has_sums)
        self._opening_warnings += header.blind_spots(self.unseen_damage)
        self._is_logged = self.unseen_damage != "may go unseen"

    def enter(self, entry: Entry) -> None:
        """Begin to decode at a key frame; frames before it are not given.

        What `bgsub.video.seek.index_film` returns leads to the same frames as a pass from the
        start.
        """
        self._entry = entry

    def opened(self) -> AbstractContextManager[tuple[InputContainer, VideoStream]]:
        """Open the file and its video stream, to seek in it."""
        return open_video(self._file)

    def index(self) -> FilmIndex | str:
        """List all packets, or return why they do not tell which frames there are."""
        with self.opened() as (container, stream):
            return index_packets(container, stream, resolution_s=self._header.resolution_s)

    def to_frame(self, frame: VideoFrame, time_s: float) -> Frame | None:
        """Turn a decoded frame into one whose number is not known, 0; None if it is bad."""
        item = self._item(0, frame, time_s)
        data, _ = self._load(item.load, item.reason, None)
        return None if data is None else Frame(0, time_s, data, self.layout)

    def _items(self, notes: list[str]) -> Generator[Item, None, None]:
        if not self._is_logged:
            text = "%s: %s has no checksums: damage to single pictures may go unseen"
            logger.info(text, self.name, self.codec)
            self._is_logged = True
        given = 0
        while not self._is_damaged:
            is_selective = self._is_selective and self._entry is None
            decode = self._decode_selected if is_selective else self._decode
            threads = self.options.threads or min(available_cores() + 1, _MAX_THREADS)
            try:
                for item in _held_back(decode(threads, notes), threads + _LATE_ERRORS):
                    if item.number > given:
                        given = item.number
                        yield item
            except Unexpected:
                self._is_selective = False
            except Damaged:
                self._is_damaged, self._entry = self._entry is None, None
            else:
                return
        for item in self._decode_damaged(notes):
            if item.number > given:
                yield item
            elif item.load is None or item.doubtful:
                self._late_doubts.append((item.number, item.time_s))

    def _decode_selected(self, threads: int, notes: list[str]) -> Generator[Item, None, None]:  # noqa: ARG002 - as of _decode
        """Yield all frames, but decode only what leads to those that are selected.

        Raises
        ------
        Unexpected
            If it cannot be known which these are, or something is odd: then all is to be decoded.
        """
        if self._plan_of_packets is None:
            selection, header = self.options.selection, self._header
            with self.opened() as (container, stream):
                index = index_packets(
                    container,
                    stream,
                    resolution_s=header.resolution_s,
                    step_s=header.step_s,
                    until=selection.picker(),
                    is_sound=self._is_sound,
                )
            if isinstance(index, str):
                raise Unexpected(index)
            end_s = float(index.stamps_s[-1]) + (header.step_s or 0.0)
            if not index.is_partial and header.falls_short(len(index.stamps), end_s):
                raise Unexpected("the file breaks off")
            self._plan_of_packets = DecodingPlan.of(index, selection)
        with self.opened() as (container, stream):
            yield from self._plan_of_packets.decode(container, stream, threads, self._item)

    def _decode(self, threads: int, notes: list[str]) -> Generator[Item, None, None]:
        """Yield the frames, from the entry on; raises Damaged at the first sign of damage.

        What came before may depend on the number of threads, for a few frames.
        """
        entry, header, tally = self._entry, self._header, Tally(self.codec)
        numbering = Numbering(header, self._packet_times, self._item, is_damaged=False)
        with self.opened() as (container, stream):
            pyav.prepare(stream, threads=threads, strict=True)
            if entry is not None:
                numbering.begin(entry)
                tally.packets = entry.packets
                pyav.seek(container, stream, entry.stamp_s)
            try:
                for packet in pyav.demux(container, stream):
                    if not pyav.is_flush(packet):
                        tally.count(packet)
                        if packet.size == 0:
                            continue  # repeats a frame; a decoder would take it for the end
                        if packet.is_corrupt or not self._is_sound(bytes(packet)):
                            raise Damaged
                    for frame in pyav.decode(packet):
                        stamp_s = pyav.stamp_of(frame, by_decoding_order=header.has_decoding_times)
                        if self._follows(frame, stamp_s, numbering.number):
                            yield from numbering.place(Finding(stamp_s, frame))
                yield from numbering.end(tally)
            except FFmpegError as error:
                raise Damaged from error
            except GeneratorExit:
                notes += numbering.notes(tally, is_whole=False)
                raise
        never_began = entry is not None and numbering.number < entry.sound
        # Several threads keep an error in the last packets to themselves; timestamps tell it.
        is_silent = entry is None and header.step_s is None and numbering.silent(tally) > 0
        if never_began or is_silent:
            raise Damaged
        self._finish_pass(numbering, tally, notes)

    def _follows(self, frame: VideoFrame, stamp_s: float | None, number: int) -> bool:
        """Return whether a frame is one behind the entry, where number frames were before it.

        Raises Damaged if the first one is another than that of the entry, or one is damaged.
        """
        entry = self._entry
        if entry is not None and number < entry.number:
            if stamp_s is not None and stamp_s < entry.stamp_s:
                return False  # depends on a frame before the key frame
            if stamp_s != entry.stamp_s:
                raise Damaged
        if frame.is_corrupt and (entry is None or number + 1 >= entry.sound):
            raise Damaged
        return True

    def _decode_damaged(self, notes: list[str]) -> Generator[Item, None, None]:
        """Yield the frames of a damaged video, decoded on one thread: always the same ones."""
        header, tally = self._header, Tally(self.codec)
        with self.opened() as (container, stream):
            strict = not departs_from_standard(container, stream)
        if not strict:
            notes.append("its codec departs from the standard: damage may go unseen")
        numbering = Numbering(header, self._packet_times, self._item, is_damaged=True)
        with self.opened() as (container, stream):
            findings = decode_alone(
                container, stream, header, tally, strict=strict, is_sound=self._is_sound
            )
            try:
                for found in findings:
                    yield from numbering.place(found)
                yield from numbering.end(tally)
            except GeneratorExit:
                notes += numbering.notes(tally, is_whole=False)
                raise
        self._finish_pass(numbering, tally, notes)

    def _finish_pass(self, numbering: Numbering, tally: Tally, notes: list[str]) -> None:
        notes += numbering.notes(tally, is_whole=True)
        if self._header.falls_short(tally.packets, tally.end_s):
            self._late_doubts.append(numbering.shown)  # it may be there in part

    def _packet_times(self) -> PacketTimes:
        if self._times is None:
            with self.opened() as (container, stream):
                self._times = packet_times(container, stream, self._header)
        return self._times

    def _is_sound(self, packet: bytes) -> bool:
        return not self._has_sums or has_checksums(packet)

    def _item(self, number: int, frame: VideoFrame, time_s: float) -> Item:
        width, height = frame.width, frame.height
        if (width, height) != self._native_size:
            expected = "{}×{}".format(*self._native_size)
            return Item(number, time_s, None, f"its size is {width}×{height}, not {expected}")
        return Item(number, time_s, partial(self._maker.make, frame))


def _first_frame(
    container: InputContainer, stream: VideoStream, name: str
) -> tuple[VideoFrame, bytes]:
    """Return the first frame that can be decoded, and the data of the first packet."""
    pyav.prepare(stream, threads=1, strict=False)
    reason, first = "", b""
    packets = pyav.demux(container, stream)
    while True:
        try:
            packet = next(packets, None)
            if packet is None:
                break
            if packet.size == 0 and not pyav.is_flush(packet):
                continue
            first = first or bytes(packet)
            for frame in pyav.decode(packet):
                if not frame.is_corrupt:
                    return frame, first
        except FFmpegError as error:
            reason = reason or f" ({pyav.error_reason(error)})"
    message = f"{name}: no frame can be decoded{reason}"
    raise InputError(f"{message}; the file is empty, cut off or damaged")


def _held_back(items: Iterable[Item], count: int) -> Generator[Item, None, None]:
    """Yield each item when so many more have come, and the last ones at the end."""
    held: deque[Item] = deque()
    for item in items:
        held.append(item)
        if len(held) > count:
            yield held.popleft()
    yield from held
