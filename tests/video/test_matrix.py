"""Frames in one matrix, and read ahead in a thread."""

import errno
import os
import threading
import time
import tracemalloc
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import OutputError
from bgsub.video.frames import Frame, Layout
from bgsub.video.matrix import FrameMatrix, prefetch

LAYOUT = Layout("yuv420", 6, 10)


def fill(matrix, n, seed=0):
    rows = np.random.default_rng(seed).integers(0, 256, (n, LAYOUT.size), dtype=np.uint8)
    for i, row in enumerate(rows):
        matrix.append(Frame(2 * i + 1, i / 25, row.copy(), LAYOUT))
    return rows


@pytest.fixture(params=["memory", "spilled"])
def directory(request, tmp_path):
    return None if request.param == "memory" else tmp_path


@pytest.mark.parametrize("n", [0, 1, 3, 4, 11])
def test_gives_back_what_was_appended(directory, n):
    with closing(FrameMatrix(LAYOUT, directory, chunk_bytes=4 * LAYOUT.size)) as matrix:
        rows = fill(matrix, n)
        assert len(matrix) == n
        assert matrix.numbers.tolist() == list(range(1, 2 * n, 2))
        assert matrix.times.tolist() == [i / 25 for i in range(n)]
        np.testing.assert_array_equal(matrix.columns(0, LAYOUT.size), rows)
        np.testing.assert_array_equal(matrix.columns(7, 20), rows[:, 7:20])
        matrix.release()
        np.testing.assert_array_equal(matrix.rows(0, n), rows)


@given(st.integers(0, 11), st.integers(0, 11), st.integers(1, 12))
def test_any_rows_for_any_chunk(start, stop, chunk_rows):
    matrix = FrameMatrix(LAYOUT, chunk_bytes=chunk_rows * LAYOUT.size)
    rows = fill(matrix, 11)
    start, stop = sorted((start, stop))
    np.testing.assert_array_equal(matrix.rows(start, stop), rows[start:stop])
    np.testing.assert_array_equal(matrix.columns(start, stop), rows[:, start:stop])


@given(st.sets(st.integers(0, 10)), st.integers(1, 12))
def test_columns_of_some_frames(wanted, chunk_rows):
    matrix = FrameMatrix(LAYOUT, chunk_bytes=chunk_rows * LAYOUT.size)
    rows = fill(matrix, 11)
    some = np.array(sorted(wanted), dtype=np.int64)
    np.testing.assert_array_equal(matrix.columns(7, 20, some), rows[some, 7:20])


def test_columns_of_some_frames_take_no_memory_for_the_others():
    """A sample of 2,000 of 40,000 frames once took 42 MB a thread beside its own block."""
    matrix = FrameMatrix(LAYOUT)
    fill(matrix, 5000)
    some = np.arange(0, 5000, 100)
    tracemalloc.start()
    block = matrix.columns(0, 80, some)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert block.shape == (50, 80)
    assert peak < 40_000 < 5000 * 80


def test_views_outlive_the_matrix(directory):
    matrix = FrameMatrix(LAYOUT, directory)
    fill(matrix, 2)
    view = matrix.rows(0, 2)
    expected = view.copy()
    matrix.close()
    np.testing.assert_array_equal(view, expected)


@pytest.mark.skipif(os.name == "nt", reason="files in use cannot be unlinked there")
def test_spilling_leaves_no_name_behind(tmp_path):
    matrix = FrameMatrix(LAYOUT, tmp_path)
    fill(matrix, 2)
    assert list(tmp_path.iterdir()) == []
    matrix.close()


def test_full_disk_is_an_error_and_no_crash(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with closing(FrameMatrix(LAYOUT, tmp_path)) as matrix:
        with pytest.raises(OutputError, match=r"No space left.*free some space"):
            fill(matrix, 1)
        assert len(matrix) == 0


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(OutputError, match=r"frames in .*none: cannot be written \(No such"):
        FrameMatrix(LAYOUT, tmp_path / "none")


@pytest.mark.parametrize("reason", [errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS])
def test_a_file_system_that_reserves_no_room(tmp_path, monkeypatch, reason):
    def refuse(*_):
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    with closing(FrameMatrix(LAYOUT, tmp_path, chunk_bytes=4 * LAYOUT.size)) as matrix:
        rows = fill(matrix, 11)
        np.testing.assert_array_equal(matrix.rows(0, 11), rows)


def test_frames_may_be_put_into_their_room(directory):
    with closing(FrameMatrix(LAYOUT, directory, chunk_bytes=2 * LAYOUT.size)) as matrix:
        rows = np.random.default_rng(0).integers(0, 256, (5, LAYOUT.size), dtype=np.uint8)
        for number, row in enumerate(rows, 1):
            room = matrix.room()
            if number % 2:
                room[:] = row
            matrix.append(Frame(number, 0.0, room if number % 2 else row, LAYOUT))
        np.testing.assert_array_equal(
            np.concatenate([matrix.rows(i, i + 1) for i in range(5)]), rows
        )


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("bgsub-decode")]


class Source:
    """Counts what was taken from it, and knows whether it was closed."""

    def __init__(self, length, error=None):
        self.length, self.error = length, error
        self.taken, self.closed, self.thread = 0, False, None

    def __iter__(self):
        self.thread = threading.current_thread()
        try:
            for number in range(self.length):
                self.taken += 1
                yield number
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True


def settle(source, count):
    """Wait until so many were taken, and a little longer."""
    until = time.monotonic() + 10
    while source.taken < count and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(0.02)


def test_items_come_in_order_from_another_thread():
    source = Source(100)
    assert list(prefetch(source)) == list(range(100))
    assert source.closed
    assert source.thread is not threading.current_thread()
    assert threads() == []


@pytest.mark.parametrize("depth", [1, 5])
def test_it_runs_ahead_and_not_far(depth):
    source = Source(100)
    items = iter(prefetch(source, depth))
    assert next(items) == 0
    settle(source, depth + 2)
    assert source.taken == depth + 2  # one is taken, `depth` wait, one is held
    items.close()


def test_leaving_early_closes_the_source():
    source = Source(1000)
    for item in prefetch(source):
        if item == 3:
            break
    del item
    assert threads() == []
    assert source.closed
    assert source.taken < 20


def test_an_error_comes_where_its_item_would_have():
    items = iter(prefetch(Source(3, ValueError("bad"))))
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="bad"):
        next(items)
    assert threads() == []


def test_an_error_of_the_loop_ends_the_thread():
    source = Source(1000)

    def work():
        for item in prefetch(source):
            if item == 2:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        work()
    del caught
    until = time.monotonic() + 10
    while threads() and time.monotonic() < until:
        time.sleep(0.001)
    assert threads() == []
    assert source.closed
