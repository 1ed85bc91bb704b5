"""What is drawn on clips lies where the objects are, at the time of the frame, and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.export import ClipOptions
from bgsub.export.clips import Painter, tinted
from bgsub.video.frames import Frame, Layout
from tests.export.conftest import FRAMES, HEIGHT, WIDTH, boxes_at, mask_at

GREY = Layout("gray", HEIGHT, WIDTH)


def frame_at(number, level=90):
    data = np.full(GREY.size, level, np.uint8)
    return Frame(number, (number - 1) / 25, data, GREY)


def drawn(run, overlay, frames, **options):
    draw = Painter(run, ClipOptions(overlay=overlay, **options)).of(run.events())
    return [draw(frame) for frame in frames]


def scaled(picture):
    """Small frames are enlarged, so that numbers can be read: by how much?"""
    return picture.shape[0] // HEIGHT


def changed(picture):
    """Which pixels of the frame something was drawn on."""
    by = scaled(picture)
    drawn_on = (picture != 90).any(axis=2)
    return drawn_on.reshape(HEIGHT, by, -1, by).any(axis=(1, 3))


class TestBoxes:
    def test_they_surround_the_objects_of_the_frame(self, run):
        (picture,) = drawn(run, "boxes", [frame_at(15)])
        found = changed(picture)
        for x, y, width, height in boxes_at(15).values():
            assert found[y : y + height, x].all()
            assert found[y + height - 1, x : x + width].all()
            assert not found[y + 2 : y + height - 2, x + 2 : x + width - 2].any()

    def test_a_frame_without_objects_stays_as_it_is(self, run):
        for picture in drawn(run, "boxes", [frame_at(2), frame_at(28)]):
            assert not changed(picture).any()


class TestMask:
    def test_it_tints_what_the_mask_marks_and_nothing_else(self, run):
        (picture,) = drawn(run, "mask", [frame_at(15)])
        np.testing.assert_array_equal(changed(picture), mask_at(15) > 0)

    def test_a_frame_that_the_run_left_out_has_none(self, run):
        painter = Painter(run, ClipOptions(overlay="mask"))
        assert not changed(painter.of(run.events())(frame_at(FRAMES + 5))).any()

    def test_beside_the_picture_stands_the_mask(self, run):
        (picture,) = drawn(run, "side-by-side", [frame_at(15)])
        by = scaled(picture)
        assert picture.shape == (by * HEIGHT, by * 2 * WIDTH, 3)
        np.testing.assert_array_equal(picture[::by, by * WIDTH :: by, 0], mask_at(15))


@pytest.mark.parametrize("overlay", ["boxes", "mask"])
def test_frames_between_those_of_the_run_show_the_ones_before(run, overlay):
    kept = range(3, FRAMES + 1, 4)
    some = replace(run, looked_at=kept)
    seen = [each for each in run.objects() if each.frame in kept]
    object.__setattr__(some, "objects", lambda: seen)
    object.__setattr__(some, "masks", lambda: (list(kept), map(mask_at, kept)))
    pictures = drawn(some, overlay, [frame_at(number) for number in range(1, FRAMES + 1)])
    for number in range(11, 23):
        before = pictures[(number - 3) // 4 * 4 + 2]
        np.testing.assert_array_equal(pictures[number - 1], before)
    assert changed(pictures[12]).any()
    assert not changed(pictures[4]).any()
    assert not changed(pictures[27]).any()


class TestCaptions:
    def test_they_stand_at_the_bottom(self, run):
        (picture,) = drawn(run, "none", [frame_at(15)], caption=True)
        rows = np.flatnonzero(changed(picture).any(axis=1))
        assert rows.min() > HEIGHT / 2

    def test_the_time_of_day_is_another_text_than_that_of_the_film(self, run):
        began = "2026-05-01T22:00:00"
        (film,) = drawn(run, "none", [frame_at(15)], caption=True)
        (clock,) = drawn(run, "none", [frame_at(15)], caption=True, clock=began)
        assert (film != clock).any()

    def test_without_them_nothing_is_written(self, run):
        (picture,) = drawn(run, "none", [frame_at(15)])
        assert not changed(picture).any()


@pytest.mark.parametrize("color", [False, True])
def test_a_tint_lets_the_picture_show_through(color):
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (HEIGHT, WIDTH, 3) if color else (HEIGHT, WIDTH), np.uint8)
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    mask[10:30, 20:40] = 255
    before, kept = picture.copy(), tinted(picture, mask)
    np.testing.assert_array_equal(picture, before)
    wide = picture if color else np.repeat(picture[..., None], 3, axis=2)
    np.testing.assert_array_equal(kept[mask == 0], wide[mask == 0])
    inner = np.s_[13:27, 23:37]
    for channel in range(3):
        seen = np.corrcoef(kept[inner][..., channel].ravel(), wide[inner][..., channel].ravel())
        assert seen[0, 1] > 0.99
    assert len(np.unique(kept[10, 20:40].reshape(-1, 3), axis=0)) == 1
