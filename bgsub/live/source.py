"""Say what is watched and how FFmpeg may open it: a file, a URL, a camera or standard input."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from bgsub.errors import InputError, UsageError
from bgsub.live.options import StreamOptions

Kind = Literal["file", "url", "device", "stdin"]

_PROTOCOLS = {
    "rtsp": "rtsp,rtp,udp,tcp",
    "rtsps": "rtsps,rtp,udp,tcp,tls",
    "rtmp": "rtmp,tcp",
    "rtmps": "rtmps,tcp,tls",
    "rtp": "rtp,udp",
    "http": "http,tcp,tls,https,crypto,httpproxy",
    "https": "http,tcp,tls,https,crypto,httpproxy",
    "tcp": "tcp",
    "udp": "udp",
    "srt": "srt",
}
"""Schemes, and what FFmpeg may connect by when it opens one: never a file of this machine."""


@dataclass(frozen=True)
class LiveSource:
    """What is watched.

    Attributes
    ----------
    text : str
        As it was given.
    kind : {"file", "url", "device", "stdin"}
    format : str or None
        FFmpeg's name of the format where it is not to be guessed.
    options : dict of str to str
        For FFmpeg's demuxer.
    """

    text: str
    kind: Kind
    format: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The source without a password, for people."""
        if self.kind == "stdin":
            return "standard input"
        return re.sub(r"(?<=://)[^/@\s]*@", "", self.text)

    @property
    def reopens(self) -> bool:
        """Say whether it is opened again when it ends."""
        return self.kind in {"url", "device"}

    @property
    def address(self) -> str:
        """What FFmpeg is told to open."""
        if self.kind == "stdin":
            return "pipe:0"
        return self.text if self.kind != "file" else f"file:{self.text}"

    @property
    def protocols(self) -> str:
        """What FFmpeg may connect by."""
        if self.kind == "url":
            return _PROTOCOLS[urlsplit(self.text).scheme.lower()]
        return {"stdin": "pipe", "file": "file", "device": ""}[self.kind]


def read_source(text: str, raw: StreamOptions | None = None) -> LiveSource:
    """Find out what a source is.

    Parameters
    ----------
    text : str
        ``-``, a URL, a device such as ``/dev/video0``, or a file.
    raw : StreamOptions, optional

    Raises
    ------
    UsageError
        If the options do not go with the source, or its scheme is unknown.
    InputError
        If there is no such file.
    """
    raw = raw or StreamOptions()
    options = {
        "video_size": raw.size,
        "pixel_format": raw.pixel_format,
        "framerate": raw.rate,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if text == "-":
        if given and len(given) < len(options):
            message = "raw pictures on standard input need --size, --pixel-format and --rate"
            raise UsageError(f"{message}; leave out all three for y4m, mpegts or mjpeg")
        return LiveSource(text, "stdin", "rawvideo" if given else None, given)
    if "://" in text:
        scheme = urlsplit(text).scheme.lower()
        if scheme not in _PROTOCOLS:
            known = ", ".join(_PROTOCOLS)
            raise UsageError(f"{scheme}://: is no kind of stream that is known ({known})")
        _refuse(given, "a URL")
        is_rtsp = scheme in {"rtsp", "rtsps"}
        return LiveSource(text, "url", None, {"rtsp_flags": "prefer_tcp"} if is_rtsp else {})
    path = Path(text)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InputError(f"{text}: cannot be opened ({error.strerror})") from error
    if stat.S_ISCHR(mode):
        return LiveSource(text, "device", "v4l2", given)
    _refuse(given, "a file")
    if not stat.S_ISREG(mode):
        raise InputError(f"{text}: is no file; give a video, a URL, a camera or - for a pipe")
    return LiveSource(text, "file")


def _refuse(given: dict[str, str], what: str) -> None:
    if given:
        message = "--size, --pixel-format and --rate describe raw pictures on standard input"
        raise UsageError(f"{message} or what a camera is asked for; {what} says them itself")
