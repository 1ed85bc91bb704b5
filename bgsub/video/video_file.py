"""Read video files through PyAV, which carries FFmpeg."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.runtime.cores import available_cores
from bgsub.video import pixels
from bgsub.video.base import BaseSource, Item, Options
from bgsub.video.checksums import has_checksums, unseen_damage
from bgsub.video.clock import Clock
from bgsub.video.decoding import Decoder, Oddity, seek, stamp_of
from bgsub.video.diagnosis import decode_timeline, diagnose, has_unknown_holes, shortfall
from bgsub.video.entry import Entry, entered
from bgsub.video.film_header import read_header
from bgsub.video.film_index import FilmIndex, index_packets, pace_of_packets
from bgsub.video.frames import Frame
from bgsub.video.opening import first_frame, open_video
from bgsub.video.skipping import DecodingPlan, Unexpected, decode_needed, held_back, plan_decoding
from bgsub.video.survey import Survey, survey
from bgsub.video.timeline import Timeline

logger = logging.getLogger(__name__)

# Threads report an error only when frames behind the bad one have come out, up to as many as there
# are threads and a few more: so many are held back.
_LATE_ERRORS = 4
_MAX_THREADS = 16

_OTHER_SIZE = "its size is"

# Formats without timestamps, in which each picture is shown as long as is usual for its size.
_TIMED_BY_PICTURES = {"dv"}


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
        self._step_is_known = False
        with self.opened() as (container, stream):
            self._header = header = read_header(container, stream, path)
            frame = first_frame(container, stream, path, header)
        self.codec, self.rate = header.codec, header.rate
        self.input_frames, self.duration_s = header.frames, header.duration_s
        self._step_s = header.step_s
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
        self.unseen_damage = unseen_damage(self.codec, has_sums=header.has_checksums)
        self._opening_warnings += header.blind_spots(self.unseen_damage)
        self._has_told = False

    def enter(self, entry: Entry) -> None:
        """Begin to decode at a key frame; frames before it are not given.

        What `bgsub.video.seeking.index_film` gives leads to the same frames as a pass from the
        start.
        """
        self._entry = entry

    @property
    def unsure_numbers(self) -> str:
        """Why frames are to be counted from the beginning, as far as the header tells."""
        return self._header.gap(reads_its_end=True)

    def opened(self) -> AbstractContextManager[tuple[InputContainer, VideoStream]]:
        """Open the file and its video stream, to seek in it."""
        return open_video(self._file)

    def index(self) -> FilmIndex | str:
        """List all packets, or say why they do not tell which frames there are."""
        with self.opened() as (container, stream):
            # Damage is found out where it is decoded.
            decoder = Decoder(container, stream, 1, step_s=self._step_s)
            return index_packets(container, stream, decoder, resolution_s=self._header.resolution_s)

    def to_frame(self, frame: VideoFrame, time_s: float) -> Frame | None:
        """Turn a decoded picture into a frame whose number is not known, 0; None if it is bad."""
        item = self._item(0, frame, time_s)
        data, _ = self._load(item.load, item.reason, None)
        return None if data is None else Frame(0, time_s, data, self.layout)

    def _items(self, notes: list[str]) -> Generator[Item, None, None]:
        self._tell_once()
        is_timed = self._header.format not in _TIMED_BY_PICTURES
        for item in self._known_items(notes):
            if item.load is None and item.reason.startswith(_OTHER_SIZE) and not is_timed:
                is_timed = True
                text = f"times are unsure from frame {item.number} on"
                notes.append(f"{text}: the size of a picture says how long it is shown")
            yield item

    def _known_items(self, notes: list[str]) -> Generator[Item, None, None]:
        given = 0
        what = self._header.gap(reads_its_end=self.options.selection.end is None)
        if self._timeline is None and what:
            self._timeline = diagnose(self._header, Oddity(what), self._survey)
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
        first = 0 if self._entry is None else self._entry.number - 1
        for entry in self._timeline.entries[first:given]:
            if entry.doubtful or entry.picture is None:
                self._late_doubts.append((entry.number, entry.time_s))
        with self.opened() as (container, stream):
            shown = decode_timeline(self._timeline, container, stream, self._item, notes)
            yield from (item for item in shown if item.number > given)

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
        with self.opened() as (container, stream):
            yield from decode_needed(self._needed, container, stream, threads, self._item)

    def _plan_selected(self) -> DecodingPlan:
        selection, header = self.options.selection, self._header
        with self.opened() as (container, stream):
            decoder = self._decoder(container, stream, 1)
            index = index_packets(
                container,
                stream,
                decoder,
                resolution_s=header.resolution_s,
                until=selection.picker(),
            )
        if isinstance(index, str):
            raise Unexpected(index)
        seen = (decoder.packets, decoder.empty_packets, decoder.reach)
        if not index.is_partial and (
            has_unknown_holes(header, decoder) or shortfall(header, *seen, len(index.stamps))
        ):
            raise Unexpected("the file breaks off")
        return plan_decoding(index, selection)

    def _decoder(self, container: InputContainer, stream: VideoStream, threads: int) -> Decoder:
        return Decoder(
            container,
            stream,
            threads,
            step_s=self._step_s,
            by_decoding_order=self._header.has_decoding_times,
            places={place: rank for rank, (place, _) in enumerate(self._header.table)},
            is_sound=has_checksums if self._header.has_checksums else None,
            passed=0 if self._entry is None else self._entry.packets,
        )

    def _decode(self, threads: int, notes: list[str]) -> Generator[Item, None, None]:
        """Give the frames up to the first sign of damage, which makes the timeline."""
        clock, entry, header = Clock(self.rate), self._entry, self._header
        number = 0 if entry is None else entry.number - 1
        with self.opened() as (container, stream):
            decoder = self._decoder(container, stream, threads)
            oddity: Oddity | None = None
            if entry is not None:
                clock.read(entry.origin_s)
                seek(container, stream, entry.stamp_s)
            for event in decoder if entry is None else entered(decoder, entry):
                if isinstance(event, Oddity):
                    if event.is_gap and not self._is_gap_at_constant_rate(decoder):
                        continue
                    oddity = event
                    break
                number += 1
                stamp_s = stamp_of(event, by_decoding_order=header.has_decoding_times)
                yield self._item(number, event, clock.read(stamp_s))
        if oddity is None and has_unknown_holes(header, decoder):
            oddity = Oddity("the file breaks off")
        if oddity is not None:
            self._timeline = diagnose(header, oddity, self._survey)
            return
        seen = (decoder.packets, decoder.empty_packets, decoder.reach)
        notes += shortfall(header, *seen, number)

    def _is_gap_at_constant_rate(self, decoder: Decoder) -> bool:
        """Tell a gap from a long step of a film of variable rate, by the stamps of all packets."""
        if self._step_s is not None and not self._step_is_known:
            self._step_is_known = True
            with self.opened() as (container, stream):
                pace = pace_of_packets(container, stream, resolution_s=self._header.resolution_s)
            decoder.step_s = self._step_s = pace.step_s
            return self._step_s is not None and decoder.follows_gap
        return self._step_s is not None

    def _survey(self, *, strict: bool) -> Survey:
        is_sound = has_checksums if self._header.has_checksums else None
        with self.opened() as (container, stream):
            return survey(container, stream, strict=strict, is_sound=is_sound)

    def _item(self, number: int, frame: VideoFrame, time_s: float) -> Item:
        width, height = frame.width, frame.height
        if (width, height) != self._native_size:
            expected = "{}×{}".format(*self._native_size)
            return Item(number, time_s, None, f"{_OTHER_SIZE} {width}×{height}, not {expected}")
        return Item(number, time_s, partial(self._maker.make, frame))
