"""Begin to decode a video at one of its key frames, with the frames of a pass from the start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from av.video.frame import VideoFrame

from bgsub.video.decoding import Oddity, stamp_of


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


class Place(NamedTuple):
    """Where a frame is found.

    Attributes
    ----------
    number : int
        From 1 in the film.
    time_s : float
        Seconds from frame 1 on.
    stamp_s : float or None
        Its time stamp, in seconds on the stream's clock; None where the film cannot be sought.
    key_s : float or None
        That of the key frame at which decoding begins; None is the start of the film.
    """

    number: int
    time_s: float
    stamp_s: float | None = None
    key_s: float | None = None


def entered(events: Iterable[VideoFrame | Oddity], entry: Entry) -> Iterator[VideoFrame | Oddity]:
    """Give what a decoder gives from a key frame on, without the damage that is none.

    Parameters
    ----------
    events : iterable
        Of a `bgsub.video.decoding.Decoder` of a stream that was sought to the entry.
    entry : Entry
        The first frame that is given is the one that it names.
    """
    number = 0
    for event in events:
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
