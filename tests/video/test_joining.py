"""Videos and pictures one after the other, packet by packet."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.video.clip import join_pictures, join_videos
from bgsub.video.frames import Layout
from bgsub.video.sink import open_sink
from tests.conftest import make_scene, read_video

RATE = Fraction(30000, 1001)


def write(path, frames, times, kind="mp4"):
    layout = Layout("bgr", *frames.shape[1:3])
    sink = open_sink(path, "mask", layout=layout, kind=kind, rate=RATE)
    for frame, time_s in zip(frames, times, strict=True):
        sink.write(np.ascontiguousarray(frame[..., ::-1]), time_s)
    sink.close()
    return path


def packets(path):
    with av.open(str(path)) as container:
        return [
            (bytes(packet), packet.pts * packet.time_base)
            for packet in container.demux(video=0)
            if packet.size
        ]


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
def test_packets_are_copied_and_times_are_those_of_one_film(kind, tmp_path):
    frames = make_scene(90)
    times = 7.0 + np.arange(90) / float(RATE)
    times[60:] += 2.5
    parts = [
        (write(tmp_path / f"{a}.{kind}", frames[a:b], times[a:b], kind), float(times[a]))
        for a, b in ((0, 30), (30, 60), (60, 90))
    ]
    out = tmp_path / f"all.{kind}"
    assert join_videos(parts, out, title="mask", rate=RATE) == 90
    one = packets(write(tmp_path / f"one.{kind}", frames, times, kind))
    ours = packets(out)
    assert [data for data, _ in ours] == [data for path, _ in parts for data, _ in packets(path)]
    np.testing.assert_allclose([float(t) for _, t in ours], [float(t) for _, t in one], atol=0.0011)
    separate = np.concatenate([read_video(path) for path, _ in parts])
    np.testing.assert_array_equal(read_video(out), separate)
    with av.open(str(out)) as container:
        assert container.metadata["title"] == "mask"


def test_parts_that_were_encoded_otherwise_are_refused(tmp_path):
    small, large = make_scene(12), make_scene(12, 40, 64)
    times = np.arange(12) / 25
    parts = [
        (write(tmp_path / "a.mp4", small, times), 0.0),
        (write(tmp_path / "b.mp4", large, times), 1.0),
    ]
    with pytest.raises(OutputError, match="encoded in another way"):
        join_videos(parts, tmp_path / "all.mp4", title="mask", rate=RATE)


def test_pictures_are_numbered_through(tmp_path):
    for name, count in (("a", 3), ("b", 2)):
        (tmp_path / name).mkdir()
        for number in range(1, count + 1):
            (tmp_path / name / f"{number:06d}.png").write_text(f"{name}{number}")
    assert join_pictures([tmp_path / "a", tmp_path / "b"], tmp_path / "all") == 5
    texts = [path.read_text() for path in sorted((tmp_path / "all").iterdir())]
    assert texts == ["a1", "a2", "a3", "b1", "b2"]
