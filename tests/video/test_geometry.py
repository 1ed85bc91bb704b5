import cv2
import numpy as np
import pytest

from bgsub.errors import UsageError
from bgsub.video.frames import Layout
from bgsub.video.geometry import Geometry, Orientation, Picture
from bgsub.video.selection import Region
from tests.video.ranges import EXPAND_CHROMA, EXPAND_LUMA

UPRIGHT = Orientation()


def plan(size=(64, 48), orientation=UPRIGHT, roi=None, scale=1.0):
    return Geometry.plan(size, orientation, roi, scale, "clip.mp4")


@pytest.mark.parametrize(
    ("matrix", "turn"),
    [
        ((1, 0, 0, 0, 1, 0, 0, 0, 1), lambda a: a),
        ((0, 1, 0, -1, 0, 0, 0, 0, 1), lambda a: np.rot90(a, -1)),
        ((-1, 0, 0, 0, -1, 0, 0, 0, 1), lambda a: np.rot90(a, 2)),
        ((0, -1, 0, 1, 0, 0, 0, 0, 1), lambda a: np.rot90(a, 1)),
        ((-1, 0, 0, 0, 1, 0, 0, 0, 1), np.fliplr),
        ((1, 0, 0, 0, -1, 0, 0, 0, 1), np.flipud),
        ((0, 1, 0, 1, 0, 0, 0, 0, 1), np.transpose),
        ((0, -1, 0, -1, 0, 0, 0, 0, 1), lambda a: np.rot90(a, 2).T),
    ],
)
def test_display_matrices(matrix, turn):
    plane = np.arange(12, dtype=np.uint8).reshape(3, 4)
    orientation = Orientation.from_display_matrix([65536 * item for item in matrix])
    np.testing.assert_array_equal(orientation.apply(plane), turn(plane))
    assert orientation.size((4, 3)) == turn(plane).shape[::-1]


@pytest.mark.parametrize("kind", ["gray", "yuv420"])
def test_limited_range_is_expanded_as_the_tables_say(kind):
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    planes = (levels, levels[:8, :8], levels[8:, 8:])[: 3 if kind == "yuv420" else 1]
    layout = Layout(kind, 16, 16)
    vector = plan((16, 16)).pack(Picture(planes, limited=True), layout)
    tables = (EXPAND_LUMA, EXPAND_CHROMA, EXPAND_CHROMA)
    for plane, table, result in zip(planes, tables, layout.planes(vector), strict=False):
        np.testing.assert_array_equal(result, table[plane])
    vector = plan((16, 16)).pack(Picture(planes), layout)
    np.testing.assert_array_equal(layout.luma(vector), levels)


@pytest.mark.parametrize("roi", [None, Region(2, 4, 7, 5)])
def test_planes_of_odd_size_are_copied_exactly(roi):
    random = np.random.default_rng(0)
    planes = tuple(
        random.integers(0, 256, shape, dtype=np.uint8) for shape in ((47, 63), (24, 32), (24, 32))
    )
    geometry = plan((63, 47), roi=roi)
    layout = geometry.layout("yuv420", "bt601", "auto", exact_color=False)
    luma, *chroma = layout.planes(geometry.pack(Picture(planes), layout))
    x, y, width, height = (2, 4, 7, 5) if roi else (0, 0, 63, 47)
    np.testing.assert_array_equal(luma, planes[0][y : y + height, x : x + width])
    for result, plane in zip(chroma, planes[1:], strict=True):
        part = plane[y // 2 : (y + height + 1) // 2, x // 2 : (x + width + 1) // 2]
        np.testing.assert_array_equal(result, part)


def test_limited_grey_becomes_full_range_colour():
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    layout = Layout("bgr", 16, 16)
    vector = plan((16, 16)).pack(Picture((levels,), limited=True), layout)
    np.testing.assert_array_equal(layout.to_bgr(vector)[:, :, 2], EXPAND_LUMA[levels])


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_region_and_scale(kind, scene):
    image = scene(1)[0][:, :, ::-1].copy()
    source = Layout(kind, 48, 64)
    vector = source.pack(image)
    planes = source.planes(vector)[1:] if kind == "bgr" else source.planes(vector)
    geometry = plan(roi=Region(8, 4, 40, 32), scale=0.5)
    layout = geometry.layout(kind, "bt601", "auto", exact_color=False)
    assert (layout.kind, layout.width, layout.height) == (kind, 20, 16)
    result = layout.to_bgr(geometry.pack(Picture(planes), layout))
    expected = cv2.resize(source.to_bgr(vector)[4:36, 8:48], (20, 16), interpolation=cv2.INTER_AREA)
    limit = 9 if kind == "yuv420" else 1  # chroma is averaged over twice the width
    assert np.abs(result.astype(int) - expected).max() <= limit


def test_scaling_up_is_smooth(scene):
    image = scene(1, color=False)[0]
    geometry = plan(scale=2)
    layout = geometry.layout("gray", "bt601", "auto", exact_color=False)
    result = layout.luma(geometry.pack(Picture((image,)), layout))
    assert result.shape == (96, 128)
    assert np.abs(np.diff(result.astype(int))).max() <= np.abs(np.diff(image.astype(int))).max()


@pytest.mark.parametrize(
    ("size", "orientation", "roi", "scale", "aligned"),
    [
        ((64, 48), UPRIGHT, None, 1.0, True),
        ((63, 47), UPRIGHT, None, 1.0, True),
        ((63, 47), Orientation(flip_x=True), None, 1.0, False),
        ((64, 48), Orientation(transpose=True), None, 1.0, True),
        ((64, 48), UPRIGHT, Region(2, 4, 11, 13), 1.0, True),
        ((64, 48), UPRIGHT, Region(3, 4, 10, 10), 1.0, False),
        ((64, 48), UPRIGHT, Region(2, 3, 10, 10), 1.0, False),
        ((64, 48), UPRIGHT, None, 0.5, True),
        ((64, 50), UPRIGHT, None, 0.5, False),
        ((63, 48), UPRIGHT, None, 2.0, False),
    ],
)
def test_planes_at_half_size_are_kept_only_while_aligned(size, orientation, roi, scale, aligned):
    geometry = plan(size, orientation, roi, scale)
    layout = geometry.layout("yuv420", "bt709", "auto", exact_color=False)
    assert layout.kind == ("yuv420" if aligned else "bgr")
    assert layout.matrix == ("bt709" if aligned else "bt601")


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_colour_modes(kind):
    def chosen(color, *, exact_color=False):
        return plan().layout(kind, "bt601", color, exact_color=exact_color).kind

    assert chosen("auto") == kind
    assert chosen("gray") == chosen("gray", exact_color=True) == "gray"
    assert chosen("color") == ("bgr" if kind == "gray" else kind)
    assert chosen("auto", exact_color=True) == ("gray" if kind == "gray" else "bgr")


def test_region_outside_says_both_sizes():
    with pytest.raises(UsageError, match=r"clip.mp4: roi 60,0,8,8 reaches out .* 64×48; X \+ W"):
        plan(roi=Region(60, 0, 8, 8))


@pytest.mark.parametrize("scale", [0, -1, 17, float("nan"), float("inf")])
def test_scales_that_make_no_sense(scale):
    with pytest.raises(UsageError, match="at most 16"):
        plan(scale=scale)


def test_scale_that_leaves_nothing():
    with pytest.raises(UsageError, match=r"leaves no pixel of 64×48"):
        plan(scale=0.005)
