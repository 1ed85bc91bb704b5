"""Find the videos of a result that browsers play, and when each of their pictures is shown."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import av
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import BgsubError, InputError
from bgsub.page.packing import pack_integers
from bgsub.video import pyav

View = Literal["input", "background", "foreground", "mask"]
VIEWS: tuple[View, ...] = ("input", "background", "foreground", "mask")

_PLAYED = {
    "mov,mp4,m4a,3gp,3g2,mj2": {"h264", "av1", "vp9"},
    "matroska,webm": {"vp8", "vp9", "av1"},
}
"""Codecs that all browsers play, by FFmpeg's name of the container."""

_PLAYED_PIXELS = {"yuv420p", "yuvj420p"}
_SUFFIXES = {".mp4", ".m4v", ".mov", ".webm"}


@dataclass(frozen=True, eq=False)
class Film:
    """A video that a browser plays.

    Attributes
    ----------
    path : Path
    width, height : int
        Of its pictures in pixels.
    stamps : ndarray of int64, shape (n,)
        When each picture that is meant is shown, increasing, in units of `base`.
    base : Fraction
        Seconds.
    start : int
        When the first picture of the file is shown, from which browsers count.
    shortest : int
        The shortest time for which a picture of the file is shown.
    """

    path: Path
    width: int
    height: int
    stamps: NDArray[np.int64]
    base: Fraction
    start: int
    shortest: int

    def describe(self, src: str) -> dict[str, Any]:
        """Give what a page needs to play it and to find a picture, as plain JSON."""
        return {
            "src": src,
            "width": self.width,
            "height": self.height,
            "base": float(self.base),
            "shortest": self.shortest,
            "stamps": pack_integers(self.stamps - self.start),
        }


def open_film(path: Path, *, any_kind: bool = False) -> Film | None:
    """Read the times of a video's pictures; None if browsers do not play it, or it is no video.

    All packets are read, none is decoded. `any_kind` takes what browsers do not play, too.
    """
    if not path.is_file() or not (any_kind or path.suffix.lower() in _SUFFIXES):
        return None
    try:
        with pyav.open_input(path.absolute()) as container:
            stream = container.streams.video[0]
            codec = stream.codec_context
            is_known = codec.name in _PLAYED.get(container.format.name, ())
            if not any_kind and not (is_known and codec.pix_fmt in _PLAYED_PIXELS):
                return None
            base = pyav.fraction(stream.time_base)
            width, height = codec.width, codec.height
            stamps = [
                packet.pts
                for packet in container.demux(stream)
                if packet.pts is not None and packet.size and not packet.is_discard
            ]
    except (av.FFmpegError, OSError, ValueError, IndexError, BgsubError):
        return None
    if base is None or not stamps:
        return None
    shown = np.unique(np.array(stamps, dtype=np.int64))
    shortest = int(np.diff(shown).min()) if shown.size > 1 else 0
    return Film(path, width, height, shown, base, int(shown[0]), shortest)


def of_results(folder: Path, view: View) -> Path | None:
    """Find what a run wrote of a view: a video, a folder of pictures or an array."""
    for name in (f"{view}.mp4", f"{view}.mkv", view, f"{view}.zarr"):
        if (folder / name).exists():
            return folder / name
    return None


def select(film: Film, numbers: NDArray[np.int64]) -> Film:
    """Give a film of which only some pictures are meant.

    Parameters
    ----------
    film : Film
    numbers : ndarray of int64
        Of the pictures, from 1.

    Raises
    ------
    InputError
        If it has no such picture.
    """
    if numbers.size == 0 or numbers[-1] > film.stamps.size:
        message = f"{film.path}: holds {film.stamps.size} frames; it is not the film of this run"
        raise InputError(message)
    return replace(film, stamps=film.stamps[numbers - 1])


def link(target: Path, page: Path) -> str:
    """Give the address of a file as seen from a page: relative, and escaped for a link.

    Examples
    --------
    >>> link(Path("results/mask.mp4"), Path("results/report.html"))
    'mask.mp4'
    >>> link(Path("a #1/mask?.mp4"), Path("pages/report.html"))
    '../a%20%231/mask%3F.mp4'
    """
    try:
        relative = os.path.relpath(target.absolute(), page.absolute().parent)
    except ValueError:  # another drive of Windows
        return target.absolute().as_uri()
    address = quote(os.fsencode(Path(relative).as_posix()))
    # A name with a colon must not look like the scheme of an address.
    return f"./{address}" if ":" in address.split("/")[0] else address
