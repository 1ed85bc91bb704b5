"""Processes that are killed where their input is poison, and wait where it is a sleeper."""

import os
import signal
import sys
import time
from pathlib import Path

from bgsub.cli import jobs

_answer = jobs.answer


def answer(request):
    segment = request["work"].segment
    path = Path(request["directory"], segment[0] if segment else request["job"].input)
    try:  # the interrupt may come as soon as the file is there, and before it is written
        path.with_suffix(".pid").write_text(str(os.getpid()))
        if path.stem.startswith("sleeper"):
            time.sleep(600)
    finally:
        if path.stem.startswith("sleeper"):
            path.with_suffix(".end").write_text("stopped")
    if path.stem == "poison":
        with path.with_suffix(".tries").open("a") as tries:
            tries.write("x")
        sys.stderr.write("a library is about to crash\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    return _answer(request)


if __name__ == "__main__":
    jobs.answer = answer
    jobs.serve()
