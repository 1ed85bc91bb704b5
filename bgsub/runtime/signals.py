"""Hold back signals that end a process: while something is half done, or from its children."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold signals back while names change, so that a folder is never half old and half new.

    Blocking them for this thread would not do: the system would hand them to another one, and
    Python would still run their handler in this one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread alone
        return
    came: list[int] = []
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in numbers}
    handlers = {number: own for number, own in handlers.items() if own is not None}
    for number in handlers:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, own in handlers.items():
            signal.signal(number, own)
        for number in came[:1]:
            signal.raise_signal(number)


@contextlib.contextmanager
def held_back_in_children(*names: str) -> Iterator[None]:
    """Block these signals in processes that are started inside, where the system can."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    numbers = {getattr(signal, name) for name in names}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
