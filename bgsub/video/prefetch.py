"""Run an iterator in a thread of its own, so that decoding goes on while frames are worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar, cast

Item = TypeVar("Item")

_END = object()
_PATIENCE_S = 0.1


class Prefetch(Generic[Item]):
    """Iterates over another iterable in a thread of its own, `depth` items ahead at most.

    An error of the iterable is raised where its item would have come. Leaving the loop early, or
    an exception in it, stops the thread and closes the iterable.
    """

    def __init__(self, items: Iterable[Item], depth: int = 4) -> None:
        self._items = items
        self._depth = depth

    def __iter__(self) -> Iterator[Item]:
        line = _Line(self._depth)
        thread = threading.Thread(
            target=line.fill, args=(self._items,), name="bgsub-decode", daemon=True
        )
        thread.start()
        try:
            while (item := line.waiting.get()) is not _END:
                if isinstance(item, _Failure):
                    raise item.error
                yield cast("Item", item)
        finally:
            line.stop.set()
            thread.join()


class _Line:
    """What one iteration has waiting."""

    def __init__(self, depth: int) -> None:
        self.waiting: queue.Queue[object] = queue.Queue(depth)
        self.stop = threading.Event()

    def fill(self, items: Iterable[object]) -> None:
        """Take items until there are no more, or nobody wants them."""
        iterator: Iterator[object] | None = None
        try:
            iterator = iter(items)
            for item in iterator:
                if not self._put(item):
                    return
            self._put(_END)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._put(_Failure(error))
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()

    def _put(self, item: object) -> bool:
        """Queue an item; False when nobody wants it any more."""
        while not self.stop.is_set():
            try:
                self.waiting.put(item, timeout=_PATIENCE_S)
            except queue.Full:
                continue
            return True
        return False


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error
