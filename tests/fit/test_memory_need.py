"""How much memory a run takes; the truth is measured by benchmarks/memory.py."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bgsub.fit.blocks import queue_frames
from bgsub.fit.memory_need import AUTO_FIT_FRAMES, MemoryNeed
from bgsub.outliers.frame_scorer import scorer_bytes
from bgsub.robustpca.gram import TILE_ROWS

VIDEO = MemoryNeed(
    frames=250,
    pixels=1280 * 720,
    size=1280 * 720 * 3 // 2,
    native_pixels=1280 * 720,
    k=10,
    threads=2,
    pictures=True,
    videos=3,
    plot=True,
)


def needs():
    return st.builds(
        MemoryNeed,
        frames=st.integers(1, 10**5),
        pixels=st.integers(1, 10**7),
        size=st.integers(1, 10**7),
        native_pixels=st.integers(1, 10**7),
        k=st.integers(1, 50),
        threads=st.integers(1, 64),
        pictures=st.booleans(),
        videos=st.integers(0, 4),
        plot=st.booleans(),
        fit_frames=st.none() | st.integers(2, 5000),
    )


def test_all_frames_are_fitted_up_to_a_bound():
    assert VIDEO.sample == 250
    assert replace(VIDEO, frames=2345).sample == AUTO_FIT_FRAMES
    assert replace(VIDEO, frames=2345, fit_frames=3000).sample == 2345
    assert replace(VIDEO, frames=2345, fit_frames=300).sample == 300


def test_frames_in_memory_are_counted():
    more = replace(VIDEO, frames=251)
    grown = more.total("memory", 251) - VIDEO.total("memory", 250)
    assert VIDEO.size <= grown < 1.1 * VIDEO.size


def test_borrowed_frames_are_counted_beside_those_of_the_run():
    borrowing = replace(VIDEO, borrowed=100)
    assert borrowing.sample == 350
    frames = borrowing.total("memory", 250) - VIDEO.total("memory", 250)
    assert frames >= 100 * VIDEO.size
    short = replace(VIDEO, frames=3, fit_frames=3)
    assert replace(short, borrowed=100).total("sample", 3) >= short.total("sample", 3)


def test_a_spilled_video_takes_the_same_whatever_its_length():
    long, longer = (replace(VIDEO, frames=n).total("spill", 2000) for n in (3000, 10**6))
    assert long == longer
    assert long < 650e6 < replace(VIDEO, frames=3000).total("memory", 2000)


def test_each_road_takes_less_than_the_one_before():
    many = replace(VIDEO, frames=2000)
    assert many.total("sample", 100) < many.total("sample", 1000) < many.total("memory", 2000)


@pytest.mark.parametrize(
    "change", [{"plot": False}, {"videos": 8}, {"k": 5}, {"pictures": False, "videos": 0}]
)
def test_what_is_left_out_takes_nothing(change):
    many = replace(VIDEO, videos=9)
    assert replace(many, **change).total("memory", 250) < many.total("memory", 250)


def test_frames_wait_for_each_of_the_encoders():
    one, other = (replace(VIDEO, videos=count).total("memory", 250) for count in (8, 9))
    assert other - one > queue_frames(VIDEO.size) * VIDEO.size


def test_scores_of_frames_count_wherever_frames_are_fitted():
    errors = replace(VIDEO, pictures=False, videos=0)
    without = replace(errors, fit=False)
    scorer = max(scorer_bytes(VIDEO.pixels, 250, VIDEO.k, VIDEO.threads))
    assert errors.total("memory", 250) > without.resident("memory", 250) + scorer


def test_threads_for_the_gram_matrix_take_memory():
    many = replace(VIDEO, frames=2000, threads=16)
    assert many.total("spill", 2000, 2) < many.total("spill", 2000, 16)
    assert many.total("spill", 2000, 99) == many.total("spill", 2000)


@given(needs(), st.integers(2, 5000))
@example(replace(VIDEO, frames=5000), TILE_ROWS)
def test_a_larger_sample_never_takes_less(need, sample):
    need = replace(need, frames=need.frames + 3)
    sample = min(sample, need.frames - 2)
    assert need.total("sample", sample, 1) <= need.total("sample", sample + 1, 1)
    # Above it, threads work on tiles of one matrix, and make no copies.
    if sample != TILE_ROWS:
        assert need.total("sample", sample) <= need.total("sample", sample + 1)


@given(needs(), st.sampled_from(["memory", "spill"]))
@example(replace(VIDEO, frames=1, pixels=531574, size=1, threads=64, videos=0), "memory")
def test_smaller_frames_never_take_more(need, storage):
    small = need.scaled(0.5)
    assert small.frames == need.frames
    # Blocks of small frames have more of them, up to the same bytes, and scores are made at a size
    # that follows that of frames in steps.
    scorers = (scorer_bytes(one.pixels, one.sample, one.k, one.threads) for one in (small, need))
    steps = max(0, *(one - other for one, other in zip(*scorers, strict=True)))
    more = 2 * 128 * 2**20 + steps
    assert small.total(storage, small.sample) <= need.total(storage, need.sample) + more
