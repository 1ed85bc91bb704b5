"""What a video file says of its frames before any is decoded: its header and its packets.

A list of packets tells which frames there are where every packet is one frame with a timestamp of
its own; other videos are decoded from their beginning.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Generator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import av
import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from bgsub.video import pyav
from bgsub.video.base import BadPicture, Item
from bgsub.video.geometry import Picture
from bgsub.video.selection import Picker, Selection

_DURATION_TAG = re.compile(r"(\d+):(\d+):(\d+(?:\.\d+)?)")
_MAX_RATE = 1000  # what files say beyond it is the resolution of their clock
#: Formats with a duration of their own; of others FFmpeg works it out from what is there.
_ANNOUNCING = {"matroska,webm", "flv", "asf", "gxf", "rm", "nut", "wtv", "ogg"}
_TO_THE_LAST_FRAME = {"nut", "wtv"}  # whose duration is the time at which the last frame begins
_REORDERED = {"h264", "hevc", "mpeg4", "mpeg1video", "mpeg2video"}

#: Formats of single pictures one after the other, in which nothing tells that some are missing.
WITHOUT_NUMBERS = {
    *("h261", "h263", "h264", "hevc", "vvc", "mjpeg", "mpegvideo", "mpjpeg", "obu", "vc1"),
    *("dirac", "dnxhd", "cavsvideo", "gif", "m4v", "mxf", "mpeg", "roq", "swf"),
}
#: Formats without timestamps, with guessed ones, or meant to show each frame for its own time.
_WITHOUT_STAMPS = (WITHOUT_NUMBERS - {"m4v"}) | {
    *("avi", "dv", "filmstrip", "rawvideo", "yuv4mpegpipe", "gxf", "amv"),
    *("image2pipe", "jpeg_pipe", "apng", "webp_anim", "webp", "png_pipe", "webp_pipe"),
}

# Timestamps are rounded; beyond this share of a step they are not those of a constant rate, and so
# many of the frames must follow each other at once.
_TOLERANCE, _STEADY_SHARE = 0.2, 0.7
RESTART_S = 1.0  # a longer step back is a new beginning of the clock, not a jittered timestamp
GAP_STEPS = 1.5  # a frame that comes later than so many steps leaves a gap
_REFERENCES = 16  # frames kept by a decoder at most: what is shown before a key frame may need them
_MARGIN, _MARGIN_S = 64, 5.0  # frames and seconds behind a selection at which decoders may look
_DAY_S = 86400.0


class FilmHeader:
    """What a video file that was just opened says of itself; format and codec by FFmpeg's names.

    `announced` frames are those of its own count, 0 without one; `frames` may be estimated.
    """

    def __init__(self, container: InputContainer, stream: VideoStream) -> None:
        codec, is_alone = stream.codec_context, len(container.streams) == 1
        self.format, self.codec = container.format.name, codec.name
        rate = pyav.fraction(stream.average_rate or stream.guessed_rate)
        self.rate = rate if rate is not None and 0 < rate <= _MAX_RATE else None
        self.announced, self.skipped = stream.frames, 0
        self.intra_only = codec.codec.intra_only
        # avi and asf have no other times for codecs that reorder frames.
        reorders = codec.has_b_frames > 0 and codec.name in _REORDERED
        self.has_decoding_times = self.format == "avi" or (self.format == "asf" and reorders)
        # A RealMedia file with sound says of all streams how long it is itself.
        self.duration_is_exact = self.format != "rm" or is_alone
        duration_s = pyav.seconds(stream.duration, stream.time_base) or None
        if not duration_s and (match := _DURATION_TAG.match(stream.metadata.get("DURATION", ""))):
            duration_s = int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3])
        elif not duration_s and container.duration:
            duration_s, self.duration_is_exact = container.duration / av.time_base, is_alone
        if self.rate is not None and self.format == "avi":
            # The header counts frames that were left out, too, but for an index of far fewer: that
            # is none, FFmpeg made it of what it read.
            stamps = [pyav.seconds(one.timestamp, stream.time_base) for one in stream.index_entries]
            times = [stamp or 0.0 for stamp in stamps]
            if len(times) >= max(2.0, self.announced / 2):
                self.announced = len(times)
                beats = np.rint(np.diff(times) * float(self.rate)).astype(int)
                beat = int(np.sort(beats)[len(beats) // 2])
                if beat > 1 and (beats == beat).mean() >= 0.9:
                    self.rate /= beat
                else:
                    self.skipped = max(0, int(beats.sum()) - len(beats))
        frames = self.announced or None
        if self.rate is not None:
            if duration_s is not None and self.format in _TO_THE_LAST_FRAME:
                duration_s += float(1 / self.rate)
            if duration_s is not None:
                frames = frames or max(1, round(duration_s * self.rate))
            elif frames is not None:
                duration_s = float(frames / self.rate)
        self.frames, self.duration_s = frames, duration_s

    @cached_property
    def step_s(self) -> float | None:
        """Seconds between two frames, where timestamps tell that some are missing."""
        return float(1 / self.rate) if self.rate and self.format not in _WITHOUT_STAMPS else None

    def falls_short(self, packets: int, end_s: float) -> bool:
        """Return whether clearly less was found, up to `end_s`, than is announced."""
        if self.announced:
            is_exact = self.format == "avi" or self.format.startswith("mov,")
            return packets < self.announced - (0 if is_exact else max(1, self.announced // 100))
        if self.duration_s is None or self.rate is None or self.format not in _ANNOUNCING:
            return False
        slack_s = max(1.0, 0.1 * self.duration_s)  # sound may go on longer
        if self.duration_is_exact:
            slack_s = 0.01 * self.duration_s + 2 / float(self.rate)
        return end_s < self.duration_s - slack_s


class Pace(NamedTuple):
    """How the frames of a video follow each other; `step_s` is None if the rate varies.

    `missing` counts the frames that timestamps leave out. These do not give numbers in a recording
    that was interrupted for longer than it lasts.
    """

    step_s: float | None
    missing: int = 0
    gives_numbers: bool = False


def pace_of(stamps: NDArray[np.float64], resolution_s: float) -> Pace:
    """Find out whether timestamps, rounded to a resolution, are those of a constant rate."""
    steps = np.diff(np.unique(stamps))
    if steps.size < 2:
        return Pace(None)
    step = float(np.median(steps))
    single = np.abs(steps - step) <= _TOLERANCE * step + resolution_s
    if single.mean() < _STEADY_SHARE:
        return Pace(None)
    step = float(steps[single].mean())  # of 33 and 34 ms
    counts = np.rint(steps / step)
    away = np.abs(steps - counts * step)
    if np.any(counts < 1) or np.any(away > _TOLERANCE * step + resolution_s):
        return Pace(None)
    missing = int(counts.sum()) - steps.size
    return Pace(round(step, 9), missing, missing <= steps.size + 1)


class PacketTimes(NamedTuple):
    """Timestamps of a video's packets in seconds, sorted; strays are far from their neighbours."""

    stamps: NDArray[np.float64]
    strays: frozenset[float]
    pace: Pace


