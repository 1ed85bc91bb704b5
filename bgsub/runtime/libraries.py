"""Load libraries, and limit the threads of the matrix libraries among them: never both at once."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController, threadpool_limits

# Locked while a thread imports a module, and while the loaded libraries are walked to set their
# limits: the walk holds the dynamic linker's lock and waits for the interpreter's, and an import
# holds the interpreter's and waits for the linker's. The program would hang for ever, deaf to any
# signal.
_libraries = threading.Lock()

_SCIPY = "scipy.linalg"


class _MatrixLibraries:
    """The matrix libraries that are loaded, as far as they were looked for."""

    def __init__(self) -> None:
        self._found: ThreadpoolController | None = None
        self._scipy_too = False

    def look(self) -> ThreadpoolController:
        """Walk through all that is loaded, which takes milliseconds."""
        with _libraries:
            self._scipy_too = _SCIPY in sys.modules
            self._found = ThreadpoolController()
            return self._found

    def known(self) -> ThreadpoolController:
        """Return those found last, if SciPy has not come since then with one of its own."""
        if self._found is None or self._scipy_too != (_SCIPY in sys.modules):
            return self.look()
        return self._found


_matrix_libraries = _MatrixLibraries()


def one_blas_thread() -> threadpool_limits:
    """Limit the matrix libraries that are loaded to one thread, from now on or as a context.

    Waits until no module is being imported by `import_each`.
    """
    return _matrix_libraries.look().limit(limits=1)


def import_each(modules: Iterable[str]) -> None:
    """Import modules one after the other, each while no thread looks for matrix libraries."""
    for module in modules:
        with _libraries:
            importlib.import_module(module)


class _SharedLimit:
    """The limit of one thread for each matrix library, set by the first that wants it.

    It ends with the first, whoever wants it still: threadpoolctl takes settings of OpenBLAS from
    one thread of a program alone, so another one could set it and never take it back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._limits: threadpool_limits | None = None
        self._before = 1

    def begin(self) -> bool:
        """Set the limit and say so, unless it is set."""
        with self._lock:
            if self._limits is not None:
                return False
            found = _matrix_libraries.known().select(user_api="blas")
            self._before = max((each.num_threads for each in found.lib_controllers), default=1)
            self._limits = found.limit(limits=1)
            return True

    @property
    def before(self) -> int:
        """Threads that the libraries took before."""
        return self._before

    def end(self) -> None:
        """Give the libraries their threads back."""
        with self._lock:
            if self._limits is not None:
                self._limits.restore_original_limits()
            self._limits = None


_shared_limit = _SharedLimit()


@contextmanager
def products_on_one_thread() -> Iterator[int]:
    """Keep every matrix product to one thread inside of the context, in all threads of the program.

    Yields the threads that a product took before, and takes afterwards.
    """
    is_mine = _shared_limit.begin()
    try:
        yield _shared_limit.before
    finally:
        if is_mine:
            _shared_limit.end()
