"""Find the films of a run, and take out of them what a page shows: pictures, previews, copies."""

from __future__ import annotations

import base64
import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import av
import cv2
import imageio.v3 as iio
import numpy as np
from av.video.reformatter import VideoReformatter
from numpy.typing import ArrayLike, NDArray

from bgsub.background.model import BackgroundModel
from bgsub.errors import BgsubError, EmptySelectionError, InputError, UsageError
from bgsub.options import ProgressCallback, SourceOptions
from bgsub.page.result import Result, read_result
from bgsub.runtime.files import staged
from bgsub.tracking.events import SceneEvent
from bgsub.video import pyav
from bgsub.video.clip import encode_excerpt
from bgsub.video.frames import Bytes, Frame, Layout, in_color
from bgsub.video.images import read_image
from bgsub.video.sink import find_written
from bgsub.video.source import is_there, open_source

View = Literal["input", "background", "foreground", "mask"]
VIEWS: tuple[View, ...] = ("input", "background", "foreground", "mask")

_PLAYED = {  # codecs that all browsers play, by FFmpeg's name of the container
    "mov,mp4,m4a,3gp,3g2,mj2": {"h264", "av1", "vp9"},
    "matroska,webm": {"vp8", "vp9", "av1"},
}
_PLAYED_PIXELS = {"yuv420p", "yuvj420p"}
_SUFFIXES = {".mp4", ".m4v", ".mov", ".webm"}
_NEAR_S = 3.0  # seconds to the next picture up to which decoding goes on instead of seeking
_TALLEST = 16383  # pixels of the tallest WebP
_MOST_FRAMES, _WIDTH = 400, 240  # frames of a preview, and the width of its pictures
_STILLS = 40  # pictures of a film that browsers do not play, at most
# Width in pixels and quality of thumbnails: the first with which all have room.
_THUMBNAILS = ((192, 60), (144, 50), (96, 40), (80, 30), (64, 20))
_THUMBNAIL_BYTES = 1_500_000  # room for all thumbnails
_THUMBNAILS_TRIED = 24  # of which the size of all is told
_MOST_RUNS = 256  # evenly spaced runs up to which integers are packed as such


@dataclass(frozen=True, eq=False)
class Film:
    """A video, and when those of its pictures that are meant are shown, in units of `base` seconds.

    `start` is the stamp of the file's first picture, from which browsers count.
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
        size = {"width": self.width, "height": self.height}
        stamps = {"shortest": self.shortest, "stamps": pack_integers(self.stamps - self.start)}
        return {"src": src, **size, "base": float(self.base), **stamps}

    def pictures(self, places: Sequence[int]) -> Iterator[tuple[int, Bytes]]:
        """Yield places, increasing from 0, and what decodes of their pictures, (h, w, 3) in RGB."""
        near, convert = int(_NEAR_S / float(self.base)), VideoReformatter().reformat
        with pyav.open_input(self.path.absolute()) as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            frames = pyav.pictures(container, stream)
            behind = self.stamps[0] - 1  # stamp of the latest picture that was decoded
            for place in places:
                wanted = int(self.stamps[place])
                if wanted - behind > near:
                    container.seek(wanted, stream=stream)
                    frames = pyav.pictures(container, stream)
                for frame in frames:
                    if frame.pts is None:
                        continue
                    behind = frame.pts
                    if behind >= wanted:
                        if behind == wanted:
                            shown = convert(frame, format="rgb24").to_ndarray()
                            yield place, np.asarray(shown, np.uint8)
                        break

    def shares(self) -> Iterator[float]:
        """Yield the share of each picture of a mask that is foreground, decoding all of them."""
        with pyav.open_input(self.path.absolute()) as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            for frame in pyav.pictures(container, stream):
                plane = frame.planes[0]
                rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
                luma = rows[: self.height, : self.width]
                yield float(np.count_nonzero(luma >= 128)) / luma.size


def open_film(path: Path, *, any_kind: bool = False) -> Film | None:
    """Read the times of a video's packets; None for no video, or one that browsers do not play."""
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


@dataclass(frozen=True, eq=False)
class Shown:
    """A view of a page: a film of the frames, or why none; stills of an `unplayed` one."""

    view: View
    film: Film | None
    reason: str = ""
    unplayed: Film | None = None
    is_absent: bool = False


