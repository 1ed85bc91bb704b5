import json

import numpy as np
import pytest

from bgsub.errors import OutputError, UsageError
from bgsub.video import arrays
from bgsub.video import sink as zarr_sink
from bgsub.video.frames import Layout
from bgsub.video.sink import open_sink
from bgsub.video.source import open_source

zarr = pytest.importorskip("zarr")

RNG = np.random.default_rng(5)


def write_all(path, frames, layout):
    sink = open_sink(path, "mask", layout=layout, kind="zarr")
    for frame in frames:
        sink.write(frame)
    assert sink.close() == sink.close() == len(frames)
    return sink


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(zarr_sink, "_CHUNK_BYTES", 1000)


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_vectors_come_back_as_pictures_in_rgb(tmp_path, kind):
    layout = Layout(kind, 9, 13)
    vectors = [RNG.integers(0, 256, layout.size, dtype=np.uint8) for _ in range(20)]
    write_all(tmp_path / "a.zarr", vectors, layout)
    found = zarr.open_array(str(tmp_path / "a.zarr"), mode="r")
    expected = np.stack([layout.to_bgr(vector) for vector in vectors])
    np.testing.assert_array_equal(found[:], expected[..., ::-1] if kind != "gray" else expected)
    assert found.chunks[1:] == found.shape[1:]
    assert 1 <= found.chunks[0] < 20
    back = [frame.image for frame in open_source(tmp_path / "a.zarr", exact_color=True)]
    np.testing.assert_array_equal(back, found[:])


@pytest.mark.parametrize("count", [1, 4, 5, 6])
def test_16_bits_and_lengths_about_a_chunk(tmp_path, count):
    pictures = [RNG.integers(0, 1 << 16, (10, 10), dtype=np.uint16) for _ in range(count)]
    write_all(tmp_path / "a.zarr", pictures, Layout("bgr", 10, 10))
    np.testing.assert_array_equal(zarr.open_array(str(tmp_path / "a.zarr"))[:], pictures)


def test_axes_are_named_and_empty_chunks_are_there(tmp_path):
    write_all(tmp_path / "a.zarr", [np.zeros((20, 30), np.uint8)] * 4, Layout("gray", 20, 30))
    said = json.loads((tmp_path / "a.zarr" / ".zattrs").read_text())
    assert said == {"_ARRAY_DIMENSIONS": ["frame", "y", "x"], "title": "mask"}
    names = {path.name for path in (tmp_path / "a.zarr").iterdir()}
    assert names == {".zarray", ".zattrs", "0.0.0", "1.0.0", "2.0.0", "3.0.0"}


@pytest.mark.parametrize("damage", ["lost", "cut", "changed"])
def test_damage_is_noticed(tmp_path, damage):
    sink = open_sink(tmp_path / "a.zarr", "mask", layout=Layout("gray", 20, 30), kind="zarr")
    for value in range(5):
        sink.write(np.full((20, 30), value, np.uint8))
    first = tmp_path / "a.zarr" / "0.0.0"
    if damage == "lost":
        first.unlink()
    elif damage == "cut":
        first.write_bytes(first.read_bytes()[:5])
    else:
        sink.count += 1
    with pytest.raises(OutputError, match=r"a\.zarr"):
        sink.close()
    sink.abort()
    assert not (tmp_path / "a.zarr").exists()


def test_the_library_is_named_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"--format zarr: .*`pip install zarr`"):
        open_sink(tmp_path / "a", "mask", layout=Layout("gray", 4, 4), kind="zarr")
