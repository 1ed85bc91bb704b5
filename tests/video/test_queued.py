"""The queue: order, bounds, errors, and an end in every case."""

from __future__ import annotations

import signal
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.video import queued as module
from bgsub.video.frames import Layout
from bgsub.video.queued import QueuedSink
from bgsub.video.sink import open_sink


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
        self.threads = set()
        self.queue = None
        self.longest = 0

    def write(self, frame, time_s=None):
        self.entered.set()
        if self.gate is not None:
            self.gate.wait()
        assert not self.aborted
        if self.queue is not None:
            self.longest = max(self.longest, len(self.queue._waiting))
        self.count += 1
        if self.count == self.fail_at:
            raise OutputError("recorder.mp4: the disk is full")
        self.threads.add(threading.current_thread())
        self.frames.append((frame, time_s))

    def close(self):
        self.threads.add(threading.current_thread())
        if self.fail_close:
            raise OutputError("recorder.mp4: holds 1 frames where 2 were written")
        self.closed = True
        return self.count

    def abort(self):
        self.aborted = True


def frame(value=0):
    return np.full((2, 2), value, np.uint8)


def test_order_and_no_copies():
    sink = Recorder()
    queued = QueuedSink(sink, 3)
    sink.queue = queued
    frames = [frame(i) for i in range(100)]
    for i, item in enumerate(frames):
        queued.write(item, i / 25)
    assert queued.close() == 100
    assert sink.closed
    assert [t for _, t in sink.frames] == [i / 25 for i in range(100)]
    assert all(got is sent for (got, _), sent in zip(sink.frames, frames, strict=True))
    assert threading.current_thread() not in sink.threads
    assert len(sink.threads) == 1
    assert not queued._thread.is_alive()
    assert sink.longest <= 3
    with pytest.raises(ValueError, match="closed"):
        queued.write(frame())
    assert queued.close() == 100


def test_the_queue_is_bounded():
    gate = threading.Event()
    sink = Recorder(gate=gate)
    queued = QueuedSink(sink, 2)
    sink.queue = queued

    def write_many():
        for i in range(20):
            queued.write(frame(i))

    writer = threading.Thread(target=write_many)
    writer.start()
    sink.entered.wait()
    gate.set()
    writer.join()
    assert queued.close() == 20
    assert sink.longest <= 2


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
    queued = QueuedSink(Recorder(fail_at=3), limit)
    with pytest.raises(OutputError, match="disk is full"):  # noqa: PT012 - some write or other
        for _ in range(1000):
            queued.write(frame())
    with pytest.raises(OutputError, match="disk is full"):
        queued.write(frame())
    with pytest.raises(OutputError, match="disk is full"):
        queued.close()
    queued.abort()
    assert queued._sink.aborted
    assert not queued._thread.is_alive()


def test_an_error_reaches_a_writer_that_waits():
    gate = threading.Event()
    sink = Recorder(fail_at=1, gate=gate)
    queued = QueuedSink(sink, 1)
    raised = []

    def write_many():
        try:
            for _ in range(10):
                queued.write(frame())
        except OutputError as error:
            raised.append(error)

    writer = threading.Thread(target=write_many)
    writer.start()
    sink.entered.wait()
    gate.set()
    writer.join()
    assert len(raised) == 1
    queued.abort()


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
        assert not queued._thread.is_alive()


def test_abort_forgets_what_waits():
    gate = threading.Event()
    sink = Recorder(gate=gate)
    queued = QueuedSink(sink, 8)
    for _ in range(5):
        queued.write(frame())
    sink.entered.wait()
    # Only abort clears the queue while the gate is shut, so the gate opens once that is seen.
    opener = threading.Thread(target=lambda: (wait_until_empty(queued), gate.set()))
    opener.start()
    queued.abort()
    opener.join()
    assert sink.count == 1
    assert sink.aborted
    assert not sink.closed
    assert not queued._thread.is_alive()
    queued.abort()
    with pytest.raises(ValueError, match="closed"):
        queued.write(frame())
    with pytest.raises(ValueError, match="aborted"):
        queued.close()


def wait_until_empty(queued):
    with queued._changed:
        while queued._waiting:
            queued._changed.wait()


def test_abort_does_not_wait_for_ever(monkeypatch, caplog):
    monkeypatch.setattr(module, "_PATIENCE_S", 0.01)
    gate = threading.Event()
    sink = Recorder(gate=gate)
    queued = QueuedSink(sink)
    queued.write(frame())
    sink.entered.wait()
    aborting = threading.Thread(target=queued.abort, daemon=True)
    aborting.start()
    aborting.join(10)
    assert not aborting.is_alive()
    assert "does not answer" in caplog.text
    assert not sink.aborted  # touching a file that a thread still writes would be worse
    gate.set()
    queued._thread.join()
    assert sink.aborted  # the thread itself clears up when it gets to it
    assert not sink.closed


def test_abort_before_anything():
    sink = Recorder()
    queued = QueuedSink(sink)
    queued.abort()
    assert sink.aborted
    assert not queued._thread.is_alive()


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


def test_a_queue_needs_room():
    with pytest.raises(ValueError, match="queue_frames"):
        QueuedSink(Recorder(), 0)


@pytest.mark.parametrize("kind", ["mp4", "mkv", "png"])
def test_real_sinks_write_the_same_through_a_queue(tmp_path, kind):
    layout = Layout("gray", 32, 32)
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, 256, (32, 32), dtype=np.uint8) for _ in range(30)]
    direct = open_sink(tmp_path / "direct", "mask", layout=layout, kind=kind)
    queued = QueuedSink(open_sink(tmp_path / "queued", "mask", layout=layout, kind=kind), 4)
    for i, item in enumerate(frames):
        direct.write(item, i / 25)
        queued.write(item, i / 25)
    assert direct.close() == queued.close() == queued.count == 30
    assert not queued.padded
    contents = [
        [file.read_bytes() for file in sorted(path.rglob("*.png"))] or path.read_bytes()
        for path in (tmp_path / "direct", tmp_path / "queued")
    ]
    assert contents[0] == contents[1]


def test_abort_of_a_real_sink_leaves_nothing(tmp_path):
    queued = QueuedSink(
        open_sink(tmp_path / "a.mp4", "mask", layout=Layout("gray", 64, 64), kind="mp4")
    )
    for _ in range(20):
        queued.write(np.zeros((64, 64), np.uint8))
    queued.abort()
    assert list(tmp_path.iterdir()) == []


class Slow(Recorder):
    """A sink whose file takes a while to finish."""

    def write(self, frame, time_s=None):
        self.count += 1

    def close(self):
        self.gate.wait(10)
        return super().close()

    def abort(self):
        assert self.closed, "removed while it was still being written"
        super().abort()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="POSIX")
def test_an_interrupt_while_the_file_is_finished_waits_for_its_writer(caplog):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    sink = Slow(gate=threading.Event())
    queued = QueuedSink(sink, 3)
    queued.write(frame())
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
