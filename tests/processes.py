"""Return which processes are there."""

import os
from pathlib import Path


def is_alive(pid):
    """Return whether a process is there, if only as a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_running(pid):
    """Return whether a process is there, and no zombie that nobody has buried."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split(")")[-1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc/self").is_dir() and is_alive(pid)
    return state != "Z"
