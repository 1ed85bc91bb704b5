"""Read what the header of a video file says: rate, number of frames, duration, table of packets."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
from av.container import InputContainer
from av.video.stream import VideoStream

from bgsub.video import pyav
from bgsub.video.avi_table import avi_table, data_start
from bgsub.video.endings import ends_early, last_data
from bgsub.video.stamps import CODECS_WITH_HIDDEN_PACKETS, has_stamps, misses_losses
from bgsub.wording import plural

_DURATION_TAG = re.compile(r"(\d+):(\d+):(\d+(?:\.\d+)?)")
# Formats that begin with their duration; for others FFmpeg works it out from what is there.
_ANNOUNCING = {"matroska,webm", "flv", "asf", "gxf", "rm"}
# Formats that tell the time of their last frame: when it begins, or when it is over.
_ENDING = {"nut": 1, "wtv": 1, "ogg": 0, "asf": 0, "rm": 0}
# Formats that a writer begins with the first picture.
_WITH_BEGINNING = {
    *("avi", "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "nut", "asf", "flv", "wtv", "rm"),
}
_REORDERED = {"h264", "hevc", "mpeg4", "mpeg1video", "mpeg2video"}
_LATE_S = 10.0  # a recording may begin so late
_USUAL_RATE = 25
_MAX_RATE = 1000  # what files say beyond it is the resolution of their clock


@dataclass
class Reach:
    """How far the packets of a film go.

    Attributes
    ----------
    first_s, last_s, end_s : float
        When the earliest is shown, and the latest, and until when, in seconds on the stream's own
        clock.
    place : int or None
        Where in the file the last of them ends, None if the container does not say.
    """

    first_s: float = math.inf
    last_s: float = 0.0
    end_s: float = 0.0
    place: int | None = None


@dataclass
class FilmHeader:
    """What a video file says of itself.

    Attributes
    ----------
    format, codec : str
        FFmpeg's names.
    size : int
        Bytes of the file.
    ends_early : bool
        Whether a file of a kind that announces nothing does not end as it must.
    rate : Fraction or None
        Frames a second.
    announced : int
        Packets that the header counts, 0 if it does not.
    frames : int or None
        About how many frames there are.
    duration_s : float or None
    duration_is_exact : bool
        Whether it is the video's own, and not that of sound too.
    intra_only : bool
        Whether no picture of the codec depends on another.
    resolution_s : float
        What timestamps are rounded to.
    table : list of (int, float)
        Place in the file and time of each packet, where an avi has a table of them.
    data_start : int or None
        Where the data of the first packet of an avi should be.
    skipped : int
        Frames that the recorder left out, by that table.
    last_data : int or None
        Place in the file that its packets must reach.
    delay : int
        Pictures that may be seen between one and the next in the order of decoding.
    begins_silently : bool
        Whether more packets than a decoder may keep come before its first picture.
    lacks_packets : bool
        Whether something that is no packet stands where the first should be.
    has_checksums : bool
        Whether its pictures have sums that tell of damage.
    """

    format: str
    codec: str
    size: int = 0
    ends_early: bool = False
    rate: Fraction | None = None
    announced: int = 0
    frames: int | None = None
    duration_s: float | None = None
    duration_is_exact: bool = True
    intra_only: bool = False
    resolution_s: float = 0.001
    table: list[tuple[int, float]] = field(default_factory=list)
    data_start: int | None = None
    skipped: int = 0
    last_data: int | None = None
    delay: int = 0
    begins_silently: bool = False
    lacks_packets: bool = False
    has_checksums: bool = False

    @property
    def has_decoding_times(self) -> bool:
        """Say whether timestamps are of decoding: avi and asf have no others for such codecs."""
        is_reordered = self.delay > 0 and self.codec in _REORDERED
        return self.format == "avi" or (self.format == "asf" and is_reordered)

    @property
    def step_s(self) -> float | None:
        """Seconds between two frames, where timestamps tell that some are missing."""
        return float(1 / self.rate) if self.rate and has_stamps(self.format) else None

    @property
    def misses_its_beginning(self) -> bool:
        """Say whether the first pictures are lost; streams may begin amid them, files do not."""
        of_pictures = self.codec not in CODECS_WITH_HIDDEN_PACKETS
        return self.begins_silently and of_pictures and self.format in _WITH_BEGINNING

    def gap(self, *, reads_its_end: bool) -> str:
        """Say what is known to be missing before the film is decoded, where it matters."""
        if self.misses_its_beginning:
            return "the first packets give no frame"
        if self.lacks_packets:
            return "packets before the first are missing"
        if self.format == "avi" and not self.table and reads_its_end:
            return "its table of frames is missing"
        return "the file breaks off" if self.ends_early and reads_its_end else ""

    def blind_spots(self, unseen: str) -> list[str]:
        """Say what numbers and pictures of the film do not tell; `unseen` is of its codec."""
        notes = []
        if self.skipped:
            notes.append(
                f"the recorder left out {plural(self.skipped, 'frame')}: numbers count the frames "
                "that are there, times are those of the recording"
            )
        if unseen == "cannot be seen":
            notes.append(f"{self.codec} without checksums: damage to single pictures {unseen}")
        if misses_losses(self.format):
            text = f"{self.format} does not tell when whole pictures are missing"
            notes.append(f"{text}: numbers are unsure if the file is damaged")
        return notes

    @property
    def lists_frames(self) -> bool:
        """Say whether the header lists all frames, so that none can be missing in silence."""
        return self.announced > 0 and self.format.startswith("mov,")

    def falls_short(self, packets: int, empty: int, reach: Reach) -> bool:
        """Say whether clearly less was found than is announced.

        Parameters
        ----------
        packets, empty : int
            Packets with and without data.
        reach : Reach
        """
        if self.table:
            return packets < len(self.table)
        if self.announced:
            exact = self.format in {"avi", "dv"} or self.lists_frames
            slack = 0 if exact else max(1, self.announced // 100)
            return packets + empty < self.announced - slack
        place, last = reach.place, self.last_data
        return (place is not None and last is not None and place < last) or self._ends_before(reach)

    def loses_count(self, reach: Reach) -> bool:
        """Say whether numbers are wrong where frames are missing: ogg and dv count times."""
        return self.format in {"ogg", "dv"} or self.begins_late(reach)

    def begins_late(self, reach: Reach) -> bool:
        """Say whether frames are missing at the beginning; in an asf the first is at 0."""
        if self.format != "asf" or self.rate is None:
            return False
        slack_s = (0.5 + self.delay) / float(self.rate)
        return reach.first_s > (slack_s if self.duration_is_exact else self._slack_s)

    @property
    def latest_s(self) -> float:
        """Seconds beyond which no timestamp can be, where the file says how long it is."""
        knows = self.format in _ANNOUNCING or self.format in _ENDING
        if self.duration_s is None or not knows:
            return math.inf
        return 1.5 * self.duration_s + _LATE_S

    @property
    def _slack_s(self) -> float:
        """Seconds by which an announced duration may be wrong."""
        if self.duration_s is None or self.rate is None:
            return math.inf
        if not self.duration_is_exact:  # that of the whole file, in which sound may go on longer
            return max(1.0, 0.1 * self.duration_s)
        return 0.01 * self.duration_s + 2 / float(self.rate)

    def _ends_before(self, reach: Reach) -> bool:
        """Say whether the last packet comes earlier than the announced duration says."""
        if self.duration_s is None:
            return False
        if self.format in _ENDING and self.duration_is_exact:
            delay = self.delay if self.format == "asf" else 0
            # Of a single packet FFmpeg makes no rate.
            latest_s = self.duration_s - (1.5 + delay) / float(self.rate or _USUAL_RATE)
            return reach.last_s < latest_s
        return self.format in _ANNOUNCING and reach.end_s < self.duration_s - self._slack_s

    def lacks_its_end(self, position: int | None) -> bool:
        """Say whether a file whose pictures have one size ends within one, behind `position`."""
        if self.format != "yuv4mpegpipe":
            return False
        return position is not None and position < self.size


def read_header(container: InputContainer, stream: VideoStream, path: Path) -> FilmHeader:
    """Read the header of a file that was just opened."""
    rate = pyav.fraction(stream.average_rate or stream.guessed_rate)
    duration_s, is_exact = _duration(container, stream)
    header = FilmHeader(
        format=container.format.name,
        codec=stream.codec_context.name,
        size=path.stat().st_size,
        ends_early=ends_early(container.format.name, path),
        rate=rate if rate is not None and 0 < rate <= _MAX_RATE else None,
        announced=stream.frames,
        frames=stream.frames or None,
        duration_s=duration_s,
        duration_is_exact=is_exact,
        intra_only=stream.codec_context.codec.intra_only,
        resolution_s=pyav.seconds(1, stream.time_base) or 0.001,
        table=avi_table(container, stream, path),
        data_start=data_start(path) if container.format.name == "avi" else None,
        last_data=last_data(container.format.name, path, stream.id)
        if len(container.streams) == 1
        else None,
        delay=stream.codec_context.has_b_frames,
    )
    _adapt_to_table(header)
    if header.rate is not None:
        if header.duration_s is not None:
            header.duration_s += _ENDING.get(header.format, 0) / float(header.rate)
        if header.frames is None and header.duration_s is not None:
            header.frames = max(1, round(header.duration_s * header.rate))
        if header.duration_s is None and header.frames is not None:
            header.duration_s = float(header.frames / header.rate)
    return header


def _adapt_to_table(header: FilmHeader) -> None:
    """Count frames by an avi's table: its header counts those that a recorder left out, too."""
    times = [time_s for _, time_s in header.table]
    if header.rate is None or len(times) < 2:
        return
    header.frames = len(times)
    beats = [round((later - earlier) * header.rate) for earlier, later in pairwise(times)]
    beat = sorted(beats)[len(beats) // 2]
    if beat > 1 and beats.count(beat) >= 0.9 * len(beats):
        header.rate /= beat
    else:
        header.skipped = max(0, sum(beats) - len(beats))


def _duration(container: InputContainer, stream: VideoStream) -> tuple[float | None, bool]:
    """Give the duration in seconds and whether it is the video's own."""
    own = pyav.seconds(stream.duration, stream.time_base)
    if own:
        # A RealMedia file with sound says of all streams how long it is itself.
        return own, container.format.name != "rm" or len(container.streams) == 1
    if match := _DURATION_TAG.match(stream.metadata.get("DURATION", "")):
        return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3]), True
    if container.duration:
        return container.duration / av.time_base, len(container.streams) == 1
    return None, False
