"""Signals that wait."""

import signal
import threading

import pytest

from bgsub.runtime.signals import uninterrupted


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