def packet_times(container: InputContainer, stream: VideoStream) -> PacketTimes:
    """Read the timestamps of a video that was just opened, without decoding."""
    stamps, beats = [], []
    try:
        for packet in pyav.demux(container, stream):
            time_s = pyav.seconds(packet.pts, packet.time_base)
            if time_s is not None and not packet.is_discard and packet.size:
                stamps.append(time_s)
                beats.append(pyav.seconds(packet.dts, packet.time_base) or time_s)
    except FFmpegError:
        pass  # what is wrong is found out when it is decoded
    if not stamps:
        return PacketTimes(np.empty(0), frozenset(), Pace(None))
    known = np.asarray(stamps)
    # Times of decoding that rise, as they should, are the medians of what is around them.
    around = np.lib.stride_tricks.sliding_window_view(np.pad(beats, 4, "edge"), 9)
    is_stray = np.abs(np.median(around, axis=1) - beats) > RESTART_S
    kept = np.unique(known[~is_stray])
    strays = frozenset(known[is_stray].tolist())
    return PacketTimes(kept, strays, pace_of(kept, pyav.seconds(1, stream.time_base) or 0.001))


class Entry(NamedTuple):
    """A key frame at which decoding may begin.

    `origin_s` is the stamp of frame 1, `packets` those before it in the file. Damage counts from
    frame `sound` on: what comes before it may depend on frames that are not decoded.
    """

    number: int
    stamp_s: float
    origin_s: float
    packets: int
    sound: int


class Place(NamedTuple):
    """Where a frame is found: its number from 1, its time, its timestamp and that of a key frame.

    Without a timestamp it cannot be sought; without a key frame decoding begins at the start.
    """

    number: int
    time_s: float
    stamp_s: float | None = None
    key_s: float | None = None


