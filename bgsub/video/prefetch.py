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
    """Iterates over another iterable, a few items ahead.

    An error of the iterable is raised where its item would have come. Leaving the loop early, or
    an exception in it, stops the thread and closes the iterable.

    Parameters
    ----------
    items : iterable
        Belongs to the thread from now on.
    depth : int
        Items that wait at most.
    """

    def __init__(self, items: Iterable[Item], depth: int = 4) -> None:
        self._items = items
        self._queue: queue.Queue[object] = queue.Queue(depth)
        self._stop = threading.Event()

    def __iter__(self) -> Iterator[Item]:
        thread = threading.Thread(target=self._work, name="bgsub-decode", daemon=True)
        thread.start()
        try:
            while (item := self._queue.get()) is not _END:
                if isinstance(item, _Failure):
                    raise item.error
                yield cast("Item", item)
        finally:
            self._stop.set()
            thread.join()

    def _work(self) -> None:
        iterator = iter(self._items)
        try:
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
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=_PATIENCE_S)
            except queue.Full:
                continue
            return True
        return False


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error
