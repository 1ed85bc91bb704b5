"""Pixels of decoded frames: views where the format allows it, the file's luma everywhere."""

import av
import numpy as np
import pytest

from bgsub.video.frames import Layout
from bgsub.video.pyav import PictureMaker


def frame(name, height=36, width=50):
    """A picture that is smooth, with planes that are padded behind their rows."""
    y, x = np.mgrid[:height, :width]
    rgb = np.stack([2 * x + y, 200 - 2 * y, 60 + x], axis=-1).astype(np.uint8)
    return av.VideoFrame.from_ndarray(rgb, format="rgb24").reformat(format=name), rgb


def made(shown, kind):
    layout = Layout(kind, shown.height, shown.width)
    return PictureMaker(layout).make(shown)


@pytest.mark.parametrize("name", ["yuv420p", "yuv422p", "yuv444p", "nv12", "yuvj422p"])
def test_luma_alone_is_that_of_the_file_and_not_computed(name):
    shown, _ = frame(name)
    (luma,) = made(shown, "gray").planes
    first = np.frombuffer(memoryview(shown.planes[0]), np.uint8)
    expected = first.reshape(-1, shown.planes[0].line_size)[:36, :50]
    np.testing.assert_array_equal(luma, expected)


@pytest.mark.parametrize("bits", [9, 10, 12, 14, 16])
@pytest.mark.parametrize("end", ["le", "be"])
def test_deep_grey_keeps_its_upper_bits(bits, end):
    levels = np.arange(32, dtype=np.uint16).reshape(4, 8) << (bits - 5)
    raw = levels.astype("<u2" if end == "le" else ">u2")
    shown = av.VideoFrame(8, 4, f"gray{bits}{end}")
    plane = shown.planes[0]
    rows = np.zeros((4, plane.line_size), np.uint8)
    rows[:, :16] = raw.view(np.uint8).reshape(4, 16)
    plane.update(rows.tobytes())
    (gray,) = made(shown, "gray").planes
    np.testing.assert_array_equal(gray, np.arange(32, dtype=np.uint8).reshape(4, 8) << 3)
