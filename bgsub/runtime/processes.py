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


_CHILD_LOOK_S = 0.2
_STOP_S = 30.0
_TAIL = 4000


def ask_child(
    module: str, request: Any, is_over: Callable[[], bool], *, keeps_stderr: bool = False
) -> dict[str, Any]:
    """Run a module as a program, `send` it a request and return its reply.

    What kills a process (a library that crashes, the system that needs memory) takes nothing else
    with it then, and memory is given back after each. The program must stop when its stdin ends:
    nobody waits for it any more. Without a reply, ``died`` has the exit code and, if stderr is
    kept instead of shown, ``last_line`` what was said last.
    """
    import subprocess
    import tempfile

    # Without the current folder on its path: it may hold films, and a click.py among them.
    path = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    with (
        tempfile.TemporaryFile() as reply,
        tempfile.TemporaryFile() as said,
        subprocess.Popen(  # noqa: S603 - this Python, and a module that the caller names
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=reply,
            stderr=said if keeps_stderr else None,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
            # A terminal sends Ctrl-C to all of a session: whoever asks decides what it means.
            start_new_session=True,
        ) as child,
    ):
        asked = cast("BinaryIO", child.stdin)
        try:
            with contextlib.suppress(BrokenPipeError):
                send(asked, request)
            while child.poll() is None and not is_over():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(_CHILD_LOOK_S)
        finally:
            with contextlib.suppress(BrokenPipeError):
                asked.close()  # which stops it
            try:
                code = child.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                child.kill()
                code = child.wait()
        reply.seek(0)
        found: dict[str, Any] | None = receive(cast("BinaryIO", reply))
        said.seek(max(0, said.seek(0, os.SEEK_END) - _TAIL))
        lines = said.read().decode(errors="replace").split("\n")
    last = next((line for line in lines[::-1] if line.strip()), "")
    return {"died": code, "last_line": last} if found is None else found


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
