"""Measure bgsub watch: latency and frames a second, and memory over a long time.

python -m benchmarks.live latency [SECONDS [WIDTHxHEIGHT]]
    A stream of 25 frames a second on loopback, at 320×240 and 1280×720, in which somebody walks
    through every 8 seconds. Latency is from the sending of the first frame that shows somebody to
    the line that says so; it includes the two further frames that an object must be seen in.

python -m benchmarks.live rate [SECONDS [WIDTHxHEIGHT]]
    The same film as a file of 640×360: frames that a second of processor time does, decoding and
    learning included, by the difference to a film of a quarter of the length.

python -m benchmarks.live memory [HOURS]
    Frames of 64×36 are generated, one for each two seconds, as fast as they are analysed, with
    daylight that comes and goes and a visitor now and then: resident memory after an hour of the
    stream, and at the end; which visits no event has, and which events are of no visit.
"""

from __future__ import annotations

import io
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

import av
import numpy as np
from numpy.typing import NDArray

from bgsub.live.decoding import Header, Seen
from bgsub.live.feed import Item, LiveSource, Lost, Opened, PacketRing
from bgsub.live.options import WatchOptions
from bgsub.live.watcher import Watcher
from bgsub.runtime.limits import give_back
from bgsub.video.frames import Layout

RATE, CYCLE, VISIT = 25, 200, 60

Frame = NDArray[np.uint8]


