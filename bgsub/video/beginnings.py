"""Tell by the beginning of a file whether pictures are lost before the first that is found.

Numbers count from the first picture: if it is lost, all are wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

_CLUSTER = bytes.fromhex("1f43b675")
_CLUSTER_SLACK = 96  # bytes of a cluster before the data of its first block
_SYNCPOINT = bytes.fromhex("4e4be4adeeca4569")
_SYNCPOINT_SLACK = 48
_IVF_FIRST = 32 + 12

_REAL_DATA, _REAL_DATA_HEADER = b"DATA", 18
_REAL_SLACK = 32  # bytes of a packet before the data of its picture

_TRANSPORT_PACKET, _TRANSPORT_SYNC = 188, 0x47
_TRANSPORT_ERROR, _TRANSPORT_BEGINS = 0x80, 0x40
_TRANSPORT_SCRAMBLED, _TRANSPORT_CONTENT = 0xC0, 0x30  # it has data, other things or both

_OGG_PAGE, _OGG_HEADER = b"OggS", 27

_FLV_HEADER = 13
_FLV_VIDEO, _FLV_OTHERS = 9, {8, 18}
_FLV_EXTENDED, _FLV_EXTENDED_SETUP = 0x80, {0, 4, 5}  # beginning, metadata, the same of MPEG-2
_FLV_WITH_SETUP = {7, 12, 13}  # AVC, HEVC, AV1

# Chunks of an avi that may come before its first picture.
_AVI_OTHERS = (b"JUNK", b"ix", b"idx1")
_AVI_LISTS = (b"LIST", b"RIFF")

# No header is longer than this.
_LONGEST = 1 << 24


def lacks_its_beginning(form: str, path: Path, place: int, stream_id: int) -> bool:
    """Say whether there is something else than headers before the first packet of a film.

    Parameters
    ----------
    form : str
        FFmpeg's name of the format; of many nothing is known, and the answer is no.
    path : Path
        A file with one stream.
    place : int
        Where FFmpeg says that the first packet is.
    stream_id : int
        Of a transport stream.
    """
    check = _CHECKS.get(form)
    if check is None or not 0 < place < _LONGEST:
        return False
    with path.open("rb") as file:
        return check(file.read(place + 16), place, stream_id)


def _clusters_are_lost(head: bytes, place: int, _: int) -> bool:
    return _first_is_lost(head[:place], _CLUSTER, place, _CLUSTER_SLACK)


def _syncpoints_are_lost(head: bytes, place: int, _: int) -> bool:
    return _first_is_lost(head[: place + len(_SYNCPOINT)], _SYNCPOINT, place, _SYNCPOINT_SLACK)


def _first_is_lost(head: bytes, mark: bytes, place: int, slack: int) -> bool:
    """Say whether not one mark stands before the first picture, and right before it."""
    return head.count(mark) != 1 or place - head.find(mark) > slack


def _ivf_frames_are_lost(_: bytes, place: int, __: int) -> bool:
    return place > _IVF_FIRST


def _records_are_lost(head: bytes, place: int, _: int) -> bool:
    """Say whether the first picture of a RealMedia file is not that of the first packet."""
    start = head[:place].find(_REAL_DATA)
    return start >= 0 and place > start + _REAL_DATA_HEADER + _REAL_SLACK


def _transport_packets_are_lost(head: bytes, place: int, stream_id: int) -> bool:
    """Say whether packets before the first picture are no packets, or begin another picture."""
    if head[0] != _TRANSPORT_SYNC or place % _TRANSPORT_PACKET:
        return False  # of another size, or it begins amid a packet
    for start in range(0, place, _TRANSPORT_PACKET):
        sync, flags, low, control = head[start : start + 4]
        is_packet = sync == _TRANSPORT_SYNC and control & _TRANSPORT_CONTENT != 0
        if not is_packet or flags & _TRANSPORT_ERROR or control & _TRANSPORT_SCRAMBLED:
            return True
        if flags & _TRANSPORT_BEGINS and (flags & 0x1F) << 8 | low == stream_id:
            return True
    return False


def _pages_are_lost(head: bytes, place: int, _: int) -> bool:
    """Go through the pages of an ogg, up to the first with a picture; others are at time 0."""
    start = 0
    while start < place:
        time = int.from_bytes(head[start + 6 : start + 14], "little", signed=True)
        if head[start : start + len(_OGG_PAGE)] != _OGG_PAGE or time > 0:
            return True
        sizes = head[start + _OGG_HEADER :][: head[start + _OGG_HEADER - 1]]
        start += _OGG_HEADER + len(sizes) + sum(sizes)
    return start != place


def _tags_are_lost(head: bytes, place: int, _: int) -> bool:
    """Go through the tags of an flv, up to the first with a picture."""
    start = _FLV_HEADER
    while start < place:
        kind, length = head[start], int.from_bytes(head[start + 1 : start + 4], "big")
        is_setup = kind == _FLV_VIDEO and _sets_up(head[start + 11 : start + 13])
        if kind not in _FLV_OTHERS and not is_setup:
            return True
        start += length + 15
    return start != place


def _sets_up(begin: bytes) -> bool:
    """Say whether the data of a tag are no picture, but what a decoder must know before."""
    if len(begin) < 2:
        return False
    if begin[0] & _FLV_EXTENDED:
        return begin[0] & 0x0F in _FLV_EXTENDED_SETUP
    return begin[0] & 0x0F in _FLV_WITH_SETUP and begin[1] == 0


def _chunks_are_lost(head: bytes, place: int, _: int) -> bool:
    """Go through the chunks of an avi, up to the first with a picture."""
    start = head.find(b"movi") + 4
    while 4 <= start < place - 8:
        name, length = (
            head[start : start + 4],
            int.from_bytes(head[start + 4 : start + 8], "little"),
        )
        if name in _AVI_LISTS:
            start += 12
        elif name.startswith(_AVI_OTHERS) or length == 0:
            start += 8 + length + length % 2
        else:
            return True
    return start != place - 8


_CHECKS: dict[str, Callable[[bytes, int, int], bool]] = {
    "matroska,webm": _clusters_are_lost,
    "nut": _syncpoints_are_lost,
    "ivf": _ivf_frames_are_lost,
    "mpegts": _transport_packets_are_lost,
    "flv": _tags_are_lost,
    "ogg": _pages_are_lost,
    "avi": _chunks_are_lost,
    "rm": _records_are_lost,
}
