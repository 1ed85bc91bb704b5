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
    path.with_suffix(".pid").write_text(str(os.getpid()))
    if path.stem == "poison":
        with path.with_suffix(".tries").open("a") as tries:
            tries.write("x")
        sys.stderr.write("a library is about to crash\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    if path.stem.startswith("sleeper"):
        try:
            time.sleep(600)
        finally:
            path.with_suffix(".end").write_text("stopped")
    return _answer(request)


if __name__ == "__main__":
    jobs.answer = answer
    jobs.serve()
