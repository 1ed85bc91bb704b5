"""What is read of a Zarr store before the library reads it."""

import gzip
import json
import os
import struct
import zlib

import numpy as np
import pytest

from bgsub.video import zarr_store
from bgsub.video.zarr_store import StoreError, StoreHeader

HEADER = StoreHeader(2, (10, 48, 64), (4, 20, 64), np.dtype("u1"), "zstd")
ARRAY = {
    "zarr_format": 2,
    "shape": [10, 48, 64],
    "chunks": [4, 20, 64],
    "dtype": "|u1",
    "compressor": {"id": "zstd"},
    "filters": None,
}


def array_in(folder, **changes):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".zarray").write_text(json.dumps(ARRAY | changes))
    return folder


def test_a_header_says_what_a_chunk_takes(tmp_path):
    header = zarr_store.read_header(array_in(tmp_path, dtype="<u2"))
    assert (header.version, header.shape, header.compressor) == (2, (10, 48, 64), "zstd")
    assert header.chunk_bytes == 2 * 4 * 20 * 64


@pytest.mark.parametrize("filters", [[{"id": "pickle"}], [{"id": "shuffle"}, {"id": "json2"}]])
def test_a_filter_that_is_not_known_is_not_run(tmp_path, filters):
    with pytest.raises(StoreError, match=r"it is packed with '(pickle|json2)'; known are"):
        zarr_store.read_header(array_in(tmp_path, filters=filters))


def test_arrays_of_a_group_are_listed_by_name_and_other_folders_are_not(tmp_path):
    for name in ("b", "a"):
        array_in(tmp_path / name)
    (tmp_path / "notes").mkdir()
    with pytest.raises(StoreError, match=r"it has no \.zarray and no zarr\.json"):
        zarr_store.arrays_of(tmp_path)
    (tmp_path / ".zgroup").write_text("{}")
    assert zarr_store.is_store(tmp_path)
    assert zarr_store.arrays_of(tmp_path) == ["a", "b"]
    assert zarr_store.arrays_of(tmp_path / "a") is None


def test_sizes_of_chunks_are_found_without_unpacking(tmp_path):
    """Also of what other programs pack: a stream that does not say its size."""
    header = HEADER
    block = struct.pack("<I", 1 | 1 << 1 | (4 * 20 * 64 << 3))[:3] + b"\7"
    (tmp_path / "chunk").write_bytes(struct.pack("<IBB", 0xFD2FB528, 0, 0x70) + block)
    assert zarr_store.check_chunk(tmp_path / "chunk", header)
    (tmp_path / "chunk").write_bytes(struct.pack("<IBB", 0xFD2FB528, 0, 0x70) + block[:2])
    with pytest.raises(StoreError, match="cut off"):
        zarr_store.check_chunk(tmp_path / "chunk", header)
    assert not zarr_store.check_chunk(tmp_path / "none", header)


def test_zlib_streams_of_other_programs(tmp_path):
    """Members one after the other count together; zeros behind them do not."""
    file = tmp_path / "chunk"
    file.write_bytes(gzip.compress(bytes(700)) * 2 + bytes(9))
    with file.open("rb") as opened:
        assert zarr_store._zlib(opened, 2000) == 1400
    file.write_bytes(zlib.compress(os.urandom(3_000_000)))
    with file.open("rb") as opened:
        assert zarr_store._zlib(opened, 4_000_000) == 3_000_000
