"""Limits on the threads of matrix libraries."""

import threading

import numpy as np
import scipy.linalg  # noqa: F401 - brings a matrix library of its own
from threadpoolctl import threadpool_info, threadpool_limits

from bgsub.runtime.libraries import one_blas_thread, products_on_one_thread


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
