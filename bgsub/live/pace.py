"""Tell whether a stream comes faster than it can be decoded, and what is left out then."""

from __future__ import annotations

_WAITED_S = 0.02
"""Seconds of waiting for a packet from which all that had come was read."""

_MOST_LATE_S, _CAUGHT_UP_S = 2.0, 0.2
"""Seconds by which decoding may fall behind, and at which it is not behind any more."""


class Pace:
    """Compares the clock with the stamps of packets, since a packet was last waited for.

    A source that sends in bursts is not ahead of anybody: there is waiting between them. Nor is one
    that is not paced at all, such as a film that comes through a pipe: its stamps are quicker than
    the clock.
    """

    def __init__(self) -> None:
        self._since: tuple[float, float] | None = None
        self._skips = False

    def skips(self, asked_s: float, came_s: float, stamp_s: float, *, is_key: bool) -> bool:
        """Take in a packet, and say whether there is no time to decode it.

        Parameters
        ----------
        asked_s, came_s : float
            When it was asked for, and when it was there, by a clock that never goes back.
        stamp_s : float
            When it is to be decoded, by the stream's own time.
        is_key : bool
            Whether it can be decoded without those before it.
        """
        if self._since is None or came_s - asked_s > _WAITED_S:
            self._since = came_s, stamp_s
        clock_s, begin_s = self._since
        late_s = (came_s - clock_s) - (stamp_s - begin_s)
        if self._skips:
            self._skips = not (is_key and late_s <= _CAUGHT_UP_S)
        else:
            self._skips = late_s > _MOST_LATE_S
        return self._skips
