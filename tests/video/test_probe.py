from fractions import Fraction

import pytest

from bgsub.video.probe import probe


def test_a_video(make_video, scene):
    path = make_video("a.mp4", scene(10))
    seen = []
    info = probe(path, progress=lambda *step: seen.append(step), roi="0,0,32,48")
    assert (info.name, info.kind, info.codec, info.pixel_format) == (
        "a.mp4",
        "video",
        "h264",
        "yuv420p",
    )
    assert (info.width, info.height, info.input_width, info.input_height) == (32, 48, 64, 48)
    assert (info.frames, info.rate, info.layout) == (10, Fraction(25), "yuv420")
    assert info.duration_s == pytest.approx(0.4)
    assert info.frame_bytes == 32 * 48 * 3 // 2
    assert (info.bad_frames, info.warnings) == ([], [])
    assert seen == [("decode", i, 10) for i in range(1, 11)]


def test_a_cut_video(make_video, scene):
    path = make_video("cut.avi", scene(50), "mjpeg", "yuvj420p")
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    info = probe(path)
    assert 20 < info.frames < 45
    assert info.warnings == [
        f"decoded {info.frames} of about 50 frames: the file is cut off or damaged"
    ]


def test_an_array_and_one_frame(scene):
    info = probe(scene(4), start=2)
    assert (info.frames, info.rate, info.kind) == (3, None, "array")
    assert info.duration_s == pytest.approx(0.12)
    assert probe(scene(4), end=1).duration_s == pytest.approx(0.04)