def film(width: int, height: int, count: int) -> Iterator[tuple[Frame, bool]]:
    """Draw frames, and say which is the first of a visit."""
    rng = np.random.default_rng(0)
    step = height // 24
    rough = rng.integers(60, 170, (24, width // step + 1, 3))
    scene = np.kron(rough, np.ones((step, step, 1)))[:height, :width]
    noise = [rng.normal(0, 2, scene.shape) for _ in range(8)]
    for i in range(count):
        frame = scene + noise[i % 8]
        since = i % CYCLE - (CYCLE - VISIT)
        if since >= 0:
            x, side = (width - height // 3) * since // VISIT, height // 4
            frame[height // 2 : height // 2 + side, x : x + side // 2] = (200, 40, 60)
        yield np.clip(frame, 0, 255).astype(np.uint8), since == 0


def encoded(width: int, height: int, seconds: int) -> list[tuple[bytes, bool]]:
    """Encode a film as pieces of a transport stream, one for each frame."""
    memory, pieces, place = io.BytesIO(), [], 0
    with av.open(memory, "w", format="mpegts", options={"flush_packets": "1"}) as container:
        options = {"preset": "ultrafast", "tune": "zerolatency", "g": "25"}
        stream = container.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for image, is_first in film(width, height, seconds * RATE):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
            pieces.append((memory.getvalue()[place:], is_first))
            place = memory.tell()
    return pieces


def serve(server: socket.socket, pieces: list[tuple[bytes, bool]], sent: list[float]) -> None:
    """Send a film at its own pace; note when the first frame of each visit went."""
    connection, _ = server.accept()
    began = time.monotonic()
    with connection:
        for i, (piece, is_first) in enumerate(pieces):
            time.sleep(max(0.0, began + i / RATE - time.monotonic()))
            if is_first:
                sent.append(time.monotonic())
            try:
                connection.sendall(piece)
            except OSError:  # it has been stopped
                return


def latency(seconds: int, sizes: Sequence[tuple[int, int]]) -> None:
    """Print latency, frames a second and CPU of a watch of each size."""
    print("| size | lines of visits | median latency | largest | frames/s analysed | CPU |")
    print("|---|---:|---:|---:|---:|---:|")
    for width, height in sizes:
        pieces = encoded(width, height, seconds)
        sent: list[float] = []
        server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=serve, args=(server, pieces, sent), daemon=True).start()
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with tempfile.TemporaryDirectory() as folder:
            status = Path(folder) / "status.json"
            command = [sys.executable, "-m", "bgsub", "watch", url, "-o", folder, "--after", "1s"]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            process = subprocess.Popen(
                [*command, "--warm-up", "4s", "--quiet", "--status", str(status)],
                stdout=subprocess.PIPE,
                text=True,
            )
            heard: list[float] = []
            threading.Thread(target=_listen, args=(process, heard), daemon=True).start()
            time.sleep(seconds + 3)
            process.terminate()
            process.wait()
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            facts = json.loads(status.read_text())
        delays = [
            min(after) for each in sent if (after := [h - each for h in heard if 0 < h - each < 4])
        ]
        cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        fps = facts["frames"] / max(facts["time_s"] - 4, 1)
        values = f"{np.median(delays):.2f} s | {max(delays):.2f} s" if delays else "none | none"
        row = f"| {width}×{height} | {len(delays)} of {len(sent)} | {values} |"
        print(row, f"{fps:.1f} | {100 * cpu / seconds:.0f} % of a core |", flush=True)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def rate(seconds: int, width: int, height: int) -> None:
    """Print the frames that a second of processor time does."""
    used = []
    with tempfile.TemporaryDirectory() as folder:
        for part in (seconds // 4, seconds):
            path = Path(folder) / f"{part}.ts"
            path.write_bytes(b"".join(piece for piece, _ in encoded(width, height, part)))
            command = [sys.executable, "-m", "bgsub", "watch", str(path), "-o", folder, "--quiet"]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    frames = RATE * (seconds - seconds // 4)
    each = (used[1] - used[0]) / frames
    print(
        f"{width}×{height}: {1000 * each:.1f} ms of CPU a frame, {1 / each:.0f} a second on a core"
    )


def _listen(process: subprocess.Popen[str], heard: list[float]) -> None:
    for line in process.stdout or ():
        heard += [time.monotonic()] * (json.loads(line)["event"] == "start")


class GeneratedFeed:
    """Takes the place of a `Feed`; gives generated frames as fast as they are asked for."""

    hours = 168.0
    levels: dict[float, float]

    def __init__(self, *_: object, **__: object) -> None:
        self.dropped = 0
        self.connections = 1
        self._items = self._generate()
        GeneratedFeed.levels = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End."""

    def get(self, timeout: float) -> Item | None:
        """Return the next frame."""
        del timeout
        return next(self._items)

    def _generate(self) -> Iterator[Item]:
        layout = Layout("gray", 36, 64)
        yield Opened(
            Header("h264", (64, 36), layout, Fraction(1, 1000), b"", "mp4"),
            0.0,
            0.0,
            PacketRing(1.0),
        )
        rng = np.random.default_rng(0)
        scene = np.kron(rng.integers(70, 150, (9, 16)), np.ones((4, 4)))
        for i in range(round(self.hours * 1800)):
            time_s = 2.0 * i
            frame = scene * (1 + 0.3 * np.sin(2 * np.pi * time_s / 86400))
            if i % 500 >= 480:
                x = 2 * (i % 500 - 480)
                frame[12:26, x : x + 8] = 240
            frame += rng.normal(0, 1.5, scene.shape)
            if time_s % 3600 == 0:
                give_back()
                GeneratedFeed.levels[time_s / 3600] = _resident()
                if time_s % 86400 == 0:
                    print(f"{time_s / 3600:g} h: {_resident():.0f} MB", file=sys.stderr)
            yield Seen(time_s, np.clip(frame, 0, 255).astype(np.uint8).tobytes(), time.monotonic())
        yield Lost("", None)


def _resident() -> float:
    """Return the resident memory of this process and of those that it has started, MB."""
    here = Path("/proc/self/task")
    children = [int(p) for t in here.iterdir() for p in (t / "children").read_text().split()]
    pages = 0
    for process in ("self", *children):
        pages += int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def memory(hours: float) -> None:
    """Print resident memory by the hours of a stream."""
    GeneratedFeed.hours = hours
    ended: list[tuple[float, float]] = []
    options = WatchOptions(
        drop=False, clips=False, warm_up_s=120, refresh_s=600, window_s=3600, after_s=10, threads=1
    )

    def say(line: str) -> None:
        told = json.loads(line)  # 600 visits have 3 MB of lines, which are not bgsub's to keep
        if told["event"] == "end":
            ended.append((told["start_s"], told["time_s"]))

    def note(text: str, kind: str) -> None:
        del text, kind

    with tempfile.TemporaryDirectory() as folder, patch("bgsub.live.watcher.Feed", GeneratedFeed):
        source: Any = LiveSource("generated", "stdin")
        watcher = Watcher(source, Path(folder), options, say=say, note=note)
        watcher.run(threading.Event())
    levels = GeneratedFeed.levels
    chosen = sorted({1.0, *(float(h) for h in np.linspace(2, max(levels), 6).round())})
    shown = ", ".join(f"{hour:g} h {levels[hour]:.0f} MB" for hour in chosen if hour in levels)
    cpu = sum(os.times()[:4])
    print(f"{shown}; {cpu:.0f} s of CPU")
    compare(ended, hours)


def compare(events: list[tuple[float, float]], hours: float) -> None:
    """Print which visits of the generated stream no event meets, and which events meet no visit."""
    visits = [(2.0 * i + 960, 2.0 * i + 998) for i in range(0, round(hours * 1800) - 499, 500)]

    def meets(one: tuple[float, float], other: tuple[float, float]) -> bool:
        return one[0] <= other[1] and other[0] <= one[1]

    met = [sum(meets(visit, event) for event in events) for visit in visits]
    missed = [visit[0] for visit, count in zip(visits, met, strict=True) if not count]
    false = [event for event in events if not any(meets(event, visit) for visit in visits)]
    late = [
        min(event[0] for event in events if meets(visit, event)) - visit[0]
        for visit, count in zip(visits, met, strict=True)
        if count
    ]
    print(f"{len(visits) - len(missed)} of {len(visits)} visits have an event", end="")
    print(f" (begins {max(late, default=0):.0f} s late at most)", end="")
    print(f", {sum(count > 1 for count in met)} have several; {len(false)} events are no visit")
    for second in missed:
        print(f"  missed: visit at {second / 3600:.2f} h")
    for begin, end in false:
        print(f"  no visit: {begin / 3600:.2f} h, {end - begin:.0f} s")


if __name__ == "__main__":
    value = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    given = [(int(w), int(h)) for w, h in (each.split("x") for each in sys.argv[3:])]
    if sys.argv[1:2] == ["memory"]:
        memory(value or 168.0)
    elif sys.argv[1:2] == ["rate"]:
        rate(int(value or 80), *(given or [(640, 360)])[0])
    else:
        latency(int(value or 40), given or ((320, 240), (1280, 720)))
