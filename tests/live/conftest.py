"""Streams that are served on loopback, cut and stalled on purpose."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import socket
import threading
import time
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.reformatter import VideoReformatter

from bgsub.live.decoding import read
from bgsub.live.feed import LiveSource, read_source
from bgsub.live.options import WatchOptions
from bgsub.live.watcher import Watcher
from tests.conftest import read_video
from tests.video.conftest import encode

SIZE = (48, 36)


def walk(n, visits, size=SIZE, seed=0):
    """Frames of a still texture with noise, and a magenta visitor who walks through."""
    width, height = size
    rng = np.random.default_rng(seed)
    scene = np.kron(rng.integers(60, 160, (height // 4, width // 4, 3)), np.ones((4, 4, 1)))
    tall, wide = height * 14 // 48, width * 10 // 64
    visitor = np.array((230, 40, 220)) + rng.normal(0, 30, (tall, wide, 3))
    frames = []
    for i in range(n):
        frame = scene + rng.normal(0, 2, scene.shape)
        for start, stop in visits:
            if start <= i < stop:
                x = 4 + (i - start) % (width - wide - 4)
                frame[height // 3 : height // 3 + tall, x : x + wide] = visitor
        frames.append(np.clip(frame, 0, 255).astype(np.uint8))
    return frames


def blocked_in(pid):
    """Names of the signals that a process of Linux has blocked."""
    status = Path(f"/proc/{pid}/status").read_text()
    mask = int(status.partition("SigBlk:")[2].split()[0], 16)
    return {each.name for each in signal.Signals if mask >> (each - 1) & 1}


def children_of(pid="self"):
    """The processes that a process of Linux has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def messages_of(path, **settings):
    """What is read of a file, but for the last message."""
    plain = {"address": f"file:{path}", "format": None, "options": {}, "protocols": "file"}
    plain |= {"scale": None, "every": 0.0, "sound": True, "drops": False}
    return list(read(plain | settings))


def transport(frames, rate=25, first_s=0.0):
    """Encode frames as an MPEG transport stream whose stamps begin at a time."""
    memory = io.BytesIO()
    with av.open(memory, "w", format="mpegts") as container:
        options = {"preset": "ultrafast", "tune": "zerolatency", "g": "12", "crf": "12"}
        stream = container.add_stream("libx264", rate=rate, options=options)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for image in frames:
            for packet in stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")):
                packet.dts += round(first_s / packet.time_base)
                packet.pts += round(first_s / packet.time_base)
                container.mux(packet)
    return memory.getvalue()


def with_sound(frames, beeps, sound="aac", container="mpegts", hertz=16000, first_s=0.0):
    """Encode frames at 25 a second, with a beep from one frame up to another, or several."""
    memory, n = io.BytesIO(), 0

    def write(packets):
        for packet in packets:
            shift = round(first_s / packet.time_base)
            packet.dts, packet.pts = packet.dts + shift, packet.pts + shift
            target.mux(packet)

    with av.open(memory, "w", format=container) as target:
        options = {"preset": "ultrafast", "tune": "zerolatency", "g": "12", "crf": "12"}
        stream = target.add_stream("libx264", rate=25, options=options)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        heard = target.add_stream(sound, rate=hertz, layout="mono")
        form = heard.codec_context.format.name
        for i, image in enumerate(frames):
            write(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
            while n < (i + 1) * hertz // 25:
                times = np.arange(n, n + 1024)
                is_on = sum(
                    (times >= a * hertz // 25) & (times < b * hertz // 25) for a, b in beeps
                )
                wave = np.float32(0.4 * np.sin(times / 3) * is_on)
                wave = wave if form.startswith("flt") else np.int16(wave * 32767)
                piece = av.AudioFrame.from_ndarray(wave[None], format=form, layout="mono")
                piece.sample_rate, piece.pts, piece.time_base = hertz, n, Fraction(1, hertz)
                write(heard.encode(piece))
                n += len(times)
        write(stream.encode(None))
        write(heard.encode(None))
    return memory.getvalue()


def seen_and_heard(given):
    """Seconds, on a film's clock, at which the visitor is first seen, and where beeps begin."""
    source = io.BytesIO(given) if isinstance(given, bytes) else str(given)
    seen, beeps, loud_s, to = None, [], -9.0, VideoReformatter().reformat
    with av.open(source) as container:
        for frame in container.decode():
            if isinstance(frame, av.VideoFrame):
                if seen is None:
                    red, green, _ = np.moveaxis(to(frame, format="rgb24").to_ndarray(), -1, 0)
                    seen = frame.time if ((red > 180) & (green < 90)).sum() > 30 else None
                continue
            loud = np.abs(np.float64(frame.to_ndarray()[0]))
            loud = loud / (1 if frame.format.name.startswith("flt") else 32768) > 0.2
            if loud.any():
                if frame.time - loud_s > 0.3:
                    beeps.append(frame.time + loud.argmax() / frame.sample_rate)
                loud_s = frame.time
    return seen, beeps


def sound_is_in_step(film, clip, n=28):
    """A clip has so many frames, and the first beep is as far from the visitor as in the film."""
    assert len(decoded(clip)) == n
    (seen, (heard,)), (seen_there, (heard_there,)) = seen_and_heard(film), seen_and_heard(clip)
    assert heard - seen == pytest.approx(0, abs=0.1)
    assert heard_there - seen_there == pytest.approx(heard - seen, abs=0.003)


def film_file(path, frames, rate=25):
    """Write frames as H.264 into a file, as its ending says."""
    options = {"preset": "ultrafast", "tune": "zerolatency", "g": "12", "crf": "12"}
    return encode(path, np.stack(frames), rate=rate, options=options)


class Server:
    """Sends one script of steps to each connection: bytes, ``stall`` seconds; then closes."""

    def __init__(self, *scripts):
        self._scripts = list(scripts)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.connections = 0
        self._stop = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self):
        return f"tcp://127.0.0.1:{self.port}"

    def _serve(self):
        for script in self._scripts:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._play, args=(connection, script), daemon=True).start()

    def _play(self, connection, script):
        with connection, contextlib.suppress(OSError):
            for step in script:
                if isinstance(step, bytes):
                    connection.sendall(step)
                else:
                    self._stop.wait(step)

    def close(self):
        self._stop.set()
        self._socket.close()


