"""Run the mathematics of a run on a fixed number of threads.

Every matrix product runs on one thread of BLAS, and several products run side by side: that keeps
the cores as busy, and makes each sum independent of how many threads there are, bit for bit.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

import cv2
import numpy as np
from numpy.typing import DTypeLike, NDArray

from bgsub.runtime.cores import own_threads
from bgsub.runtime.libraries import import_each, one_blas_thread
from bgsub.runtime.limits import check_address_space

_local = threading.local()

Item = TypeVar("Item")
Value = TypeVar("Value")

Share = Callable[
    [Callable[..., Callable[[Any], Any]], dict[str, Any], Iterable[Any]], Iterable[Any]
]
"""`alone`, or `Workers.share`."""


def scratch(name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of this thread that keeps its memory between calls.

    Its contents are left over. Arrays of megabytes that are made and freed for every tile cost more
    in page faults than in arithmetic. Those that are in use at the same time need different names.
    """
    arrays = _local.__dict__
    size = math.prod(shape)
    kept = arrays.get(name)
    if kept is None or kept.size < size or kept.dtype != dtype:
        kept = arrays[name] = np.empty(size, dtype=dtype)
    return np.asarray(kept[:size].reshape(shape))


WORTH_A_THREAD = 100_000
"""Pixels from which a picture takes long enough that two threads at it do not wait for each other.
"""

# glibc's names for its settings, and what they are set to: arrays below the first size come from
# memory that was freed before, and up to the second size of it is kept.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_REUSED_BYTES, _KEPT_BYTES, _ARENAS = 32 << 20, 64 << 20, 1


def keep_freed_memory() -> None:
    """Let the allocator keep what arrays of a frame's size free, where it is glibc's.

    It gives such memory back to the system at once and asks for it again for the next array, and
    the page faults of that cost several times as much as the arithmetic on the arrays. All threads
    share what is kept: with a pool for each, as is usual, what the threads of one segment of a film
    have freed would not serve those of the next, and `give_back` would not reach it.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _REUSED_BYTES)
    mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
    mallopt(_M_ARENA_MAX, _ARENAS)


def alone(
    make: Callable[..., Callable[[Any], Any]], arguments: dict[str, Any], items: Iterable[Any]
) -> Iterator[Any]:
    """Return what `Workers.share` returns, without any worker."""
    return map(make(**arguments), items)


class Workers:
    """Threads that work on tiles, blocks and frames while the matrix libraries stay on one each.

    A context manager. By default there is one for every core that the process may use, shared among
    so many `jobs`. MemoryLimitError if the process may have too little address space.
    """

    def __init__(self, threads: int | None = None, jobs: int = 1) -> None:
        self.threads = own_threads(threads, jobs)
        check_address_space(self.threads)
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="bgsub-worker")
        self._background = ThreadPoolExecutor(2, thread_name_prefix="bgsub-background")
        keep_freed_memory()
        self._limits = [one_blas_thread()]
        self._opencv_threads = cv2.getNumThreads()
        cv2.setNumThreads(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._background.shutdown(wait=True, cancel_futures=True)
        for limits in reversed(self._limits):
            limits.restore_original_limits()
        cv2.setNumThreads(self._opencv_threads)

    def share(
        self,
        make: Callable[..., Callable[[Any], Any]],
        arguments: dict[str, Any],
        items: Iterable[Any],
    ) -> Iterator[Any]:
        """Return the values of ``make(**arguments)`` in order of the items.

        For work of many short steps, in which threads would wait for each other.
        """
        return alone(make, arguments, items)

    def load(self, *modules: str) -> None:
        """Begin to import modules in the background; an error is one of whoever needs them.

        One after the other: modules that import each other are no matter for two threads. A `need`
        that comes while one of them is being imported waits for its end.
        """
        self.submit(import_each, modules)

    def need(self, *modules: str) -> None:
        """Import modules, or wait until they are, and keep their matrix library to one thread too.

        SciPy brings one of its own, which does not know of a limit set before. OpenBLAS takes
        limits from the thread that the program began with alone: to be called there.
        """
        import_each(modules)
        self._limits.append(one_blas_thread())

    def submit(self, function: Callable[..., Value], *args: object) -> Future[Value]:
        """Run a function in a thread of its own, such as one that waits for the disk."""
        return self._background.submit(function, *args)

    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[Value]:
        """Yield values of a function in order of the items; few more than the threads wait."""
        waiting: deque[Future[Value]] = deque()
        for item in items:
            waiting.append(self._pool.submit(function, item))
            if len(waiting) > self.threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def each(self, function: Callable[[Item], object], items: Iterable[Item]) -> None:
        """Call a function on every item and wait for all.

        Each thread takes the next item itself: handing over single items, many of which are done in
        a fifth of a millisecond, would take as long, and the threads would work in turn.
        """
        shared = iter(list(items))

        def work() -> None:
            for item in shared:
                function(item)

        ends = [self._pool.submit(work) for _ in range(self.threads)]
        errors = [end.exception() for end in ends]
        for error in errors:
            if error is not None:
                raise error
