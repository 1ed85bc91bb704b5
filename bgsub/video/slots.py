"""Put the pictures of a surveyed video, and the places where some are missing, into their order."""

from __future__ import annotations

import bisect
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from bgsub.video.clock import RESTART_S
from bgsub.video.decoding import is_picture
from bgsub.video.film_header import FilmHeader
from bgsub.video.stamps import CODECS_WITH_HIDDEN_PACKETS
from bgsub.video.survey import PacketNote, Survey

# Where this share of the packets gives no picture, a packet is not a picture (fields, for example).
_SPARSE_SHARE = 0.4

#: Why a place of an avi's table is empty.
NO_PACKET = "its data are missing"
_INCOMPLETE = "its data are incomplete"
_DEPENDENT = "it depends on a damaged frame"

# Share of the packets that must have a timestamp, and of those that damage may have moved.
_STAMPED_SHARE, _FEW = 0.9, 0.05


@dataclass(slots=True)
class Slot:
    """A frame on its way to an entry; `order` is its place in the order of decoding.

    `spoils` is true of what later pictures may depend on although it is damaged or missing.
    """

    order: float
    stamp_s: float | None
    picture: int | None
    reason: str = ""
    packet: int | None = None
    is_key: bool = False
    spoils: bool = False
    follows_tear: bool = False


def has_own_stamps(survey: Survey) -> bool:
    """Say whether the timestamps are those of presentation."""
    stamped = [packet for packet in survey.packets if packet.stamp_s is not None]
    if len(stamped) < _STAMPED_SHARE * len(survey.packets):
        return False
    if sum(map(_goes_back, stamped, stamped[1:])) > _FEW * len(stamped):
        return True  # they are in another order than the packets
    # Where reordered pictures have no times of their own, they come out with those of others.
    shown = [picture.stamp_s for picture in survey.pictures if picture.stamp_s is not None]
    return sum(map(_is_less, shown[1:], shown)) <= _FEW * len(shown)


def _goes_back(packet: PacketNote, following: PacketNote) -> bool:
    """Say whether a packet is shown before another that is decoded before it."""
    return _is_less(following.stamp_s, packet.stamp_s) and _is_less(
        packet.decoding_s, following.decoding_s
    )


def _is_less(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and one < other


def decoding_orders(survey: Survey, header: FilmHeader) -> list[int]:
    """Give each packet its rank in the table of the file; in the order of reading without one."""
    ranks = {place: rank for rank, (place, _) in enumerate(header.table)}
    orders: list[int] = []
    for packet in survey.packets:
        following = orders[-1] + 1 if orders else 0
        rank = following if packet.position is None else ranks.get(packet.position, following)
        orders.append(max(rank, following))
    return orders


def arrange(survey: Survey, header: FilmHeader, orders: list[int], *, by_stamp: bool) -> list[Slot]:
    """Put pictures and packets without a picture into the order in which they would be seen."""
    lost = _lost_packets(survey, header, orders)
    shown = _pictures(survey, header, orders)
    if by_stamp:
        return sorted(shown + lost, key=_parts(survey, orders))
    slots: list[Slot] = []
    waiting = deque(lost)
    for slot in shown:
        while waiting and waiting[0].order < slot.order:
            slots.append(waiting.popleft())
        slots.append(slot)
    return [*slots, *waiting]


def _pictures(survey: Survey, header: FilmHeader, orders: list[int]) -> list[Slot]:
    """Say which pictures are no good, by what is known of their packets and by the decoder."""
    slots = []
    for index, picture in enumerate(survey.pictures):
        packet = None if picture.packet is None else survey.packets[picture.packet]
        order = orders[picture.packet if picture.packet is not None else picture.read - 1]
        reason, spoils = "", False
        if packet is not None:
            reason = packet.error
            if packet.is_incomplete:
                # A transport stream marks the packet in which it notices that something is
                # missing, which need not be the one that is incomplete.
                spoils = header.format == "mpegts"
                reason = reason or ("" if spoils else _INCOMPLETE)
        if picture.is_damaged:
            reason = reason or "its data are damaged"
        spoils |= bool(reason)
        slots.append(
            Slot(order, picture.stamp_s, index, reason, picture.packet, picture.is_key, spoils)
        )
    return slots


def _parts(survey: Survey, orders: list[int]) -> Callable[[Slot], tuple[int, float, float]]:
    """Give a key that sorts by timestamp, but for each part of a film whose clock begins anew."""
    beginnings = []
    latest = -math.inf
    for packet, order in zip(survey.packets, orders, strict=True):
        if packet.stamp_s is not None:
            if packet.stamp_s < latest - RESTART_S:
                beginnings.append(order)
                latest = -math.inf
            latest = max(latest, packet.stamp_s)

    def key(slot: Slot) -> tuple[int, float, float]:
        part = bisect.bisect_right(beginnings, slot.order)
        return part, -math.inf if slot.stamp_s is None else slot.stamp_s, slot.order

    return key


def by_order(slot: Slot) -> float:
    """Sort slots in the order of decoding."""
    return slot.order


def _lost_packets(survey: Survey, header: FilmHeader, orders: list[int]) -> list[Slot]:
    """Find the packets, and places in the file's table, that should have given a picture."""
    seen = {picture.packet for picture in survey.pictures}
    first = min((index for index in seen if index is not None), default=len(survey.packets))
    silent = [
        index
        for index, packet in enumerate(survey.packets)
        if index not in seen and not packet.is_hidden and is_picture(header.codec, packet.size)
    ]
    without_reason = [
        index
        for index in silent
        if not survey.packets[index].error and not survey.packets[index].is_incomplete
    ]
    counts = header.codec not in CODECS_WITH_HIDDEN_PACKETS and len(
        without_reason
    ) < _SPARSE_SHARE * len(survey.packets)
    slots = []
    has_errors = False
    for index in silent:
        packet = survey.packets[index]
        has_errors |= bool(packet.error) or packet.is_incomplete
        reason = packet.error or (_INCOMPLETE if packet.is_incomplete else "")
        is_early = index < first and not has_errors and not header.misses_its_beginning
        if not reason and (not counts or is_early):
            continue  # before the first key frame, or never meant to be seen
        slots.append(Slot(orders[index], packet.stamp_s, None, reason or _DEPENDENT, spoils=True))
    missing = sorted(set(range(max(orders, default=-1))) - set(orders)) if header.table else []
    slots += [Slot(rank, None, None, NO_PACKET, spoils=True) for rank in missing]
    return sorted(slots, key=by_order)