@pytest.fixture
def serve():
    """Start servers that are closed at the end."""
    servers = []

    def start(*scripts):
        servers.append(Server(*scripts))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


class Watched:
    """Lines and notes of a watcher that runs in a thread of its own."""

    def __init__(self, source, out, **options):
        self.lines, self.notes, self.error = [], [], None
        self.stop = threading.Event()
        settings = {"warm_up_s": 1.0, "refresh_s": 2.0, "before_s": 0.5, "after_s": 0.6}
        settings |= {"drop": False} | options
        pauses_s = settings.pop("pauses_s", (0.1,))
        live = source if isinstance(source, LiveSource) else read_source(str(source))
        self.watcher = Watcher(
            live,
            out,
            WatchOptions(**settings),
            pauses_s=pauses_s,
            say=lambda text: self.lines.append(json.loads(text)),
            note=lambda text, kind: self.notes.append(text),
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self.watcher.run(self.stop)
        except Exception as error:  # noqa: BLE001 - looked at by the test
            self.error = error

    def wait(self, condition, patience_s=60.0):
        """Wait until something holds of what was said."""
        deadline = time.monotonic() + patience_s
        while not condition(self) and self._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert condition(self), (self.lines, self.notes, self.error)

    def until(self, condition):
        """Wait until something holds of what was said, and stop watching."""
        self.wait(condition)
        self.finish()
        return self

    def finish(self):
        self.stop.set()
        self._thread.join(20)
        assert not self._thread.is_alive()

    @property
    def kinds(self):
        return [(line["event"], line["id"]) for line in self.lines]

    def count(self, what):
        return sum(line["event"] == what for line in self.lines)


@pytest.fixture
def watch(tmp_path):
    """Watch a source, with clips in a folder of tmp_path."""
    running = []

    def start(source, **options):
        running.append(Watched(source, tmp_path / "clips", **options))
        return running[-1]

    yield start
    for each in running:
        each.finish()


def decoded(path):
    """All frames of a clip, as PyAV reads them."""
    return read_video(path, "rgb24")


def packets(path_or_bytes):
    """The data of all packets."""
    given = io.BytesIO(path_or_bytes) if isinstance(path_or_bytes, bytes) else str(path_or_bytes)
    with av.open(given) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.size]


def ends_once(lines):
    """Every start has exactly one end behind it, and updates lie between."""
    open_id = None
    for line in lines:
        if line["event"] == "start":
            assert open_id is None
            open_id = line["id"]
        else:
            assert line["id"] == open_id
            if line["event"] == "end":
                open_id = None
    assert open_id is None
    assert [line["id"] for line in lines if line["event"] == "start"] == list(
        range(1, sum(line["event"] == "start" for line in lines) + 1)
    )
