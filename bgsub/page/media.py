"""Pack numbers for a page: few bytes, and exactly what was given."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import av
import cv2
import imageio.v3 as iio
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgsub.errors import BgsubError, InputError, cannot_write
from bgsub.page.result import Result
from bgsub.runtime.files import alone_in, make_folder
from bgsub.tracking.events import SceneEvent
from bgsub.video import pyav
from bgsub.video.frames import Bytes, Layout
from bgsub.video.images import read_image
from bgsub.video.sink import open_sink
from bgsub.video.source import FrameSource, open_source

_MOST_RUNS = 256
"""Evenly spaced runs up to which integers are packed as such."""


def pack_integers(values: ArrayLike) -> dict[str, Any]:
    """Pack integers as runs of even steps, or as differences where they have no such runs.

    Parameters
    ----------
    values : array_like of int, shape (n,)
        The difference of two neighbours must fit into 32 bits.

    Returns
    -------
    dict
        ``{"runs": [[first, step, count], …]}``, or ``{"first": …, "steps": …}`` with the
        differences as little-endian int32 in base64.

    Examples
    --------
    >>> pack_integers([1, 2, 3, 10, 12, 14])
    {'runs': [[1, 1, 3], [10, 2, 3]]}
    """
    numbers = np.asarray(values, dtype=np.int64)
    if numbers.size == 0:
        return {"runs": []}
    steps = np.diff(numbers)
    runs = _runs(numbers, steps)
    if runs is not None:
        return {"runs": runs}
    return {"first": int(numbers[0]), "steps": _base64(steps.astype("<i4"))}


def _runs(numbers: NDArray[np.int64], steps: NDArray[np.int64]) -> list[list[int]] | None:
    """Part integers into runs of one step; None where there are too many."""
    changes = np.flatnonzero(np.diff(steps)) + 1
    if changes.size > 2 * _MOST_RUNS:
        return None
    runs: list[list[int]] = []
    begin = 0
    while begin < numbers.size:
        after = changes[np.searchsorted(changes, begin, side="right") :]
        end = int(after[0]) + 1 if after.size else numbers.size
        step = int(steps[begin]) if begin < steps.size else 1
        runs.append([int(numbers[begin]), step, end - begin])
        begin = end
    return runs if len(runs) <= _MOST_RUNS else None


def pack_floats(values: ArrayLike) -> str:
    """Pack numbers as little-endian float32 in base64; seven digits are kept."""
    return _base64(np.asarray(values, dtype="<f4"))


def pack_flags(flags: NDArray[np.bool_]) -> str:
    """Pack truth values as bits in base64, the first in the lowest bit."""
    return _base64(np.packbits(flags, bitorder="little"))


def _base64(values: NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def frames_shown(
    series: list[NDArray[np.float64]], always: NDArray[np.bool_], most: int
) -> NDArray[np.int64]:
    """Choose the frames whose values a page holds, so that no peak and no dip is lost.

    Parameters
    ----------
    series : list of ndarray of shape (n,)
        The curves.
    always : ndarray of bool, shape (n,)
        Frames that are kept if they can be; those behind others in a stretch of them go first.
    most : int
        Frames up to which all are kept.

    Returns
    -------
    ndarray of int64
        Places, increasing, about `most` at most: all, or of every stretch of equal length those of
        the lowest and the highest value of every curve, and those of `always`.
    """
    n = always.size
    if n <= most:
        return np.arange(n)
    kept = np.zeros(n, dtype=bool)
    kept[[0, n - 1]] = True
    room = most // 2
    kept[_thinned(always, room)] = True
    bins = max(1, (most - int(kept.sum())) // max(2 * len(series), 1))
    edges = np.linspace(0, n, bins + 1).astype(np.int64)
    for values in series:
        finite = np.nan_to_num(values, nan=0.0)
        for begin, end in pairwise(edges.tolist()):
            if end > begin:
                part = finite[begin:end]
                kept[[begin + int(part.argmin()), begin + int(part.argmax())]] = True
    return np.flatnonzero(kept)


def _thinned(always: NDArray[np.bool_], room: int) -> NDArray[np.int64]:
    """Keep all places where there is room, else the first and last of each stretch."""
    places = np.flatnonzero(always)
    if places.size <= room:
        return places
    edges = always & ~(np.roll(always, 1) & np.roll(always, -1))
    ends = np.flatnonzero(edges)
    return ends[:: -(-ends.size // max(room, 1)) or 1]


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
        """Return what a page needs to play it and to find a picture, as plain JSON."""
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
    """Return a film of which only some pictures are meant.

    Parameters
    ----------
    numbers : ndarray of int64
        Of the pictures, from 1.
    """
    if numbers.size == 0 or numbers[-1] > film.stamps.size:
        message = f"{film.path}: holds {film.stamps.size} frames; it is not the film of this run"
        raise InputError(message)
    return replace(film, stamps=film.stamps[numbers - 1])


def link(target: Path, page: Path) -> str:
    """Return the address of a file as seen from a page: relative, and escaped for a link.

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


