import numpy as np
import pytest

from bgsub.errors import EmptySelectionError
from bgsub.video.geometry import Geometry, MaskImage, Orientation
from bgsub.video.selection import Region


def plan(roi=None, scale=1.0):
    return Geometry.plan((64, 48), Orientation(), roi, scale, "clip.mp4")


def mask(levels, name="roi.png", what="mask image"):
    return MaskImage(levels.shape, lambda: levels, name, what)


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
