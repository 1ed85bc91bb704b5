"""Share the parts of one computation among threads, each of which works out its own products."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import Self, TypeVar, cast

from bgsub.runtime.libraries import products_on_one_thread

Item = TypeVar("Item")
Value = TypeVar("Value")


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._open.close()

    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> list[Value]:
        """Return the values of a function for all items, in order.

        This thread works too, and every thread takes the next item itself. The first error that one
        of them meets ends the others after the item that they are at.
        """
        parts = list(items)
        values: list[Value | None] = [None] * len(parts)
        left = iter(range(len(parts)))

        def work() -> None:
            try:
                for place in left:
                    values[place] = function(parts[place])
            except BaseException:
                for _ in left:
                    pass
                raise

        helpers = min(self.threads, len(parts)) - 1
        ends = [self._executor().submit(work) for _ in range(helpers)]
        try:
            work()
        finally:
            errors = [end.exception() for end in ends]
        for error in errors:
            if error is not None:
                raise error
        return cast("list[Value]", values)

    def _executor(self) -> ThreadPoolExecutor:
        if self._others is None:
            name = "bgsub-parts"
            others = ThreadPoolExecutor(self.threads - 1, thread_name_prefix=name)
            self._others = self._open.enter_context(others)
        return self._others
