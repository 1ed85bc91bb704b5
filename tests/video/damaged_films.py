"""Small films of every codec and container that PyAV writes, and what can happen to a file.

Every film shows `FRAMES` pictures that cannot be taken for one another, even where a part of one is
destroyed, so that a test can tell which picture a frame was decoded from.
"""

from __future__ import annotations

import functools
import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
from av.error import FFmpegError
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

FRAMES = 40
WIDTH, HEIGHT = 64, 48
RATE = 25

os.environ.setdefault("SVT_LOG", "1")  # errors alone

Pictures = NDArray[np.uint8]

_CONTAINERS = (
    "3gp amv apng asf=wmv avi dirac=drc dv f4v filmstrip=flm flv gif gxf h261 h263 h264 hevc "
    "ismv ivf m4v matroska=mkv mjpeg mov mp4 mpeg=mpg mpeg1video=m1v mpeg2video=m2v mpegts=ts "
    "mpjpeg mxf nut obu ogg rm roq smjpeg swf vob webm wtv yuv4mpegpipe=y4m "
)
#: Containers by format name, with the suffix that files of the kind have. What is left out holds no
#: video, a single picture, or is written to devices and networks.
CONTAINERS = {each.partition("=")[0]: each.rpartition("=")[2] for each in _CONTAINERS.split()}

#: Settings that make an encoder quick, quiet, and its bytes the same every time.
_SETTINGS = {
    "libx264": {"g": "10", "bf": "2", "threads": "1", "preset": "veryfast"},
    "libx264rgb": {"g": "10", "threads": "1", "preset": "veryfast"},
    "libx265": {
        "preset": "ultrafast",
        "x265-params": "log-level=none:keyint=10:bframes=2:pools=none:frame-threads=1",
    },
    "libsvtav1": {"preset": "12", "g": "10", "svtav1-params": "lp=1"},
    "libvpx": {"g": "10", "deadline": "realtime", "cpu-used": "8"},
    "libvpx-vp9": {"g": "10", "deadline": "realtime", "cpu-used": "8"},
    "snow": {"g": "10", "strict": "-2"},
    "ffv1": {"level": "3", "slicecrc": "1"},
}


@functools.cache
def pictures(n: int = FRAMES, height: int = HEIGHT, width: int = WIDTH) -> Pictures:
    """Give coloured pictures, shape (n, height, width, 3), that differ from each other all over."""
    y, x = np.mgrid[:height, :width] / 8.0
    shown = []
    for i in range(n):
        step = 2 * np.pi * i * 0.381966  # the golden section: no two frames are near each other
        luma = 128 + 70 * np.sin(x + step) * np.cos(y + 0.37 * step) + 30 * np.sin(step * 1.7)
        red = luma + 20 * np.sin(y + step)
        shown.append(np.stack([red, luma, 255 - red], axis=-1))
    return np.clip(np.stack(shown), 0, 255).astype(np.uint8)


def encoders() -> list[str]:
    """Names of the video encoders of this PyAV that need no special hardware."""
    names = []
    for name in sorted(av.codecs_available):
        try:
            codec = av.Codec(name, "w")
        except (FFmpegError, ValueError):
            continue
        hardware = name.rsplit("_", 1)[-1] in {"amf", "nvenc", "qsv", "v4l2m2m", "vaapi", "mf"}
        if codec.type == "video" and not hardware:
            names.append(codec.name)
    return sorted(set(names))


@functools.cache
def film(
    codec: str,
    container: str,
    n: int = FRAMES,
    muxer: tuple[tuple[str, str], ...] = (),
    **options: str,
) -> bytes | None:
    """Encode the pictures; None where the codec or the container does not take them.

    Parameters
    ----------
    codec, container : str
        FFmpeg's names.
    n : int
        Number of pictures.
    muxer : tuple of (str, str)
        Options of the container.
    options : str
        Of the encoder, beside the usual ones.
    """
    try:
        encoder = av.Codec(codec, "w")
    except (FFmpegError, ValueError):
        return None
    formats = [known.name for known in encoder.video_formats or []] or ["yuv420p"]
    wanted = ("yuvj420p", "yuv420p", "yuv422p", "bgr24", "rgb24", "bgr0", "rgb8", "gray")
    pixel_format = next((name for name in wanted if name in formats), formats[0])
    # Some codecs know few sizes.
    size = {
        "dvvideo": (720, 576),
        "h261": (176, 144),
        "h263": (128, 96),
        "rv10": (176, 144),
        "rv20": (176, 144),
        "h263p": (128, 96),
        "roqvideo": (64, 48),
    }.get(codec, (WIDTH, HEIGHT))
    if container == "gxf":
        size = (720, 576)
    settings = {"g": "10", **_SETTINGS.get(codec, {}), **options}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film"
        try:
            _write(path, codec, container, pixel_format, size, settings, dict(muxer), n)
            return path.read_bytes()
        except (FFmpegError, ValueError, OSError, RuntimeError):
            return None


