"""Frames by their place: the same as those of an iteration, without reading the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import InputError
from bgsub.video.source import open_source

FRAMES = np.random.default_rng(3).integers(0, 255, (30, 8, 10), dtype=np.uint8)


@given(
    start=st.none() | st.integers(1, 15) | st.just("0.2s"),
    end=st.none() | st.integers(15, 40),
    every=st.none() | st.integers(1, 7) | st.just("0.1s"),
)
def test_places_are_those_of_an_iteration(start, end, every):
    source = open_source(FRAMES, start=start, end=end, every=every)
    read = list(source)
    assert len(source) == len(read)
    for place in (0, len(read) // 2, -1):
        assert source[place].number == read[place].number
        assert source[place].time_s == read[place].time_s
        np.testing.assert_array_equal(source[place].data, read[place].data)
    assert [frame.number for frame in source[1:5:2]] == [frame.number for frame in read[1:5:2]]
    with pytest.raises(IndexError):
        source[len(read)]


def test_images(images, scene, tmp_path):
    source = open_source(images(scene(n=4)), scale=0.5)
    assert len(source) == 4
    np.testing.assert_array_equal(source[2].data, list(source)[2].data)
    broken = sorted((tmp_path / "shots").iterdir())[1]
    broken.write_bytes(b"no picture")
    assert len(source) == 4
    with pytest.raises(InputError, match=r"frame 2 cannot be decoded"):
        source[1]