@dataclass(frozen=True, eq=False)
class FilmIndex:
    """The packets of a video, each of which is one frame.

    `stamps` are those of the frames in units of `base`, increasing. Of each packet in the file's
    order, `ranks` says its place among the frames, from 0, `is_key` whether it depends on no other.
    What follows a key frame may depend on what was before it, unless each frame `stands_alone`.
    """

    stamps: NDArray[np.int64]
    base: Fraction
    ranks: NDArray[np.intp]
    is_key: NDArray[np.bool_]
    stands_alone: bool
    is_partial: bool = False

    @cached_property
    def stamps_s(self) -> NDArray[np.float64]:
        """Seconds of all frames on the stream's clock."""
        return _seconds(self.stamps, self.base)

    @cached_property
    def times(self) -> NDArray[np.float64]:
        """Seconds of all frames from the first one on."""
        return np.asarray(np.round(self.stamps_s - self.stamps_s[0], 9))

    @cached_property
    def keys(self) -> NDArray[np.intp]:
        """Places of the frames that depend on no other, from 0, increasing."""
        return np.sort(self.ranks[self.is_key])

    def entry(self, number: int) -> Entry | None:
        """Return where decoding up to a frame may begin; None is the start of the video."""
        last = int(np.searchsorted(self.keys, number - 1, side="right")) - 1
        place = last - 1  # streams that are refreshed bit by bit need two
        if place <= 0:
            return None
        key = int(self.keys[place])
        stamp_s, origin_s = float(self.stamps_s[key]), float(self.stamps_s[0])
        packets, sound = int(np.flatnonzero(self.ranks == key)[0]), int(self.keys[last]) + 1
        return Entry(key + 1, stamp_s, origin_s, packets, sound)

    def place(self, number: int, *, from_its_key: bool = False) -> Place:
        """Return where a frame is found, decoded from the second key frame before it on.

        Or `from_its_key`, which gives another picture where it is refreshed bit by bit.
        """
        keys = int(np.searchsorted(self.keys, number - 1, side="right"))
        place = keys - (1 if from_its_key else 2)
        time_s, stamp_s = float(self.times[number - 1]), float(self.stamps_s[number - 1])
        key_s = None if place <= 0 else float(self.stamps_s[self.keys[place]])
        return Place(number, time_s, stamp_s, key_s)

    def needed(self, is_wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which packets, in the file's order, are to be decoded for wanted frames."""
        wanted = np.flatnonzero(is_wanted[self.ranks])
        keys = np.union1d([0], np.flatnonzero(self.is_key))
        first = np.searchsorted(keys, wanted, side="right") - 1
        if not self.stands_alone:
            kept = np.searchsorted(keys, keys[first] - _REFERENCES, side="right") - 1
            first = np.maximum(np.minimum(first - 1, kept), 0)
        begins = np.zeros(len(is_wanted) + 1, dtype=np.int64)
        np.add.at(begins, keys[first], 1)
        np.add.at(begins, wanted + 1, -1)
        return np.asarray(np.cumsum(begins[:-1]) > 0)


def index_packets(
    container: InputContainer,
    stream: VideoStream,
    step_s: float | None = None,
    until: Picker | None = None,
    is_sound: Callable[[bytes], bool] = lambda _: True,
) -> FilmIndex | str:
    """List the packets of a video that was just opened, or return why they do not tell its frames.

    Frames are `step_s` apart by the header. Behind the end of what `until` selects, no more is read
    than decoders may need.
    """
    form, codec = container.format.name, stream.codec_context.name
    base = pyav.fraction(stream.time_base)
    if form in _WITHOUT_STAMPS or base is None:
        return f"{form} has no time stamps of frames"
    if codec in pyav.HIDDEN_PACKETS:
        return f"{codec} has packets that are not to be seen"
    stamps, keys, is_partial = array("q"), bytearray(), False
    last_decoded: int | None = None
    try:
        for packet in pyav.demux(container, stream):
            if pyav.is_flush(packet):
                continue
            decoded = last_decoded if packet.dts is None else packet.dts
            goes_back = last_decoded is not None and (decoded or 0) < last_decoded
            if packet.pts is None or goes_back:
                return "some packets have no time stamps, or wrong ones"
            is_good = packet.size and not packet.is_discard and not packet.is_corrupt
            if not is_good or not is_sound(bytes(packet)):
                return "some packets are empty, damaged or not to be shown"
            last_decoded = decoded
            stamps.append(packet.pts)
            keys.append(packet.is_keyframe)
            time_s = float((packet.pts - stamps[0]) * base)
            if until is not None and until.is_past(len(stamps) - _MARGIN, time_s - _MARGIN_S):
                is_partial = True
                break
    except FFmpegError:
        return "it is damaged"
    in_file = np.array(stamps)
    order = np.argsort(in_file, kind="stable")
    ranks, is_key = np.argsort(order, kind="stable"), np.array(keys, dtype=np.bool_)
    stands_alone = stream.codec_context.codec.intra_only or codec == "ffv1"
    index = FilmIndex(in_file[order], base, ranks, is_key, stands_alone, is_partial)
    return _doubt(index, step_s) or index


def _doubt(index: FilmIndex, step_s: float | None) -> str:
    """Return why packets are not the frames of their timestamps; empty if they are."""
    # Where reading ended, pictures may be missing that are shown before others.
    stamps = index.stamps[: -(_MARGIN // 2)] if index.is_partial else index.stamps
    steps = _seconds(np.diff(stamps), index.base)
    if not steps.size or steps.min() <= 0:
        return "two frames have one time stamp"
    if index.ranks[0] != 0:
        return "it does not begin with its first frame"
    leaves_out = steps.max() > _DAY_S
    if index.is_partial:
        leaves_out |= step_s is None or steps.max() > GAP_STEPS * step_s
    else:
        leaves_out |= pace_of(_seconds(stamps, index.base), float(index.base)).missing > 0
    if leaves_out:
        return "time stamps leave out frames"
    if np.diff(_seconds(index.stamps[index.ranks], index.base)).min() < -RESTART_S:
        return "a time stamp is far from those of its neighbours"
    return ""


def _seconds(stamps: NDArray[np.int64], base: Fraction) -> NDArray[np.float64]:
    """Turn time stamps into seconds, rounded as `pyav.seconds` does."""
    return np.asarray(stamps * base.numerator / base.denominator)


class Unexpected(Exception):  # noqa: N818 - the film is then read in another way
    """A film does not do what its packets announce."""


class DecodingPlan:
    """Which frames of a video are wanted, and which packets are decoded for them."""

    def __init__(self, index: FilmIndex, selection: Selection) -> None:
        wants = Picker(selection).wants
        wanted = [wants(i + 1, time_s) for i, time_s in enumerate(index.times.tolist())]
        self.index, self.is_wanted = index, np.array(wanted)
        self.is_needed = index.needed(self.is_wanted)

    def decode(
        self,
        container: InputContainer,
        stream: VideoStream,
        threads: int,
        make: Callable[[int, VideoFrame, float], Item],
    ) -> Generator[Item, None, None]:
        """Yield all frames, also those that are left out; raises Unexpected if anything is odd."""
        stamps, times, following = self.index.stamps, self.index.times, 0
        try:
            for packet in self._packets(container, stream, threads):
                for frame in pyav.decode(packet):
                    stamp = -1 if frame.pts is None else frame.pts
                    place = int(np.searchsorted(stamps, stamp))
                    is_known = following <= place < len(stamps) and stamps[place] == stamp
                    is_lost = self.is_wanted[following:place].any()
                    if frame.is_corrupt or not is_known or is_lost:
                        raise Unexpected
                    for other in range(following, place):
                        yield Item(other + 1, float(times[other]), _not_decoded)
                    yield make(place + 1, frame, float(times[place]))
                    following = place + 1
        except FFmpegError as error:
            raise Unexpected from error
        if self.is_wanted[following:].any():
            raise Unexpected
        for other in range(following, len(times)):
            yield Item(other + 1, float(times[other]), _not_decoded)

    def _packets(
        self, container: InputContainer, stream: VideoStream, threads: int
    ) -> Generator[Packet[Any], None, None]:
        """Yield what is to be decoded, and before each tell the decoder what it may leave out."""
        pyav.prepare(stream, threads=threads, strict=True)
        left = int(self.is_needed.sum())
        for place, packet in enumerate(pyav.demux(container, stream)):
            if not left:
                break
            if place >= len(self.index.ranks) or pyav.is_flush(packet):
                raise Unexpected
            if self.is_needed[place]:
                left -= 1
                is_wanted = self.is_wanted[self.index.ranks[place]]
                stream.codec_context.skip_frame = "DEFAULT" if is_wanted else "NONREF"
                yield packet
        end: Packet[Any] = Packet()
        end.stream = stream
        yield end


def _not_decoded() -> Picture:
    raise BadPicture("it was not decoded, since it is not selected")
