"""Scenes with an exact truth, made of real film: for ``benchmarks.masks --synthetic|--staying``.

Objects are cut out of one recording by its hand-drawn truth and moved over the empty film of
another, with its noise: as they are or with a share of their contrast, through codecs, with a light
that drifts, with soft shadows, before a camera that moves, in gusts, at rest, or as faint as in
thermal film. All is drawn from the recordings of a folder with fixed seeds: the same folder gives
the same pictures, which x264 does not always code alike (F of room_crf35 .02 apart). They need
moved_object, sleeper, light_switch, hall_and_monitor, board, highway, highway_shadows and
robustness/brightness_change.avi; those of people who stay (`staying`) sits_down too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, cast

import av
import numpy as np

from benchmarks.compositing import (
    RATE,
    Cut,
    Drawn,
    Place,
    Singles,
    back_and_forth,
    clouded,
    composed,
    cuts,
    drifting,
    emptied,
    film,
    gusty,
    knocked,
    moved,
    shaded,
    trembling,
    warm,
)
from benchmarks.footage import Footage
from benchmarks.staying import CHOOSING, JUDGING
from bgsub.video.frames import Bytes
from bgsub.video.images import write_image


class Codec(NamedTuple):
    """A codec of FFmpeg, the arrangement of its pixels, and its options."""

    name: str
    pixels: str
    options: dict[str, str]


LOSSLESS = Codec("ffv1", "bgr0", {})


def x264(crf: int) -> Codec:
    """Return a lossy codec that makes the same film of the same pictures.

    Its trees of macroblocks do not: at heights that are no multiple of 16 they hang on what was
    in memory before, and a film made twice was .71 and .80 worth.
    """
    return Codec("libx264", "yuv420p", {"crf": str(crf), "x264-params": "mbtree=0:threads=1"})


_LOW = x264(35)
_JPEG = Codec("mjpeg", "yuvj420p", {"qmin": "12", "qmax": "12"})


def write(
    folder: Path, frames: Iterable[tuple[Bytes, Bytes | None]], codec: Codec, rate: float = RATE
) -> Footage:
    """Write pictures as a film, and beside it the truths of those that have one, as CDnet does."""
    (folder / "groundtruth").mkdir(parents=True)
    name = folder / "film.mkv"
    with av.open(name, "w") as box:
        added = box.add_stream(codec.name, Fraction(rate), codec.options)
        stream = cast("av.VideoStream", added)
        stream.pix_fmt = codec.pixels
        stream.codec_context.thread_count = 1  # the same bytes on every machine
        for number, (picture, truth) in enumerate(frames, 1):
            if number == 1:
                stream.height, stream.width = picture.shape[:2]
            form = "gray" if picture.ndim == 2 else "bgr24"
            box.mux(stream.encode(av.VideoFrame.from_ndarray(picture, form)))
            if truth is not None:
                write_image(folder / "groundtruth" / f"gt{number:06d}.png", truth)
        box.mux(stream.encode(None))
    return Footage(folder.name, str(name), str(folder))


def _rounded(frames: Iterable[Drawn]) -> Iterator[tuple[Bytes, Bytes]]:
    for picture, share in frames:
        image = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
        yield image, np.where(share >= 0.5, np.uint8(255), np.uint8(0))


def _room(data: Path) -> tuple[list[Singles], list[Cut]]:
    """Return a meeting room, and men of a corridor who walk through it."""
    size, place = (160, 120), Place(0.7, -40, -20, 0.35)
    empty = film(data / "moved_object" / "moved_object.mp4", range(200, 450), size)
    return empty, cuts(data, "hall_and_monitor", range(24, 274), size, place)


def _road(data: Path) -> tuple[list[Singles], list[Cut]]:
    """Return a road between trees, and cars of another one."""
    empty = emptied(data, "highway", range(700, 900), top=80)
    return empty, cuts(data, "highway_shadows", range(2, 202), (320, 160), Place(0.6, 80, 15))


def _desk(data: Path) -> tuple[list[Singles], list[Cut]]:
    """Return a desk before a pin board, and two men close to the camera, before most of it."""
    size = 160, 120
    empty = film(data / "sleeper" / "sleeper.mp4", range(560, 760), size)
    return empty, cuts(data, "board", range(20, 220), size, Place(0.75, 0, 5))


def _street(data: Path) -> tuple[list[Singles], list[Cut]]:
    """Return a street whose exposure is corrected again and again, and men of a corridor."""
    size, place = (320, 240), Place(0.8, -30, 30, 0.5)
    once = film(data / "robustness" / "brightness_change.avi", range(59), size, top=1.0)
    empty = back_and_forth(once, 240)
    return empty, cuts(data, "hall_and_monitor", range(24, 264), size, place)


def _office(data: Path) -> tuple[list[Singles], list[Cut]]:
    """Return a small room, and a man who comes in and stands there for half of the film."""
    size, place = (160, 120), Place(0.7, -30, -20)
    walking = cuts(data, "hall_and_monitor", range(20, 296), size, place)
    standing = back_and_forth(walking[24:30], 150)
    men = [*walking[:24], *standing, *walking[24:60], *walking[186:]]
    empty = film(data / "light_switch" / "light_switch.mp4", range(100, 100 + len(men)), size)
    return empty, men


SCENES: dict[str, tuple[Callable[[Path], Iterable[Drawn]], Codec]] = {
    "room": (lambda data: composed(*_room(data)), LOSSLESS),
    "room_half": (lambda data: composed(*_room(data), 0.5), LOSSLESS),
    "room_quarter": (lambda data: composed(*_room(data), 0.25), LOSSLESS),
    "room_crf35": (lambda data: composed(*_room(data)), _LOW),
    "room_mjpeg": (lambda data: composed(*_room(data)), _JPEG),
    "room_tremor": (lambda data: moved(composed(*_room(data)), trembling(3)), LOSSLESS),
    "room_shaken": (lambda data: moved(composed(*_room(data)), trembling(10)), LOSSLESS),
    "room_turned": (lambda data: moved(composed(*_room(data)), trembling(4, 1)), LOSSLESS),
    "room_knocked": (lambda data: moved(composed(*_room(data)), knocked), LOSSLESS),
    "room_drifts": (lambda data: moved(composed(*_room(data)), drifting), LOSSLESS),
    "street_clouds": (lambda data: clouded(composed(*_street(data))), LOSSLESS),
    "road_shadows": (lambda data: shaded(*_road(data)), LOSSLESS),
    "road_gusts": (lambda data: gusty(*_road(data)), LOSSLESS),
    "road_warm": (lambda data: warm(*_road(data)), LOSSLESS),
    "desk_crowded": (lambda data: composed(*_desk(data)), LOSSLESS),
    "office_stays": (lambda data: composed(*_office(data)), LOSSLESS),
}
"""How each scene is drawn from the recordings of a folder, and the codec it is written with."""


STAYING = {name: (draw, LOSSLESS) for name, draw in {**CHOOSING, **JUDGING}.items()}
"""The same of people and things that stay."""


def make(name: str, data: Path, folder: Path) -> Footage:
    """Draw a scene and write it below a folder."""
    drawn, codec = {**SCENES, **STAYING}[name]
    return write(folder / name, _rounded(drawn(data)), codec)
