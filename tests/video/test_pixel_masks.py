import numpy as np
import pytest

from bgsub.errors import EmptySelectionError, InputError, UsageError
from bgsub.video.geometry import Geometry, MaskImage, Orientation
from bgsub.video.images import write_image
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


def test_another_size_is_named():
    small = mask(np.full((47, 64), 255, np.uint8))
    for bring in (lambda: small.pixel_mask(plan()), lambda: small.ignored(plan(), None)):
        with pytest.raises(UsageError, match=r"roi.png: the mask image has 64×47 .* input 64×48"):
            bring()


def test_a_pixel_mask_without_pixels():
    dark = np.full((48, 64), 127, np.uint8)
    with pytest.raises(EmptySelectionError, match=r"roi.png: no pixel .* white"):
        mask(dark).pixel_mask(plan())
    assert mask(dark + np.uint8(1)).pixel_mask(plan()).all()


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


def test_files_and_arrays_that_are_no_pictures(tmp_path):
    path = tmp_path / "all é.png"
    write_image(path, np.full((48, 64, 3), 255, np.uint8))
    assert MaskImage.read(path, "ignore image").name == path.name
    assert MaskImage.read(path, "ignore image").pixel_mask(plan()).all()
    path.write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"all é\.png"):
        MaskImage.read(path, "ignore image")
    with pytest.raises(UsageError, match="ignore image: is float64 of shape"):
        MaskImage.read(np.ones((48, 64)), "ignore image")
