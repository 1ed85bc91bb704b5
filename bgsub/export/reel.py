"""Join clips to one film."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import av

from bgsub.errors import InputError


def join_clips(clips: Sequence[Path], out: Path) -> None:
    """Join clips of one film, with their sound, without encoding them again.

    Parameters
    ----------
    clips : sequence of Path
        At least one; their pictures have one size and one codec.
    out : Path
        Ends with .mp4.

    Raises
    ------
    InputError
        If they cannot be joined.
    """
    try:
        with av.open(str(out), "w") as target:
            joined = _Joined(target)
            for clip in clips:
                joined.append(clip)
    except (av.FFmpegError, ValueError) as error:
        message = f"the clips cannot be joined ({error}); leave --reel out"
        raise InputError(message) from error


class _Joined:
    """A film that clips are appended to."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._streams: dict[str, Any] = {}
        self._end = self._interval = 0.0

    def append(self, clip: Path) -> None:
        """Add the packets of a clip behind those that are there."""
        with av.open(str(clip)) as source:
            streams = [*source.streams.video[:1], *source.streams.audio[:1]]
            if not self._streams:  # the first clip says what there is: sound is in all or in none
                for each in streams:
                    self._streams[each.type] = self._target.add_stream_from_template(each)
            begin, last = self._end, -1.0
            for packet in source.demux([each for each in streams if each.type in self._streams]):
                if packet.dts is None or packet.time_base is None:
                    continue
                if packet.dts < 0 and packet.stream.type == "audio":
                    continue  # what an encoder puts before the first sample is heard in no player
                base = float(packet.time_base)
                shift = round(begin / base)
                packet.dts += shift
                packet.pts = packet.dts if packet.pts is None else packet.pts + shift
                shown, lasts = packet.pts * base, (packet.duration or 0) * base
                if packet.stream.type == "video":  # the last packet may not say how long it lasts
                    self._interval = lasts or (shown - last if last >= 0 else self._interval)
                    lasts, last = self._interval, shown
                self._end = max(self._end, shown + lasts)
                packet.stream = self._streams[packet.stream.type]
                self._target.mux(packet)
