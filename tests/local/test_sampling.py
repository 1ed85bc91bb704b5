"""The frames that a local model is fitted to, picked out of a film as it passes by."""

import numpy as np
import pytest

from bgsub.local.sampling import PictureSample, fit_bytes, sample_bytes, sample_size
from bgsub.video.frames import Layout


def pass_by(frames, size=(6, 8), seed=0, block=7):
    """A sample of a film whose frames show their own number, and what was picked."""
    layout = Layout("gray", *size)
    sample = PictureSample(layout, frames, seed)
    rows = np.repeat(np.arange(frames, dtype=np.uint8)[:, None], size[0] * size[1], axis=1)
    for start in range(0, frames, block):
        sample.add(start, rows[start : start + block])
    return sample.pictures[:, 0, 0, 0].tolist()


def test_one_frame_of_each_of_equal_stretches_is_picked_in_order():
    found = pass_by(250)
    assert len(found) == sample_size(6, 8) == 150
    assert found == sorted(set(found))
    assert np.diff(found).max() <= 4
    assert pass_by(250, block=250) == found
    assert pass_by(250, seed=1) != found


def test_of_a_short_film_every_frame_is():
    assert pass_by(20) == list(range(20))


@pytest.mark.parametrize("frames", [10, 10_000])
def test_memory_of_the_pictures(frames):
    kept = min(frames, sample_size(240, 320))
    assert sample_bytes(frames, 240, 320) == 3 * 240 * 320 * kept
    # A layer of every value, and what is made of it, beside the pictures themselves.
    assert fit_bytes(frames, 240, 320) > 4 * 240 * 320 * kept
