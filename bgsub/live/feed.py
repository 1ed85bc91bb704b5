"""Read a file, URL, camera or standard input as frames and packets, again whenever it breaks."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, cast
from urllib.parse import urlsplit

from bgsub.errors import InputError, UsageError
from bgsub.live.decoding import End, Header, Note, Seen, Skipped, StreamPacket
from bgsub.live.options import StreamOptions, WatchOptions
from bgsub.runtime.processes import held_back_in_children, receive

_PROTOCOLS = {  # schemes, and what FFmpeg may connect by: never a file of this machine
    "rtsp": "rtsp,rtp,udp,tcp",
    "rtsps": "rtsps,rtp,udp,tcp,tls",
    "rtmp": "rtmp,tcp",
    "rtmps": "rtmps,tcp,tls",
    "rtp": "rtp,udp",
    **dict.fromkeys(("http", "https"), "http,tcp,tls,https,crypto,httpproxy"),
    **{scheme: scheme for scheme in ("tcp", "udp", "srt")},
}


@dataclass(frozen=True)
class LiveSource:
    """What is watched, `text` as it was given."""

    text: str
    kind: Literal["file", "url", "device", "stdin"]
    format: str | None = None  # FFmpeg's name, where it is not to be guessed
    options: dict[str, str] = field(default_factory=dict)  # for its demuxer

    @property
    def name(self) -> str:
        """The source without a password, for people."""
        shown = re.sub(r"(?<=://)[^/@\s]*@", "", self.text)
        return "standard input" if self.kind == "stdin" else shown

    @property
    def address(self) -> str:
        """What FFmpeg opens."""
        return {"stdin": "pipe:0", "file": f"file:{self.text}"}.get(self.kind, self.text)

    @property
    def protocols(self) -> str:
        """What FFmpeg may connect by."""
        if self.kind == "url":
            return _PROTOCOLS[urlsplit(self.text).scheme.lower()]
        return {"stdin": "pipe", "file": "file", "device": ""}[self.kind]


def read_source(text: str, raw: StreamOptions | None = None) -> LiveSource:
    """Return what ``-``, a URL, a device or a file means; UsageError if options do not fit."""
    raw = raw or StreamOptions()
    options = {"video_size": raw.size, "pixel_format": raw.pixel_format, "framerate": raw.rate}
    given = {name: value for name, value in options.items() if value is not None}
    if text == "-":
        if given and len(given) < len(options):
            message = "raw pictures on standard input need --size, --pixel-format and --rate"
            raise UsageError(f"{message}; leave out all three for y4m, mpegts or mjpeg")
        return LiveSource(text, "stdin", "rawvideo" if given else None, given)
    scheme, mode = urlsplit(text).scheme.lower() if "://" in text else "", 0
    if scheme and scheme not in _PROTOCOLS:
        known = ", ".join(_PROTOCOLS)
        raise UsageError(f"{scheme}://: is no kind of stream that is known ({known})")
    if not scheme:
        try:
            mode = Path(text).stat().st_mode
        except OSError as error:
            raise InputError(f"{text}: cannot be opened ({error.strerror})") from error
    if stat.S_ISCHR(mode):
        return LiveSource(text, "device", "v4l2", given)
    if given:
        message = "--size, --pixel-format and --rate describe raw pictures on standard input"
        kind = "a URL" if scheme else "a file"
        raise UsageError(f"{message} or what a camera is asked for; {kind} says them itself")
    if scheme:
        is_rtsp = scheme in {"rtsp", "rtsps"}
        return LiveSource(text, "url", None, {"rtsp_flags": "prefer_tcp"} if is_rtsp else {})
    if not stat.S_ISREG(mode):
        raise InputError(f"{text}: is no file; give a video, a URL, a camera or - for a pipe")
    return LiveSource(text, "file")


_MOST_BYTES = 256 << 20


class PacketRing:
    """The packets of the last seconds of a connection, from a key frame on; for several threads.

    Those of `keep_s` at least, if they take no more than 256 MiB. It began at `base_s`.
    """

    def __init__(self, keep_s: float, base_s: float = 0.0) -> None:
        self._keep_s, self._base_s = keep_s, base_s
        self._lock = threading.Lock()
        self._packets: deque[tuple[int, StreamPacket]] = deque()
        self._bytes = self._next = 0
        self._held: int | None = None

    def add(self, packet: StreamPacket) -> None:
        """Take in a packet, and drop what is before the last key frame that is old enough."""
        with self._lock:
            moved = packet._replace(time_s=self._base_s + packet.time_s)
            self._packets.append((self._next, moved))
            self._next += 1
            self._bytes += len(packet.data)
            while True:
                keys = (each for each in islice(self._packets, 1, None) if each[1].is_key)
                # Of a stream that has no second key frame nothing can be dropped but all.
                serial, key = next(keys, (self._packets[-1][0], None))
                is_held = self._held is not None and serial > self._held
                is_needed = key is None or is_held or key.time_s > moved.time_s - self._keep_s
                if is_needed and self._bytes <= _MOST_BYTES:
                    return
                while self._packets[0][0] < serial:
                    self._bytes -= len(self._packets.popleft()[1].data)
                if key is None:
                    return

    def hold(self, serial: int | None) -> None:
        """Keep the packets from this one on until they are written; None for no longer."""
        with self._lock:
            self._held = serial

    def begin(self, time_s: float) -> int:
        """Return the number of the last key frame up to a time, or of the first there is."""
        with self._lock:
            found = None
            for serial, packet in self._packets:
                if packet.is_key and (found is None or packet.time_s <= time_s):
                    found = serial
            return self._next if found is None else found

    def since(self, serial: int) -> list[tuple[int, StreamPacket]]:
        """Return all packets from this number on, with their numbers."""
        with self._lock:
            first = self._packets[0][0] if self._packets else 0
            return list(islice(self._packets, max(0, serial - first), None))


PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)  # between tries to open a stream; the last from then on
_STEADY_S = 10.0  # of frames, after which the pauses begin anew
# Seconds that packets are kept beyond what clips begin with: what is small and weak must last to be
# an event, and analysis comes a little later.
_RING_SLACK_S = 15.0
_ROOM = 5  # for frames that wait: more would only be older when their turn comes


class Opened(NamedTuple):
    """A stream has begun, or has changed."""

    header: Header
    base_s: float  # when, in seconds since the feed was started
    wall_s: float  # the same on the clock of the system
    ring: PacketRing  # of this connection


class Lost(NamedTuple):
    """The connection is gone; `retry_s` is the pause before the next try, None for none."""

    reason: str
    retry_s: float | None


Item = Opened | Seen | Lost | Note


class Feed:
    """A stream as frames and packets, opened again whenever it breaks.

    The process that decodes is killed at the end of its context. With `drops`, frames for which
    there is no time are left out, and `dropped` counts them; else the source waits. `connections`
    counts how often the stream was opened.
    """

    def __init__(
        self,
        source: LiveSource,
        options: WatchOptions | None = None,
        *,
        scale: float | None = None,
        drops: bool = True,
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        options = options or WatchOptions()
        self._source, self._keep_s = source, options.before_s + _RING_SLACK_S
        settings = {name: getattr(source, name) for name in ("address", "options", "protocols")}
        settings |= {"format": source.format, "sound": options.sound and options.clips}
        settings |= {"scale": scale, "every": options.every_s or 0.0, "drops": drops}
        self._settings = json.dumps(settings | {"parent": os.getpid()})
        self._drops, self._stall_s, self._pauses = drops, options.stall_s, tuple(pauses_s)
        self._changed = threading.Condition()
        self._items: deque[Item] = deque()
        self._stop = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._heard = 0.0
        self._waits = self._has_stalled = False
        self._began = time.monotonic()
        self._latest_s = 0.0
        self.dropped = self.connections = 0
        self._thread = threading.Thread(target=self._run, name="bgsub-feed", daemon=True)

    def __enter__(self) -> Feed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        if process := self._process:
            process.kill()
        self._thread.join(timeout=2)

    def get(self, timeout: float) -> Item | None:
        """Return what came next; None if nothing did in time."""
        is_silent = not self._waits and time.monotonic() - self._heard >= self._stall_s
        if is_silent and (process := self._process):
            self._has_stalled = True
            process.kill()
        with self._changed:
            if not self._items:
                self._changed.wait(timeout)
            item = self._items.popleft() if self._items else None
            self._changed.notify_all()
        return item

    def _put(self, item: Item) -> None:
        with self._changed:
            if isinstance(item, Seen):
                waiting = [each for each in self._items if isinstance(each, Seen)]
                if self._drops and len(waiting) >= _ROOM:
                    self._items.remove(waiting[0])
                    self.dropped += 1
                while not self._drops and len(self._items) >= _ROOM and not self._stop.is_set():
                    self._waits = True
                    self._changed.wait(1.0)
                self._waits = False
                self._heard = time.monotonic()
            self._items.append(item)
            self._changed.notify_all()

    def _run(self) -> None:
        tries = 0
        while not self._stop.is_set():
            began = time.monotonic()
            end, had_frames = self._connect()
            if self._stop.is_set():
                return
            if end.is_final or self._source.kind not in {"url", "device"}:
                self._put(Lost(end.reason, None))
                return
            if had_frames and time.monotonic() - began > _STEADY_S:
                tries = 0
            # To wait for an answer was a pause; with another, it would be more than 30 s.
            turn = 0 if self._has_stalled else min(tries, len(self._pauses) - 1)
            pause, tries = self._pauses[turn], tries + 1
            self._put(Lost(end.reason or "the stream ended", pause))
            self._stop.wait(pause)

    def _connect(self) -> tuple[End, bool]:
        """Read a connection to its end; why it ended, and whether there were any frames."""
        self._has_stalled, self._heard = False, time.monotonic()
        command = [sys.executable, "-c", "from bgsub.live.decoding import main; main()"]
        stdin = None if self._source.kind == "stdin" else subprocess.DEVNULL
        # A terminal sends Ctrl-C to all processes, to one that still imports its modules as well.
        with held_back_in_children("SIGINT", "SIGTERM"):
            started = subprocess.Popen(  # noqa: S603 - our own module, and settings without a shell
                [*command, self._settings], stdin=stdin, stdout=subprocess.PIPE
            )
        with started as process:
            self._process = process
            end, had_frames = self._listen(cast("BinaryIO", process.stdout))
            self._process = None
            process.kill()
        if self._has_stalled:
            end = End(f"nothing came for {self._stall_s:g} s")
        return end, had_frames

    def _listen(self, pipe: BinaryIO) -> tuple[End, bool]:
        base, had_frames, ring = 0.0, False, PacketRing(self._keep_s)
        while not self._stop.is_set():
            message = receive(pipe)
            self._heard = time.monotonic()
            if isinstance(message, Header):
                now = time.monotonic() - self._began
                if not had_frames:
                    self.connections += 1
                    # A file is read faster than it was recorded: its own time is what counts.
                    base = max(now, self._latest_s + 0.04) if self._source.kind != "file" else 0.0
                    ring = PacketRing(self._keep_s, base)
                self._put(Opened(message, base, time.time() - now + base, ring))
            elif isinstance(message, StreamPacket):
                ring.add(message)
            elif isinstance(message, Seen):
                had_frames = True
                self._latest_s = base + message.time_s
                self._put(Seen(self._latest_s, message.row, self._heard))
            elif isinstance(message, Note):
                self._put(message)
            elif isinstance(message, Skipped):
                self.dropped += 1
            elif isinstance(message, End):
                return message, had_frames
            else:
                return End("the process that decodes it died"), had_frames
        return End(""), had_frames
