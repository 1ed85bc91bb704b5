"""What processes have in common: settings, signals that wait, and messages."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading

import numpy as np
import pytest

from bgsub.runtime.processes import receive, send, tune, uninterrupted


def sent(message):
    pipe = io.BytesIO()
    send(pipe, message)
    return pipe.getvalue()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.uint16).reshape(3, 4),
        np.arange(12).reshape(3, 4)[:, ::2],
        np.arange(12).reshape(3, 4).T,
        np.zeros((0, 4)),
    ],
)
def test_arrays_arrive_as_they_are_and_can_be_changed(array):
    pipe = io.BytesIO(sent([array, "and", array[:0]]))
    found, text, none = receive(pipe)
    assert (found.dtype, found.shape, text, none.shape) == (
        array.dtype,
        array.shape,
        "and",
        array[:0].shape,
    )
    np.testing.assert_array_equal(found, array)
    found[...] = 1
    assert receive(pipe) is None


def test_what_ends_amid_a_message_is_none():
    whole = sent(np.arange(3, dtype=np.uint8))
    assert all(receive(io.BytesIO(whole[:end])) is None for end in range(len(whole)))


@pytest.fixture
def came():
    """Numbers of the signals that have been handled."""
    numbers, before = [], signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda number, _frame: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGTERM, before)


def test_a_signal_comes_when_all_is_done(came):
    with uninterrupted():
        signal.raise_signal(signal.SIGTERM)
        assert came == []
    assert came == [signal.SIGTERM]


def test_it_comes_where_all_failed_too(came):
    with pytest.raises(OSError, match="full"):
        _send_and_fail()
    assert came == [signal.SIGTERM]


def _send_and_fail():
    with uninterrupted():
        signal.raise_signal(signal.SIGTERM)
        raise OSError("full")


def test_several_are_one(came):
    with uninterrupted():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    assert came == [signal.SIGTERM]


def test_threads_leave_the_handlers_alone(came):
    handler = signal.getsignal(signal.SIGTERM)
    seen = []

    def look():
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [handler]


@pytest.fixture
def settings(monkeypatch):
    """Put back what the process had."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    monkeypatch.setenv("NUMPY_MADVISE_HUGEPAGE", "")
    monkeypatch.delenv("NUMPY_MADVISE_HUGEPAGE")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)


@pytest.mark.usefixtures("settings")
def test_the_program_is_tuned_and_what_the_user_has_set_stays():
    tune()
    assert os.environ["NUMPY_MADVISE_HUGEPAGE"] == "0"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
    assert sys.getswitchinterval() < 0.005
    assert gc.get_threshold()[0] > 700
