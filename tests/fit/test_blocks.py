"""How many frames are worked on together."""

from hypothesis import given
from hypothesis import strategies as st

from bgsub.fit.blocks import chunk_bytes, queue_frames, render_rows, sum_rows

SIZES = st.integers(1, 10**9)


@given(SIZES)
def test_blocks_are_small_and_do_not_lie_across_chunks(size):
    assert 1 <= render_rows(size) <= 16
    assert render_rows(size) == 1 or render_rows(size) * size <= 64 * 2**20
    assert sum_rows(size) == render_rows(size) or sum_rows(size) * size <= 128 * 2**20
    assert sum_rows(size) % render_rows(size) == 0
    assert chunk_bytes(size) % (sum_rows(size) * size) == 0
    assert 2 <= queue_frames(size) <= 64
    assert queue_frames(size) <= 8 or queue_frames(size) * size <= 2 * 2**20


@given(SIZES, SIZES)
def test_larger_frames_are_never_more(one, other):
    small, large = sorted((one, other))
    assert render_rows(small) >= render_rows(large)
    assert queue_frames(small) >= queue_frames(large)


def test_common_sizes():
    assert [render_rows(p * 3 // 2) for p in (1280 * 720, 1920 * 1080, 3840 * 2160)] == [16, 16, 5]
    assert [sum_rows(p * 3 // 2) for p in (1280 * 720, 3840 * 2160)] == [64, 10]
