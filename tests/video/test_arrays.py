import tracemalloc

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.video.source import open_source


@pytest.mark.parametrize("order", ["F", "negative", "big-endian"])
def test_any_memory_order(order, scene):
    frames = scene(4)
    given = {
        "F": lambda: np.asfortranarray(frames),
        "negative": lambda: frames[::-1],
        "big-endian": lambda: (frames.astype(np.uint16) << 8).astype(">u2"),
    }[order]()
    result = [frame.image for frame in open_source(given)]
    np.testing.assert_array_equal(result, frames[::-1] if order == "negative" else frames)


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_a_file_takes_no_more_memory_than_its_frames(tmp_path, name):
    frames = np.zeros((24, 700, 1000), np.uint8)
    (np.save if name == "a.npy" else np.savez_compressed)(tmp_path / name, frames)
    tracemalloc.start()
    try:
        assert sum(1 for _ in open_source(tmp_path / name)) == 24
        assert tracemalloc.get_traced_memory()[1] < 15 * frames[0].size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.uint8, ">u2"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_is_read_as_its_array(tmp_path, scene, save, dtype, order):
    frames = scene(7).astype(dtype) * (1 if dtype is np.uint8 else 257)
    save(tmp_path / "a.npz", frames=np.asarray(frames, order=order), other=np.arange(3))
    source = open_source(tmp_path / "a.npz", start=2, every=2)
    expected = [frame.image for frame in open_source(frames, start=2, every=2)]
    for _ in range(2):
        np.testing.assert_array_equal([frame.image for frame in source], expected)
    assert source.decoded == 7
    assert [frame.number for frame in open_source(tmp_path / "a.npz", end=3)] == [1, 2, 3]


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_damaged_files_are_refused_before_the_work(tmp_path, scene, name):
    (np.save if name == "a.npy" else np.savez_compressed)(tmp_path / name, scene(5))
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=rf"^{name}: is not an array file that can be read: .*; s"):
        open_source(tmp_path / name)


def test_the_only_array_of_an_npz_file_may_have_any_name(tmp_path, scene):
    np.savez_compressed(tmp_path / "a.npz", anything=scene(3))
    source = open_source(tmp_path / "a.npz")
    assert (source.name, source.kind, source.frames_estimate) == ("a.npz", "array", 3)


def test_faint_16_bit_arrays_are_said():
    frames = np.full((3, 8, 10), 4095, np.uint16)
    source = open_source(frames)
    assert [int(frame.luma[0, 0]) for frame in source] == [15, 15, 15]
    assert "values reach only 4095 of 65535" in source.warnings[0]
