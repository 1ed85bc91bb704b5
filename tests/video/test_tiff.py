"""Pages of TIFF files, and animations."""

import io
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from bgsub.errors import InputError
from bgsub.video.images import ImageError, TiffPages
from bgsub.video.source import open_source
from tests.video.picture_files import by_pillow, by_tifffile, picture


def stack(n=5, *, color=False, deep=False):
    """Pictures that differ, red, green and blue."""
    pages = np.stack([np.roll(picture(), 3 * i, axis=1) for i in range(n)])
    pages = pages if color else pages[..., 0]
    return pages.astype(np.uint16) * 257 + 1 if deep else pages


def pages_of(data, order):
    pages = TiffPages(data)
    assert pages.header(0).pages == len(order)
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


@pytest.mark.parametrize("compression", ["zstd", "lzma", "tiff_lzw"])
@pytest.mark.parametrize("color", [False, True])
def test_pages_that_tifffile_alone_cannot_decode(compression, color, tmp_path):
    frames = stack(color=color)
    first, *more = [Image.fromarray(frame) for frame in frames]
    path = tmp_path / "a.tif"
    first.save(path, compression=compression, save_all=True, append_images=more)
    source = open_source(path)
    for place in (3, 0, 4):
        np.testing.assert_array_equal(source[place].image, frames[place])
    np.testing.assert_array_equal([frame.image for frame in source], frames)


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
def test_deep_pages_that_are_turned(big, order, tmp_path):
    frames = stack(color=True, deep=True)
    turned = {"extratags": [(274, 3, 1, 3, True)], "metadata": None, "photometric": "rgb"}
    with tifffile.TiffWriter(tmp_path / "a.tif", bigtiff=big, byteorder=order) as writer:
        for frame in frames:
            writer.write(frame[::-1, ::-1, ::-1], **turned)
    pages = TiffPages(tmp_path / "a.tif")
    for page in (0, 3, 1):
        np.testing.assert_array_equal(pages.read(page), frames[page])


@pytest.mark.parametrize("deep", [False, True])
def test_pages_far_into_a_stack(deep, tmp_path):
    count = 400
    values = np.arange(count, dtype=np.uint16 if deep else np.uint8)
    frames = np.broadcast_to(values[:, None, None, None], (count, 40, 56, 3))
    lzw = [cv2.IMWRITE_TIFF_COMPRESSION, 5]
    assert cv2.imwritemulti(str(tmp_path / "a.tif"), list(frames), lzw)
    source = open_source(tmp_path / "a.tif")
    for place in (0, 200, 390, 399, 3):
        assert (source[place].image == (place >> 8 if deep else place % 256)).all()


@pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_deflate"])
def test_damaged_pages_are_errors_and_write_nothing(compression, capfd):
    data = bytearray(by_pillow(Image.fromarray(picture()), "TIFF", compression=compression))
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    with pytest.raises(ImageError, match="damaged"):
        TiffPages(bytes(data)).read(0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("data", [b"", b"II*\0", b"II*\0\xff\xff\xff\xff", b"MM\0*" + bytes(100)])
def test_no_pages(data):
    with pytest.raises(ImageError, match="cut off or damaged"):
        TiffPages(data).header(0)


def test_a_resolution_of_nothing_is_no_ones_business():
    file = io.BytesIO()
    tifffile.imwrite(file, np.full((6, 8), 77, np.uint8), resolution=(72, 72))
    data = bytearray(file.getvalue())
    with tifffile.TiffFile(io.BytesIO(data)) as tiff:
        places = [tiff.pages[0].tags[code].valueoffset for code in (282, 283)]
    for place in places:
        data[place + 4 : place + 8] = bytes(4)
    pages = TiffPages(bytes(data))
    assert pages.header(0).pages == 1
    assert (pages.read(0) == 77).all()


def animate(path, frames, **settings):
    pictures = [Image.fromarray(frame) for frame in frames]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], **settings)
    return path


def test_iterations_at_once(tmp_path, scene):
    path, frames = tmp_path / "a.tif", scene(12)
    assert cv2.imwritemulti(str(path), list(frames[..., ::-1]))
    source = open_source(path)

    def worker(step):
        for _ in range(2):
            np.testing.assert_array_equal([frame.image for frame in source], frames)
            for place in range(0, 12, step):
                np.testing.assert_array_equal(source[place].image, frames[place])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(worker, (3, 5, 7, 11))) == [None] * 4


def test_an_animated_png_is_a_video(tmp_path, scene):
    path = animate(tmp_path / "a.png", scene(6), duration=[40, 40, 100, 20, 40, 40])
    source = open_source(path)
    assert source.kind == "video"
    for _ in range(2):
        frames = list(source)
        np.testing.assert_array_equal([frame.image for frame in frames], scene(6))
        times = [frame.time_s for frame in frames]
        np.testing.assert_allclose(times, [0, 0.04, 0.08, 0.18, 0.2, 0.24])


def test_an_animated_webp_is_refused(tmp_path, scene):
    with pytest.raises(InputError, match=r"a\.webp: is an animation.*convert it to a video"):
        open_source(animate(tmp_path / "a.webp", scene(6), duration=40))


class TestStacks:
    def test_pages_are_read_one_by_one(self, tmp_path):
        path = tmp_path / "film.tif"
        frames = np.zeros((30, 250, 500), np.uint8)
        frames[:] = np.arange(30, dtype=np.uint8)[:, None, None]
        path.write_bytes(by_tifffile(frames, photometric="minisblack"))
        tracemalloc.start()
        try:
            source = open_source(path)
            assert (source.kind, source.codec, source.input_frames) == ("array", "tiff", 30)
            assert [int(frame.luma[7, 7]) for frame in source] == list(range(30))
            assert tracemalloc.get_traced_memory()[1] < 20 * frames[0].size
        finally:
            tracemalloc.stop()

    def test_pages_of_another_kind_are_refused(self, tmp_path):
        import tifffile

        file = io.BytesIO()
        with tifffile.TiffWriter(file) as writer:
            writer.write(np.zeros((4, 5), np.uint8))
            writer.write(np.zeros((4, 6), np.uint8))
        (tmp_path / "a.tif").write_bytes(file.getvalue())
        with pytest.raises(
            InputError, match=r"a.tif: page 2 is uint8 of shape \(4, 6\), the first"
        ):
            open_source(tmp_path / "a.tif")

    def test_a_damaged_page_is_a_bad_frame(self, tmp_path, scene):
        path = tmp_path / "a.tif"
        data = bytearray(by_tifffile(scene(4, color=False), compression="zlib"))
        with Image.open(io.BytesIO(data)) as picture:
            picture.seek(2)
            (offset,) = picture.tag_v2[273]
        data[offset + 30 : offset + 60] = bytes(30)
        path.write_bytes(data)
        source = open_source(path)
        np.testing.assert_array_equal([frame.number for frame in source], [1, 2, 4])
        assert [bad.reason for bad in source.bad_frames] == ["the file is cut off or damaged"]


def test_a_picture_that_is_too_large_is_not_decoded_to_be_opened(tmp_path):
    Image.new("L", (4000, 4000)).save(tmp_path / "a.png", compress_level=1)
    tracemalloc.start()
    try:
        assert open_source(tmp_path / "a.png").input_size == (4000, 4000)
        assert tracemalloc.get_traced_memory()[1] < 9_000_000
    finally:
        tracemalloc.stop()
