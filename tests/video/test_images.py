"""Image files of every kind, whole and damaged."""

import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.errors import InputError, OutputError
from bgsub.video.images import (
    IMAGE_SUFFIXES,
    ImageError,
    decode_image,
    encode_image,
    is_image_name,
    libraries_quiet,
    read_header,
    read_image,
    write_image,
)
from tests.video.picture_files import by_tifffile, kinds, picture

LOSSY = {".jpg", ".jpeg", ".webp"}
PICTURES = kinds()
KINDS = {name: data for name, (data, _) in PICTURES.items()}


@pytest.mark.parametrize("name", PICTURES)
def test_pixels_are_those_that_were_written(name, capfd):
    data, written = PICTURES[name]
    image, header = decode_image(data), read_header(data)
    assert (image.shape, image.dtype) == (written.shape, written.dtype)
    assert (header.shape, header.dtype) == (written.shape, written.dtype)
    error = np.abs(image.astype(int) - written).mean()
    assert error <= (3 if re.search("jpe?g", name.lower()) else 0)
    assert capfd.readouterr() == ("", "")


def test_deep_planes_keep_their_bits():
    """OpenCV takes planes of 16 bits for something else."""
    deep = picture().astype(np.uint16) * 257
    planes = np.moveaxis(deep[..., ::-1], 2, 0).copy()
    data = by_tifffile(planes, photometric="rgb", planarconfig="separate")
    np.testing.assert_array_equal(decode_image(data), deep)


@settings(max_examples=60)
@given(st.sampled_from(sorted(KINDS)), st.data())
def test_any_damage_is_an_error_or_a_picture_and_never_a_line(name, data):
    damaged = bytearray(KINDS[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] ^= data.draw(st.integers(1, 255))
    damaged = damaged[: data.draw(st.integers(len(damaged) // 2, len(damaged)))]
    with tempfile.TemporaryFile() as caught:
        kept = os.dup(2)
        os.dup2(caught.fileno(), 2)
        try:
            image = decode_image(bytes(damaged))
            assert image.ndim in {2, 3}
        except ImageError:
            pass
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        assert caught.tell() == 0


def test_no_more_of_pillow_is_imported_than_is_used(tmp_path):
    for name in ("colour.webp", "text.pgm", "zstd"):
        (tmp_path / name).write_bytes(KINDS[name])
    code = """if True:
        import pathlib, sys
        from bgsub.video.images import read_image
        for path in pathlib.Path(sys.argv[1]).iterdir():
            read_image(path)
        print(*(name for name in sys.modules if name.endswith("ImagePlugin")))
    """
    command = [sys.executable, "-c", code, str(tmp_path)]
    plugins = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "WebP" in plugins
    assert len(plugins.split()) < 10


@pytest.mark.parametrize("name", ["colour.png", "deep colour.png", "deep grey.png", "palette.png"])
def test_a_png_with_a_wrong_checksum_is_an_error(name):
    data = bytearray(KINDS[name])
    data[data.index(b"IDAT") + 20] ^= 1
    with pytest.raises(ImageError, match="cut off or damaged"):
        decode_image(bytes(data))


@pytest.mark.parametrize("name", ["colour.jpg", "grey.jpg", "cmyk.jpg"])
def test_a_jpeg_that_libjpeg_would_fill_with_grey_is_an_error(name, capfd):
    data = bytearray(KINDS[name])
    middle = (data.rindex(b"\xff\xda") + len(data)) // 2
    data[middle : middle + 60] = b"\xff\x00" * 30
    with pytest.raises(ImageError, match="cut off or damaged"):
        decode_image(bytes(data))
    assert capfd.readouterr() == ("", "")


def test_a_jpeg_with_bytes_too_many_at_its_end_is_none(capfd):
    data = KINDS["colour.jpg"]
    padded = data[:-2] + bytes(10) + data[-2:] + b"a thumbnail may follow"
    np.testing.assert_array_equal(decode_image(padded), decode_image(data))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "beginning",
    [
        b"\0\0\0\x0cjP  \r\n\x87\n",
        b"v/1\1",
        b"#?RADIANCE\n",
        b"GIF89a",
        b"8BPS",
        b"\0\0\0\x20ftypavif",
        b"%!PS-Adobe-3.0 EPSF-3.0\n",
        b"P7\nWIDTH 2\n",
    ],
)
def test_formats_that_are_not_read_reach_no_library(beginning):
    with pytest.raises(ImageError, match="is not an image of a kind that is read"):
        decode_image(beginning + bytes(1000))


def test_a_picture_that_says_it_is_huge_is_not_decoded():
    data = bytearray(KINDS["colour.png"])
    data[16:24] = struct.pack(">II", 200_000, 200_000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    with pytest.raises(ImageError, match="200000×200000 pixels, too large a picture"):
        decode_image(bytes(data))


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


@pytest.mark.parametrize("suffix", sorted(IMAGE_SUFFIXES - {".pnm"}))
@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_cut_files_are_errors_and_write_nothing(suffix, share, capfd, scene):
    data = encode_image(scene(1, color=suffix != ".pgm")[0], suffix)
    with pytest.raises(ValueError, match="cut off or damaged"):
        decode_image(data[: int(len(data) * share)])
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


def test_a_picture_too_high_for_its_format():
    with pytest.raises(ValueError, match=r"no \.jpg can be made of uint8 \(66000, 2\)"):
        encode_image(np.zeros((66_000, 2), np.uint8), ".jpg")


def test_names():
    assert is_image_name("A.JPG")
    assert not is_image_name("a.mp4")
    assert not is_image_name("png")


def test_lines_of_libraries_are_dropped_and_others_are_kept(capfd):
    with libraries_quiet() as taken:
        os.write(2, b"libpng warning: iCCP: known incorrect sRGB profile\n")
        os.write(2, b"Corrupt JPEG data: premature end of data segment\n")
        os.write(2, b"bgsub: IMG_1.JPEG: decoded 9 frames\n\n[JPEG: ERROR: 7]\n")
        os.write(2, b"[ERROR:0@0.5] global loadsave.cpp:1390 imdecode_\n\n")
        os.write(2, b"and the rest of a line")
    kept = "bgsub: IMG_1.JPEG: decoded 9 frames\n\n[JPEG: ERROR: 7]\nand the rest of a line"
    assert capfd.readouterr().err == kept
    assert [line.split(b":")[0] for line in taken] == [
        b"libpng warning",
        b"Corrupt JPEG data",
        b"[ERROR",
    ]
    os.write(2, b"libpng warning: outside\n")
    assert capfd.readouterr().err == "libpng warning: outside\n"


def test_threads_wait_for_each_other(capfd):
    def work():
        for _ in range(20):
            with libraries_quiet():
                os.write(2, b"libpng error: gone\n")
            os.write(2, b"kept\n")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert capfd.readouterr().err == "kept\n" * 80


def test_a_closed_standard_error_is_no_obstacle():
    kept = os.dup(2)
    os.close(2)
    try:
        with libraries_quiet() as taken:
            os.write(2, b"libpng error: gone\n")
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(2)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
    assert len(taken) == 1
