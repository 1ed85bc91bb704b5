"""Learn a scene in a process of its own: whatever it computes, frames are looked at meanwhile.

Runs as ``python -m bgsub.live.learning``; takes messages from its standard input and gives models
on its standard output. It ends when its input does, as with its parent.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import BinaryIO

import numpy as np

from bgsub.live.messages import Kept, LearningSettings, NotLearned
from bgsub.live.window import Window
from bgsub.runtime.messages import receive, send
from bgsub.runtime.threads import Workers

_NICENESS = 10


def main() -> None:
    """Learn whenever it is due, until standard input ends."""
    # Ctrl-C, and what a supervisor sends to all, is for the parent to decide on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # Nothing that a library prints may get between the messages.
    models = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    settings = receive(sys.stdin.buffer)
    if not isinstance(settings, LearningSettings):
        return
    if settings.gives_way:
        os.nice(_NICENESS)
    window = Window(settings.layout, settings.options, settings.window_s)
    due = threading.Semaphore(0)
    threading.Thread(target=_take_in, args=(sys.stdin.buffer, window, due), daemon=True).start()
    with Workers(settings.threads) as workers:
        while due.acquire():
            send(models, _learn(window, workers))


def _learn(window: Window, workers: Workers) -> object:
    try:
        return window.learn(workers)
    except Exception as error:  # noqa: BLE001 - the last model goes on serving
        return NotLearned(str(error) or type(error).__name__)


def _take_in(pipe: BinaryIO, window: Window, due: threading.Semaphore) -> None:
    while isinstance(message := receive(pipe), Kept):
        window.add(np.frombuffer(message.row, np.uint8), message.time_s)
        if message.is_due:
            due.release()
    os._exit(0)


if __name__ == "__main__":
    main()
