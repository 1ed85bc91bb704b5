import numpy as np
import pytest

from bgsub.errors import EmptySelectionError
from bgsub.video.arrays import load_array
from bgsub.video.source import open_source


def test_an_array_is_not_copied_and_not_changed(scene):
    frames = scene(3)
    before = frames.copy()
    for frame in open_source(frames):
        frame.data[:] = 0
    np.testing.assert_array_equal(frames, before)


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


def test_an_npy_file_is_mapped(tmp_path, scene):
    np.save(tmp_path / "a.npy", scene(3))
    assert isinstance(load_array(tmp_path / "a.npy"), np.memmap)


def test_the_only_array_of_an_npz_file_may_have_any_name(tmp_path, scene):
    np.savez_compressed(tmp_path / "a.npz", anything=scene(3))
    source = open_source(tmp_path / "a.npz")
    assert (source.name, source.kind, source.frames_estimate) == ("a.npz", "array", 3)


def test_faint_16_bit_arrays_are_said():
    frames = np.full((3, 8, 10), 4095, np.uint16)
    source = open_source(frames)
    assert [int(frame.luma[0, 0]) for frame in source] == [15, 15, 15]
    assert "values reach only 4095 of 65535" in source.warnings[0]


def test_nothing_selected_is_known_at_once(scene):
    with pytest.raises(
        EmptySelectionError, match=r"start 4; it has 3 frames, the last at 00:00:00.080"
    ):
        open_source(scene(3), start=4)
