"""Stop cleanly at Ctrl-C, SIGTERM or a closed terminal, and at once the second time."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from bgsub.cli.logs import Session
from bgsub.errors import Interrupted

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


def install() -> None:
    """Make these signals raise KeyboardInterrupt in the main thread.

    SIGHUP stays ignored under nohup. SIGINT does not: shells ignore it for what scripts start with
    ``&``, and a person who stops the script, or sends it by hand, means it.
    """
    for number in _numbers():
        if number.name != "SIGHUP" or signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _first)


def work_is_done() -> None:
    """Ignore these signals from now on: what was asked for is there, and the exit code says so."""
    for number in _numbers():
        if signal.getsignal(number) in {_first, _second}:
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Let these signals set an event instead, for what must not be broken off at any line.

    The second one ends the program at once, as everywhere.
    """
    stop = threading.Event()
    before: dict[signal.Signals, Any] = {}

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        for other in before:
            signal.signal(other, _second)

    for number in _numbers():
        if signal.getsignal(number) in {_first, signal.SIG_DFL, signal.default_int_handler}:
            before[number] = signal.signal(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def log_results(
    out: str | os.PathLike[str], session: Session, message: str = "results are in {}"
) -> None:
    """Say where results are; if they are all that was asked for, no signal makes them a failure."""
    if session.label is None:
        work_is_done()
    session.log("result", message.format(os.fspath(out)), out=os.fspath(out))


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


def _first(_number: int, _frame: FrameType | None) -> None:
    for other in _numbers():
        if signal.getsignal(other) is _first:
            signal.signal(other, _second)
    raise KeyboardInterrupt


def _second(_number: int, _frame: FrameType | None) -> None:
    os._exit(Interrupted.exit_code)
