"""Read the table of packets at the end of an avi."""

from __future__ import annotations

from pathlib import Path

from av.container import InputContainer
from av.video.stream import VideoStream

from bgsub.video import pyav

_CHUNK_HEADER = 8  # before the data that a packet's place is that of
_AVI_HEADER = 1 << 15


def avi_table(
    container: InputContainer, stream: VideoStream, path: Path
) -> list[tuple[int, float]]:
    """Read an avi's table of packets: their places in the file, and times in seconds.

    Empty for other formats, and where the file has no table.
    """
    if container.format.name != "avi" or not _ends_with_table(path):
        return []
    return [
        (entry.pos + _CHUNK_HEADER, pyav.seconds(entry.timestamp, stream.time_base) or 0.0)
        for entry in stream.index_entries
    ]


def data_start(path: Path) -> int | None:
    """Find where the data of the first packet of an avi should be."""
    with path.open("rb") as file:
        start = file.read(_AVI_HEADER).find(b"movi")
    return None if start < 0 else start + len(b"movi") + _CHUNK_HEADER


def _ends_with_table(path: Path) -> bool:
    """Say whether an avi has a table; if not, FFmpeg makes one of what it happens to read."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if b"indx" in file.read(_AVI_HEADER):
            return True
        place = 12
        while place + _CHUNK_HEADER <= size:
            file.seek(place)
            name, length = file.read(4), int.from_bytes(file.read(4), "little")
            if name == b"idx1":
                return place + _CHUNK_HEADER + length <= size
            place += _CHUNK_HEADER + length + length % 2
    return False