_NEAR_S = 3.0
"""Seconds to the next picture up to which decoding goes on instead of seeking."""


def pictures_of(film: Film, places: Sequence[int]) -> Iterator[tuple[int, Bytes]]:
    """Decode the pictures at some places of a film.

    Parameters
    ----------
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
    """Yield the share of each picture of a mask that is foreground, decoding all of them."""
    with pyav.open_input(film.path.absolute()) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        for frame in pyav.pictures(container, stream):
            plane = frame.planes[0]
            rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
            luma = rows[: film.height, : film.width]
            yield float(np.count_nonzero(luma >= 128)) / luma.size


_TALLEST = 16383


def shrunk(picture: Bytes, width: int) -> Bytes:
    """Make a picture no wider than so many pixels, and no taller than WebP allows."""
    height, wide = picture.shape[:2]
    if wide <= width and height <= _TALLEST:
        return picture
    size = (min(width, wide), max(1, min(_TALLEST, round(height * min(1.0, width / wide)))))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def webp(picture: Bytes, quality: int) -> bytes:
    """Encode an RGB picture as WebP, which all browsers show."""
    return bytes(iio.imwrite("<bytes>", picture, extension=".webp", quality=quality))


def data_uri(data: bytes, kind: str = "image/webp") -> str:
    """Write a file's bytes as the address of itself."""
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


_HEAT_WIDTH = 960
_MOST_FRAMES = 400
_WIDTH = 240
_STILLS, _STILL_WIDTH = 40, 320


