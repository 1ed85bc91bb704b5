"""Run an iterator in a thread of its own, so that decoding goes on while frames are worked on."""

from __future__ import annotations

import contextlib
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
        self._items, self._depth = items, depth

    def __iter__(self) -> Iterator[Item]:
        waiting: queue.Queue[tuple[object, BaseException | None]] = queue.Queue(self._depth)
        stop = threading.Event()
        thread = threading.Thread(
            target=_fill, args=(self._items, waiting, stop), name="bgsub-decode", daemon=True
        )
        thread.start()
        try:
            while True:
                item, error = waiting.get()
                if error is not None:
                    raise error
                if item is _END:
                    return
                yield cast("Item", item)
        finally:
            stop.set()
            thread.join()


def _fill(
    items: Iterable[object],
    waiting: queue.Queue[tuple[object, BaseException | None]],
    stop: threading.Event,
) -> None:
    """Take items until there are no more, or nobody wants them."""

    def put(item: object, error: BaseException | None = None) -> None:
        while not stop.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put((item, error), timeout=_PATIENCE_S)
                return

    iterator: Iterator[object] | None = None
    try:
        iterator = iter(items)
        for item in iterator:
            put(item)
            if stop.is_set():
                return
        put(_END)
    except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
        put(None, error)
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
