"""The frames that a local model is fitted to, picked out of a film as it passes by."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.params import DEFAULTS
from bgsub.local.sampling import PictureSample, fit_bytes, sample_bytes, sample_size
from bgsub.runtime.threads import Workers
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


def by_hand(height, width):
    """Frames of a fit: 150 up to 160×120, then with the root of the pixels, 75 and more."""
    pixels = height * width
    wanted = max(round(150 * min(1, (19_200 / pixels) ** 0.5)), 75)
    return max(24, min(wanted, 70_000_000 // (3 * pixels)))


@pytest.mark.parametrize(
    "size",
    [(1, 1), (120, 160), (121, 160), (200, 250), (240, 320), (558, 558), (640, 640), (4000, 6000)],
)
def test_sizes_of_samples(size):
    assert sample_size(*size) == by_hand(*size)


@pytest.mark.parametrize("frames", [10, 100_000])
@pytest.mark.parametrize(("size", "coarse"), [((240, 320), 1), ((1080, 1920), 3)])
def test_memory_of_a_fit_is_that_of_its_largest_stage(frames, size, coarse):
    """Pictures and a label a value; 140 bytes a pixel, or 60, 450 a place and motion; threads."""
    pixels, taken = size[0] * size[1], min(frames, by_hand(*size))
    stage = max(140 * pixels, 60 * pixels + (450 + taken) * pixels / coarse**2)
    assert fit_bytes(frames, *size) == 4 * pixels * taken + int(stage) + 24_000_000


def test_a_model_of_a_sample_knows_the_moments_of_its_frames():
    layout = Layout("gray", 36, 48)
    sample = PictureSample(layout, 300, 0)
    place = np.random.default_rng(0).integers(60, 160, 36 * 48)
    noise = np.random.default_rng(1).integers(-2, 3, (300, 36 * 48))
    sample.add(0, (place + noise).astype(np.uint8))
    moments = [(number, number / 25) for number in range(1, 301)]
    with Workers(1) as workers:
        found = sample.fit(workers, moments, replace(DEFAULTS, state_share=1.1))
    assert found.params.state_share == 1.1
    assert found.history.states[0]["sample_frames"] == 150
