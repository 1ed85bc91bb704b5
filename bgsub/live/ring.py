"""Keep the last seconds of a stream as packets, for clips of what was before an event."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import replace

from bgsub.live.messages import StreamPacket

_MOST_BYTES = 256 << 20


class PacketRing:
    """The packets of the last seconds, from a key frame on; for several threads.

    Parameters
    ----------
    keep_s : float
        Seconds that are kept at least, if they take no more than 256 MiB.

    Attributes
    ----------
    next_serial : int
        Number that the next packet will have; they count on over all connections.
    epoch : int
        Connections so far; a ring holds the packets of one.
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._lock = threading.Lock()
        self._packets: deque[tuple[int, StreamPacket]] = deque()
        self.epoch = 0
        self._bytes = 0
        self._held: int | None = None
        self.next_serial = 0

    def add(self, packet: StreamPacket, base_s: float) -> None:
        """Take in a packet of a connection that began at a time."""
        with self._lock:
            self._packets.append((self.next_serial, replace(packet, time_s=base_s + packet.time_s)))
            self.next_serial += 1
            self._bytes += len(packet.data)
            self._trim()

    def clear(self) -> None:
        """Forget all packets: those of another connection do not follow them."""
        with self._lock:
            self._packets.clear()
            self._bytes = 0
            self.epoch += 1

    def hold(self, serial: int | None) -> None:
        """Keep the packets from this one on until they are written; None for no longer."""
        with self._lock:
            self._held = serial

    def begin(self, time_s: float) -> int:
        """Give the number of the last key frame up to a time, or of the first there is."""
        with self._lock:
            found = None
            for serial, packet in self._packets:
                if packet.is_key and (found is None or packet.time_s <= time_s):
                    found = serial
            return self.next_serial if found is None else found

    def since(self, serial: int, epoch: int) -> list[tuple[int, StreamPacket]]:
        """Give all packets from this number on; none where they are of another connection."""
        with self._lock:
            found: list[tuple[int, StreamPacket]] = []
            if epoch != self.epoch:
                return found
            for each in reversed(self._packets):
                if each[0] < serial:
                    break
                found.append(each)
            return found[::-1]

    def _trim(self) -> None:
        """Drop what is before the last key frame that is old enough."""
        newest = self._packets[-1][1].time_s
        while True:
            following = self._second_key()
            if following is None:
                # Of a stream that has no second key frame nothing can be dropped but all.
                if self._bytes > _MOST_BYTES:
                    self._drop(self._packets[-1][0])
                return
            serial, time_s = following
            is_needed = time_s > newest - self._keep_s or (
                self._held is not None and serial > self._held
            )
            if is_needed and self._bytes <= _MOST_BYTES:
                return
            self._drop(serial)

    def _second_key(self) -> tuple[int, float] | None:
        packets = iter(self._packets)
        next(packets, None)
        return next(((n, packet.time_s) for n, packet in packets if packet.is_key), None)

    def _drop(self, until: int) -> None:
        while self._packets and self._packets[0][0] < until:
            self._bytes -= len(self._packets.popleft()[1].data)
