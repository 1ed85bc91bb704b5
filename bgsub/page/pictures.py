"""Take single pictures out of videos, and make them small for a page."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

import cv2
import imageio.v3 as iio
import numpy as np

from bgsub.page.films import Film
from bgsub.video import pyav
from bgsub.video.frames import Bytes

_NEAR_S = 3.0
"""Seconds to the next picture up to which decoding goes on instead of seeking."""


def pictures_of(film: Film, places: Sequence[int]) -> Iterator[tuple[int, Bytes]]:
    """Decode the pictures at some places of a film.

    Parameters
    ----------
    film : Film
    places : sequence of int
        From 0, increasing.

    Yields
    ------
    int, ndarray of shape (h, w, 3), uint8
        Place and picture in RGB. What cannot be decoded is missing.

    Notes
    -----
    Decodes from the key frame before each place: of a video of bgsub's, 2 s at most.
    """
    near = int(_NEAR_S / float(film.base))
    with pyav.open_input(film.path.absolute()) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        frames = pyav.pictures(container, stream)
        behind = film.stamps[0] - 1  # stamp of the latest picture that was decoded
        for place in places:
            wanted = int(film.stamps[place])
            if wanted - behind > near:
                container.seek(wanted, stream=stream)
                frames = pyav.pictures(container, stream)
            for frame in frames:
                if frame.pts is None:
                    continue
                behind = frame.pts
                if behind >= wanted:
                    if behind == wanted:
                        yield place, np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)
                    break


def shares_of(film: Film) -> Iterator[float]:
    """Give the share of each picture of a mask that is foreground, decoding all of them."""
    with pyav.open_input(film.path.absolute()) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        for frame in pyav.pictures(container, stream):
            plane = frame.planes[0]
            rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
            luma = rows[: film.height, : film.width]
            yield float(np.count_nonzero(luma >= 128)) / luma.size


def shrunk(picture: Bytes, width: int) -> Bytes:
    """Make a picture no wider than so many pixels."""
    height, wide = picture.shape[:2]
    if wide <= width:
        return picture
    size = (width, max(1, round(height * width / wide)))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def webp(picture: Bytes, quality: int) -> bytes:
    """Encode an RGB picture as WebP, which all browsers show."""
    return bytes(iio.imwrite("<bytes>", picture, extension=".webp", quality=quality))


def data_uri(data: bytes, kind: str = "image/webp") -> str:
    """Write a file's bytes as the address of itself."""
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