def _write(
    path: Path,
    codec: str,
    container: str,
    pixel_format: str,
    size: tuple[int, int],
    settings: dict[str, str],
    muxer: dict[str, str],
    n: int,
) -> None:
    with av.open(path, "w", format=container, options=muxer) as output:
        rate = 30 if codec == "roqvideo" else RATE
        stream = output.add_stream(codec, rate=rate, options=settings)
        stream.width, stream.height, stream.pix_fmt = *size, pixel_format
        convert = VideoReformatter().reformat  # one for all: each takes milliseconds to set up
        for image in pictures(n, size[1], size[0]):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            output.mux(stream.encode(convert(frame, format=pixel_format)))
        output.mux(stream.encode(None))


def packet_places(data: bytes) -> list[tuple[int, int]]:
    """Give position and size of the video packets of a film, in the order of the file."""
    try:
        with av.open(io.BytesIO(data)) as container:
            if not container.streams.video:
                return []
            packets = container.demux(video=0)
            return [(p.pos, p.size) for p in packets if p.size and p.pos is not None and p.pos >= 0]
    except FFmpegError:
        return []  # some formats are known by the suffix of a file alone


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip three bits of one picture's data."""
    changed = bytearray(data)
    start, size = _some_packet(data, rng)
    for place in rng.integers(start + size // 8, start + size, 3):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def spoil_packet(data: bytes, rng: np.random.Generator) -> bytes:
    """Overwrite most of one picture's data with noise."""
    changed = bytearray(data)
    start, size = _some_packet(data, rng)
    first = start + min(24, size // 4)
    changed[first : start + size] = rng.bytes(max(0, start + size - first))
    return bytes(changed)


def zero_sector(data: bytes, rng: np.random.Generator) -> bytes:
    """Zero 512 bytes where pictures are, as a disk does that cannot read a sector."""
    changed = bytearray(data)
    sector = _body(data, rng) // 512
    changed[512 * sector : 512 * (sector + 1)] = bytes(
        len(changed[512 * sector : 512 * (sector + 1)])
    )
    return bytes(changed)


def zero_sectors(data: bytes, rng: np.random.Generator) -> bytes:
    """Zero a stretch as long as some pictures."""
    changed = bytearray(data)
    start = _body(data, rng)
    end = min(len(data), start + max(512, len(data) // 12))
    changed[start:end] = bytes(end - start)
    return bytes(changed)


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    """Cut the file off."""
    return data[: int(len(data) * rng.uniform(0.4, 0.95))]


def hole(data: bytes, rng: np.random.Generator) -> bytes:
    """Leave out a stretch as long as some pictures, as a recorder does that loses data."""
    start = _body(data, rng)
    if data[:1] == b"G" and len(data) % 188 == 0:
        start -= start % 188
    length = max(188, len(data) // 12 // 188 * 188)
    return data[:start] + data[start + length :]


def break_headers(data: bytes, rng: np.random.Generator) -> bytes:
    """Overwrite what stands before the data of three pictures: chunk, block or packet headers."""
    changed = bytearray(data)
    for _ in range(3):
        start, _ = _some_packet(data, rng)
        changed[max(0, start - 8) : start] = rng.bytes(min(8, start))
    return bytes(changed)


def lose_first(data: bytes, rng: np.random.Generator) -> bytes:
    """Overwrite the beginning of the first picture, and what stands before it."""
    start, size = (packet_places(data) or [(len(data) // 20, len(data) // 20)])[0]
    changed = bytearray(data)
    first, last = max(0, start - 8), start + min(24, size)
    changed[first:last] = rng.bytes(last - first)
    return bytes(changed)


DAMAGES: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    function.__name__: function
    for function in (
        flip_bits,
        spoil_packet,
        zero_sector,
        zero_sectors,
        cut,
        hole,
        break_headers,
        lose_first,
    )
}


def _some_packet(data: bytes, rng: np.random.Generator) -> tuple[int, int]:
    places = packet_places(data) or [(len(data) // 2, len(data) // 20)]
    return places[int(rng.integers(len(places) // 8, len(places)))]


def _body(data: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(len(data) // 6, len(data) - len(data) // 10))


def shown_picture(luma: Pictures, originals: Pictures) -> tuple[int, float]:
    """Say which picture a frame shows, from 1, and at what share of its pixels it differs.

    Parameters
    ----------
    luma : ndarray of shape (h, w)
    originals : ndarray of shape (n, h, w)
        The frames of the undamaged film.
    """
    near = np.abs(originals.astype(np.int16) - luma) <= 6
    shares = near.mean(axis=(1, 2))
    best = int(np.argmax(shares))
    return best + 1, float(1 - shares[best])
