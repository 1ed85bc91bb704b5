"""An iterator in a thread of its own."""

import threading
import time

import pytest

from bgsub.video.matrix import Prefetch


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "bgsub-decode"]


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
    assert list(Prefetch(source)) == list(range(100))
    assert source.closed
    assert source.thread is not threading.current_thread()
    assert threads() == []


@pytest.mark.parametrize("depth", [1, 5])
def test_it_runs_ahead_and_not_far(depth):
    source = Source(100)
    items = iter(Prefetch(source, depth))
    assert next(items) == 0
    settle(source, depth + 2)
    assert source.taken == depth + 2  # one is taken, `depth` wait, one is held
    items.close()


def test_leaving_early_closes_the_source():
    source = Source(1000)
    for item in Prefetch(source):
        if item == 3:
            break
    del item
    assert threads() == []
    assert source.closed
    assert source.taken < 20


def test_an_error_comes_where_its_item_would_have():
    items = iter(Prefetch(Source(3, ValueError("bad"))))
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="bad"):
        next(items)
    assert threads() == []


def test_an_error_of_the_loop_ends_the_thread():
    source = Source(1000)

    def work():
        for item in Prefetch(source):
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
