"""What the processes of bgsub have in common: settings, signals and messages through pipes."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

# A thread that comes back from a library waits this long for one that runs Python code, such as
# the drawing of a plot. With the usual 5 ms the pictures would stand still meanwhile: writing those
# of 250 frames of 1280×720 took 3.6 s and more instead of 2.4 s.
_SWITCH_S = 0.0001

# Importing and drawing make many objects and hardly any garbage: the usual 700 of them would be a
# reason to look for some hundreds of times, a tenth of all that importing takes.
_GARBAGE_OBJECTS = 50_000


def tune() -> None:
    """Set up the interpreter to start quickly and to run several threads; before NumPy is imported.

    This is for programs of our own: a process that imports the library keeps what it has set.
    """
    # NumPy asks for large pages behind large arrays. Those of the frames of a run are written once,
    # and on virtual machines whose host has to find such pages that took five times as long.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    # Every command keeps its matrix products to one thread each, but OpenBLAS makes its threads
    # when it is imported, and they spin for a while before they sleep.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.setswitchinterval(_SWITCH_S)
    gc.set_threshold(_GARBAGE_OBJECTS)
    # The interpreter looks for garbage among all that was imported before it ends: over 0.1 s.
    atexit.register(gc.freeze)


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


_LOOK_S = 0.2
_STOP_S = 30.0
_TAIL = 4000


class Child:
    """A module that runs as a program and answers requests, one after the other, until it is told.

    What kills a process (a library that crashes, the system that needs memory) takes nothing else
    with it then. The program reads requests with `receive` from its stdin, must stop when that
    ends, as nobody waits for it any more, and `send` its replies to stdout. What it says on stderr
    is shown, or kept for its last line.
    """

    def __init__(self, module: str, *, keeps_stderr: bool = False) -> None:
        import subprocess
        import tempfile

        # Without the current folder on its path: it may hold films, and a click.py among them.
        path = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        self._said = tempfile.TemporaryFile() if keeps_stderr else None  # noqa: SIM115 - see `join`
        self._process = subprocess.Popen(  # noqa: S603 - this Python, and a module that is named
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
            # A terminal sends Ctrl-C to all of a session: whoever asks decides what it means.
            start_new_session=True,
        )
        self._requests = cast("BinaryIO", self._process.stdin)
        self._replies = cast("BinaryIO", self._process.stdout)

    def ask(self, request: Any) -> Any:
        """Return the reply; None if the program has died, or was stopped."""
        with contextlib.suppress(OSError, ValueError):
            send(self._requests, request)
            return receive(self._replies)
        return None

    def stop(self) -> None:
        """Let it stop its work and clear up; from any thread, and without waiting for it."""
        with contextlib.suppress(OSError):
            self._requests.close()

    def join(self) -> dict[str, Any]:
        """Wait until it has ended: ``died`` is its exit code, ``last_line`` what it said last."""
        import subprocess

        self.stop()
        try:
            code = self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._replies.close()
        found: dict[str, Any] = {"died": code}
        if self._said is not None:
            with self._said as said:
                said.seek(max(0, said.seek(0, os.SEEK_END) - _TAIL))
                lines = said.read().decode(errors="replace").split("\n")
            found["last_line"] = next((line for line in lines[::-1] if line.strip()), "")
        return found


def ask_child(module: str, request: Any, is_over: Callable[[], bool]) -> dict[str, Any]:
    """Ask a `Child` of one request, until that is over; return its reply, or how it has ended."""
    from concurrent.futures import ThreadPoolExecutor, wait

    child = Child(module, keeps_stderr=True)
    with ThreadPoolExecutor(1) as thread:
        reply = thread.submit(child.ask, request)
        try:
            while not is_over() and not wait([reply], _LOOK_S).done:
                pass
        finally:
            end = child.join()
    return reply.result() or end


def send(pipe: BinaryIO, message: object) -> None:
    """Write a message to a pipe."""
    import pickle  # which --help can do without

    pickle.dump(message, pipe, protocol=5)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """Read the next message; None where the pipe has ended, amid a message too."""
    import pickle

    try:
        return pickle.load(pipe)  # noqa: S301 - our own process's
    except (EOFError, pickle.UnpicklingError):
        return None
