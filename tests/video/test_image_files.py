"""Order, patterns and what else only image sequences have."""

from fractions import Fraction

import cv2
import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.video.images import encode_image, write_image
from bgsub.video.source import open_source


def fill(folder, names, frames):
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in zip(names, frames, strict=True):
        write_image(folder / name, frame)
    return folder


def levels(n):
    """Frames of which the first pixel says which one it is."""
    return [np.full((8, 10), i, np.uint8) for i in range(n)]


def order(source):
    return [int(frame.luma[0, 0]) for frame in source]


def test_natural_order_of_unpadded_numbers(tmp_path):
    names = [f"frame{i}.png" for i in range(1, 13)]
    assert order(open_source(fill(tmp_path / "shots", names, levels(12)))) == list(range(12))


def test_hidden_and_other_files_are_left_out(tmp_path):
    folder = fill(tmp_path / "shots", ["1.png", ".0.png"], levels(2))
    (folder / "Thumbs.db").write_bytes(b"x")
    (folder / "2.png.txt").write_bytes(b"x")
    assert order(open_source(folder)) == [0]


def test_pictures_of_results_are_no_frames(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="holds results of bgsub, and no frames; give the footage"):
        open_source(str(tmp_path))
    fill(tmp_path, ["background.png", "errors.png"], levels(2))
    with pytest.raises(InputError, match="holds results of bgsub, and no frames"):
        open_source(str(tmp_path))
    fill(tmp_path, ["f1.png"], levels(1))
    assert order(open_source(str(tmp_path))) == [0, 1, 0]


@pytest.mark.parametrize(
    ("pattern", "names", "expected"),
    [
        ("f%d.png", ["f1.png", "f2.png", "f10.png", "f01.png", "g3.png"], [0, 1, 2]),
        ("f%02d.png", ["f01.png", "f2.png", "f10.png", "f100.png", "f011.png"], [0, 2, 3]),
        ("f%2d.png", ["f 1.png", "f1.png", "f10.png"], [0, 2]),
        ("50%%_%04d.png", ["50%_0007.png", "50%_0003.png", "50_0001.png"], [1, 0]),
        ("a+b(%d).png", ["a+b(2).png", "a+b(1).png", "aab(3).png"], [1, 0]),
    ],
)
def test_printf_patterns(tmp_path, pattern, names, expected):
    folder = fill(tmp_path / "100%d", names, levels(len(names)))
    assert order(open_source(folder / pattern)) == expected


def test_globs(tmp_path):
    fill(tmp_path / "a", ["x2.png", "x10.png", "y1.png"], levels(3))
    fill(tmp_path / "b", ["x1.png"], levels(1))
    assert order(open_source(tmp_path / "a" / "x*.png")) == [0, 1]
    assert order(open_source(tmp_path / "?" / "x[12].png")) == [0, 0]
    (tmp_path / "a" / "notes.txt").touch()
    with pytest.raises(InputError, match="no image matches this pattern"):
        open_source(tmp_path / "a" / "*.txt")


def test_mixed_sizes_are_refused_by_the_first_odd_name(tmp_path):
    frames = [*levels(3), np.zeros((9, 10), np.uint8), np.zeros((7, 7), np.uint8)]
    folder = fill(tmp_path / "shots", [f"{i}.png" for i in range(5)], frames)
    with pytest.raises(InputError, match=r"3.png: is 10×9 pixels, but 0.png is 10×8; all"):
        list(open_source(folder))
    assert order(open_source(folder, end=3)) == [0, 1, 2]


def test_unreadable_images_are_bad_frames(tmp_path):
    folder = fill(tmp_path / "shots", [f"{i}.png" for i in range(4)], levels(4))
    (folder / "0.png").write_bytes(b"no image")
    data = encode_image(np.random.default_rng(0).integers(0, 255, (8, 10), dtype=np.uint8))
    (folder / "2.png").write_bytes(data[:60])
    source = open_source(folder)
    assert order(source) == [1, 3]
    assert [bad.number for bad in source.bad_frames] == [1, 3]
    assert source.bad_frames[0].reason.startswith("the file is not an image")
    assert source.bad_frames[1].reason == "the file is cut off or damaged"
    assert source.decoded == 2
    assert order(open_source(folder, on_bad_frame="repeat")) == [1, 1, 3]
    with pytest.raises(InputError, match=r"frame 1 at 00:00:00\.000 cannot"):
        list(open_source(folder, on_bad_frame="fail"))


def test_colour_behind_a_grey_first_image_is_said(tmp_path):
    colors = np.zeros((8, 10, 3), np.uint8)
    folder = fill(tmp_path / "shots", ["1.png", "2.png", "3.png"], [*levels(1), colors, colors])
    source = open_source(folder)
    assert source.layout.kind == "gray"
    list(source)
    assert source.warnings == [
        "some images are in colour, but the first is grey: all are read as grey"
    ]
    asked = open_source(folder, color="color")
    assert [frame.image.shape for frame in asked] == [(8, 10, 3)] * 3
    assert asked.warnings == []


@pytest.mark.parametrize(("peak", "warned"), [(1023, True), (16383, True), (16384, False)])
def test_faint_16_bit_images_are_said(tmp_path, peak, warned):
    frames = [np.full((8, 10), value, np.uint16) for value in (100, peak, 300)]
    source = open_source(fill(tmp_path / "shots", ["1.png", "2.png", "3.png"], frames))
    assert order(source) == [0, peak >> 8, 1]
    assert source.pixel_format == "gray16"
    assert any(f"values reach only {peak} of 65535" in text for text in source.warnings) == warned


class TestRate:
    def test_images_and_arrays_have_the_times_of_the_rate_that_is_given(self, images, scene):
        for frames in (images(scene(6)), scene(6)):
            source = open_source(frames, fps="12.5", start="0.08s", every="0.16s")
            assert [frame.time_s for frame in source] == [0.08, 0.24, 0.4]
            assert [frame.number for frame in source] == [2, 4, 6]
            assert (source.rate, source.duration_s) == (Fraction(25, 2), 0.48)
            assert source.frames_estimate == 3

    def test_without_it_they_have_25_and_do_not_say_so(self, scene):
        source = open_source(scene(3))
        assert [frame.time_s for frame in source] == [0.0, 0.04, 0.08]
        assert source.rate is None

    def test_pages_have_it_too(self, tmp_path, scene):
        cv2.imwritemulti(str(tmp_path / "a.tif"), list(scene(4, color=False)))
        source = open_source(tmp_path / "a.tif", fps=2)
        assert [frame.time_s for frame in source] == [0.0, 0.5, 1.0, 1.5]
        assert source.rate == 2

    def test_a_video_has_its_own(self, encode, scene):
        source = open_source(encode(scene(3)), fps=10)
        assert [frame.time_s for frame in source] == [0.0, 0.04, 0.08]
        assert source.rate == 25
        text = "--fps has no effect on clip.mp4, a video with times of its own"
        assert source.warnings == [text]
