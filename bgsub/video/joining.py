"""Join results that are videos, pictures or arrays one after the other, without a codec."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.packet import Packet
from av.video.stream import VideoStream

from bgsub.errors import OutputError
from bgsub.video import encode, pyav
from bgsub.video.verify import check_count, count_frames, output_error


def join_videos(
    parts: Sequence[tuple[Path, float]], out: Path, *, title: str, rate: Fraction | None
) -> int:
    """Copy the packets of videos that `bgsub.video.sink.VideoSink` wrote into one.

    Parameters
    ----------
    parts : sequence of (Path, float)
        Each with the time of its first frame, in seconds, increasing.
    out : Path
        The file to write, with the suffix of its parts.
    title : str
        Stored in the file.
    rate : Fraction or None
        Frames a second.

    Returns
    -------
    int
        Number of frames in the file, which is that of its parts.

    Raises
    ------
    OutputError
        If the file cannot be written, the parts were encoded in different ways, or what is read
        back differs in a single byte of a packet.
    """
    kind: encode.VideoKind = "mkv" if out.suffix == ".mkv" else "mp4"
    clock = encode.FrameClock(rate, kind)
    wrote = hashlib.sha256()
    count, last = 0, -1
    try:
        with encode.open_container(out, kind, title=title) as target:
            own: Any = None
            for path, begin_s in parts:
                begin = clock.tick(begin_s) * clock.time_base
                with pyav.open_input(path.absolute()) as container:
                    stream = container.streams.video[0]
                    own = own or target.add_stream_from_template(stream)
                    _check_alike(own, stream, path)
                    shift = max(round(begin / Fraction(stream.time_base or 1)), last + 1)
                    for packet in _packets(container, stream):
                        wrote.update(bytes(packet))
                        last = shift + int(packet.pts or 0)
                        packet.pts, packet.dts = last, shift + int(packet.dts or 0)
                        packet.stream = own
                        target.mux(packet)
                        count += 1
    except (av.FFmpegError, OSError, IndexError) as error:
        raise output_error(out, error) from error
    check_count(out, count_frames(out), count)
    if _digest(out) != wrote.hexdigest():
        raise OutputError(f"{out}: differs from what was written; check the disk and run again")
    return count


def _check_alike(own: VideoStream, stream: VideoStream, path: Path) -> None:
    ours, theirs = own.codec_context, stream.codec_context
    if (ours.width, ours.height, ours.extradata) != (theirs.width, theirs.height, theirs.extradata):
        message = f"{path}: was encoded in another way than the segments before it"
        raise OutputError(f"{message}; run all of them with one version of bgsub and of PyAV")


def _packets(container: Any, stream: VideoStream) -> Iterator[Packet[VideoStream]]:
    for packet in container.demux(stream):
        if packet.size and packet.dts is not None:
            yield packet


def _digest(path: Path) -> str:
    read = hashlib.sha256()
    with pyav.open_input(path.absolute()) as container:
        for packet in _packets(container, container.streams.video[0]):
            read.update(bytes(packet))
    return read.hexdigest()


def join_pictures(folders: Sequence[Path], out: Path) -> int:
    """Put the numbered pictures of several folders into one, numbered through.

    Returns
    -------
    int
        Number of pictures.

    Raises
    ------
    OutputError
        If they cannot be written.
    """
    count = 0
    try:
        out.mkdir(exist_ok=True)
        for folder in folders:
            for number in range(1, sum(1 for _ in folder.iterdir()) + 1):
                count += 1
                link_or_copy(folder / f"{number:06d}.png", out / f"{count:06d}.png")
    except OSError as error:
        raise output_error(out, error) from error
    return count


def join_arrays(folders: Sequence[Path], out: Path) -> int:
    """Put the frames of several Zarr arrays into one, a chunk at a time.

    Returns
    -------
    int
        Number of frames.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    import zarr

    parts = [zarr.open_array(store=str(folder), mode="r", zarr_format=2) for folder in folders]
    first, count = parts[0], sum(part.shape[0] for part in parts)
    try:
        target = zarr.create_array(
            store=str(out),
            shape=(count, *first.shape[1:]),
            chunks=first.chunks,
            dtype=first.dtype,
            zarr_format=2,
            attributes=dict(first.attrs),
            config={"write_empty_chunks": True},
        )
        place = 0
        for part in parts:
            for start in range(0, part.shape[0], first.chunks[0]):
                frames = np.asarray(part[start : start + first.chunks[0]])
                target[place : place + len(frames)] = frames
                place += len(frames)
    except OSError as error:
        raise output_error(out, error) from error
    return count


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name, or a copy of that name on file systems without such."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
