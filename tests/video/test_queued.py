"""The queue: order, bounds, errors, and an end in every case."""

from __future__ import annotations

import signal
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.video.sink import QueuedSink


class Recorder:
    """A sink that remembers what happened to it, and fails or waits when told."""

    name = "recorder"
    padded = False

    def __init__(self, *, fail_at=None, fail_close=False, gate=None):
        self.path = Path("recorder.mp4")
        self.count = 0
        self.frames = []
        self.closed = self.aborted = False
        self.entered = threading.Event()
        self.fail_at, self.fail_close, self.gate = fail_at, fail_close, gate
        self.thread = None

    def write(self, frame, time_s=None):
        self.entered.set()
        if self.gate is not None:
            self.gate.wait()
        assert not self.aborted
        self.count += 1
        if self.count == self.fail_at:
            raise OutputError("recorder.mp4: the disk is full")
        self.thread = threading.current_thread()
        self.frames.append((frame, time_s))

    def close(self):
        if self.fail_close:
            raise OutputError("recorder.mp4: holds 1 frames where 2 were written")
        self.closed = True
        return self.count

    def abort(self):
        self.aborted = True


def frame(value=0):
    return np.full((2, 2), value, np.uint8)


@pytest.fixture(autouse=True)
def no_thread_stays():
    yield
    assert [one for one in threading.enumerate() if one.name == "bgsub-recorder"] == []


def test_order_and_no_copies():
    sink = Recorder()
    queued = QueuedSink(sink, 3)
    frames = [frame(i) for i in range(100)]
    for i, item in enumerate(frames):
        queued.write(item, i / 25)
    assert queued.close() == 100
    assert sink.closed
    assert [t for _, t in sink.frames] == [i / 25 for i in range(100)]
    assert all(got is sent for (got, _), sent in zip(sink.frames, frames, strict=True))
    assert sink.thread is not threading.current_thread()
    with pytest.raises(ValueError, match="closed"):
        queued.write(frame())
    assert queued.close() == 100


def test_the_queue_is_bounded():
    gate, written = threading.Event(), []
    sink = Recorder(gate=gate)
    queued = QueuedSink(sink, 2)

    def write_many():
        for i in range(20):
            queued.write(frame(i))
            written.append(i)

    writer = threading.Thread(target=write_many)
    writer.start()
    sink.entered.wait()
    writer.join(0.2)
    assert writer.is_alive()
    assert len(written) <= 3  # two wait, one is at the gate
    gate.set()
    writer.join()
    assert queued.close() == 20


def test_frames_are_let_go_while_waiting_for_more():
    sink = Recorder()
    queued = QueuedSink(sink)
    item = frame()
    alive = weakref.ref(item)
    queued.write(item)
    del item
    pause = threading.Event()
    for _ in range(1000):
        if sink.count:
            sink.frames.clear()
        if alive() is None:
            break
        pause.wait(0.005)
    assert alive() is None
    assert queued.close() == 1


@pytest.mark.parametrize("limit", [1, 8])
def test_an_error_reaches_the_next_write(limit):
    sink = Recorder(fail_at=3)
    queued = QueuedSink(sink, limit)
    with pytest.raises(OutputError, match="disk is full"):  # noqa: PT012 - some write or other
        for _ in range(1000):
            queued.write(frame())
    for again in (lambda: queued.write(frame()), queued.close):
        with pytest.raises(OutputError, match="disk is full"):
            again()
    queued.abort()
    assert sink.aborted


def test_an_error_in_the_last_frame_or_in_closing_reaches_close():
    for sink in (Recorder(fail_at=2), Recorder(fail_close=True)):
        queued = QueuedSink(sink)
        queued.write(frame())
        if sink.fail_at:
            queued.write(frame())
        with pytest.raises(OutputError, match=r"recorder\.mp4"):
            queued.close()
        queued.abort()
        assert sink.aborted


def test_abort_forgets_what_waits():
    gate = threading.Event()
    sink = Recorder(gate=gate)
    queued = QueuedSink(sink, 8)
    for _ in range(5):
        queued.write(frame())
    sink.entered.wait()
    opener = threading.Timer(0.2, gate.set)
    opener.start()
    queued.abort()
    opener.join()
    assert sink.count == 1
    assert sink.aborted
    assert not sink.closed
    queued.abort()
    with pytest.raises(ValueError, match="closed"):
        queued.write(frame())
    with pytest.raises(ValueError, match="aborted"):
        queued.close()


def test_finish_closes_without_waiting():
    sinks = [Recorder(), Recorder()]
    queues = [QueuedSink(sink) for sink in sinks]
    for queued in queues:
        queued.write(frame())
        queued.finish()
    with pytest.raises(ValueError, match="closed"):
        queues[0].write(frame())
    assert [queued.close() for queued in queues] == [1, 1]
    assert all(sink.closed for sink in sinks)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="POSIX")
def test_an_interrupt_while_the_file_is_finished_waits_for_its_writer(caplog):
    class Slow(Recorder):
        def close(self):
            self.gate.wait(10)
            return super().close()

        def abort(self):
            assert self.closed, "removed while it was still being written"
            super().abort()

    def interrupt(number, frame):
        raise KeyboardInterrupt

    sink = Slow()
    queued = QueuedSink(sink, 3)
    queued.write(frame())
    while not sink.count:
        sink.entered.wait()
    sink.gate = threading.Event()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it may come at any moment
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            queued.close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    threading.Timer(0.2, sink.gate.set).start()
    queued.abort()
    assert sink.aborted
    assert caplog.text == ""
