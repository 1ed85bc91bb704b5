"""The frames that encoders take, before any loss."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from av.video.frame import VideoFrame

from bgsub.video.encode import ffv1_frame, h264_frame, plane_views, split
from bgsub.video.frames import Layout
from tests.video.ranges import COMPRESS_CHROMA, COMPRESS_LUMA

RNG = np.random.default_rng(5)


def smooth(height, width):
    noise = RNG.integers(40, 216, (4, 4, 3), dtype=np.uint8)
    return cv2.resize(noise, (width, height), interpolation=cv2.INTER_LINEAR)


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (7, 10), (10, 7), (33, 41), (64, 96)])
def test_yuv420_is_only_looked_up(size):
    layout = Layout("yuv420", *size)
    vector = RNG.integers(0, 256, layout.size, dtype=np.uint8)
    pixels, planes = split(vector, layout)
    assert pixels == "yuv420"
    frame = h264_frame(pixels, planes)
    y, u, v = plane_views(frame)
    height, width = size
    even = np.pad(planes[0], ((0, height % 2), (0, width % 2)), mode="edge")
    np.testing.assert_array_equal(y, COMPRESS_LUMA[even])
    np.testing.assert_array_equal(u, COMPRESS_CHROMA[planes[1]])
    np.testing.assert_array_equal(v, COMPRESS_CHROMA[planes[2]])


@pytest.mark.parametrize("size", [(1, 1), (7, 10), (10, 7), (64, 96)])
def test_grey_has_no_colour(size):
    image = RNG.integers(0, 256, size, dtype=np.uint8)
    y, u, v = plane_views(h264_frame("gray", (image,)))
    np.testing.assert_array_equal(y[: size[0], : size[1]], COMPRESS_LUMA[image])
    assert (u == 128).all()
    assert (v == 128).all()


def test_colours_are_as_near_as_those_of_swscale():
    image = smooth(64, 96)
    ours = h264_frame("bgr", (image,))
    theirs = VideoFrame.from_ndarray(image, "bgr24").reformat(format="yuv420p")
    for our_plane, their_plane in zip(plane_views(ours), plane_views(theirs), strict=True):
        assert np.abs(our_plane.astype(int) - their_plane).max() <= 3
    for frame in (ours, theirs):
        back = frame.reformat(format="bgr24").to_ndarray().astype(int)
        assert np.abs(back - image).mean() < 2.5


def test_odd_pictures_are_continued_in_colour():
    image = np.zeros((3, 3, 3), np.uint8)
    image[:, 2] = (200, 30, 90)
    _, u, v = plane_views(h264_frame("bgr", (image,)))
    _, red, blue = cv2.cvtColor(image, cv2.COLOR_BGR2YCrCb)[0, 2]
    assert (u[:, 1] == COMPRESS_CHROMA[blue]).all()
    assert (v[:, 1] == COMPRESS_CHROMA[red]).all()


def test_ffv1_frames_hold_the_bytes():
    image = RNG.integers(0, 256, (7, 9, 3), dtype=np.uint8)
    [view] = plane_views(ffv1_frame("bgr", (image,)), channels=4)
    np.testing.assert_array_equal(view[:, :, :3], image)
    [view] = plane_views(ffv1_frame("gray", (image[:, :, 0],)))
    np.testing.assert_array_equal(view, image[:, :, 0])
    deep = RNG.integers(0, 1 << 16, (7, 9), dtype=np.uint16)
    np.testing.assert_array_equal(ffv1_frame("gray16", (deep,)).to_ndarray(), deep)


def test_split_copies_nothing():
    layout = Layout("bgr", 5, 7)
    vector = RNG.integers(0, 256, layout.size, dtype=np.uint8)
    pixels, [image] = split(vector, layout)
    assert pixels == "bgr"
    assert np.shares_memory(image, vector)
    np.testing.assert_array_equal(image, layout.to_bgr(vector))
