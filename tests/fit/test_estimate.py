from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.fit.estimate import run_seconds
from bgsub.fit.memory_need import MemoryNeed

VIDEO = MemoryNeed(
    frames=250,
    pixels=640 * 360,
    size=640 * 360 * 3 // 2,
    native_pixels=640 * 360,
    k=10,
    threads=2,
    pictures=True,
    videos=3,
    plot=True,
)


def seconds(need: MemoryNeed = VIDEO, decode_s: float = 1.0) -> float:
    return run_seconds(need, "memory", need.sample, decode_s)


@given(st.integers(1, 10**6), st.integers(1, 3000), st.integers(1, 30))
def test_more_frames_never_take_less(pixels: int, frames: int, k: int) -> None:
    one = replace(VIDEO, frames=frames, pixels=pixels, size=pixels, k=k)
    assert seconds(one) < seconds(replace(one, frames=frames + 1))


def test_decoding_is_added_as_often_as_it_is_done() -> None:
    assert seconds(decode_s=5.0) == pytest.approx(seconds(decode_s=0.0) + 5.0)
    again = run_seconds(VIDEO, "sample", 250, 5.0) - run_seconds(VIDEO, "memory", 250, 5.0)
    assert again == pytest.approx(10.0)


def test_local_masks_cost_what_learning_and_drawing_them_costs() -> None:
    pixels = VIDEO.pixels
    local = replace(VIDEO, local=10**9, local_sample=75 * 3 * pixels)
    more = (75 * 1.3e-7 + 250 * 7e-8) * pixels / VIDEO.threads
    assert seconds(local) == pytest.approx(seconds() + more)


@pytest.mark.parametrize(
    "change", [{"videos": 1}, {"threads": 4}, {"pictures": False, "videos": 0}]
)
def test_what_is_quicker(change) -> None:
    assert seconds(replace(VIDEO, **change)) < seconds()


@pytest.mark.parametrize(
    ("frames", "width", "height", "sample", "measured_s"),
    [(633, 160, 128, 145, 6.6), (300, 320, 240, 75, 5.5), (60, 1280, 720, 25, 7.8)],
)
def test_runs_that_were_measured(frames, width, height, sample, measured_s) -> None:
    """All outputs, two threads, the first on a busy machine; decoding took .05 to .3 s."""
    pixels = width * height
    need = replace(VIDEO, frames=frames, pixels=pixels, size=pixels * 3 // 2, native_pixels=pixels)
    local = replace(need, local=10**9, local_sample=sample * 3 * pixels)
    assert 0.67 < seconds(local, 0.2) / measured_s < 1.5
