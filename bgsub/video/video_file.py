"""Read video files through PyAV, which carries FFmpeg."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.errors import InputError
from bgsub.runtime.cores import available_cores
from bgsub.video import pixels, pyav
from bgsub.video.base import BaseSource, Item, Options
from bgsub.video.beginnings import lacks_its_beginning
from bgsub.video.checksums import has_checksums, unseen_damage
from bgsub.video.decoding import (
    Clock,
    Decoder,
    Oddity,
    error_reason,
    is_picture,
    prepare,
    seek,
    stamp_of,
)
from bgsub.video.film_header import Reach, read_header
from bgsub.video.frames import Frame
from bgsub.video.skipping import DecodingPlan, Unexpected, decode_needed, held_back, plan_decoding
from bgsub.video.stamps import pace_of
from bgsub.video.strays import without_leaps
from bgsub.video.survey import Survey, decode_alone, survey
from bgsub.video.timeline import Timeline, make_timeline

logger = logging.getLogger(__name__)

_TEXT_CODECS = {"ansi", "bintext", "idf", "xbin"}  # FFmpeg draws text as a terminal would
# Threads report an error only when frames behind the bad one have come out, up to as many as there
# are threads and a few more: so many are held back.
_LATE_ERRORS = 4
_MAX_THREADS = 16


class Entry(NamedTuple):
    """A key frame at which decoding may begin.

    Attributes
    ----------
    number : int
        Of the frame, from 1.
    stamp_s : float
        Its time stamp, in seconds on the stream's clock.
    origin_s : float
        That of frame 1.
    packets : int
        Packets before it in the file.
    sound : int
        Number of the frame from which damage counts. What comes before it may be made of frames
        that are not decoded.
    """

    number: int
    stamp_s: float
    origin_s: float
    packets: int
    sound: int


class VideoFileSource(BaseSource):
    """The frames of a video file, decoded by FFmpeg on `threads` threads.

    Parameters
    ----------
    path : Path
    options : Options

    Raises
    ------
    InputError
        If nothing in the file can be decoded.
    """

    kind = "video"

    def __init__(self, path: Path, options: Options) -> None:
        super().__init__(path.name, str(path), options)
        self._refuse_fps("a video")
        self._file = path
        self._timeline: Timeline | None = None
        self._entry: Entry | None = None
        self._has_checksums = self._step_is_known = False
        with self._open() as container:
            stream = self._video_stream(container)
            self._header = header = read_header(container, stream, path)
            self.codec, self.rate = header.codec, header.rate
            self.input_frames, self.duration_s = header.frames, header.duration_s
            self._step_s = header.step_s
            frame = self._first_frame(container, stream)
        self.pixel_format = frame.format.name
        self._native_size = (frame.width, frame.height)
        self._plan(
            self._native_size,
            pixels.native_kind(frame),
            orientation=pixels.orientation(frame),
            matrix=pixels.matrix(frame),
        )
        self._maker = pixels.PictureMaker(self.layout)
        self._needed: DecodingPlan | None = None
        self._is_selective = (
            (options.selection.start is not None or options.selection.every is not None)
            and header.step_s is not None
            and not (header.has_decoding_times or header.begins_silently or header.ends_early)
        )
        self.unseen_damage = unseen_damage(self.codec, has_sums=self._has_checksums)
        self._opening_warnings += header.blind_spots(self.unseen_damage)
        self._has_told = False

    @contextmanager
    def _open(self) -> Iterator[InputContainer]:
        with ExitStack() as stack:
            try:
                container = stack.enter_context(pyav.open_input(self._file))
            except (FFmpegError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                message = f"{self.name}: is not a video that can be read ({reason})"
                raise InputError(f"{message}; check that it is complete and plays") from error
            yield container

    def _video_stream(self, container: InputContainer) -> VideoStream:
        stream = container.streams.best("video")
        if not isinstance(stream, VideoStream):
            raise InputError(f"{self.name}: holds no video; give a video file or images")
        if stream.codec_context is None:
            message = f"{self.name}: its codec is unknown to FFmpeg"
            raise InputError(f"{message}; convert it to H.264 or FFV1")
        if stream.codec_context.name in _TEXT_CODECS:
            raise InputError(f"{self.name}: is a text, not a video; give a video file or images")
        return stream

    def _first_frame(self, container: InputContainer, stream: VideoStream) -> VideoFrame:
        prepare(stream, threads=1, strict=False)
        reason, silent, is_first = "", 0, True
        packets = pyav.demux(container, stream)
        while True:
            try:
                packet = next(packets, None)
                if packet is None:
                    break
                if packet.size == 0 and packet.dts is not None:
                    continue
                if is_first:
                    self._look_at_first(packet, is_alone=len(container.streams) == 1)
                is_first = False
                if self.codec == "ffv1" and packet.size and not self._has_checksums:
                    self._has_checksums = has_checksums(bytes(packet))
                silent += is_picture(self.codec, packet.size) and not packet.is_discard
                for frame in pyav.decode(packet):
                    if not frame.is_corrupt:
                        self._header.begins_silently = silent > _longest_delay(stream)
                        return frame
            except FFmpegError as error:
                reason = reason or f" ({error_reason(error)})"
        message = f"{self.name}: no frame can be decoded{reason}"
        raise InputError(f"{message}; the file is empty, cut off or damaged")

    def _look_at_first(self, packet: Packet[VideoStream], *, is_alone: bool) -> None:
        """Note what the first packet says of the film: what comes before it, how many there are."""
        header = self._header
        if is_alone and packet.pos is not None and packet.stream is not None:
            place, stream_id = packet.pos, packet.stream.id
            if lacks_its_beginning(header.format, self._file, place, stream_id):
                header.lacks_packets = True
                header.table = []  # FFmpeg counts its places from the first packet
        if header.format == "dv" and packet.size:
            header.announced = header.size // packet.size  # all are as long

    def _items(self, notes: list[str]) -> Generator[Item, None, None]:
        given = 0
        self._tell_once()
        what = self._header.gap(reads_its_end=self.options.selection.end is None)
        if self._timeline is None and what:
            self._timeline = self._work_out(Oddity(what))
        threads = self.options.threads or min(available_cores() + 1, _MAX_THREADS)
        if self._timeline is None and self._is_selective and self._entry is None:
            try:
                for item in held_back(self._decode_selected(threads), threads + _LATE_ERRORS):
                    given = item.number
                    yield item
            except Unexpected:
                self._is_selective = False
            if self._is_selective:
                return
        if self._timeline is None:
            decoded = self._decode(threads, notes)
            for item in held_back(decoded, threads + _LATE_ERRORS, lambda: self._timeline is None):
                if item.number > given:
                    given = item.number
                    yield item
            if self._timeline is None:
                return
        for item in self._decode_again(self._timeline, notes):
            if item.number > given:
                yield item

    def _tell_once(self) -> None:
        """Say to those who want details, as its frames are read, what is true of most films."""
        if self.unseen_damage == "may go unseen" and not self._has_told:
            text = "%s: %s has no checksums: damage to single pictures may go unseen"
            logger.info(text, self.name, self.codec)
        self._has_told = True

    def _decode_selected(self, threads: int) -> Generator[Item, None, None]:
        """Give all frames, but decode only what leads to those that are selected.

        Raises
        ------
        Unexpected
            If it cannot be known which these are, or something is odd: then all is to be decoded.
        """
        if self._needed is None:
            self._needed = self._plan_selected()
        with self._open() as container:
            stream = self._video_stream(container)
            yield from decode_needed(self._needed, container, stream, threads, self._item)

    def _plan_selected(self) -> DecodingPlan:
        selection = self.options.selection
        with self._open() as container:
            stream = self._video_stream(container)
            decoder = self._decoder(container, stream, 1)
            plan = plan_decoding(container, stream, decoder, Clock(self.rate), selection)
        seen = (decoder.packets, decoder.empty_packets, decoder.reach)
        if not plan.is_partial and (
            self._has_unknown_holes(decoder) or self._shortfall(*seen, len(plan.times))
        ):
            raise Unexpected
        return plan

    def _decoder(self, container: InputContainer, stream: VideoStream, threads: int) -> Decoder:
        return Decoder(
            container,
            stream,
            threads,
            step_s=self._step_s,
            by_decoding_order=self._header.has_decoding_times,
            places={place: rank for rank, (place, _) in enumerate(self._header.table)},
            is_sound=has_checksums if self._has_checksums else None,
            passed=0 if self._entry is None else self._entry.packets,
        )

    def _decode(self, threads: int, notes: list[str]) -> Generator[Item, None, None]:
        """Give the frames up to the first sign of damage, which makes the timeline."""
        clock, entry = Clock(self.rate), self._entry
        number = 0 if entry is None else entry.number - 1
        by_decoding_order = self._header.has_decoding_times
        with self._open() as container:
            stream = self._video_stream(container)
            decoder = self._decoder(container, stream, threads)
            oddity: Oddity | None = None
            if entry is not None:
                clock.read(entry.origin_s)
                seek(container, stream, entry.stamp_s)
            for event in decoder if entry is None else _from(decoder, entry):
                if isinstance(event, Oddity):
                    if event.is_gap and not self._is_gap_at_constant_rate(decoder):
                        continue
                    oddity = event
                    break
                number += 1
                stamp_s = stamp_of(event, by_decoding_order=by_decoding_order)
                yield self._item(number, event, clock.read(stamp_s))
        if oddity is None and self._has_unknown_holes(decoder):
            oddity = Oddity("the file breaks off")
        if oddity is not None:
            self._timeline = self._work_out(oddity)
            return
        notes += self._shortfall(decoder.packets, decoder.empty_packets, decoder.reach, number)

    def _is_gap_at_constant_rate(self, decoder: Decoder) -> bool:
        """Tell a gap from a long step of a film of variable rate, by the stamps of all packets."""
        if self._step_s is not None and not self._step_is_known:
            self._step_is_known = True
            stamps = []
            with self._open() as container:
                stream = self._video_stream(container)
                try:
                    for packet in pyav.demux(container, stream):
                        time_s = pyav.seconds(packet.pts, packet.time_base)
                        if time_s is not None and not packet.is_discard and packet.size:
                            stamps.append(time_s)
                except FFmpegError:
                    pass  # what is wrong is found out when it is decoded
            self._step_s = pace_of(without_leaps(stamps), self._header.resolution_s).step_s
            decoder.step_s = self._step_s
            return self._step_s is not None and decoder.follows_gap
        return self._step_s is not None

    def _has_unknown_holes(self, decoder: Decoder) -> bool:
        """Whether a film holds less than it should although nothing odd was found in it."""
        header = self._header
        falls_short = header.falls_short(decoder.packets, decoder.empty_packets, decoder.reach)
        return header.ends_early or (falls_short and header.format == "avi" and not header.table)

    def _work_out(self, oddity: Oddity) -> Timeline:
        """Decode the film on one thread to find out what is damaged."""
        found = complaints = self._survey(strict=True)
        if complaints.errors or complaints.broke_off:
            found = self._survey(strict=False)
        # Films whose every picture departs from the standard are not damaged.
        is_odd_kind = complaints.errors > len(found.packets) // 2 > found.errors
        if not is_odd_kind:
            found.add_errors(complaints)
        timeline = make_timeline(found, self._header)
        notes = self._shortfall(
            len(found.packets),
            found.empty_packets,
            found.reach(self.rate),
            timeline.good,
            is_damaged=bool(found.broke_off) or self._header.ends_early,
        )
        listed = len(self._header.table) or self._header.announced
        if 0 < listed <= len(timeline.entries) and not self._header.ends_early:
            notes = []  # the frames that are not there are named one by one
        entries = timeline.entries
        if is_odd_kind:
            notes.append("its codec departs from the standard: damage may go unseen")
        elif not (notes or timeline.notes or oddity.is_gap or oddity.is_guess) and not any(
            entry.reason or entry.doubtful for entry in entries
        ):
            notes.append(f"something is damaged ({oddity.reason}), but every frame can be decoded")
        timeline.notes.extend((len(entries) + 1, note) for note in notes)
        return timeline

    def _survey(self, *, strict: bool) -> Survey:
        with self._open() as container:
            stream = self._video_stream(container)
            is_sound = has_checksums if self._has_checksums else None
            return survey(container, stream, strict=strict, is_sound=is_sound)

    def _decode_again(self, timeline: Timeline, notes: list[str]) -> Generator[Item, None, None]:
        """Give the frames of a damaged film as its timeline says."""
        waiting = deque(timeline.notes)
        with self._open() as container:
            stream = self._video_stream(container)
            pictures = enumerate(decode_alone(container, stream, strict=False))
            wanted = {entry.picture for entry in timeline.entries}
            early: dict[int, VideoFrame] = {}  # behind damage pictures may come out of order
            for entry in timeline.entries:
                while waiting and waiting[0][0] <= entry.number:
                    notes.append(waiting.popleft()[1])
                if entry.picture is None:
                    yield Item(entry.number, entry.time_s, None, entry.reason)
                    continue
                while entry.picture not in early:
                    index, frame = next(pictures)
                    if index in wanted:
                        early[index] = frame
                item = self._item(entry.number, early.pop(entry.picture), entry.time_s)
                yield item._replace(doubtful=entry.doubtful)
        notes.extend(text for _, text in waiting)

    def enter(self, entry: Entry) -> None:
        """Begin to decode at a key frame; frames before it are not given.

        What `bgsub.video.film_index` gives leads to the same frames as a pass from the start.
        """
        self._entry = entry

    @property
    def format(self) -> str:
        """FFmpeg's name of the container."""
        return self._header.format

    @property
    def resolution_s(self) -> float:
        """What time stamps are rounded to, in seconds."""
        return self._header.resolution_s

    @property
    def unsure_numbers(self) -> str:
        """Why frames are to be counted from the beginning, as far as the header tells."""
        return self._header.gap(reads_its_end=True)

    @contextmanager
    def opened(self) -> Iterator[tuple[InputContainer, VideoStream]]:
        """Open the file and its video stream, to seek in it."""
        with self._open() as container:
            yield container, self._video_stream(container)

    def to_frame(self, frame: VideoFrame, time_s: float) -> Frame | None:
        """Turn a decoded picture into a frame whose number is not known, 0; None if it is bad."""
        item = self._item(0, frame, time_s)
        data, _ = self._load(item.load, item.reason, None)
        return None if data is None else Frame(0, time_s, data, self.layout)

    def _item(self, number: int, frame: VideoFrame, time_s: float) -> Item:
        width, height = frame.width, frame.height
        if (width, height) != self._native_size:
            expected = "{}×{}".format(*self._native_size)
            return Item(number, time_s, None, f"its size is {width}×{height}, not {expected}")
        return Item(number, time_s, partial(self._maker.make, frame))

    def _shortfall(
        self, packets: int, empty: int, reach: Reach, good: int, *, is_damaged: bool = False
    ) -> list[str]:
        """Say whether less was found than the file announces."""
        what, header = f"decoded {good} frames", self._header
        if header.falls_short(packets, empty, reach) or header.begins_late(reach):
            if self.input_frames is not None and self.input_frames > good:
                what = f"decoded {good} of about {self.input_frames} frames"
            if header.loses_count(reach):
                return [f"{what}: the file is damaged, numbers and times are unsure"]
        elif not (is_damaged or header.lacks_its_end(reach.place)):
            return []
        return [f"{what}: the file is cut off or damaged"]


def _from(decoder: Decoder, entry: Entry) -> Iterator[VideoFrame | Oddity]:
    """Give what a decoder gives from a key frame on, without the damage that is none."""
    number = 0
    for event in decoder:
        following = number + 1 if number else entry.number
        if isinstance(event, Oddity):
            if following >= entry.sound:
                yield event
            continue
        stamp_s = stamp_of(event)
        if number == 0 and stamp_s is not None and stamp_s < entry.stamp_s:
            continue  # is shown before the key frame, and depends on one before that
        if number == 0 and stamp_s != entry.stamp_s:
            break
        number = following
        yield event
    if number < entry.sound:
        yield Oddity("seeking does not lead to its key frames", is_guess=True)


def _longest_delay(stream: VideoStream) -> int:
    """Give the packets that a decoder may take for its first frame: each may be half of one."""
    return 2 * (stream.codec_context.has_b_frames + 1) + 1
