"""Count the processor cores that a run may use."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def own_threads(threads: int | None, jobs: int = 1) -> int:
    """Share threads among runs side by side, at least 1 each; None is every core."""
    return max(1, (threads or available_cores()) // jobs)
