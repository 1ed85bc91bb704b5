"""Array files: headers that nobody should trust, and values."""

import shutil
import tracemalloc
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import InputError
from bgsub.video.arrays import ArrayArchive, ArrayFileError, map_array
from tests.video.array_files import HEADERS, MAGIC, header, npy


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_every_kind(name, tmp_path, capfd):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("frames.npy", HEADERS[name])
    with ArrayArchive(tmp_path / "a.npz") as archive:
        for look in (archive.header, archive.map, archive.__getitem__):
            with pytest.raises(ArrayFileError):
                look("frames")
    (tmp_path / "a.npy").write_bytes(HEADERS[name])
    with pytest.raises(ArrayFileError):
        map_array(tmp_path / "a.npy")
    assert capfd.readouterr() == ("", "")


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


def test_mapping_takes_no_more_memory_than_a_buffer(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", frames=np.zeros((12, 1000, 1000), np.uint8))
    tracemalloc.start()
    try:
        with ArrayArchive(tmp_path / "a.npz") as archive:
            assert archive.map("frames").nbytes == 12_000_000
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


@given(
    data=st.binary(max_size=200), flips=st.dictionaries(st.integers(0, 187), st.integers(1, 255))
)
def test_any_bytes_are_an_array_or_an_error(data, flips, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any.npy"
    flipped = bytearray(npy(np.zeros((3, 4, 5), np.uint8)))
    for place, bits in flips.items():
        flipped[place] ^= bits
    for content in (data, MAGIC + data, header(data), bytes(flipped)):
        path.write_bytes(content)
        try:
            map_array(path)
        except ArrayFileError:
            continue


def test_headers_of_python_2(tmp_path):
    text = "{'descr': '|u1', 'fortran_order': False, 'shape': (3L, 4L)}\n"
    (tmp_path / "a.npy").write_bytes(header(text, bytes(12)))
    assert map_array(tmp_path / "a.npy").shape == (3, 4)


def test_a_size_that_is_not_there_in_a_npy_file(tmp_path):
    announced = "{'descr': '|u1', 'fortran_order': False, 'shape': (300000000, 1000)}"
    (tmp_path / "a.npy").write_bytes(header(announced, bytes(100)))
    with pytest.raises(ArrayFileError, match="greater than file size"):
        map_array(tmp_path / "a.npy")
