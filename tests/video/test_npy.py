"""Plain array files: headers that nobody should trust, and values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.video.arrays import ArrayFileError, map_array
from tests.video.array_files import HEADERS, MAGIC, header, npy


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_every_kind(name, tmp_path, capfd):
    path = tmp_path / "a.npy"
    path.write_bytes(HEADERS[name])
    with pytest.raises(ArrayFileError):
        map_array(path)
    assert capfd.readouterr() == ("", "")


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
    with pytest.raises(ArrayFileError, match="greater than file size"):
        map_array(tmp_path / "a.npy")
