"""Footage made on the spot: smooth moving pictures and files of every kind that hold them."""

from fractions import Fraction

import av
import numpy as np
import pytest


def make_scene(n=6, height=48, width=64, *, color=True):
    """Smooth pictures that move and never repeat; RGB, or grey without `color`."""
    y, x = np.mgrid[:height, :width].astype(np.float64)
    frames = []
    for i in range(n):
        red = 128 + 90 * np.sin((x + 5 * i) / 17)
        green = 128 + 80 * np.cos((y - 3 * i) / 13)
        blue = 40 + 150 * (x + y) / (height + width) + 4 * i
        frames.append(np.stack([red, green, blue], axis=-1))
    scene = np.clip(np.stack(frames), 0, 255).astype(np.uint8)
    return scene if color else scene[..., 1].copy()


def encode(path, frames, codec="libx264", pixel_format="yuv420p", **settings):
    """Write frames to a video file with PyAV; None where the build lacks the encoder."""
    times = settings.pop("times", None)
    rate = settings.pop("rate", 25)
    container_options = settings.pop("container_options", {})
    container_format = settings.pop("container_format", None)
    color_range = settings.pop("color_range", None)
    options = settings.pop("options", {})
    if codec == "libx264":
        # Its macroblock tree of pictures this small, by vector code, is another one in each run.
        options = {"x264-params": "mbtree=0"} | options
    assert not settings
    with av.open(str(path), "w", format=container_format, options=container_options) as container:
        stream = container.add_stream(codec, rate=rate, options=options)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = pixel_format
        if color_range is not None:
            stream.codec_context.color_range = color_range
        if times is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        for index, image in enumerate(frames):
            if image.ndim == 3:
                kind = "rgba" if image.shape[2] == 4 else "rgb24"
            else:
                kind = "gray" if image.dtype == np.uint8 else "gray16le"
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format=kind)
            if times is not None:
                frame.pts, frame.time_base = round(times[index] * 1000), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.fixture
def scene():
    return make_scene


@pytest.fixture
def make_video(tmp_path):
    """Encode frames into a file of tmp_path."""

    def make(name, frames, *arguments, **settings):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return encode(path, frames, *arguments, **settings)

    return make
