import contextlib
import json
import os
import pickle
import shutil
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.errors import BgsubError, InputError, UsageError
from bgsub.video import arrays
from bgsub.video.images import write_image
from bgsub.video.source import open_source

zarr = pytest.importorskip("zarr")
codecs = pytest.importorskip("numcodecs")


@pytest.fixture
def store(tmp_path, scene):
    """Write frames to a store; returns its path and the frames."""

    def make(name="a.zarr", frames=None, chunks=(4, 20, 64), version=2, **more):
        values = scene(10, color=False) if frames is None else frames
        chunks = (*chunks, *values.shape[3:])
        path = tmp_path / name
        array = zarr.create_array(
            store=str(path),
            shape=values.shape,
            chunks=chunks,
            dtype=values.dtype,
            zarr_format=version,
            **more,
        )
        array[:] = values
        return path

    return make


def images(source):
    return [frame.image for frame in source]


COMPRESSORS = {
    "none": lambda: None,
    "blosc": codecs.Blosc,
    "zstd": codecs.Zstd,
    "lz4": codecs.LZ4,
    "zlib": codecs.Zlib,
    "gzip": codecs.GZip,
}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", ["u1", "<u2", ">u2"])
@pytest.mark.parametrize("color", [True, False])
def test_a_store_is_read_as_its_array(store, scene, version, dtype, color):
    frames = scene(10, color=color).astype(dtype) * (257 if dtype != "u1" else 1)
    path = store(frames=frames, version=version)
    source = open_source(path, start=2, every=3, exact_color=True)
    expected = images(open_source(frames, start=2, every=3, exact_color=True))
    for _ in range(2):
        np.testing.assert_array_equal(images(source), expected)
    assert (source.kind, source.codec, source.input_frames) == ("array", "zarr", 10)
    assert (source.name, source.path, source.warnings) == ("a.zarr", str(path), [])
    np.testing.assert_array_equal(source[2].image, expected[2])


@pytest.mark.parametrize("name", COMPRESSORS)
def test_every_compressor_and_order(store, scene, name):
    path = store(
        compressors=COMPRESSORS[name](),
        order="F",
        chunk_key_encoding={"name": "v2", "separator": "/"},
    )
    np.testing.assert_array_equal(images(open_source(path)), scene(10, color=False))


@pytest.mark.parametrize("version", [2, 3])
def test_a_group_gives_its_only_array_or_the_frames(tmp_path, scene, version):
    group = zarr.create_group(store=str(tmp_path / "g.zarr"), zarr_format=version)
    frames = scene(3, color=False)
    group.create_array("0", data=frames)
    np.testing.assert_array_equal(images(open_source(tmp_path / "g.zarr")), frames)
    group.create_array("1", data=frames[:, ::2])
    with pytest.raises(InputError, match=r"g\.zarr: is a group that holds 0, 1; name one, as .*/0"):
        open_source(tmp_path / "g.zarr")
    np.testing.assert_array_equal(images(open_source(tmp_path / "g.zarr" / "0")), frames)
    group.create_array("frames", data=frames[1:])
    assert len(images(open_source(tmp_path / "g.zarr"))) == 2


@pytest.mark.parametrize("chunks", [(2, 700, 400), (40, 100, 100)])
def test_a_store_takes_no_more_memory_than_a_few_chunks(store, chunks, monkeypatch):
    monkeypatch.setattr("bgsub.video.arrays._BLOCK_BYTES", 3 << 20)
    path = store(frames=np.zeros((40, 700, 400), np.uint8), chunks=chunks)
    images(open_source(path, end=2))  # imports
    tracemalloc.start()
    try:
        source = open_source(path)
        assert sum(1 for _ in source) == 40
        expected = source.buffer_bytes - (24 << 20)
        assert expected < 5 << 20
        assert tracemalloc.get_traced_memory()[1] < expected + (5 << 20)
    finally:
        tracemalloc.stop()


def test_a_folder_of_images_is_one_whatever_its_name(tmp_path, scene):
    folder = tmp_path / "shots.zarr"
    folder.mkdir()
    with pytest.raises(InputError, match=r"shots\.zarr: is no Zarr array .*: it has no \.zarray"):
        open_source(folder)
    write_image(folder / "1.png", scene(1)[0])
    assert open_source(folder).kind == "images"


def test_a_store_needs_no_name(store, scene):
    assert open_source(store("plain")).codec == "zarr"


def test_chunks_that_are_not_stored_are_filled_and_that_is_said(store, scene):
    path = store()
    (path / "1.0.0").unlink()
    source = open_source(path)
    expected = scene(10, color=False)
    expected[4:8, :20] = 0
    np.testing.assert_array_equal(images(source), expected)
    assert source.warnings == [
        "1 of 9 chunks is not stored; the pixels there are 0, as Zarr has it"
    ]


