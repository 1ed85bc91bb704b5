import io
import shutil
import tracemalloc
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import InputError
from bgsub.video.npy import ArrayArchive, ArrayFileError, map_array, read_header

MAGIC = b"\x93NUMPY\x01\x00"


def header(text, values=b""):
    data = text if isinstance(text, bytes) else text.encode("latin-1")
    return MAGIC + len(data).to_bytes(2, "little") + data + values


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


HEADERS = {
    "nothing": b"",
    "no magic": b"a text that is no array",
    "cut": MAGIC + b"\x76",
    "version": b"\x93NUMPY\x09\x00" + bytes(80),
    "tokenizer": header("{'descr': '<u1', 'shape': (3,\n"),
    "indent": header("  {\n 'descr'\n: x\n"),
    "brackets": header("(" * 9000),
    "nested": header("{'descr':" + "[" * 3000 + "]" * 3000 + "}"),
    "no dictionary": header("[1, 2]"),
    "other keys": header("{'descr': '<u1'}"),
    "dtype": header("{'descr': 'zz', 'fortran_order': False, 'shape': (3,)}"),
    "objects": header("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}"),
    "negative": header("{'descr': '|u1', 'fortran_order': False, 'shape': (-3,)}"),
    "overflow": header(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({10**30},)}}"),
    "not utf-8": header(b"\xff\xfe{'descr'"),
    "zeros": header(b"\0" * 50),
    "code": header("{'descr': print(1), 'fortran_order': False, 'shape': (3,)}"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_every_kind(name, tmp_path, capfd):
    with pytest.raises(ArrayFileError):
        read_header(io.BytesIO(HEADERS[name]))
    path = tmp_path / "a.npy"
    path.write_bytes(HEADERS[name])
    with pytest.raises(ArrayFileError):
        map_array(path)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("frames.npy", HEADERS[name])
    with ArrayArchive(tmp_path / "a.npz") as archive:
        for look in (archive.header, archive.map, archive.__getitem__):
            with pytest.raises(ArrayFileError):
                look("frames")
    assert capfd.readouterr() == ("", "")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_header_or_an_error(data):
    for given_data in (data, MAGIC + data, header(data)):
        try:
            read_header(io.BytesIO(given_data))
        except ArrayFileError:
            continue


@given(st.data())
def test_a_header_with_flipped_bytes(data):
    bytes_ = bytearray(npy(np.zeros((3, 4, 5), np.uint8)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(bytes_) - 1))
        bytes_[place] ^= data.draw(st.integers(1, 255))
    try:
        found = read_header(io.BytesIO(bytes(bytes_)))
    except ArrayFileError:
        return
    assert found.nbytes >= 0


def test_headers_of_python_2():
    text = "{'descr': '|u1', 'fortran_order': False, 'shape': (3L, 4L)}\n"
    assert read_header(io.BytesIO(header(text))).shape == (3, 4)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["u1", ">u2", "f4", "U7", "?", [("a", "i4"), ("b", "f8")]])
def test_arrays_come_back(tmp_path, order, dtype):
    array = np.asarray(np.arange(24).reshape(2, 3, 4).astype("f8"), order=order)
    array = array.astype(dtype, order=order) if not isinstance(dtype, list) else np.zeros(5, dtype)
    np.save(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(map_array(tmp_path / "a.npy"), array)
    np.savez_compressed(tmp_path / "a.npz", one=array, two=np.float64(3.5), none=np.empty((0, 3)))
    with ArrayArchive(tmp_path / "a.npz") as archive:
        assert archive.names == ["one", "two", "none"]
        np.testing.assert_array_equal(archive["one"], array)
        np.testing.assert_array_equal(archive.map("one"), array)
        assert archive["two"] == 3.5
        assert archive["none"].shape == (0, 3)
        assert archive.map("none").shape == (0, 3)
    np.savez(tmp_path / "b.npz", zero=np.zeros(9), one=array)
    with ArrayArchive(tmp_path / "b.npz") as archive:
        np.testing.assert_array_equal(archive.map("one"), array)


METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflate": zipfile.ZIP_DEFLATED,
    "lzma": zipfile.ZIP_LZMA,
    "bz2": zipfile.ZIP_BZIP2,
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_damaged_members(tmp_path, method, share):
    path = tmp_path / "a.npz"
    values = np.random.default_rng(0).integers(0, 200, (20, 30, 30), np.uint8)
    with zipfile.ZipFile(path, "w", METHODS[method]) as archive:
        archive.writestr("frames.npy", npy(values))
    data = bytearray(path.read_bytes())
    place = int(share * len(data))
    data[place : place + 40] = b"\xaa" * 40
    path.write_bytes(data)
    with ArrayArchive(path) as archive, pytest.raises(ArrayFileError, match=r"damaged|cut off"):
        archive.map("frames")


def test_an_unknown_method_of_compression(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, frames=np.zeros((2, 3, 4), np.uint8))
    data = bytearray(path.read_bytes())
    for start, at in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        data[data.index(start) + at] = 97
    path.write_bytes(data)
    with ArrayArchive(path) as archive, pytest.raises(ArrayFileError, match="compression"):
        archive.header("frames")


def test_no_archive_and_no_member(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK but no zip")
    with pytest.raises(ArrayFileError):
        ArrayArchive(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("notes.txt", "hello")
    with ArrayArchive(tmp_path / "b.npz") as archive:
        with pytest.raises(ArrayFileError):
            archive["notes.txt"]
        with pytest.raises(KeyError):
            archive["frames"]
        with pytest.raises(ArrayFileError):
            archive.header("frames")


def test_a_size_that_is_not_there(tmp_path):
    announced = "{'descr': '|u1', 'fortran_order': False, 'shape': (300000000, 1000)}"
    (tmp_path / "a.npy").write_bytes(header(announced, bytes(100)))
    with pytest.raises(ArrayFileError, match="300000000000 bytes are announced, 100 there"):
        map_array(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("frames.npy", header(announced, bytes(100)))
    with (
        ArrayArchive(tmp_path / "a.npz") as archive,
        pytest.raises(ArrayFileError, match="its frames is damaged: 300000000000 bytes"),
    ):
        archive["frames"]


def test_mapping_takes_no_more_memory_than_a_buffer(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", frames=np.zeros((80, 1000, 1000), np.uint8))
    tracemalloc.start()
    try:
        with ArrayArchive(tmp_path / "a.npz") as archive:
            assert archive.map("frames").nbytes == 80_000_000
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_an_array_that_fits_on_no_disk(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", frames=np.zeros((80, 100, 100), np.uint8))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with (
        ArrayArchive(tmp_path / "a.npz") as archive,
        pytest.raises(InputError, match=r"^a\.npz: its frames take 0\.0008 GB, and .*; set TMPDIR"),
    ):
        archive.map("frames")
