import av
import cv2
import numpy as np
import pytest

from bgsub.video.frames import Layout, Seen

KINDS = ("gray", "yuv420", "bgr")


@pytest.mark.parametrize("kind", ["gray", "bgr"])
def test_packing_is_exact(kind, scene):
    images = scene(1, 31, 45, color=kind == "bgr")
    layout = Layout(kind, 31, 45)
    np.testing.assert_array_equal(layout.to_bgr(layout.pack(images[0])), images[0])


@pytest.mark.parametrize("kind", KINDS)
def test_grey_pictures_stay_grey(kind, scene):
    image = scene(1, 31, 45, color=False)[0]
    layout = Layout(kind, 31, 45)
    picture = layout.to_bgr(layout.pack(image))
    np.testing.assert_array_equal(picture if kind == "gray" else picture[:, :, 1], image)


@pytest.mark.parametrize(("matrix", "colorspace"), [("bt601", "ITU601"), ("bt709", "ITU709")])
def test_yuv420_agrees_with_swscale(matrix, colorspace, scene):
    layout = Layout("yuv420", 48, 64, matrix=matrix)
    vector = layout.pack(cv2.blur(scene(1)[0], (9, 9)))
    video_frame = av.VideoFrame(64, 48, "yuvj420p")
    for plane, data in zip(video_frame.planes, layout.planes(vector), strict=True):
        rows = np.frombuffer(plane, dtype=np.uint8).reshape(plane.height, plane.line_size)
        rows[:, : plane.width] = data
    expected = video_frame.to_ndarray(
        format="bgr24", src_colorspace=colorspace, src_color_range="JPEG"
    )
    difference = np.abs(layout.to_bgr(vector).astype(int) - expected)
    assert difference.max() <= 3 + 3  # swscale interpolates the chroma, which is repeated here
    assert difference.mean() < 1


@pytest.mark.parametrize("size", [(6, 8), (5, 7)])
@pytest.mark.parametrize("matrix", ["bt601", "bt709"])
def test_objects_are_looked_for_in_the_colours_of_the_chroma_beside_bgr(size, matrix):
    picture = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    planes, both = Layout("yuv420", *size, matrix), Layout("bgr", *size, matrix, with_chroma=True)
    vector, expected = both.pack(picture), planes.pack(picture)
    np.testing.assert_array_equal(both.to_bgr(vector), picture)
    np.testing.assert_array_equal(both.plain.to_bgr(vector[: both.plain.size]), picture)
    both.luma(vector)[...] = planes.luma(expected)
    np.testing.assert_array_equal(both.seen(vector), planes.seen(expected))
    np.testing.assert_array_equal(planes.seen(expected), planes.to_bgr(expected))


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
@pytest.mark.parametrize("part", [np.s_[:, :], np.s_[1:4, 2:7], np.s_[2:7, 3:6], np.s_[4:7, 0:9]])
def test_a_part_of_what_is_seen_is_that_of_the_whole(kind, part):
    picture = np.random.default_rng(2).integers(0, 256, (7, 9, 3), dtype=np.uint8)
    layout = Layout(kind, 7, 9, with_chroma=kind == "bgr")
    row = layout.pack(picture[..., 0] if kind == "gray" else picture)
    np.testing.assert_array_equal(Seen(layout, row)[part], layout.seen(row)[part])
    np.testing.assert_array_equal(layout.to_bgr(row, part), layout.to_bgr(row)[part])
