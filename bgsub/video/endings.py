"""Tell by the end of a file whether it breaks off, and how far its packets should reach."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

_TRANSPORT_PACKET, _TIMED_TRANSPORT_PACKET = 188, 192

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


def last_data(form: str, path: Path) -> int | None:
    """Say which place the packets of a file of one stream must reach; None if nothing tells."""
    size = path.stat().st_size
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


def _transport_is_short(_: Path, size: int) -> bool:
    return size % _TRANSPORT_PACKET != 0 and size % _TIMED_TRANSPORT_PACKET != 0


def _gif_is_short(path: Path, _: int) -> bool:
    return not _tail(path, 64).rstrip(b"\0").endswith(b";")


def _nut_is_short(path: Path, size: int) -> bool:
    """A nut ends with an index, and with how far back that begins."""
    length = int.from_bytes(_tail(path, _NUT_TAIL)[:8], "big")
    return length > size or not _tail(path, length).startswith(_NUT_INDEX)


def _asf_is_short(path: Path, size: int) -> bool:
    """An asf says at its beginning how long it is; 0 if it was sent over a network."""
    with path.open("rb") as file:
        header = file.read(_ASF_HEADER)
    place = header.find(_ASF_PROPERTIES)
    return place >= 0 and size < int.from_bytes(header[place + 40 : place + 48], "little")


def _ogg_is_short(path: Path, _: int) -> bool:
    """The last page of an ogg says that it is the last, and is whole."""
    tail = _tail(path, 2 * _OGG_LONGEST_PAGE)
    page = tail[max(0, tail.rfind(_OGG_PAGE)) :]
    if len(page) < 27 or not page[5] & _OGG_LAST:
        return True
    return len(page) < 27 + page[26] + sum(page[27 : 27 + page[26]])


def _boxes_are_short(path: Path, size: int) -> bool:
    """An mp4 consists of boxes that say how long they are; 0 is the rest of the file."""
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


_CHECKS: dict[str, Callable[[Path, int], bool]] = {
    "mpegts": _transport_is_short,
    "gif": _gif_is_short,
    "nut": _nut_is_short,
    "asf": _asf_is_short,
    "ogg": _ogg_is_short,
    "mov": _boxes_are_short,
}