def find_view(
    result: Result, view: View, footage: str | None, copies: Path | None, progress: ProgressCallback
) -> Shown:
    """Find a view's film: the run's own, the footage, or a copy in a folder, if one is given."""
    own = find_written(result.folder, view)
    film = None if own is None else open_film(own)
    try:
        if view == "input" and own is None:
            own = Path(footage) if footage is not None and is_there(footage) else None
            # Browsers show footage as the run saw it unless it was cut, or frames are missing.
            is_cut = result.manifest["options"]["source"].get("roi") is not None
            if own is not None and not is_cut and not result.manifest["bad_frames"]:
                film = open_film(own)
                film = film and _selected(film, result.numbers)
        if film is not None:
            return Shown(view, _checked(film, result))
        if own is None:
            if view != "input":
                return Shown(view, None, f"the run wrote no {view}", is_absent=True)
            gone = "its film is not here" if footage is None else "the film of this run is gone"
            return Shown(view, None, gone)
        if copies is not None:
            options = source_options(result.manifest) if view == "input" else {}
            source, target = open_source(str(own), **options), copies / f"{view}.mp4"
            rate = source.rate or Fraction(result.manifest["input"].get("rate") or 25) or None

            def frames() -> Iterator[Frame]:
                for done, frame in enumerate(source, start=1):
                    yield frame
                    progress("copy", done, source.frames_estimate)

            with staged(target, "free some space or choose another --out") as path:
                encode_excerpt(frames(), path, rate=rate, threads=2)
            return Shown(view, _checked(open_film(target), result))
        stills = open_film(own, any_kind=True)
        if stills is not None and stills.stamps.size != result.numbers.size:
            stills = None
        return Shown(view, None, f"browsers do not play {own.name}", stills)
    except (InputError, UsageError, EmptySelectionError) as error:
        return Shown(view, None, str(error))


def _selected(film: Film, numbers: NDArray[np.int64]) -> Film:
    if numbers[-1] > film.stamps.size:
        message = f"{film.path}: holds {film.stamps.size} frames; it is not the film of this run"
        raise InputError(message)
    return replace(film, stamps=film.stamps[numbers - 1])


def _checked(film: Film | None, result: Result) -> Film:
    if film is None:
        raise InputError("the copy cannot be read back")
    if film.stamps.size != result.numbers.size:
        message = f"{film.path.name}: holds {film.stamps.size} pictures"
        raise InputError(f"{message}, but the run used {result.numbers.size} frames")
    if not bool((np.diff(film.stamps) > 0).all()):
        raise InputError(f"{film.path.name}: has times that do not increase")
    return film


