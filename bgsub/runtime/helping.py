"""Compute for another process of bgsub, until it wants no more or is gone.

Its messages come on standard input: modules to import, a function that makes the function that is
wanted, and then the arguments of one call after the other. The answers go to standard output.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

from bgsub.runtime.messages import Answer, Call, Maker, Modules, receive, send
from bgsub.runtime.tuning import tune


def main() -> None:
    """Answer messages until there are no more."""
    # Ctrl-C, and what a supervisor sends to all, is for the parent to decide on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nothing that a library prints may get between the messages.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tune()
    try:
        _prepare(sys.stdin.buffer)
        messages: queue.SimpleQueue[object] = queue.SimpleQueue()
        threading.Thread(target=_take_in, args=(sys.stdin.buffer, messages), daemon=True).start()
        _serve(messages, answers)
    finally:
        os._exit(1)  # at once, though a thread waits for stdin; the parent computes it itself


def _serve(messages: queue.SimpleQueue[object], answers: BinaryIO) -> None:
    wanted: Callable[[Any], Any] | None = None
    while True:
        message = messages.get()
        if isinstance(message, Maker):
            wanted = message.make(**message.arguments)
            send(answers, Answer(None))
        elif isinstance(message, Call) and wanted is not None:
            send(answers, Answer(wanted(message.argument)))
        del message  # the memory of its arguments


def _prepare(pipe: BinaryIO) -> None:
    """Import what is wanted; keep it to one thread, and memory that it frees for what is next."""
    import cv2

    from bgsub.runtime.libraries import import_each, one_blas_thread
    from bgsub.runtime.threads import keep_freed_memory

    modules = receive(pipe)
    if isinstance(modules, Modules):
        import_each(modules.names)
    cv2.setNumThreads(1)
    one_blas_thread()
    keep_freed_memory()


def _take_in(pipe: BinaryIO, messages: queue.SimpleQueue[object]) -> None:
    """Read messages as they come; the process ends with them, whatever it computes."""
    while (message := receive(pipe)) is not None:
        messages.put(message)
    os._exit(0)
