"""Tell by the end of a file whether it breaks off, and how far its packets should reach."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

_TRANSPORT_PACKET, _TIMED_TRANSPORT_PACKET = 188, 192

_TRANSPORT_SYNC = b"G"
_TRANSPORT_TAIL = 1 << 14  # so many packets at the end are looked at

_FLV_HEADER = 13
_FLV_TAGS = {b"\x08", b"\x09", b"\x12"}
_FLV_VIDEO = b"\x09"
_FLV_END = 5
_FLV_SLACK = 64

_SEGMENT = bytes.fromhex("18538067")
_EBML_HEADER = 256
_CLUSTER = bytes.fromhex("1f43b675")
_CLUSTER_BEGINNINGS = b"\xe7\xbf"  # its time, or a checksum
_CLUSTER_SLACK = 96
_CLUSTER_FOLLOWERS = tuple(
    bytes.fromhex(name)
    for name in (
        *("1f43b675", "1c53bb6b", "1254c367", "1941a469", "1043a770", "114d9b74", "1549a966"),
        *("1654ae6b", "18538067", "1a45dfa3", "ec", "bf"),
    )
)
"""Names of what may follow a cluster, from the index to another film."""
_MATROSKA_TAIL = 1 << 22

_NUT_INDEX = bytes.fromhex("4e58dd672f23e64e")
_NUT_TAIL = 12  # how far back the index begins, and a checksum

_ASF_PROPERTIES = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")
_ASF_HEADER = 1 << 16

_OGG_PAGE = b"OggS"
_OGG_LAST = 4
_OGG_LONGEST_PAGE = 27 + 255 + 255 * 255

_FRAGMENT = b"moof"
_FRAGMENT_HEADER = b"mfhd"
_MP4_TAIL = 1 << 22


def ends_early(form: str, path: Path) -> bool:
    """Say whether a file of FFmpeg's format `form` does not end as such a file must."""
    check = _CHECKS.get(form.split(",", maxsplit=1)[0])
    return check is not None and check(path, path.stat().st_size)


def last_data(form: str, path: Path, stream_id: int = 0) -> int | None:
    """Say which place the packets of a file of one stream must reach; None if nothing tells."""
    size = path.stat().st_size
    if form == "flv":
        return _last_flv_tag(path, size)
    if form == "matroska,webm":
        return _last_cluster_end(path, size)
    if form == "mpegts":
        return _last_transport_data(path, size, stream_id)
    if form == "ogg":
        tail = _tail(path, 2 * _OGG_LONGEST_PAGE)
        place = tail.rfind(_OGG_PAGE)
    elif form.startswith("mov,"):
        tail = _tail(path, _MP4_TAIL)
        place = tail.rfind(_FRAGMENT)
        if tail[place + 8 : place + 12] != _FRAGMENT_HEADER:
            return None
    else:
        return None
    return None if place < 0 else size - len(tail) + place


def _tail(path: Path, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - length))
        return file.read(length)


def _last_flv_tag(path: Path, size: int) -> int | None:
    """Go back through the tags of an flv, each of which is followed by its length.

    One of a few bytes says that the pictures are over.
    """
    end = size
    with path.open("rb") as file:
        while end > _FLV_HEADER:
            file.seek(end - 4)
            place = end - 4 - int.from_bytes(file.read(4), "big")
            file.seek(max(0, place))
            kind, length = file.read(1), int.from_bytes(file.read(3), "big")
            if place < _FLV_HEADER or kind not in _FLV_TAGS or place + length + 15 != end:
                return end - _FLV_SLACK  # there is something else than tags
            if kind == _FLV_VIDEO and length > _FLV_END:
                return place
            end = place
    return None


def _last_cluster_end(path: Path, size: int) -> int | None:
    """Find where the last cluster of a matroska ends, but for what may follow its last picture.

    Where something unknown follows it, the name of the next one is lost: it is taken for that.
    """
    tail = _tail(path, _MATROSKA_TAIL)
    place = tail.rfind(_CLUSTER)
    if place < 0 or place + 16 > len(tail):
        return None
    begin, length = _element_size(tail[place + len(_CLUSTER) :])
    if length is None or tail[place + len(_CLUSTER) + begin] not in _CLUSTER_BEGINNINGS:
        return None
    end = place + len(_CLUSTER) + begin + length
    if not tail[end : end + 4].startswith(_CLUSTER_FOLLOWERS):
        end = len(tail)
    return size - len(tail) + end - _CLUSTER_SLACK


