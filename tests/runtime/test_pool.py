"""Parts of a computation on several threads."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bgsub.runtime.pool import ThreadPool


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_values_come_in_order(threads, count):
    with ThreadPool(threads) as pool:
        assert pool.map(lambda item: item * item, iter(range(count))) == [
            item * item for item in range(count)
        ]


def test_parts_run_at_the_same_time():
    meeting = threading.Barrier(3, timeout=10)
    with ThreadPool(3) as pool:
        assert sorted(pool.map(lambda _: meeting.wait(), range(3))) == [0, 1, 2]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_ends_the_others(threads):
    done = []

    def work(item):
        done.append(item)
        if item == 3:
            raise ZeroDivisionError(item)

    with ThreadPool(threads) as pool:
        with pytest.raises(ZeroDivisionError, match="3"):
            pool.map(work, range(10_000))
        assert len(done) < 10_000
        assert pool.map(str, [1, 2]) == ["1", "2"]
    assert not [t for t in threading.enumerate() if t.name.startswith("bgsub-parts")]


def test_an_interrupt_of_the_first_thread_ends_the_others():
    first, done = threading.current_thread(), []

    def work(item):
        done.append(item)
        if threading.current_thread() is first:
            raise KeyboardInterrupt

    with ThreadPool(2) as pool, pytest.raises(KeyboardInterrupt):
        pool.map(work, range(1_000_000))
    assert len(done) < 1_000_000


def test_as_many_threads_as_a_product_would_take():
    for limit in (1, 2):
        with threadpool_limits(limit), ThreadPool() as pool:
            assert pool.threads == limit
            assert {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"} == {1}
