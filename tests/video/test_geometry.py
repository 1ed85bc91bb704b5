"""Orientation, range, region, scale and pixel masks."""

import numpy as np
import pytest

from bgsub.errors import EmptySelectionError, UsageError
from bgsub.video.frames import Layout
from bgsub.video.geometry import Geometry, MaskImage, Orientation, Picture
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


@pytest.mark.parametrize("scale", [0, -1, 17, float("nan"), float("inf")])
def test_scales_that_make_no_sense(scale):
    with pytest.raises(UsageError, match="at most 16"):
        plan(scale=scale)


def mask(levels, name="roi.png", what="mask image"):
    return MaskImage(levels, name, what)


def right_half():
    levels = np.zeros((48, 64), np.uint8)
    levels[:, 32:] = 255
    return mask(levels)


def test_white_follows_region_and_scale():
    geometry = plan(roi=Region(16, 0, 32, 48), scale=0.5)
    inside = right_half().pixel_mask(geometry)
    assert inside.shape == (24, 16)
    assert inside[:, 8:].all()
    assert not inside[:, :8].any()
    np.testing.assert_array_equal(right_half().ignored(geometry, None), inside)


def test_everything_ignored_is_refused():
    white = mask(np.full((48, 64), 128, np.uint8), "all.png", "ignore image")
    with pytest.raises(
        EmptySelectionError, match=r"all.png: the ignore image leaves no pixel .* black"
    ):
        white.ignored(plan(), None)
    right = right_half()
    with pytest.raises(EmptySelectionError, match="leaves no pixel"):
        right.ignored(plan(), right.pixel_mask(plan()))
    left = ~right.pixel_mask(plan())
    np.testing.assert_array_equal(right.ignored(plan(), left), ~left)


def test_nothing_may_be_ignored():
    ignored = right_half().ignored(plan(roi=Region(0, 0, 20, 30)), None)
    assert ignored.shape == (30, 20)
    assert not ignored.any()
