import cv2
import numpy as np
import pytest

from bgsub.errors import InputError, OutputError
from bgsub.video.images import (
    IMAGE_SUFFIXES,
    decode_image,
    encode_image,
    is_image_name,
    read_image,
    read_pages,
    write_image,
)

LOSSY = {".jpg", ".jpeg", ".webp"}


@pytest.mark.parametrize("suffix", sorted(IMAGE_SUFFIXES))
@pytest.mark.parametrize("color", [False, True])
def test_every_format_is_read_back(tmp_path, suffix, color, scene):
    if suffix == (".pgm" if color else ".ppm"):
        pytest.skip("this format holds the other kind")
    image = scene(1, color=color)[0]
    path = tmp_path / f"ünïcode 図{suffix}"
    write_image(path, image)
    result = read_image(path)
    assert result.dtype == np.uint8
    if suffix == ".webp" and not color:
        result = result[:, :, 1]  # the format has no grey pictures
    assert result.shape == image.shape
    limit = 12 if suffix in LOSSY else 0
    assert np.abs(result.astype(int) - image).max() <= limit


@pytest.mark.parametrize("suffix", [".png", ".tif", ".pgm"])
def test_16_bit(suffix):
    image = np.arange(0, 65536, 16, dtype=np.uint16).reshape(64, 64)
    np.testing.assert_array_equal(decode_image(encode_image(image, suffix)), image)


def test_alpha_is_dropped(scene):
    image = scene(1)[0]
    with_alpha = np.dstack([image, image[:, :, :1]])
    np.testing.assert_array_equal(decode_image(encode_image(with_alpha)), image)


def test_pages(tmp_path, scene):
    pages = list(scene(3))
    done, data = cv2.imencodemulti(".tif", pages)
    assert done
    (tmp_path / "film.tif").write_bytes(data.tobytes())
    np.testing.assert_array_equal(read_pages(tmp_path / "film.tif"), pages)


@pytest.mark.parametrize("suffix", sorted(IMAGE_SUFFIXES - {".pnm"}))
@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_cut_files_are_errors_and_write_nothing(suffix, share, capfd, scene):
    data = encode_image(scene(1, color=suffix != ".pgm")[0], suffix)
    with pytest.raises(ValueError, match="cut off or damaged"):
        decode_image(data[: int(len(data) * share)])
    assert capfd.readouterr() == ("", "")


def test_a_damaged_png_is_an_error_and_writes_nothing(capfd, scene):
    data = bytearray(encode_image(scene(1)[0], ".png"))
    for offset in range(len(data) // 3, len(data) // 2):
        data[offset] ^= 0x55
    with pytest.raises(ValueError, match="damaged"):
        decode_image(bytes(data))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"a text, and no image", "not an image"),
        (b"\x89PNG\r\n\x1a\n", "cut off"),
    ],
)
def test_no_images(data, reason, tmp_path):
    path = tmp_path / "no.png"
    path.write_bytes(data)
    with pytest.raises(InputError, match=f"no.png: .*{reason}.*; check"):
        read_image(path)


def test_floating_point_images():
    with pytest.raises(ValueError, match="float32; only 8-bit and 16-bit"):
        decode_image(encode_image(np.ones((4, 4), np.float32), ".tiff"))


def test_missing_image(tmp_path):
    with pytest.raises(InputError, match=r"none.png: cannot be read \(No such file"):
        read_image(tmp_path / "none.png")


def test_unwritable(tmp_path):
    with pytest.raises(OutputError, match=r"x.png: cannot be written .*choose another folder"):
        write_image(tmp_path / "none" / "x.png", np.zeros((2, 2), np.uint8))


@pytest.mark.parametrize("suffix", [".xyz", ""])
def test_unknown_format(suffix):
    with pytest.raises(ValueError, match="can be made of uint8"):
        encode_image(np.zeros((2, 2), np.uint8), suffix)


def test_names():
    assert is_image_name("A.JPG")
    assert not is_image_name("a.mp4")
    assert not is_image_name("png")
