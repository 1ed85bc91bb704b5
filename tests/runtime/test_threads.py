"""Threads that work side by side, and limits on those of matrix libraries."""

import subprocess
import sys
import textwrap
import threading
import time
import types

import cv2
import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - brings a matrix library of its own
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from bgsub.runtime import threads
from bgsub.runtime.threads import (
    ThreadPool,
    Workers,
    available_cores,
    one_blas_thread,
    own_threads,
    products_on_one_thread,
    scratch,
)


def test_threads_are_shared_among_jobs():
    assert own_threads(8) == own_threads(8, 1) == 8
    assert [own_threads(8, jobs) for jobs in (2, 3, 9)] == [4, 2, 1]
    assert own_threads(None) == available_cores() >= 1
    assert Workers(6, 2).threads == 3


def test_values_come_in_order_and_few_wait():
    begun = []

    def work(item):
        begun.append(item)
        time.sleep(0.001 * (item % 3))
        return item * item

    with Workers(3) as workers:
        for expected, value in enumerate(workers.map(work, iter(range(40)))):
            assert value == expected**2
            assert len(begun) <= expected + 6
    assert sorted(begun) == list(range(40))


def test_each_works_on_all():
    seen = set()
    with Workers(2) as workers:
        workers.each(seen.add, range(10))
    assert seen == set(range(10))


def test_an_error_is_raised_where_it_is_waited_for():
    def fail(item):
        if item == 3:
            raise ZeroDivisionError(item)
        return item

    with Workers(2) as workers:
        values = workers.map(fail, range(9))
        assert [next(values) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ZeroDivisionError):
            next(values)


def test_submit_does_not_wait_for_the_others():
    gate = threading.Event()
    with Workers(1) as workers:
        values = workers.map(lambda _: gate.wait(10), [0])
        waiting = threading.Thread(target=lambda: list(values))
        waiting.start()
        assert workers.submit(lambda a, b: a + b, 1, 2).result(timeout=10) == 3
        gate.set()
        waiting.join()


def test_libraries_stay_on_one_thread_and_get_theirs_back(opencv_threads):
    before = [(pool["filepath"], pool["num_threads"]) for pool in threadpool_info()]
    with Workers(2):
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
        assert cv2.getNumThreads() == 1
    assert [(pool["filepath"], pool["num_threads"]) for pool in threadpool_info()] == before
    assert cv2.getNumThreads() == opencv_threads


def test_no_thread_is_left():
    with Workers(3) as workers:
        workers.each(time.sleep, [0.0] * 5)
        workers.submit(time.sleep, 0.0)
    assert not [t for t in threading.enumerate() if t.name.startswith("bgsub-")]


class TestScratch:
    def test_memory_is_used_again(self):
        one = scratch("test-one", (4, 6), np.float32)
        assert (one.shape, one.dtype) == ((4, 6), np.float32)
        assert np.shares_memory(one, scratch("test-one", (3, 5), np.float32))
        assert not np.shares_memory(one, scratch("test-other", (4, 6), np.float32))
        assert not np.shares_memory(one, scratch("test-one", (4, 6), np.float64))

    def test_threads_do_not_share(self):
        mine = scratch("test-mine", (8,), np.uint8)
        others = []
        thread = threading.Thread(
            target=lambda: others.append(scratch("test-mine", (8,), np.uint8))
        )
        thread.start()
        thread.join()
        assert not np.shares_memory(mine, others[0])


def test_libraries_that_are_loaded_later_stay_on_one_thread_too():
    with Workers(2) as workers:
        workers.load("scipy.linalg", "no_such_module")
        workers.need("scipy.linalg", "scipy.sparse.linalg")
        limits = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        assert limits
        assert set(limits) == {1}
        with pytest.raises(ModuleNotFoundError):
            workers.need("no_such_module")


def test_loaded_libraries_are_not_walked_while_one_is_being_imported(tmp_path, monkeypatch):
    """Each would hold what the other waits for, and the run would hang for ever."""
    names = ["slow_one", "slow_two", "slow_three"]
    for name in names:
        text = f"""
            import threading, test_import_log
            test_import_log.begin("{name}")
            test_import_log.gate.wait(0.2)
            test_import_log.end("{name}")
        """
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
    running, seen, gate, began = set(), [], threading.Event(), threading.Event()
    log = types.ModuleType("test_import_log")
    log.begin = lambda name: (running.add(name), began.set())
    log.end, log.gate = running.discard, gate
    monkeypatch.setitem(sys.modules, "test_import_log", log)
    monkeypatch.syspath_prepend(str(tmp_path))

    class Controller(ThreadpoolController):
        def __init__(self):
            seen.append(set(running))
            super().__init__()

    monkeypatch.setattr(threads, "ThreadpoolController", Controller)
    with Workers(1) as workers:
        workers.load("slow_one", "slow_two")
        assert began.wait(10)
        with Workers(1):  # another run of the same process
            pass
        workers.need("slow_three")
    assert {*names} <= set(sys.modules)
    assert seen == [set()] * 3
    for name in names:
        del sys.modules[name]


_WORK_AND_FREE = """
import os, threading
os.environ["OPENBLAS_NUM_THREADS"] = "1"
from pathlib import Path
import numpy as np
from bgsub.runtime.limits import give_back
from bgsub.runtime.threads import Workers

def megabytes():
    return int(Path("/proc/self/status").read_text().split("RssAnon:")[1].split()[0]) / 1024

def work(number):
    arrays = [np.full(100_000, number, np.uint8) for _ in range(200)]
    all_four.wait()
    del arrays

all_four = threading.Barrier(4)
with Workers(4) as workers:
    before = megabytes()
    workers.each(work, range(16))
give_back()
print(megabytes() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_what_threads_have_freed_is_given_back():
    """Each of them frees 20 MB; in pools of their own they would keep it for ever."""
    command = [sys.executable, "-c", _WORK_AND_FREE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 8


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_products_stay_on_one_thread_and_get_theirs_back():
    np.eye(2) @ np.eye(2)
    with threadpool_limits(2):
        with products_on_one_thread() as before:
            assert before == 2
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_two_threads_leave_no_limit_behind():
    """Limits that both set and took back by themselves would stay for ever."""
    begun, ended, seen = threading.Event(), threading.Event(), []

    def work():
        with products_on_one_thread() as before:
            seen.append(before)
            begun.set()
            ended.wait(10)

    with threadpool_limits(2):
        thread = threading.Thread(target=work)
        with products_on_one_thread():
            thread.start()
            begun.wait(10)
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        ended.set()
        thread.join()
        assert seen == [2]
        assert blas_threads() == {2}


def test_a_limit_set_before_is_what_was_taken_before():
    with one_blas_thread(), products_on_one_thread() as before:
        assert before == 1


@pytest.mark.parametrize("count_of_threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_values_come_in_order(count_of_threads, count):
    with ThreadPool(count_of_threads) as pool:
        assert pool.map(lambda item: item * item, iter(range(count))) == [
            item * item for item in range(count)
        ]


def test_parts_run_at_the_same_time():
    meeting = threading.Barrier(3, timeout=10)
    with ThreadPool(3) as pool:
        assert sorted(pool.map(lambda _: meeting.wait(), range(3))) == [0, 1, 2]


@pytest.mark.parametrize("count_of_threads", [1, 2])
def test_an_error_ends_the_others(count_of_threads):
    done = []

    def work(item):
        done.append(item)
        if item == 3:
            raise ZeroDivisionError(item)

    with ThreadPool(count_of_threads) as pool:
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
            assert blas_threads() == {1}
