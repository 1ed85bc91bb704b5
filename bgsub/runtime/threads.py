"""Run the mathematics of a run on a fixed number of threads.

Every matrix product runs on one thread of BLAS, and several products run side by side: that keeps
the cores as busy, and makes each sum independent of how many threads there are, bit for bit.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray
from threadpoolctl import ThreadpoolController, threadpool_limits

from bgsub.runtime.limits import check_address_space

_local = threading.local()
Item = TypeVar("Item")
Value = TypeVar("Value")


def available_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def own_threads(threads: int | None, jobs: int = 1) -> int:
    """Share threads among runs side by side, at least 1 each; None is every core."""
    return max(1, (threads or available_cores()) // jobs)


# Locked while a thread imports a module, and while the loaded libraries are walked to set their
# limits: the walk holds the dynamic linker's lock and waits for the interpreter's, and an import
# holds the interpreter's and waits for the linker's. The program would hang for ever, deaf to any
# signal.
_libraries = threading.Lock()


class _MatrixLibraries:
    """The matrix libraries that are loaded, and the limit of one thread that several may want.

    It ends with the first that has set it, whoever wants it still: threadpoolctl takes settings of
    OpenBLAS from one thread of a program alone, so another one could set it and never take it back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: ThreadpoolController | None = None
        self._modules = 0, ""
        self._limits: threadpool_limits | None = None
        self._before = 1

    def look(self) -> ThreadpoolController:
        """Walk through what is loaded, for milliseconds, where modules were imported since."""
        with _libraries:
            modules = len(sys.modules), next(reversed(sys.modules))
            if self._found is None or self._modules != modules:
                self._found, self._modules = ThreadpoolController(), modules
            return self._found

    @contextmanager
    def on_one_thread(self) -> Iterator[int]:
        """Keep products to one thread, in all threads of the program; yields how many they took."""
        with self._lock:
            is_mine = self._limits is None
            if self._limits is None:
                blas = self.look().select(user_api="blas")
                self._before = max((each.num_threads for each in blas.lib_controllers), default=1)
                self._limits = blas.limit(limits=1)
        try:
            yield self._before
        finally:
            with self._lock:
                if is_mine and self._limits is not None:
                    self._limits.restore_original_limits()
                    self._limits = None


_matrix_libraries = _MatrixLibraries()
products_on_one_thread = _matrix_libraries.on_one_thread


def one_blas_thread() -> threadpool_limits:
    """Limit the loaded matrix libraries to one thread from now on, or as a context."""
    return _matrix_libraries.look().limit(limits=1)


def import_each(modules: Iterable[str]) -> None:
    """Import modules one after the other, each while no thread looks for matrix libraries."""
    for module in modules:
        with _libraries:
            importlib.import_module(module)


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


WORTH_A_THREAD = 100_000  # pixels from which two threads do not wait for each other
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


class ThreadPool:
    """Threads for the parts of a computation, while the matrix libraries stay on one each.

    A context manager. Whoever cuts the computation into the same parts whatever the number of
    threads gets the same result, bit for bit. By default they are as many as a matrix product would
    take: every core, unless ``OPENBLAS_NUM_THREADS`` or threadpoolctl says otherwise.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._wanted = threads
        self.threads = max(1, threads or 1)
        self._others: ThreadPoolExecutor | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        taken = self._open.enter_context(products_on_one_thread())
        if self._wanted is None:
            self.threads = taken
        return self

    def __exit__(self, *_exception: object) -> None:
        self._open.close()

    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> list[Value]:
        """Return the values of a function for all items, in order; this thread works too.

        The first error that a thread meets ends the others after the item that they are at.
        """
        parts = list(items)
        helpers = min(self.threads, len(parts)) - 1
        if helpers > 0 and self._others is None:
            others = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="bgsub-parts")
            self._others = self._open.enter_context(others)
        return _share(self._others, helpers, function, parts)


def _share(
    pool: ThreadPoolExecutor | None,
    helpers: int,
    function: Callable[[Item], Value],
    items: list[Item],
) -> list[Value]:
    """Return the values of a function for items that this thread and so many helpers share.

    Each takes the next item itself: handing over single items, many of which are done in a fifth of
    a millisecond, would take as long, and the threads would work in turn.
    """
    values: list[Value | None] = [None] * len(items)
    left = iter(range(len(items)))

    def work() -> None:
        try:
            for place in left:
                values[place] = function(items[place])
        except BaseException:
            for _ in left:
                pass
            raise

    ends = [] if pool is None else [pool.submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        errors = [end.exception() for end in ends]
    for error in errors:
        if error is not None:
            raise error
    return cast("list[Value]", values)


class Workers(AbstractContextManager["Workers"]):
    """Threads that work on tiles, blocks and frames while the matrix libraries stay on one each.

    By default one for every core that the process may use, shared among so many `jobs`.
    MemoryLimitError if it may have too little address space.
    """

    def __init__(self, threads: int | None = None, jobs: int = 1) -> None:
        self.threads = own_threads(threads, jobs)
        check_address_space(self.threads)
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="bgsub-worker")
        self._background = ThreadPoolExecutor(2, thread_name_prefix="bgsub-background")
        import cv2

        keep_freed_memory()
        self._limits = [one_blas_thread()]
        self._opencv_threads = cv2.getNumThreads()
        cv2.setNumThreads(1)

    def __exit__(self, *_exception: object) -> None:
        import cv2

        self._pool.shutdown(wait=True, cancel_futures=True)
        self._background.shutdown(wait=True, cancel_futures=True)
        for limits in reversed(self._limits):
            limits.restore_original_limits()
        cv2.setNumThreads(self._opencv_threads)

    def load(self, *modules: str) -> None:
        """Begin to import modules in the background; an error is one of whoever needs them.

        One after the other: modules that import each other are no matter for two threads.
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

    def each(self, function: Callable[[Item], Value], items: Iterable[Item]) -> list[Value]:
        """Return the values of a function for all items, in order; this thread works too.

        One thread is never taken: the function may hand items of its own to these threads.
        """
        return _share(self._pool, self.threads - 1, function, list(items))
