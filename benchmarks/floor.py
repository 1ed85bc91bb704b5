"""What a run cannot beat: programs with the same input and output, without the mathematics.

Each is a program of its own (``python -m benchmarks.floor NAME VIDEO FRAMES``), so that whole
processes are compared, imports and all.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bgsub.video.frames import Bytes, Frame
from bgsub.video.sink import QueuedSink, open_sink
from bgsub.video.source import open_source


def _frames(video: str, count: int) -> Iterator[Frame]:
    return itertools.islice(iter(open_source(video)), count)


def codec(video: str, count: int, folder: Path) -> None:
    """Decode once and encode three H.264 streams of that size, overlapped."""
    source = open_source(video)
    sinks = [
        QueuedSink(
            open_sink(
                folder / f"{i}.mp4", str(i), layout=source.layout, kind="mp4", rate=source.rate
            )
        )
        for i in range(3)
    ]
    for frame in itertools.islice(iter(source), count):
        for sink in sinks:
            sink.write(frame.data, frame.time_s)
    for sink in sinks:
        sink.finish()
    for sink in sinks:
        sink.close()


def mog2(video: str, count: int, folder: Path) -> None:
    """Decode, MOG2, encode the mask."""
    import cv2

    source = open_source(video)
    subtractor = cv2.createBackgroundSubtractorMOG2()
    path = folder / "mask.mp4"
    sink = open_sink(path, "mask", layout=source.layout, kind="mp4", rate=source.rate)
    for frame in itertools.islice(iter(source), count):
        mask = subtractor.apply(source.layout.to_bgr(frame.data))
        sink.write(np.asarray(mask, dtype=np.uint8), frame.time_s)
    sink.close()


def gram(video: str, count: int, _folder: Path) -> None:
    """Decode to luma and form the Gram product in float32, nothing else."""
    rows: list[Bytes] = [frame.luma.ravel() for frame in _frames(video, count)]
    matrix = np.stack(rows)
    total = np.zeros((len(rows), len(rows)))
    for start in range(0, matrix.shape[1], 8192):
        block = matrix[:, start : start + 8192].astype(np.float32)
        total += block @ block.T


def decode(video: str, count: int, _folder: Path) -> None:
    """Decode, nothing else."""
    for _ in _frames(video, count):
        pass


if __name__ == "__main__":
    name, video_path, frame_count = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as name_of_folder:
        globals()[name](video_path, int(frame_count), Path(name_of_folder))
