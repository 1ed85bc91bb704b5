"""The frames of a video file, decoded through PyAV, which carries FFmpeg."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.runtime.cores import available_cores
from bgsub.video import pixels, pyav
from bgsub.video.base import BaseSource, Item, Options
from bgsub.video.damage import Survey, Timeline, diagnose, has_checksums, survey, unseen_damage
from bgsub.video.film_header import Clock, FilmHeader, first_frame, open_video, read_header
from bgsub.video.film_index import (
    DecodingPlan,
    Entry,
    FilmIndex,
    Unexpected,
    decode_needed,
    index_packets,
    packet_step,
    plan_decoding,
)
from bgsub.video.frames import Frame

logger = logging.getLogger(__name__)

# Threads report an error only when frames behind the bad one have come out, up to as many as there
# are threads and a few more: so many are held back.
_LATE_ERRORS = 4
_MAX_THREADS = 16

# A frame that comes later than so many steps leaves a gap.
_GAP_STEPS = 1.5

_OTHER_SIZE = "its size is"


class _Oddity(NamedTuple):
    """Something that an undamaged film does not have; `is_gap` where one of variable rate may."""

    is_gap: bool = False


class VideoFileSource(BaseSource):
    """The frames of a video file, decoded by FFmpeg.

    At the first sign of damage it is surveyed on one thread (`bgsub.video.damage`), and what
    follows comes from there. Raises InputError if nothing in the file can be decoded.
    """

    kind = "video"

    def __init__(self, path: Path, options: Options) -> None:
        super().__init__(path.name, str(path), options)
        self._warn_of_fps("a video")
        self._file = path
        self._timeline: Timeline | None = None
        self._entry: Entry | None = None
        with self.opened() as (container, stream):
            self._header = header = read_header(container, stream)
            frame, packet = first_frame(container, stream, path.name, header)
        self.codec, self.rate = header.codec, header.rate
        self.input_frames, self.duration_s = header.frames, header.duration_s
        self.pixel_format = frame.format.name
        self._native_size = (frame.width, frame.height)
        self._plan(
            self._native_size,
            pixels.native_kind(frame),
            orientation=pixels.orientation(frame),
            matrix=pixels.matrix(frame),
        )
        self._maker = pixels.PictureMaker(self.layout)
        self._step_s, self._step_is_known = header.step_s, False
        self._needed: DecodingPlan | None = None
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
        threads = self.options.threads or min(available_cores() + 1, _MAX_THREADS)
        ahead = threads + _LATE_ERRORS
        if self._timeline is None and self._header.begins_silently:
            self._timeline = diagnose(self._header, self._survey)
        if self._timeline is None and self._is_selective and self._entry is None:
            try:
                for item in _held_back(self._decode_selected(threads), ahead):
                    given = item.number
                    yield item
            except Unexpected:
                self._is_selective = False
            if self._is_selective:
                return
        if self._timeline is None:
            decoded = self._decode(threads)
            for item in _held_back(decoded, ahead, lambda: self._timeline is None):
                if item.number > given:
                    given = item.number
                    yield item
            if self._timeline is None:
                return
        first = 0 if self._entry is None else self._entry.number - 1
        for entry in self._timeline.entries[first:given]:
            if entry.doubtful or entry.frame is None:
                self._late_doubts.append((entry.number, entry.time_s))
        with self.opened() as (container, stream):
            shown = self._timeline.decode(container, stream, self._item, notes)
            yield from (item for item in shown if item.number > given)

    def _decode_selected(self, threads: int) -> Generator[Item, None, None]:
        """Yield all frames, but decode only what leads to those that are selected.

        Raises
        ------
        Unexpected
            If it cannot be known which these are, or something is odd: then all is to be decoded.
        """
        if self._needed is None:
            selection, header = self.options.selection, self._header
            with self.opened() as (container, stream):
                index = index_packets(
                    container,
                    stream,
                    resolution_s=header.resolution_s,
                    step_s=self._step_s,
                    until=selection.picker(),
                    is_sound=self._is_sound,
                )
            if isinstance(index, str):
                raise Unexpected(index)
            end_s = float(index.stamps_s[-1]) + (header.step_s or 0.0)
            if not index.is_partial and header.falls_short(len(index.stamps), end_s):
                raise Unexpected("the file breaks off")
            self._needed = plan_decoding(index, selection)
        with self.opened() as (container, stream):
            yield from decode_needed(self._needed, container, stream, threads, self._item)

    def _decode(self, threads: int) -> Generator[Item, None, None]:
        """Yield the frames up to the first sign of damage, which makes the timeline."""
        clock, entry, header = Clock(self.rate), self._entry, self._header
        number = 0 if entry is None else entry.number - 1
        with self.opened() as (container, stream):
            decoder = _Decoder(header, container, stream, threads, self._is_sound)
            events: Iterable[VideoFrame | _Oddity] = decoder
            if entry is not None:
                clock.read(entry.origin_s)
                pyav.seek(container, stream, entry.stamp_s)
                decoder.packets = entry.packets
                events = _entered(decoder, entry)
            for event in events:
                if isinstance(event, _Oddity):
                    if event.is_gap and not self._is_gap_at_constant_rate(decoder):
                        continue
                    break
                number += 1
                stamp_s = pyav.stamp_of(event, by_decoding_order=header.has_decoding_times)
                yield self._item(number, event, clock.read(stamp_s))
            else:
                if not header.falls_short(decoder.packets, decoder.end_s):
                    return
        self._timeline = diagnose(header, self._survey)

    def _survey(self, strict: bool) -> Survey:
        with self.opened() as (container, stream):
            return survey(container, stream, strict=strict, has_sums=self._has_sums)

    def _is_sound(self, packet: bytes) -> bool:
        return not self._has_sums or has_checksums(packet)

    def _is_gap_at_constant_rate(self, decoder: _Decoder) -> bool:
        """Tell a gap from a long step of a film of variable rate, by the stamps of all packets."""
        if self._step_s is not None and not self._step_is_known:
            self._step_is_known = True
            with self.opened() as (container, stream):
                self._step_s = packet_step(
                    container, stream, resolution_s=self._header.resolution_s
                )
        return decoder.follows_gap(self._step_s)

    def _item(self, number: int, frame: VideoFrame, time_s: float) -> Item:
        width, height = frame.width, frame.height
        if (width, height) != self._native_size:
            expected = "{}×{}".format(*self._native_size)
            return Item(number, time_s, None, f"{_OTHER_SIZE} {width}×{height}, not {expected}")
        return Item(number, time_s, partial(self._maker.make, frame))


class _Decoder:
    """Decodes a stream once, from where its container is, without any concealment of damage.

    What comes behind the first oddity that is no gap is not to be used: with several threads it
    depends on their number. `packets` counts those read, `end_s` is when the last of them ends.
    """

    def __init__(
        self,
        header: FilmHeader,
        container: InputContainer,
        stream: VideoStream,
        threads: int,
        is_sound: Callable[[bytes], bool],
    ) -> None:
        self._header, self._container, self._stream = header, container, stream
        self._is_sound = is_sound
        pyav.prepare(stream, threads=threads, strict=True)
        self.packets, self.end_s = 0, 0.0
        self._ranks = {place: rank for rank, (place, _) in enumerate(header.table)}
        self._rank = -1
        self._latest_packet = self._latest_frame = -1
        self._read = self._frames = self._pictures = 0
        self._waiting: int | None = None
        self._last_s: float | None = None
        self._passed_s = 0.0

    def __iter__(self) -> Generator[VideoFrame | _Oddity, None, None]:
        """Yield frames in the order of presentation, and what is odd before the one it affects."""
        try:
            for packet in pyav.demux(self._container, self._stream):
                if not pyav.is_flush(packet):
                    self.packets += 1
                    if packet.size == 0:
                        continue  # repeats a frame; a decoder would take it for the end
                    if self._is_odd(packet):
                        yield _Oddity()
                for frame in pyav.decode(packet):
                    if frame.is_corrupt:
                        yield _Oddity()
                    elif self._comes_late(frame):
                        yield _Oddity(is_gap=True)
                    yield frame
                    self._frames += 1
                if not pyav.is_flush(packet) and self._falls_behind():
                    yield _Oddity()
        except FFmpegError:
            yield _Oddity()
        if self._header.codec not in pyav.HIDDEN_PACKETS:
            stamped = self._header.step_s is not None
            late = self._latest_frame < self._latest_packet
            if late if stamped else 0 < self._frames < self._pictures:
                yield _Oddity()

    def _is_odd(self, packet: Packet[VideoStream]) -> bool:
        """Count a packet; return whether something is wrong with it."""
        self._read += 1
        is_picture = pyav.is_picture(self._header.codec, packet.size)
        self._pictures += is_picture and not packet.is_discard
        if packet.pts is not None and not packet.is_discard:
            self._latest_packet = max(self._latest_packet, packet.pts)
            begin_s = pyav.seconds(packet.pts, packet.time_base) or 0.0
            length_s = pyav.seconds(packet.duration, packet.time_base) or 0.0
            self.end_s = max(self.end_s, begin_s + length_s)
        expected = self._rank + 1
        self._rank = expected if packet.pos is None else self._ranks.get(packet.pos, expected)
        return packet.is_corrupt or self._rank != expected or not self._is_sound(bytes(packet))

    def _falls_behind(self) -> bool:
        """Return whether the decoder keeps more packets than before; timestamps tell it better."""
        if self._frames == 0 or self._header.step_s is not None:
            return False
        before, waiting = self._waiting, self._read - self._frames
        self._waiting = max(waiting, before or 0)
        return before is not None and waiting > before

    def _comes_late(self, frame: VideoFrame) -> bool:
        by_order = self._header.has_decoding_times
        time_s = pyav.stamp_of(frame, by_decoding_order=by_order)
        if frame.pts is not None:
            self._latest_frame = max(self._latest_frame, frame.pts)
        before, self._last_s = self._last_s, time_s
        self._passed_s = 0.0 if before is None or time_s is None else time_s - before
        return self.follows_gap(self._header.step_s)

    def follows_gap(self, step_s: float | None) -> bool:
        """Return whether the latest frame comes later than the one before it should be followed."""
        return step_s is not None and self._passed_s > _GAP_STEPS * step_s


def _entered(
    events: Iterable[VideoFrame | _Oddity], entry: Entry
) -> Iterator[VideoFrame | _Oddity]:
    """Yield what a decoder yields from a key frame on, without the damage that is none."""
    number = 0
    for event in events:
        following = number + 1 if number else entry.number
        if isinstance(event, _Oddity):
            if following >= entry.sound:
                yield event
            continue
        stamp_s = pyav.stamp_of(event)
        if number == 0 and stamp_s is not None and stamp_s < entry.stamp_s:
            continue  # is shown before the key frame, and depends on one before that
        if number == 0 and stamp_s != entry.stamp_s:
            break
        number = following
        yield event
    if number < entry.sound:
        yield _Oddity()


def _held_back(
    items: Iterable[Item], count: int, is_sound: Callable[[], bool] = lambda: True
) -> Generator[Item, None, None]:
    """Yield each item when so many more have come; the last ones only if all is sound by then."""
    held: deque[Item] = deque()
    for item in items:
        held.append(item)
        if len(held) > count:
            yield held.popleft()
    if is_sound():
        yield from held
