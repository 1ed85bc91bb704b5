"""Write frames in a thread of its own, so that encoding overlaps with everything else."""

from __future__ import annotations

import logging
import threading
from collections import deque
from pathlib import Path

from bgsub.video.images import Image
from bgsub.video.sink import FrameSink

_log = logging.getLogger(__name__)

#: Most frames that wait in the queue, unless an argument says otherwise.
_QUEUE_FRAMES = 8

# One frame takes milliseconds; only a file system that has stopped answering takes this long.
_PATIENCE_S = 30.0


class QueuedSink:
    """Hands frames to another sink through a bounded queue and one thread.

    ``write`` returns as soon as there is room. A frame is handed over, not copied: **do not modify
    an array after it was written**. An error of the sink is raised by the next ``write`` and by
    ``close``. Its caller is one thread at a time.

    Several sinks finish at the same time when all are asked to before the first is waited for::

        for sink in sinks:
            sink.finish()
        counts = [sink.close() for sink in sinks]
    """

    def __init__(self, sink: FrameSink, queue_frames: int = _QUEUE_FRAMES) -> None:
        if queue_frames < 1:
            raise ValueError(f"queue_frames must be 1 or more, not {queue_frames}")
        self.name = sink.name
        self.path: Path = sink.path
        self._sink = sink
        self._limit = queue_frames
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Image, float | None]] = deque()
        self._closing = False
        self._aborted = False
        self._ended = False
        self._abandoned = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=f"bgsub-{sink.name}", daemon=True)
        self._thread.start()

    @property
    def padded(self) -> bool:
        """Whether frames were continued to an even size, as far as they are written."""
        return self._sink.padded

    @property
    def count(self) -> int:
        """Frames written so far, without those that wait."""
        return self._sink.count

    def write(self, frame: Image, time_s: float | None = None) -> None:
        """Queue a frame, waiting while the queue is full.

        Raises what the sink raised for an earlier one.
        """
        with self._changed:
            while len(self._waiting) >= self._limit and not self._ended:
                self._changed.wait()
            self._raise_error()
            if self._closing or self._aborted:
                raise ValueError(f"{self.path}: the sink is closed")
            self._waiting.append((frame, time_s))
            self._changed.notify_all()

    def finish(self) -> None:
        """Let the thread finish the file when the queue is empty; returns at once."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def close(self) -> int:
        """Write what waits, finish and check the file; see `FrameSink.close`."""
        self.finish()
        self._wait()
        self._raise_error()
        if self._aborted:
            raise ValueError(f"{self.path}: the sink was aborted")
        return self._sink.count

    def abort(self) -> None:
        """Forget what waits, end the thread and remove what was written; never raises."""
        with self._changed:
            self._aborted = True
            self._waiting.clear()
            self._changed.notify_all()
        with self._changed:
            self._changed.wait_for(lambda: self._ended, _PATIENCE_S)
            self._abandoned = not self._ended
        if self._abandoned:  # the thread still writes: only it can clear up safely
            _log.warning("%s: its writer does not answer; the file may be left behind", self.path)
        else:
            self._thread.join()
            self._sink.abort()

    def _wait(self) -> None:
        """Wait until the thread has done its work.

        Not by `Thread.join` alone: up to Python 3.12 a thread counts as dead once a Ctrl-C has
        interrupted that, whatever it is still writing.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._ended)
        self._thread.join()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        try:
            while (item := self._next()) is not None:
                self._sink.write(*item)
                del item  # or the frame would be held while waiting for the next
            if not self._aborted:
                self._sink.close()
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._waiting.clear()
                self._changed.notify_all()
            if self._abandoned:
                self._sink.abort()

    def _next(self) -> tuple[Image, float | None] | None:
        """Wait for a frame; None when there will be no more."""
        with self._changed:
            while not (self._waiting or self._closing or self._aborted):
                self._changed.wait()
            if self._aborted or not self._waiting:
                return None
            item = self._waiting.popleft()
            self._changed.notify_all()
            return item
