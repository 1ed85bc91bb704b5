import io

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from bgsub.video.images import ImageError, TiffPages
from tests.video.picture_files import by_pillow, picture


def stack(n=5, *, color=False, deep=False):
    """Pictures that differ, red, green and blue."""
    pages = np.stack([np.roll(picture(), 3 * i, axis=1) for i in range(n)])
    pages = pages if color else pages[..., 0]
    return pages.astype(np.uint16) * 257 + 1 if deep else pages


def pages_of(data, order):
    with TiffPages(io.BytesIO(data)) as pages:
        assert len(pages) == len(order)
        return [pages.read(page) for page in order], [pages.header(page) for page in order]


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("compression", [1, 5, 8, 32773])
def test_pages_of_opencv_in_any_order(color, deep, compression):
    frames = stack(color=color, deep=deep)
    done, data = cv2.imencodemulti(
        ".tif", list(frames), [cv2.IMWRITE_TIFF_COMPRESSION, compression]
    )
    assert done
    order = [3, 0, 4, 1, 2]
    found, headers = pages_of(data.tobytes(), order)
    for place, page in enumerate(order):
        np.testing.assert_array_equal(found[place], frames[page])
        assert found[place].dtype == frames.dtype == headers[place].dtype
        assert found[place].shape == headers[place].shape


@pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_deflate"])
def test_damaged_pages_are_errors_and_write_nothing(compression, capfd):
    data = bytearray(by_pillow(Image.fromarray(picture()), "TIFF", compression=compression))
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    with (
        TiffPages(io.BytesIO(bytes(data))) as pages,
        pytest.raises(ImageError, match="damaged"),
    ):
        pages.read(0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("data", [b"", b"II*\0", b"II*\0\xff\xff\xff\xff", b"MM\0*" + bytes(100)])
def test_no_pages(data):
    with (
        pytest.raises(ImageError, match="cut off or damaged"),
        TiffPages(io.BytesIO(data)) as pages,
    ):
        pages.header(0)


def test_a_resolution_of_nothing_is_no_ones_business():
    file = io.BytesIO()
    tifffile.imwrite(file, np.full((6, 8), 77, np.uint8), resolution=(72, 72))
    data = bytearray(file.getvalue())
    with tifffile.TiffFile(io.BytesIO(data)) as tiff:
        places = [tiff.pages[0].tags[code].valueoffset for code in (282, 283)]
    for place in places:
        data[place + 4 : place + 8] = bytes(4)
    with TiffPages(io.BytesIO(data)) as pages:
        assert len(pages) == 1
        assert (pages.read(0) == 77).all()
