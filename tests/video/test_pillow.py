"""Pictures that Pillow opens: header before pixels, damage as `DAMAGE`, sizes without bounds."""

import io

import numpy as np
import PIL.Image
import pytest

from bgsub.video.images import (
    DAMAGE,
    ImageError,
    any_size,
    check_png,
    decode_by_pillow,
    open_by_pillow,
    page_by_pillow,
    read_header,
)
from tests.video.picture_files import by_pillow, encoded, picture, turned


def header_of(data, kind):
    return read_header(io.BytesIO(data))


@pytest.mark.parametrize(
    ("image", "kind", "shape", "dtype"),
    [
        (picture(), "png", (40, 56, 3), np.uint8),
        (picture()[..., 0], "png", (40, 56), np.uint8),
        (picture()[..., 0].astype(np.uint16) * 257, "png", (40, 56), np.uint16),
        (picture().astype(np.uint16) * 257, "png", (40, 56, 3), np.uint16),
        (picture(), "jpeg", (40, 56, 3), np.uint8),
        (picture(), "bmp", (40, 56, 3), np.uint8),
        (picture(), "webp", (40, 56, 3), np.uint8),
    ],
)
def test_headers_say_what_pixels_will_be(image, kind, shape, dtype):
    data = encoded(np.ascontiguousarray(image), {"jpeg": ".jpg"}.get(kind, f".{kind}"))
    header = header_of(data, kind)
    assert (header.shape, header.dtype, header.pages) == (shape, dtype, 1)
    if header.mode:
        pixels = decode_by_pillow(data, header)
        assert (pixels.shape, pixels.dtype) == (shape, dtype)


def test_colours_of_16_bits_and_printers_colours_have_no_mode():
    """Another library reads them: Pillow would shorten the first and convert the others its way."""
    deep = encoded(picture().astype(np.uint16) * 257, ".png")
    assert header_of(deep, "png").mode == ""
    printed = PIL.Image.fromarray(picture()[..., ::-1]).convert("CMYK")
    assert header_of(by_pillow(printed, "JPEG"), "jpeg").mode == ""


def test_pixels_are_blue_green_and_red():
    image = picture()
    data = encoded(image, ".png")
    np.testing.assert_array_equal(decode_by_pillow(data, header_of(data, "png")), image)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_photographs_are_turned_as_their_header_says(orientation):
    upright = PIL.Image.fromarray(picture()[..., ::-1])
    data = by_pillow(upright, "PNG", exif=turned(orientation))
    header = header_of(data, "png")
    assert header.shape == ((40, 56, 3) if orientation < 5 else (56, 40, 3))
    assert decode_by_pillow(data, header).shape == header.shape


def test_entries_of_a_palette_that_are_transparent_keep_their_colour():
    few = PIL.Image.fromarray(picture()[..., ::-1]).quantize(16)
    data = by_pillow(few, "PNG", transparency=bytes([0, 128] * 8))
    shown = decode_by_pillow(data, header_of(data, "png"))
    np.testing.assert_array_equal(shown[..., ::-1], np.asarray(few.convert("RGB")))


def test_pages_are_read_one_by_one():
    pages = [PIL.Image.fromarray(np.full((8, 9), 40 * k, np.uint8)) for k in range(4)]
    data = by_pillow(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    header = header_of(data, "tiff")
    assert header.pages == 4
    with open_by_pillow(data) as file:
        assert [int(page_by_pillow(file, k, header)[0, 0]) for k in (2, 0, 3)] == [80, 0, 120]


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n", b"no picture at all"])
def test_what_is_no_picture_is_an_image_error(data):
    with pytest.raises(ImageError, match="cut off or damaged"):
        header_of(data, "png")


def test_a_wrong_checksum_of_pixels_is_found_before_they_are_decoded():
    data = bytearray(encoded(picture(), ".png"))
    check_png(bytes(data))
    data[data.index(b"IDAT") + 40] ^= 1
    with pytest.raises(DAMAGE):
        check_png(bytes(data))


def test_sizes_are_bounded_for_others_and_not_here():
    most = PIL.Image.MAX_IMAGE_PIXELS
    with any_size():
        assert PIL.Image.MAX_IMAGE_PIXELS is None
        with any_size():
            pass
        assert PIL.Image.MAX_IMAGE_PIXELS is None
    assert most == PIL.Image.MAX_IMAGE_PIXELS
    with pytest.raises(KeyError), any_size():
        raise KeyError
    assert most == PIL.Image.MAX_IMAGE_PIXELS