def excerpt_places(result: Result, events: Sequence[SceneEvent]) -> NDArray[np.int64]:
    """Choose the frames of a preview: those around the peaks of events, or evenly spaced ones.

    Parameters
    ----------
    events : sequence of SceneEvent
        Where they are many, those that come first.

    Returns
    -------
    ndarray of int64
        Their places, increasing, 400 at most.
    """
    n = result.numbers.size
    peaks = [result.place(event.peak_frame) for event in events][:_MOST_FRAMES]
    if not peaks:
        return np.unique(np.linspace(0, n - 1, min(n, _MOST_FRAMES // 4)).astype(np.int64))
    half = max(0, (_MOST_FRAMES // len(peaks) - 1) // 2)
    chosen = [np.arange(max(0, peak - half), min(n, peak + half + 1)) for peak in peaks]
    return np.unique(np.concatenate(chosen))


def expected_bytes(films: Sequence[Film], places: NDArray[np.int64]) -> int:
    """Estimate by how much previews of films make a page larger, from the films' own sizes."""
    return round(sum(_bytes_per_frame(film) for film in films) * places.size * 4 / 3)


def _bytes_per_frame(film: Film) -> float:
    scale = min(1.0, _WIDTH / film.width) ** 2
    return film.path.stat().st_size / film.stamps.size * scale


def embed(film: Film, places: NDArray[np.int64]) -> dict[str, Any]:
    """Encode a preview of a film.

    Parameters
    ----------
    places : ndarray of int64
        Its pictures, increasing.

    Returns
    -------
    dict
        As `Film.describe` gives it, with the ``places`` of its pictures; the video is in ``src``.
    """
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "preview.mp4"
        sink = None
        try:
            for place, picture in pictures_of(film, places.tolist()):
                small = cv2.cvtColor(shrunk(picture, _WIDTH), cv2.COLOR_RGB2BGR).astype(np.uint8)
                if sink is None:
                    layout = Layout("bgr", *small.shape[:2])
                    sink = open_sink(path, "preview", layout=layout, kind="mp4", rate=_rate(film))
                sink.write(small)
                kept.append(place)
            if sink is not None:
                sink.close()
        except BaseException:
            if sink is not None:
                sink.abort()
            raise
        made = open_film(path)
        if made is None:
            return {"reason": "none of its pictures can be decoded"}
        src = data_uri(path.read_bytes(), "video/mp4")
        return made.describe(src) | {"places": pack_integers(kept)}


def _rate(film: Film) -> Fraction:
    steps = np.diff(film.stamps)
    return 1 / (int(np.median(steps)) * film.base) if steps.size else Fraction(25)


def stills(film: Film, result: Result, events: Sequence[SceneEvent]) -> Mapping[str, Any]:
    """Make pictures of the peaks of events, of a film that browsers do not play.

    Returns
    -------
    dict
        ``places`` and, for each, the address of its picture.
    """
    wanted = sorted({result.place(event.peak_frame) for event in events[:_STILLS]})
    made = list(pictures_of(film, wanted or [0]))
    return {
        "places": [place for place, _ in made],
        "pictures": [data_uri(webp(shrunk(picture, _STILL_WIDTH), 55)) for _, picture in made],
    }


_THUMBNAILS = ((192, 60), (144, 50), (96, 40), (80, 30), (64, 20))
"""Width in pixels and quality of thumbnails: the first with which all have room."""

_THUMBNAIL_BYTES = 1_100_000
"""Room for all thumbnails, without the third that base64 adds."""

_THUMBNAILS_TRIED = 24

_BACKGROUND_WIDTH = 960

_STILL = "background.png"
"""The picture of the empty scene that a run writes."""


def make_thumbnails(
    result: Result, events: Sequence[SceneEvent], films: Mapping[View, Film | None]
) -> dict[int, str]:
    """Make small pictures of the peaks of events, by their numbers."""
    film = films["input"] or films["foreground"] or films["mask"]
    if film is None or not events:
        return {}
    places = sorted({result.place(event.peak_frame) for event in events})
    widest = _THUMBNAILS[0][0]
    pictures = {place: shrunk(picture, widest) for place, picture in pictures_of(film, places)}
    width, quality = _thumbnail_size(list(pictures.values()))
    made = {
        place: data_uri(webp(shrunk(picture, width), quality))
        for place, picture in pictures.items()
    }
    return {event.number: made.get(result.place(event.peak_frame), "") for event in events}


def _thumbnail_size(pictures: Sequence[Bytes]) -> tuple[int, int]:
    """Choose width and quality of thumbnails, by the size that some of them would have."""
    some = pictures[:: -(-len(pictures) // _THUMBNAILS_TRIED) or 1]
    for width, quality in _THUMBNAILS:
        mean = sum(len(webp(shrunk(each, width), quality)) for each in some) / max(len(some), 1)
        if mean * len(pictures) <= _THUMBNAIL_BYTES:
            return width, quality
    return _THUMBNAILS[-1]


def picture_heat(folder: Path) -> str:
    """Make a picture of the heat map of a run; empty where it wrote none."""
    path = folder / "heatmap.png"
    if not path.is_file():
        return ""
    shown = np.asarray(cv2.cvtColor(read_image(path), cv2.COLOR_BGR2RGB), dtype=np.uint8)
    return data_uri(webp(shrunk(shown, _HEAT_WIDTH), 85))


def picture_scene(result: Result, films: Mapping[View, Film | None]) -> str:
    """Make a picture of the empty scene: the run's own, or that of a frame that fits it."""
    still = result.folder / _STILL
    if still.is_file():
        empty = read_image(still)
        order = cv2.COLOR_GRAY2RGB if empty.ndim == 2 else cv2.COLOR_BGR2RGB
        shown = np.asarray(cv2.cvtColor(empty, order), dtype=np.uint8)
        return data_uri(webp(shrunk(shown, _BACKGROUND_WIDTH), 75))
    film = films["background"] or films["input"]
    if film is None:
        return ""
    usual = np.arange(result.numbers.size)
    if result.table is not None and not result.table.outliers.all():
        usual = np.flatnonzero(~result.table.outliers)
    middle = int(usual[usual.size // 2])
    for _, picture in pictures_of(film, [middle]):
        return data_uri(webp(shrunk(picture, _BACKGROUND_WIDTH), 75))
    return ""


Progress = Callable[[str, int, int | None], None]
"""Called with a stage, the frames done and their number if it is known."""


def copy_footage(
    footage: str | Path,
    target: Path,
    options: Mapping[str, Any],
    *,
    rate: Fraction | None = None,
    progress: Progress,
) -> None:
    """Write the frames of some footage as H.264, under a temporary name until it is complete.

    Parameters
    ----------
    footage : path
        A video, images or an array, as `bgsub.open_source` takes them.
    target : Path
        The .mp4 file; its folder is made, and a file of that name replaced.
    options : mapping
        Keywords of `bgsub.open_source`: those of the run, so that the frames are the same.
    rate : Fraction, optional
        Frames a second, for footage that does not say.

    Notes
    -----
    Decodes and encodes every frame: 5 to 10 ms each at 1280×720.
    """
    source = open_source(str(footage), **options)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(target.parent):
            claim = make_folder(target.parent)
        staged = claim.path / target.name
        try:
            _encode(source, staged, source.rate or rate, progress)
            os.replace(staged, target)  # noqa: PTH105 - replaces on Windows too
        finally:
            claim.remove()
    except OSError as error:
        raise cannot_write(target, error, "free some space or choose another --out") from error


def _encode(source: FrameSource, path: Path, rate: Fraction | None, progress: Progress) -> None:
    sink = open_sink(path, path.stem, layout=source.layout, kind="mp4", rate=rate, threads=2)
    try:
        for done, frame in enumerate(source, start=1):
            sink.write(frame.data, frame.time_s)
            progress("copy", done, source.frames_estimate)
        sink.close()
    except BaseException:
        sink.abort()
        raise
