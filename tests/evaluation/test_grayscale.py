from pathlib import Path

import av
import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.evaluation.masks import footage_pictures, numbers_of, open_grey
from bgsub.video.images import write_image


def pictures(n=6, dtype=np.uint8, height=12, width=16):
    rng = np.random.default_rng(3)
    return rng.integers(0, np.iinfo(dtype).max, (n, height, width), dtype=dtype, endpoint=True)


def encode(path, frames):
    pixel_format = "gray" if frames.dtype == np.uint8 else "gray16le"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = pixel_format
        for image in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format=pixel_format)))
        container.mux(stream.encode(None))
    return str(path)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_video_keeps_its_bits(tmp_path, dtype):
    frames = pictures(dtype=dtype)
    video = open_grey(encode(tmp_path / "clip.mkv", frames))
    assert (len(video), video.numbers) == (6, None)
    picked = list(video.pick([0, 3, 5]))
    assert all(image.dtype == dtype for image in picked)
    assert np.array_equal(picked, frames[[0, 3, 5]])
    assert np.array_equal(list(video.pick([5])), frames[5:])
    assert video.label(2).endswith("clip.mkv frame 3")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_frame_that_is_missing_is_named(tmp_path, dtype):
    video = open_grey(encode(tmp_path / "clip.mkv", pictures(dtype=dtype)))
    with pytest.raises(InputError, match=r"clip\.mkv frame 9: cannot be decoded"):
        list(video.pick([2, 8]))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_images_come_in_the_order_of_their_numbers(tmp_path, dtype):
    frames = pictures(3, dtype)
    for number, frame in zip((20, 3, 100), frames, strict=True):
        write_image(tmp_path / f"bild é {number}.png", frame)
    images = open_grey(str(tmp_path))
    assert images.numbers.tolist() == [3, 20, 100]
    assert np.array_equal(list(images.pick([0, 2])), frames[[1, 2]])
    assert images.label(0) == str(tmp_path / "bild é 3.png")


def test_a_palette_of_greys_keeps_its_levels(tmp_path):
    levels = np.array([[0, 50, 85], [170, 255, 128]], np.uint8)
    write_image(tmp_path / "1.png", np.repeat(levels[..., None], 3, axis=2))
    assert np.array_equal(next(open_grey(str(tmp_path / "1.png")).pick([0])), levels)


def test_globs_and_patterns(tmp_path):
    for number in (1, 2):
        write_image(tmp_path / f"a{number}.png", pictures(1)[0])
        write_image(tmp_path / f"b{number}.png", pictures(1)[0])
    assert len(open_grey(str(tmp_path / "b*.png"))) == 2
    assert len(open_grey(str(tmp_path / "a%d.png"))) == 2


def test_pages_are_frames(tmp_path):
    frames = pictures(3)
    np.save(tmp_path / "masks.npy", frames)
    stack = open_grey(str(tmp_path / "masks.npy"))
    assert len(stack) == 3
    assert np.array_equal(list(stack.pick([1])), frames[1:2])


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["in000012.jpg"], [12]),
        (["7_left.png"], [7]),
        (["cam2_0007.png", "cam2_0008.png"], [7, 8]),
        (["0007_v2.png", "0008_v2.png"], [7, 8]),
        (["a1b.png", "c.png"], [1, None]),
    ],
)
def test_numbers_of(names, numbers):
    assert numbers_of([Path(name) for name in names]) == numbers


def test_images_without_or_with_equal_numbers_are_errors(tmp_path):
    write_image(tmp_path / "a1.png", pictures(1)[0])
    write_image(tmp_path / "b1.png", pictures(1)[0])
    with pytest.raises(InputError, match=r"b1\.png: has the same number as a1\.png, 1"):
        open_grey(str(tmp_path))
    write_image(tmp_path / "x.png", pictures(1)[0])
    with pytest.raises(InputError, match=r"x\.png: has no number in its name"):
        open_grey(str(tmp_path / "x.png"))


def test_footage_pictures_have_three_channels(tmp_path):
    frames = pictures(6)
    found = footage_pictures(encode(tmp_path / "clip.mkv", frames), [2, 5, 9])
    assert sorted(found) == [2, 5]
    assert np.array_equal(found[5], np.repeat(frames[4][..., None], 3, axis=2))
