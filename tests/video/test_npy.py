"""Plain array files: headers that nobody should trust, and values."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.video.arrays import ArrayFileError, map_array, read_header
from tests.video.array_files import HEADERS, MAGIC, header, npy


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_every_kind(name, tmp_path, capfd):
    with pytest.raises(ArrayFileError):
        read_header(io.BytesIO(HEADERS[name]))
    path = tmp_path / "a.npy"
    path.write_bytes(HEADERS[name])
    with pytest.raises(ArrayFileError):
        map_array(path)
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


def test_a_size_that_is_not_there(tmp_path):
    announced = "{'descr': '|u1', 'fortran_order': False, 'shape': (300000000, 1000)}"
    (tmp_path / "a.npy").write_bytes(header(announced, bytes(100)))
    with pytest.raises(ArrayFileError, match="300000000000 bytes are announced, 100 there"):
        map_array(tmp_path / "a.npy")