@pytest.mark.parametrize("damage", ["short", "other", "empty", "long"])
def test_frames_of_a_damaged_chunk_are_left_out(store, scene, damage):
    path = store()
    chunk = path / "1.0.0"
    data = chunk.read_bytes()
    new = {"short": data[:-9], "other": b"x" * 99, "empty": b"", "long": b"x" * 999_999}
    chunk.write_bytes(new[damage])
    source = open_source(path)
    kept = [0, 1, 2, 3, 8, 9]
    np.testing.assert_array_equal(images(source), scene(10, color=False)[kept])
    assert [bad.number for bad in source.bad_frames] == [5, 6, 7, 8]
    with pytest.raises(InputError, match=r"^a\.zarr: frame 5 at 00:00:00\.160 cannot be decoded"):
        images(open_source(path, on_bad_frame="fail"))


def test_pickle_is_never_run(store, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "pwned"),)

    path = store(compressors=None)
    said = json.loads((path / ".zarray").read_text())
    (path / "0.0.0").write_bytes(pickle.dumps(Evil()))
    for where, value in (("filters", [{"id": "pickle"}]), ("compressor", {"id": "pickle"})):
        (path / ".zarray").write_text(json.dumps(said | {where: value}))
        with pytest.raises(InputError, match=r"^a\.zarr: [^\n]*pickle"):
            open_source(path)
    assert not (tmp_path / "pwned").exists()


HOSTILE = {
    "long": {"shape": [1 << 50, 48, 64]},
    "chunk": {"chunks": [1 << 20, 1 << 20, 1 << 20]},
    "no chunk": {"chunks": [0, 1, 1]},
    "negative": {"shape": [-1, 48, 64]},
    "text": {"shape": "abc"},
    "ranks": {"chunks": [4, 20]},
    "flat": {"shape": [10, 48], "chunks": [4, 20]},
    "objects": {"dtype": "|O"},
    "float": {"dtype": "<f8"},
    "record": {"dtype": [["a", "|u1"]]},
    "nonsense": {"dtype": "hello"},
    "compressor": {"compressor": 5},
    "order": {"order": "X"},
    "fill": {"fill_value": "x"},
    "empty": {"shape": [0, 48, 64]},
    "lzma": {"compressor": {"id": "lzma"}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_stores_that_lie_are_refused_in_one_line(store, name):
    path = store()
    said = json.loads((path / ".zarray").read_text()) | HOSTILE[name]
    (path / ".zarray").write_text(json.dumps(said))
    with pytest.raises(InputError, match=r"^a\.zarr: [^\n]*$") as caught:
        open_source(path)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, "[]", "{}", '{"a": 1e999}', "x" * 2_000_000]
)
@pytest.mark.parametrize("version", [2, 3])
def test_headers_that_are_none(store, text, version):
    path = store(version=version)
    (path / (".zarray" if version == 2 else "zarr.json")).write_text(text)
    with pytest.raises(InputError, match=r"^a\.zarr: is [^\n]*$"):
        open_source(path)


def test_shards_are_refused_and_named(store):
    path = store(version=3, chunks=(2, 48, 64), shards=(4, 48, 64))
    with pytest.raises(InputError, match="stored in shards; copy it into one without"):
        open_source(path)


def test_the_library_is_named_where_it_is_missing(store, monkeypatch):
    path = store()
    monkeypatch.setattr(arrays, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"needs the library zarr; .*`pip install zarr`"):
        open_source(path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zarr")
    for version, compressor in ((2, codecs.Zlib()), (3, None)):
        array = zarr.create_array(
            store=str(folder / f"{version}.zarr"),
            shape=(6, 4, 5),
            chunks=(2, 4, 5),
            dtype="u1",
            zarr_format=version,
            **({"compressors": compressor} if compressor else {}),
        )
        array[:] = np.arange(120).reshape(6, 4, 5)
    return folder


@settings(max_examples=10)
@given(data=st.data())
def test_any_damage_is_an_error_of_ours_or_a_bad_frame(small, data):
    version = data.draw(st.sampled_from([2, 3]))
    path = small / "tried.zarr"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(small / f"{version}.zarr", path)
    files = sorted(entry for entry in path.rglob("*") if entry.is_file())
    victim = data.draw(st.sampled_from(files))
    content = bytearray(victim.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        if content:
            place = data.draw(st.integers(0, len(content) - 1))
            content[place] = data.draw(st.integers(0, 255))
    content = (
        content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content
    )
    victim.write_bytes(bytes(content))
    with contextlib.suppress(BgsubError):
        assert len(images(open_source(path, end=20))) <= 20
