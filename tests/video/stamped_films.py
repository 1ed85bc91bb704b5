"""Films whose packets have time stamps, with key frames, B-frames and steps of many kinds."""

from __future__ import annotations

import functools
import tempfile
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.conftest import make_scene

N = 130


def encode(path, codec="libx264", *, options=None, stamps=None):
    """Encode N frames, with so many B-frames and key frames as options say."""
    frames = make_scene(N, 48, 64)
    quick = {
        "libx264": {"preset": "veryfast"},
        "libx265": {"preset": "ultrafast"},
        "libvpx": {"deadline": "realtime", "cpu-used": "8"},
    }
    with av.open(str(path), "w") as container:
        stream = container.add_stream(
            codec, rate=25, options={**quick.get(codec, {}), **(options or {})}
        )
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.codec_context.time_base = base = Fraction(1, 25 if stamps is None else 1000)
        for number, image in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(image, format="rgb24")
            picture.time_base = base
            picture.pts = number if stamps is None else int(stamps[number])
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return path


VARIABLE = np.cumsum(np.random.default_rng(3).integers(20, 400, N))

FILMS = {
    "B-frames": ("a.mp4", "libx264", {"g": "20", "bf": "3"}, None),
    "open GOPs": ("a.mkv", "libx264", {"g": "20", "bf": "3", "x264-params": "open-gop=1"}, None),
    "open GOPs, stream": (
        "a.ts",
        "libx264",
        {"g": "20", "bf": "2", "x264-params": "open-gop=1"},
        None,
    ),
    "variable rate": ("a.mkv", "libx264", {"g": "30", "bf": "2"}, VARIABLE),
    "intra refresh": ("a.mkv", "libx264", {"g": "25", "x264-params": "intra-refresh=1"}, None),
    "MPEG-4": ("a.mp4", "mpeg4", {"g": "12", "bf": "2"}, None),
    "MPEG-2 stream": ("a.ts", "mpeg2video", {"g": "15", "bf": "2"}, None),
    "H.265": ("a.mp4", "libx265", {"x265-params": "keyint=20:log-level=none:bframes=3"}, None),
    "every frame": ("a.mkv", "mjpeg", {}, None),
    "one key frame": ("a.mp4", "libx264", {"g": "1000"}, None),
}


def stamped_film(folder, name):
    """Encode one of `FILMS` into a folder."""
    if FILMS[name][1] not in av.codecs_available:
        pytest.skip(f"this PyAV has no {FILMS[name][1]}")
    path = folder / FILMS[name][0]
    path.write_bytes(_encoded(name))
    return path


@functools.cache
def _encoded(name):
    name, codec, options, stamps = FILMS[name]
    with tempfile.TemporaryDirectory() as folder:
        return encode(Path(folder) / name, codec, options=options, stamps=stamps).read_bytes()