def _element_size(data: bytes) -> tuple[int, int | None]:
    """Read the size of an element of a matroska: bytes that it takes, and its value if known."""
    width = 9 - data[0].bit_length()
    value = int.from_bytes(data[:width], "big") & ((1 << 7 * width) - 1)
    return width, None if width > 8 or value == (1 << 7 * width) - 1 else value


def _last_transport_data(path: Path, size: int, stream_id: int) -> int | None:
    """Find where the last picture begins in a transport stream, or where its packets end."""
    if size % _TRANSPORT_PACKET:
        return None
    tail = _tail(path, _TRANSPORT_TAIL * _TRANSPORT_PACKET)
    heads = [tail[place : place + 3] for place in range(0, len(tail), _TRANSPORT_PACKET)]
    if sum(head.startswith(_TRANSPORT_SYNC) for head in heads) < len(heads) // 2:
        return None  # packets of another size
    begin = size - len(tail)
    for index in reversed(range(len(heads))):
        sync, flags, low = heads[index]
        is_first = bool(flags & 0x40) and (flags & 0x1F) << 8 | low == stream_id
        if sync != _TRANSPORT_SYNC[0] or is_first:
            return begin + index * _TRANSPORT_PACKET
    return None


def _transport_is_short(_: Path, size: int) -> bool:
    return size % _TRANSPORT_PACKET != 0 and size % _TIMED_TRANSPORT_PACKET != 0


def _tags_are_short(path: Path, size: int) -> bool:
    """Look for the length of the last tag of an flv; some writers never write it, not the first."""
    with path.open("rb") as file:
        head = file.read(_FLV_HEADER + 4)
        length = int.from_bytes(head[-3:], "big")
        file.seek(_FLV_HEADER + 11 + length)
        is_written = int.from_bytes(file.read(4), "big") == length + 11
    return is_written and _last_flv_tag(path, size) == size - _FLV_SLACK


def _gif_is_short(path: Path, _: int) -> bool:
    return not _tail(path, 64).rstrip(b"\0").endswith(b";")


def _nut_is_short(path: Path, size: int) -> bool:
    """Look for the index that a nut ends with, and for how far back that begins."""
    length = int.from_bytes(_tail(path, _NUT_TAIL)[:8], "big")
    return length > size or not _tail(path, length).startswith(_NUT_INDEX)


def _asf_is_short(path: Path, size: int) -> bool:
    """Compare an asf with the length it begins with; 0 if it was sent over a network."""
    with path.open("rb") as file:
        header = file.read(_ASF_HEADER)
    place = header.find(_ASF_PROPERTIES)
    return place >= 0 and size < int.from_bytes(header[place + 40 : place + 48], "little")


def _ogg_is_short(path: Path, _: int) -> bool:
    """Look for the last page of an ogg, which says that it is the last, and is complete."""
    tail = _tail(path, 2 * _OGG_LONGEST_PAGE)
    page = tail[max(0, tail.rfind(_OGG_PAGE)) :]
    if len(page) < 27 or not page[5] & _OGG_LAST:
        return True
    return len(page) < 27 + page[26] + sum(page[27 : 27 + page[26]])


def _boxes_are_short(path: Path, size: int) -> bool:
    """Compare an mp4 with the lengths of its boxes; 0 is the rest of the file."""
    place = 0
    with path.open("rb") as file:
        while place + 8 <= size:
            file.seek(place)
            length, kind = int.from_bytes(file.read(4), "big"), file.read(4)
            if length == 1:
                length = int.from_bytes(file.read(8), "big")
            if length < 8:
                is_padding = not any(kind) and not any(_tail(path, 64))
                return length != 0 or not (any(kind) or is_padding)
            place += length
    return place != size


def _segment_is_short(path: Path, size: int) -> bool:
    """Compare a matroska with the length of its segment, unless it was sent while written."""
    with path.open("rb") as file:
        head = file.read(_EBML_HEADER)
    place = head.find(_SEGMENT) + len(_SEGMENT)
    if place < len(_SEGMENT) or place >= len(head):
        return False
    begin, length = _element_size(head[place:])
    return length is not None and place + begin + length > size


_CHECKS: dict[str, Callable[[Path, int], bool]] = {
    "mpegts": _transport_is_short,
    "flv": _tags_are_short,
    "gif": _gif_is_short,
    "matroska": _segment_is_short,
    "nut": _nut_is_short,
    "asf": _asf_is_short,
    "ogg": _ogg_is_short,
    "mov": _boxes_are_short,
}