def source_options(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options by which a run read its input; masks do not change what is shown."""
    options = SourceOptions.from_json(manifest["options"]["source"] | {"mask_image": None})
    return {name: value for name, value in options.to_json().items() if value is not None}


def link(target: Path, page: Path) -> str:
    """Return the address of a file as seen from a page: relative, and escaped for a link."""
    try:
        relative = os.path.relpath(target.absolute(), page.absolute().parent)
    except ValueError:  # another drive of Windows
        return target.absolute().as_uri()
    address = quote(os.fsencode(Path(relative).as_posix()))
    # A name with a colon must not look like the scheme of an address.
    return f"./{address}" if ":" in address.split("/")[0] else address


def base64_of(data: bytes | NDArray[Any]) -> str:
    """Return bytes, or those of an array, in base64."""
    return base64.b64encode(bytes(data)).decode("ascii")


def data_uri(data: bytes, kind: str) -> str:
    """Return a file's bytes as the address of itself."""
    return f"data:{kind};base64,{base64_of(data)}"


def shrunk(picture: Bytes, width: int) -> Bytes:
    """Return a picture no wider than so many pixels, and no taller than WebP allows."""
    height, wide = picture.shape[:2]
    if wide <= width and height <= _TALLEST:
        return picture
    size = (min(width, wide), max(1, min(_TALLEST, round(height * min(1.0, width / wide)))))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def webp_uri(picture: Bytes, width: int, quality: int) -> str:
    """Return an RGB picture, no wider than so many pixels, as an address."""
    small = shrunk(picture, width)
    data = bytes(iio.imwrite("<bytes>", small, extension=".webp", quality=quality))
    return data_uri(data, "image/webp")


def read_rgb(path: Path) -> Bytes:
    """Read an image file as (h, w, 3) in RGB."""
    return _in_rgb(np.asarray(read_image(path), np.uint8))


def _in_rgb(picture: Bytes) -> Bytes:
    return np.asarray(cv2.cvtColor(in_color(picture), cv2.COLOR_BGR2RGB), np.uint8)


def excerpt_places(result: Result, events: Sequence[SceneEvent]) -> NDArray[np.int64]:
    """Return the places of a preview's frames: around the first peaks, or evenly spaced."""
    n = result.numbers.size
    peaks = [result.place(event.peak_frame) for event in events][:_MOST_FRAMES]
    if not peaks:
        return np.unique(np.linspace(0, n - 1, min(n, _MOST_FRAMES // 4)).astype(np.int64))
    half = max(0, (_MOST_FRAMES // len(peaks) - 1) // 2)
    chosen = [np.arange(max(0, peak - half), min(n, peak + half + 1)) for peak in peaks]
    return np.unique(np.concatenate(chosen))


def expected_bytes(films: Sequence[Film], places: NDArray[np.int64]) -> int:
    """Estimate by how much previews of films make a page larger, from the films' own sizes."""
    per_frame = (
        film.path.stat().st_size / film.stamps.size * min(1.0, _WIDTH / film.width) ** 2
        for film in films
    )
    return round(sum(per_frame) * places.size * 4 / 3)


def embed(film: Film, places: NDArray[np.int64]) -> dict[str, Any]:
    """Return `Film.describe` of a preview, with the video in ``src``, and its ``places``."""
    steps = np.diff(film.stamps)
    kept: list[int] = []
    rate = 1 / (int(np.median(steps)) * film.base) if steps.size else Fraction(25)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "preview.mp4"

        def frames() -> Iterator[Frame]:
            for place, picture in film.pictures(places.tolist()):
                data = cv2.cvtColor(shrunk(picture, _WIDTH), cv2.COLOR_RGB2BGR).astype(np.uint8)
                layout = Layout("bgr", *data.shape[:2])
                yield Frame(place + 1, len(kept) / float(rate), data, layout)
                kept.append(place)

        encode_excerpt(frames(), path, rate=rate)
        made = open_film(path)
        if made is None:
            return {"reason": "none of its pictures can be decoded"}
        src = data_uri(path.read_bytes(), "video/mp4")
        return made.describe(src) | {"places": pack_integers(kept)}


def stills(film: Film, result: Result, events: Sequence[SceneEvent]) -> dict[str, Any]:
    """Return ``places`` and ``pictures`` of the peaks of events, of a film that is not played."""
    wanted = sorted({result.place(event.peak_frame) for event in events[:_STILLS]})
    made = list(film.pictures(wanted or [0]))
    return {
        "places": [place for place, _ in made],
        "pictures": [webp_uri(picture, 320, 55) for _, picture in made],
    }


def make_thumbnails(
    result: Result,
    events: Sequence[SceneEvent],
    films: Mapping[View, Film | None],
    room: int = _THUMBNAIL_BYTES,
) -> dict[int, str]:
    """Return small pictures of the peaks of events, by their numbers, in so many bytes or so."""
    film = films["input"] or films["foreground"] or films["mask"]
    if film is None or not events:
        return {}
    places = sorted({result.place(event.peak_frame) for event in events})
    pictures = {at: shrunk(picture, _THUMBNAILS[0][0]) for at, picture in film.pictures(places)}
    some = list(pictures.values())[:: -(-len(pictures) // _THUMBNAILS_TRIED) or 1]
    for look in _THUMBNAILS:
        size = sum(len(webp_uri(picture, *look)) for picture in some)
        if size * len(pictures) <= room * len(some):
            break
    made = {place: webp_uri(picture, *look) for place, picture in pictures.items()}
    return {event.number: made.get(result.place(event.peak_frame), "") for event in events}


class Scene(NamedTuple):
    """What tracks are drawn over: a picture's address if any, of a frame or the empty scene."""

    picture: str = ""
    frame: int | None = None


def picture_scene(result: Result, films: Mapping[View, Film | None]) -> Scene:
    """Make a picture of the empty scene, or else of a frame that shows as little as can be."""
    still = result.folder / "background.png"
    if still.is_file():
        return Scene(webp_uri(read_rgb(still), 960, 75))
    background = films["background"]
    film = background or films["input"]
    if background is None and (result.folder / "model.npz").is_file():
        with contextlib.suppress(BgsubError):  # of another version: there is still the film
            learned = BackgroundModel.load(result.folder).local
            if learned is not None:
                return Scene(webp_uri(_in_rgb(learned.plate()), 960, 75))
    if film is None:
        return Scene()
    usual = np.ones(result.numbers.size, dtype=bool)
    if result.table is not None and not result.table.outliers.all():
        usual = ~result.table.outliers
    if background is None:
        seen = np.isin(result.numbers, [each.frame for each in result.objects])
        usual = usual & ~seen if (usual & ~seen).any() else usual
    places = np.flatnonzero(usual)
    middle = int(places[places.size // 2])
    for _, picture in film.pictures([middle]):
        number = None if background is not None else int(result.numbers[middle])
        return Scene(webp_uri(picture, 960, 75), number)
    return Scene()


def pack_integers(values: ArrayLike) -> dict[str, Any]:
    """Pack integers as runs of even steps, or as differences where they have no such runs.

    ``{"first": …, "steps": …}``: the differences are little-endian int32 in base64.

    >>> pack_integers([1, 2, 3, 10, 12, 14])
    {'runs': [[1, 1, 3], [10, 2, 3]]}
    """
    numbers = np.asarray(values, dtype=np.int64)
    steps = np.diff(numbers)
    changes = np.flatnonzero(np.diff(steps)) + 1  # where a step differs from the one before
    runs: list[list[int]] = []
    begin = 0
    while begin < numbers.size and len(runs) <= _MOST_RUNS:
        after = changes[np.searchsorted(changes, begin, side="right") :]
        end = int(after[0]) + 1 if after.size else numbers.size
        step = int(steps[begin]) if begin < steps.size else 1
        runs.append([int(numbers[begin]), step, end - begin])
        begin = end
    if len(runs) <= _MOST_RUNS:
        return {"runs": runs}
    return {"first": int(numbers[0]), "steps": base64_of(steps.astype("<i4"))}


@dataclass(frozen=True, eq=False)
class FramePictures:
    """A frame of a run, as it was seen and as it was taken apart.

    Its number counts from 1 in the input. Pictures are (h, w, 3) in RGB, at the size that the run
    worked on, the mask is (h, w) and 255 where something foreign is (H.264 changes that by a few).
    """

    number: int
    time_s: float
    input: Bytes | None
    background: Bytes | None
    foreground: Bytes | None
    mask: Bytes | None

    def __repr__(self) -> str:
        seen = [view for view in VIEWS if getattr(self, view) is not None]
        return f"<frame {self.number} at {self.time_s:g} s: {', '.join(seen) or 'no pictures'}>"


def read_frame(
    folder: Path, manifest: Mapping[str, Any], number: int, footage: str | None
) -> FramePictures:
    """Read the pictures of frame `number`, from 1; footage is decoded up to it."""
    result = read_result(folder, manifest)
    place = result.place(number)
    if result.numbers[place] != number:
        message = f"frame {number}: the run used {result.numbers.size} frames"
        first, last = result.numbers[0], result.numbers[-1]
        raise UsageError(f"{message} from {first} to {last}, and not this one")
    mask, seen = _of_run(result, "mask", place), _of_footage(result, footage, number)
    return FramePictures(
        number=number,
        time_s=float(result.times[place]),
        input=_of_run(result, "input", place) if seen is None else seen,
        background=_of_run(result, "background", place),
        foreground=_of_run(result, "foreground", place),
        mask=None if mask is None else np.ascontiguousarray(mask[..., 0]),
    )


def _of_run(result: Result, view: View, place: int) -> Bytes | None:
    """Read a picture from what the run wrote; None if it wrote none of this view."""
    path = find_written(result.folder, view)
    if path is None:
        return None
    if path.suffix == ".zarr":
        (frame,) = open_source(path, start=place + 1, end=place + 1, exact_color=True)
        return in_color(np.asarray(frame.image, np.uint8))
    if path.is_dir():
        return read_rgb(path / f"{place + 1:06d}.png")
    film = open_film(path, any_kind=True)
    if film is None or film.stamps.size != result.numbers.size:
        raise InputError(f"{path}: does not hold the frames of its run; run bgsub again")
    for _, picture in film.pictures([place]):
        width, height = result.manifest.get("frame_size") or picture.shape[1::-1]
        return picture[:height, :width]  # H.264 has frames of even size
    raise InputError(f"{path}: frame {place + 1} cannot be decoded; run bgsub again")


def _of_footage(result: Result, footage: str | None, number: int) -> Bytes | None:
    if footage is None:
        return None
    options = source_options(result.manifest) | {"start": number, "end": number}
    options.pop("every", None)
    with contextlib.suppress(InputError):
        for frame in open_source(footage, **options, exact_color=True):
            return _in_rgb(frame.layout.to_bgr(frame.data))
    return None
