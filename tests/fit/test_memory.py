"""Peak memory and time of a run, and which storage it takes; benchmarks/memory.py measures both."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bgsub.errors import MemoryLimitError
from bgsub.fit import memory
from bgsub.fit.memory import (
    AUTO_FIT_FRAMES,
    MemoryNeed,
    chunk_bytes,
    make_plan,
    queue_frames,
    render_rows,
    run_seconds,
    sum_rows,
)
from bgsub.outliers.frame_scorer import scorer_bytes
from bgsub.robustpca.gram import TILE_ROWS
from bgsub.runtime.limits import memory_bytes

LONG = MemoryNeed(
    frames=2000,
    pixels=1280 * 720,
    size=1280 * 720 * 3 // 2,
    native_pixels=1280 * 720,
    k=10,
    threads=2,
    pictures=True,
    videos=3,
    plot=True,
)
VIDEO = replace(LONG, frames=250)
SMALL = replace(LONG, pixels=320 * 240, size=320 * 240 * 3 // 2)


@given(st.integers(1, 10**9))
def test_blocks_are_small_and_do_not_lie_across_chunks(size):
    assert 1 <= render_rows(size) <= 16
    assert render_rows(size) == 1 or render_rows(size) * size <= 64 * 2**20
    assert sum_rows(size) == render_rows(size) or sum_rows(size) * size <= 128 * 2**20
    assert sum_rows(size) % render_rows(size) == 0
    assert chunk_bytes(size) % (sum_rows(size) * size) == 0
    assert 2 <= queue_frames(size) <= 64
    assert queue_frames(size) <= 8 or queue_frames(size) * size <= 2 * 2**20


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


@pytest.fixture
def disk(monkeypatch):
    """Pretend how much is free on any disk."""

    def have(count):
        monkeypatch.setattr(memory, "free_space", lambda _folder: count)

    have(10**15)
    return have


class TestStorage:
    def test_memory_when_the_frames_fit(self, disk):
        plan = make_plan(SMALL, 8 * 10**9)
        assert (plan.storage, plan.fit_frames, plan.reason) == ("memory", 2000, "")
        assert plan.bytes == SMALL.total("memory", 2000) <= plan.limit == 8 * 10**9

    def test_a_file_for_many_bytes_though_they_fit(self, disk):
        plan = make_plan(LONG, 8 * 10**9)
        assert (plan.storage, plan.fit_frames, plan.reason) == ("spill", 2000, "")
        assert plan.bytes == LONG.total("spill", 2000) < LONG.total("memory", 2000)
        disk(0)
        assert make_plan(LONG, 8 * 10**9).storage == "memory"

    def test_a_file_when_they_do_not(self, disk, tmp_path):
        plan = make_plan(LONG, 600 * 10**6, tmp_path)
        assert (plan.storage, plan.fit_frames) == ("spill", 2000)
        assert plan.bytes == LONG.total("spill", 2000) < 600e6
        assert plan.reason == (
            f"2765M of frames do not fit into 600M of memory: they are kept in {tmp_path}"
        )

    def test_fewer_fit_frames_when_the_disk_is_full(self, disk):
        disk(0)
        plan = make_plan(LONG, 10**9)
        assert plan.storage == "sample"
        assert 50 <= plan.fit_frames < 2000
        more = LONG.total("sample", plan.fit_frames + 1)
        assert plan.bytes <= 10**9 < more
        assert f"{plan.fit_frames} of 2000 are fitted" in plan.reason
        assert "decoded again" in plan.reason

    def test_the_disk_needs_a_tenth_more(self, disk):
        disk(1.1 * LONG.on_disk)
        assert make_plan(LONG, 10**9).storage == "sample"
        disk(1.1 * LONG.on_disk + 1)
        assert make_plan(LONG, 10**9).storage == "spill"
        assert LONG.on_disk >= LONG.frames * LONG.size

    def test_threads_are_given_up_first(self, disk):
        many = replace(LONG, threads=32)
        assert make_plan(many, 10**10).gram_threads == 32
        plan = make_plan(many, many.total("spill", 2000, 32) - 1)
        assert (plan.storage, plan.gram_threads) == ("spill", 2)


class TestLongInputs:
    def test_a_sample_is_said(self, disk):
        plan = make_plan(replace(LONG, frames=2345), 10**10)
        assert (plan.storage, plan.fit_frames) == ("spill", 2000)
        assert plan.reason == "2345 frames: a sample of 2000 is fitted"

    def test_both_are_said(self, disk):
        plan = make_plan(replace(LONG, frames=20_000), 10**9)
        first, second = plan.reason.split("; ")
        assert first.startswith("28G of frames do not fit into 1000M of memory")
        assert second == "20000 frames: a sample of 2000 is fitted"

    def test_a_sample_that_was_asked_for_is_not(self, disk):
        plan = make_plan(replace(LONG, fit_frames=300), 10**10)
        assert (plan.fit_frames, plan.reason) == (300, "")

    def test_more_frames_than_announced(self, disk):
        few = replace(LONG, frames=100)
        plan = make_plan(few, few.total("memory", 100) + 10 * LONG.size)
        assert plan.storage == "memory"
        assert (plan.fit_frames, plan.most_fitted) == (100, 2000)
        assert 105 <= plan.most_frames <= 110
        assert make_plan(LONG, 650 * 10**6).most_frames > 10**9


class TestRefusal:
    def refuse(self, need, limit, **more):
        with pytest.raises(MemoryLimitError) as caught:
            make_plan(need, limit, name="a.mp4", **more)
        message = str(caught.value)
        assert "\n" not in message
        return message

    def test_what_it_needs_and_what_would_help(self, disk):
        message = self.refuse(LONG, 300 * 10**6)
        needed, advice = message.split("; use ")
        least = memory_bytes(advice.split()[1])
        assert needed == (
            f"a.mp4: needs at least {least // 10**6}M of memory, but the limit is 300M"
        )
        assert make_plan(LONG, least).bytes <= least
        assert advice.split(" or ")[1:] == ["--scale 0.5"]
        assert make_plan(LONG.scaled(0.5), 300 * 10**6)

    def test_a_smaller_k_where_components_are_the_most(self, disk):
        large = replace(LONG, pixels=3840 * 2160, size=12_441_600, native_pixels=3840 * 2160, k=30)
        message = self.refuse(large, large.total("spill", 2000, 1) - 10**6)
        assert "--k 1" in message

    def test_another_disk(self, disk):
        disk(0)
        few = replace(LONG, frames=500, k=499)
        message = self.refuse(few, few.total("spill", 500) + 1)
        assert "--temp with a folder that has " in message

    def test_nothing_helps_but_memory(self, disk):
        assert self.refuse(LONG, 1).endswith("M")

    def test_jobs_share(self, disk):
        message = self.refuse(LONG, 300 * 10**6, jobs=2)
        assert "but the limit is 300M for each of 2 jobs; use --memory " in message
        assert message.endswith("or fewer --jobs")
        advised = memory_bytes(message.split("--memory ")[1].split()[0])
        assert make_plan(LONG, advised // 2)


@given(
    frames=st.integers(1, 10**5),
    pixels=st.integers(1, 10**7),
    colors=st.sampled_from([1.0, 1.5, 4.0]),
    k=st.integers(1, 60),
    threads=st.integers(1, 64),
    videos=st.integers(0, 4),
    limit=st.integers(1, 10**11),
    free=st.sampled_from([0, 10**9, 10**15]),
)
def test_a_plan_keeps_to_its_limit_or_says_one_that_does(
    frames, pixels, colors, k, threads, videos, limit, free
):
    need = MemoryNeed(
        frames=frames,
        pixels=pixels,
        size=int(pixels * colors),
        native_pixels=pixels,
        k=k,
        threads=threads,
        pictures=videos > 0,
        videos=videos,
        plot=True,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "free_space", lambda _folder: free)
        try:
            plan = make_plan(need, limit, Path("there"))
        except MemoryLimitError as error:
            advised = memory_bytes(str(error).split("--memory ")[1].split()[0])
            assert advised > limit
            plan = make_plan(need, advised, Path("there"))
            limit = advised
        assert plan.bytes <= limit
        assert 1 <= plan.fit_frames <= plan.most_fitted <= max(2000, plan.fit_frames)
        assert plan.most_frames >= frames
        assert 1 <= plan.gram_threads <= threads


class TestAllFrames:
    WHOLE = replace(LONG, frames=6000, fit_frames=1 << 40, whole=True, pixels=9000, size=13500)

    def test_all_are_fitted_where_they_fit(self, disk):
        plan = make_plan(self.WHOLE, 10**10)
        assert (plan.storage, plan.fit_frames) == ("memory", 6000)
        assert plan.reason == ""

    def test_a_sample_never_takes_their_place(self, disk):
        with pytest.raises(MemoryLimitError, match=r"use --memory .* or --fit-frames auto"):
            make_plan(self.WHOLE, 700 * 10**6)
        assert make_plan(replace(self.WHOLE, whole=False), 700 * 10**6).fit_frames < 6000


def test_one_thread_for_the_gram_matrix_comes_before_a_slower_storage(disk):
    """On two threads runs took up to a twelfth more than they were allowed to."""
    on_two = SMALL.total("memory", SMALL.sample, 2)
    on_one = SMALL.total("memory", SMALL.sample, 1)
    assert on_one < on_two
    plan = make_plan(SMALL, on_two - 1)
    assert (plan.storage, plan.gram_threads) == ("memory", 1)
    assert make_plan(SMALL, on_two).gram_threads > 1


def seconds(need: MemoryNeed, decode_s: float = 1.0) -> float:
    return run_seconds(need, "memory", need.sample, decode_s)


@given(st.integers(1, 10**6), st.integers(1, 3000), st.integers(1, 30))
def test_more_frames_never_take_less_time(pixels, frames, k):
    one = replace(VIDEO, frames=frames, pixels=pixels, size=pixels, k=k)
    assert seconds(one) < seconds(replace(one, frames=frames + 1))


def test_decoding_is_added_as_often_as_it_is_done():
    assert seconds(VIDEO, 5.0) == pytest.approx(seconds(VIDEO, 0.0) + 5.0)
    again = run_seconds(VIDEO, "sample", 250, 5.0) - run_seconds(VIDEO, "memory", 250, 5.0)
    assert again == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("frames", "width", "height", "sample", "measured_s"),
    [(633, 160, 128, 145, 6.6), (300, 320, 240, 75, 5.5), (60, 1280, 720, 25, 7.8)],
)
def test_runs_that_were_measured(frames, width, height, sample, measured_s):
    """All outputs, two threads, the first on a busy machine; decoding took .05 to .3 s."""
    pixels = width * height
    need = replace(VIDEO, frames=frames, pixels=pixels, size=pixels * 3 // 2, native_pixels=pixels)
    local = replace(need, local=10**9, local_sample=sample * 3 * pixels)
    assert 0.67 < seconds(local, 0.2) / measured_s < 1.5
