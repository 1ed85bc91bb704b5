"""Name the messages that pass between the processes that decode, watch and learn."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from bgsub.local.params import MaskOptions
from bgsub.video.frames import Layout


@dataclass(frozen=True)
class Header:
    """What a stream is; comes first, and again when the stream changes.

    Attributes
    ----------
    codec : str
    size : (int, int)
        Width and height of its pictures, upright.
    layout : Layout
        Of the frames that are analysed.
    time_base : Fraction
        Seconds of a tick of its packets.
    sample : bytes
        Its first packet as a NUT file: what a muxer has to know of the stream, and of its sound.
    container : str
        ``mp4`` or ``mkv``, whichever can hold the packets.
    sound_base : Fraction or None
        Seconds of a tick of the packets of its sound; None where it has none.
    """

    codec: str
    size: tuple[int, int]
    layout: Layout
    time_base: Fraction
    sample: bytes
    container: str
    sound_base: Fraction | None = None


@dataclass(frozen=True)
class StreamPacket:
    """A packet of the stream; its stamps are mended and never go back.

    Attributes
    ----------
    data : bytes
    pts, dts, duration : int
        In ticks.
    is_key : bool
        Of sound, always false.
    time_s : float
        When it is shown, from the first packet of the connection on.
    is_sound : bool
    """

    data: bytes
    pts: int
    dts: int
    duration: int
    is_key: bool
    time_s: float
    is_sound: bool = False


@dataclass(frozen=True)
class LivePicture:
    """A frame to be analysed.

    Attributes
    ----------
    time_s : float
        From the first packet of the connection on.
    row : bytes
        In the layout of the header.
    """

    time_s: float
    row: bytes


@dataclass(frozen=True)
class Note:
    """Something that a person should know, such as stamps that were mended."""

    text: str


@dataclass(frozen=True)
class Skipped:
    """Pictures that were not decoded, as there was no time; their packets came."""

    count: int


@dataclass(frozen=True)
class End:
    """The last message.

    Attributes
    ----------
    reason : str
        Empty where the stream came to its end.
    is_final : bool
        Whether it would be the same with another try.
    """

    reason: str
    is_final: bool = False


Message = Header | StreamPacket | LivePicture | Note | Skipped | End


@dataclass(frozen=True)
class LearningSettings:
    """The first message: what a window is made of.

    Attributes
    ----------
    layout : Layout
    options : MaskOptions
    window_s : float
    threads : int
    gives_way : bool
        Whether others come first where processors are short.
    """

    layout: Layout
    options: MaskOptions
    window_s: float
    threads: int
    gives_way: bool


@dataclass(frozen=True)
class Kept:
    """A frame of the window, and whether a model is to be learned with it."""

    time_s: float
    row: bytes
    is_due: bool


@dataclass(frozen=True)
class NotLearned:
    """The answer where there is no model, and why."""

    reason: str
