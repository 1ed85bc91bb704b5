"""Find the places where a damaged file has lost data, by what lies between its packets."""

from __future__ import annotations

import bisect
from itertools import pairwise

import numpy as np

from bgsub.video.survey import PacketNote, Survey

# Bytes between the data of two packets where nothing is lost, besides what is usual in the file.
_USUAL_OVERHEAD = 64


class Tears:
    """Finds out whether something was torn out of a file, or never recorded."""

    def __init__(
        self, survey: Survey, data_start: int | None = None, *, knows_places: bool = True
    ) -> None:
        self._packets = packets = survey.packets
        self._stamps = sorted(p.stamp_s for p in packets if p.stamp_s is not None)
        between = [_between(one, other) for one, other in pairwise(packets)]
        if not knows_places or any(a.position == b.position for a, b in pairwise(packets)):
            between = [None] * len(between)  # the places are those of blocks with several packets
        known = [count for count in between if count is not None]
        usual = 4 * float(np.percentile(known, 75)) + _USUAL_OVERHEAD if known else 0.0
        first = packets[0].position if packets else None
        begins_late = None not in (first, data_start) and (first or 0) - (data_start or 0) > usual
        self._is_torn = [begins_late, *(count is not None and count > usual for count in between)]
        self._is_unknown = not known

    def before(self, packet: int | None) -> bool:
        """Say whether the file holds something else than packets right before one."""
        return packet is not None and self._is_torn[packet]

    def took(self, start_s: float, stop_s: float, packet: int | None) -> bool:
        """Say whether data were lost between two times, the second being that of a packet."""
        inside = bisect.bisect_left(self._stamps, stop_s) - bisect.bisect_right(
            self._stamps, start_s
        )
        if packet is None or self._is_unknown or inside > 0:
            return True
        around = self._packets[max(0, packet - 3) : packet + 2]
        if any(note.error or note.is_incomplete for note in around):
            return True
        return any(self._is_torn[max(0, packet - 2) : packet + 2])


def _between(one: PacketNote, other: PacketNote) -> int | None:
    """Bytes of the file between the data of two packets."""
    if one.position is None or other.position is None:
        return None
    return max(0, other.position - one.position - one.size)
