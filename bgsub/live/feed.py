"""Keep a stream open: start the process that decodes, stop it when it stalls, and try again."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, cast

from bgsub.live.messages import End, Header, LivePicture, Note, Skipped, StreamPacket
from bgsub.live.ring import PacketRing
from bgsub.live.source import LiveSource
from bgsub.runtime.messages import receive
from bgsub.runtime.signals import held_back_in_children

PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Between tries to open a stream again; the last one from then on."""

_STEADY_S = 10.0
"""Seconds of pictures after which the pauses begin anew."""

_ROOM = 5
"""Pictures that wait: more would only be older when their turn comes."""


@dataclass(frozen=True)
class Opened:
    """A stream has begun, or has changed.

    Attributes
    ----------
    header : Header
    base_s : float
        When, in seconds since the feed was started.
    wall_s : float
        The same on the clock of the system.
    epoch : int
        Of the ring, for the packets of this connection.
    """

    header: Header
    base_s: float
    wall_s: float
    epoch: int


@dataclass(frozen=True)
class Seen:
    """A picture: seconds since the feed was started, its bytes, and when it came (monotonic)."""

    time_s: float
    row: bytes
    came_s: float


@dataclass(frozen=True)
class Lost:
    """The connection is gone; `retry_s` is the pause before the next try, None for none."""

    reason: str
    retry_s: float | None


Item = Opened | Seen | Lost | Note


class Feed:
    """A stream as pictures and packets, opened again whenever it breaks.

    A context manager; the process that decodes is killed at its end.

    Parameters
    ----------
    source : LiveSource
    ring : PacketRing
        Takes the packets.
    scale : float, optional
        Of the pictures that are analysed.
    every_s : float
        Seconds between them; 0 for all.
    sound : bool
        Whether it is taken along.
    drops : bool
        Whether pictures for which there is no time are left out; else the source waits.
    stall_s : float
        Seconds without anything after which a connection is given up.
    pauses_s : sequence of float

    Attributes
    ----------
    dropped : int
        Pictures left out so far.
    pictures : int
        Pictures that came.
    connections : int
        Times that the stream was opened.
    """

    def __init__(
        self,
        source: LiveSource,
        ring: PacketRing,
        *,
        scale: float | None = None,
        every_s: float = 0.0,
        sound: bool = True,
        drops: bool = True,
        stall_s: float = 20.0,
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        self._source, self._ring = source, ring
        self._settings = json.dumps(
            {
                "address": source.address,
                "format": source.format,
                "options": source.options,
                "protocols": source.protocols,
                "scale": scale,
                "every": every_s,
                "sound": sound,
                "drops": drops,
                "parent": os.getpid(),
            }
        )
        self._drops, self._stall_s, self._pauses = drops, stall_s, tuple(pauses_s)
        self._changed = threading.Condition()
        self._items: deque[Item] = deque()
        self._stop = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._heard = 0.0
        self._waits = self._has_stalled = False
        self._began = time.monotonic()
        self._latest_s = 0.0
        self.dropped = self.pictures = self.connections = 0
        self._thread = threading.Thread(target=self._run, name="bgsub-feed", daemon=True)

    def __enter__(self) -> Feed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._kill()
        with self._changed:
            self._changed.notify_all()
        self._thread.join(timeout=2)

    def get(self, timeout: float) -> Item | None:
        """Give what came next; None if nothing did in time."""
        self._check_stall()
        with self._changed:
            if not self._items:
                self._changed.wait(timeout)
            item = self._items.popleft() if self._items else None
            self._changed.notify_all()
        return item

    def _check_stall(self) -> None:
        process = self._process
        if process is None or self._waits or time.monotonic() - self._heard < self._stall_s:
            return
        self._has_stalled = True
        self._kill()

    def _kill(self) -> None:
        process = self._process
        if process is not None:
            with contextlib.suppress(OSError):
                process.kill()

    def _put(self, item: Item) -> None:
        with self._changed:
            if isinstance(item, Seen):
                self.pictures += 1
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
            end, had_pictures = self._connect()
            if self._stop.is_set():
                return
            if end.is_final or not self._source.reopens:
                self._put(Lost(end.reason, None))
                return
            if had_pictures and time.monotonic() - began > _STEADY_S:
                tries = 0
            pause = self._pauses[min(tries, len(self._pauses) - 1)]
            if self._has_stalled:
                # To wait for an answer was a pause; with another, it would be more than 30 s.
                pause = self._pauses[0]
            tries += 1
            self._put(Lost(end.reason or "the stream ended", pause))
            self._stop.wait(pause)

    def _connect(self) -> tuple[End, bool]:
        """Read a connection to its end; why it ended, and whether there were any pictures."""
        self._has_stalled = False
        self._heard = time.monotonic()
        is_stdin = self._source.kind == "stdin"
        # A terminal sends Ctrl-C to all processes, to one that still imports its modules as well.
        with held_back_in_children("SIGINT", "SIGTERM"):
            started = subprocess.Popen(  # noqa: S603 - our own module, and settings without a shell
                [sys.executable, "-m", "bgsub.live.reader", self._settings],
                stdin=None if is_stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )
        with started as process:
            self._process = process
            end, had_pictures = self._listen(cast("BinaryIO", process.stdout))
            self._process = None
            process.kill()
        if self._has_stalled:
            end = End(f"nothing came for {self._stall_s:g} s")
        return end, had_pictures

    def _listen(self, pipe: BinaryIO) -> tuple[End, bool]:
        base, had_pictures = 0.0, False
        while not self._stop.is_set():
            message = receive(pipe)
            self._heard = time.monotonic()
            if isinstance(message, Header):
                base = self._open(message, base, is_new=not had_pictures)
            elif isinstance(message, StreamPacket):
                self._ring.add(message, base)
            elif isinstance(message, LivePicture):
                had_pictures = True
                self._latest_s = base + message.time_s
                self._put(Seen(self._latest_s, message.row, self._heard))
            elif isinstance(message, Note):
                self._put(message)
            elif isinstance(message, Skipped):
                self.dropped += message.count
            elif isinstance(message, End):
                return message, had_pictures
            else:
                return End("the process that decodes it died"), had_pictures
        return End(""), had_pictures

    def _open(self, header: Header, base: float, *, is_new: bool) -> float:
        """Announce a stream; gives the time at which its connection began."""
        now = time.monotonic() - self._began
        if is_new:
            self.connections += 1
            # A file is read faster than it was recorded: its own time is what counts.
            base = max(now, self._latest_s + 0.04) if self._source.kind != "file" else 0.0
            self._ring.clear()
        self._put(Opened(header, base, time.time() - now + base, self._ring.epoch))
        return base
