from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bgsub.background.estimate import Estimate, available_cores, estimate


def parts(pixels: int, frame_bytes: int, frames: int, k: int = 10, **more) -> Estimate:
    return estimate(pixels, frame_bytes, frames, k=k, threads=2, **more)


def test_memory_is_frames_gram_matrix_model_and_encoders() -> None:
    nothing = parts(1000, 1500, 0, k=1).memory_bytes
    assert parts(1000, 1500, 10, k=1).memory_bytes - nothing == 10 * 1500 + 16 * 100
    assert parts(1000, 1500, 10, k=4).memory_bytes > parts(1000, 1500, 10, k=1).memory_bytes


def test_errors_alone_need_luma_alone() -> None:
    only = {"outputs": frozenset({"errors", "plot"})}
    least, most = parts(1000, 4000, 100, **only), parts(1000, 4000, 100)
    assert least == parts(1000, 1000, 100, **only)
    assert least.memory_bytes + 300_000 < most.memory_bytes
    assert least.seconds < most.seconds


@given(st.integers(1, 10**6), st.integers(1, 3000), st.integers(1, 30))
def test_more_frames_never_need_less(pixels: int, frames: int, k: int) -> None:
    one, more = (parts(pixels, pixels, n, k=k) for n in (frames, frames + 1))
    assert one.memory_bytes < more.memory_bytes
    assert one.seconds < more.seconds


def test_decoding_is_added() -> None:
    base = parts(1000, 1000, 10)
    assert parts(1000, 1000, 10, decode_s=5.0) == replace(base, seconds=base.seconds + 5.0)


def test_cores() -> None:
    assert available_cores() >= 1
    assert (
        estimate(10**6, 10**6, 100, threads=1).seconds
        > estimate(10**6, 10**6, 100, threads=2).seconds
    )
