"""Do a task of a worker in a process of its own.

What kills a process (a library that crashes, the system that needs memory) takes no worker with it
then, memory is given back after each task, and a task can be stopped. A process stops by itself
when its worker is gone: its standard input ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, BinaryIO, cast

from bgsub.cluster.pool import cancelled, slots_here

_LOOK_S = 0.5
_STOP_S = 30.0
_TAIL = 4000


def do_in_child(module: str, request: dict[str, Any], slots: dict[str, int]) -> dict[str, Any]:
    """Run a module as a program, give it a request and get its reply, both JSON.

    Parameters
    ----------
    module : str
        Its program reads one line from stdin, writes one to stdout, and stops when stdin ends.
    request : dict
        ``jobs`` is added to it: the tasks that share this machine.
    slots : dict of str to int
        See `Pool.slots`.

    Returns
    -------
    dict
        The reply. Without one, ``died`` has the exit code and ``last_line`` what was said last.
    """
    is_cancelled = cancelled()
    line = json.dumps({**request, "jobs": slots_here(slots)}) + "\n"
    with (
        tempfile.TemporaryFile() as reply,
        tempfile.TemporaryFile() as said,
        subprocess.Popen(  # noqa: S603 - this Python, and a module that the client names
            # Without the current folder on its path: it may hold films, and a click.py among them.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=reply,
            stderr=said,
        ) as child,
    ):
        asked = cast("BinaryIO", child.stdin)
        try:
            with contextlib.suppress(BrokenPipeError):
                asked.write(line.encode())
                asked.flush()
            while child.poll() is None and not is_cancelled():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(_LOOK_S)
        finally:
            with contextlib.suppress(BrokenPipeError):
                asked.close()  # which stops it
            try:
                code = child.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                child.kill()
                code = child.wait()
        reply.seek(0)
        text = reply.read()
        said.seek(max(0, said.seek(0, os.SEEK_END) - _TAIL))
        lines = said.read().decode(errors="replace").split("\n")
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError:
        return {"died": code, "last_line": next((line for line in lines[::-1] if line.strip()), "")}
    return found
