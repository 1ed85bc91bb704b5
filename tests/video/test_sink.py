"""Sinks: what is written is what comes back, or an OutputError says what went wrong."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import OutputError
from bgsub.video.frames import Layout
from bgsub.video.images import read_image
from bgsub.video.sink import SUFFIXES, FrameClock, count_frames, open_sink
from tests.video.ranges import COMPRESS_CHROMA, COMPRESS_LUMA

RNG = np.random.default_rng(3)


def smooth(height, width, seed=0):
    """A BGR picture with soft colours, as codecs like it."""
    noise = np.random.default_rng(seed).integers(40, 216, (4, 4, 3), dtype=np.uint8)
    return cv2.resize(noise, (width, height), interpolation=cv2.INTER_LINEAR)


def write_all(path, kind, frames, *, layout, times=None, **options):
    sink = open_sink(path, "background", layout=layout, kind=kind, **options)
    for i, frame in enumerate(frames):
        sink.write(frame, None if times is None else times[i])
    assert sink.close() == len(frames)
    return sink


def decode(path):
    with av.open(str(path)) as container:
        return list(container.decode(video=0))


def luma(frame):
    return frame.to_ndarray()[: frame.height, : frame.width]


def rgb(frame):
    return frame.to_ndarray(format="rgb24").astype(int)


def test_mp4_plays_in_browsers(tmp_path):
    path = tmp_path / "a.mp4"
    layout = Layout("gray", 48, 64)
    write_all(path, "mp4", [smooth(48, 64)[:, :, 0]] * 30, layout=layout)
    with av.open(str(path)) as container:
        codec = container.streams.video[0].codec_context
        assert (codec.name, codec.profile, codec.pix_fmt) == ("h264", "High", "yuv420p")
        assert container.metadata["title"] == "background"
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


def test_mp4_grey_comes_back_in_limited_range(tmp_path):
    layout = Layout("gray", 48, 64)
    pictures = [smooth(48, 64, seed)[:, :, 0].copy() for seed in range(4)]
    path = tmp_path / "a.mp4"
    write_all(path, "mp4", [*pictures[:2], *map(layout.pack, pictures[2:])], layout=layout)
    frames = decode(path)
    assert len(frames) == 4
    for frame, picture in zip(frames, pictures, strict=True):
        assert np.abs(luma(frame).astype(int) - COMPRESS_LUMA[picture]).mean() < 2
        assert (frame.to_ndarray()[48:] == 128).all()
        assert np.abs(rgb(frame).mean(axis=2) - picture).mean() < 2


@pytest.mark.parametrize("matrix", ["bt601", "bt709"])
def test_mp4_takes_yuv420_planes_as_they_are(tmp_path, matrix):
    layout = Layout("yuv420", 48, 64, matrix)
    vector = layout.pack(smooth(48, 64))
    path = tmp_path / "a.mp4"
    write_all(path, "mp4", [vector] * 3, layout=layout)
    y, u, v = layout.planes(vector)
    for frame in decode(path):
        planes = frame.to_ndarray().ravel().astype(int)
        expected = [COMPRESS_LUMA[y], COMPRESS_CHROMA[u], COMPRESS_CHROMA[v]]
        expected = np.concatenate([plane.ravel() for plane in expected])
        assert np.abs(planes - expected).mean() < 1.5
        tag = 1 if matrix == "bt709" else 6
        assert (frame.color_range, frame.colorspace) == (1, tag)
        assert (frame.color_primaries, frame.color_trc) == (tag, tag)
        # swscale reads the tags, as players do, so the colours must be those of the layout.
        assert np.abs(rgb(frame) - layout.to_bgr(vector)[:, :, ::-1]).mean() < 3


@pytest.mark.parametrize("size", [(48, 64), (47, 63)])
def test_mp4_keeps_the_colours_of_pictures(tmp_path, size):
    height, width = size
    picture = smooth(height, width)
    layout = Layout("bgr", height, width)
    write_all(tmp_path / "a.mp4", "mp4", [picture] * 2, layout=layout)
    write_all(tmp_path / "b.mp4", "mp4", [layout.pack(picture)] * 2, layout=layout)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    shown = rgb(decode(tmp_path / "a.mp4")[1])[:height, :width]
    assert np.abs(shown - picture[:, :, ::-1]).mean() < 3
    assert abs((shown - picture[:, :, ::-1]).mean()) < 2  # swscale rounds down when decoding


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_mp4_continues_odd_sizes(tmp_path, kind):
    layout = Layout(kind, 31, 17)
    sink = write_all(tmp_path / "a.mp4", "mp4", [layout.pack(smooth(31, 17))], layout=layout)
    assert sink.padded
    [frame] = decode(tmp_path / "a.mp4")
    assert (frame.width, frame.height) == (18, 32)
    y = luma(frame).astype(int)
    assert np.abs(y[:, 17] - y[:, 16]).max() < 12
    assert np.abs(y[31] - y[30]).max() < 12


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (64, 64), (97, 130), (130, 98)])
@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_mkv_gives_the_same_bytes(tmp_path, kind, size):
    layout = Layout(kind, *size)
    vectors = [RNG.integers(0, 256, layout.size, dtype=np.uint8) for _ in range(3)]
    path = tmp_path / "a.mkv"
    write_all(path, "mkv", vectors, layout=layout, threads=2)
    for frame, vector in zip(decode(path), vectors, strict=True):
        if kind == "bgr":
            assert frame.format.name == "bgr0"
            np.testing.assert_array_equal(frame.to_ndarray(format="bgr24"), layout.to_bgr(vector))
        elif kind == "gray":
            assert frame.format.name == "gray"
            np.testing.assert_array_equal(frame.to_ndarray(), layout.luma(vector))
        else:
            assert (frame.format.name, frame.color_range) == ("yuv420p", 2)
            for plane, expected in zip(frame.planes, layout.planes(vector), strict=True):
                rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
                np.testing.assert_array_equal(rows[:, : plane.width], expected)


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_png_gives_the_same_picture(tmp_path, kind):
    layout = Layout(kind, 9, 13)
    vectors = [RNG.integers(0, 256, layout.size, dtype=np.uint8) for _ in range(3)]
    path = tmp_path / "mask"
    write_all(path, "png", vectors, layout=layout)
    files = sorted(file.name for file in path.iterdir())
    assert files == ["000001.png", "000002.png", "000003.png"]
    for file, vector in zip(files, vectors, strict=True):
        np.testing.assert_array_equal(read_image(path / file), layout.to_bgr(vector))


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (97, 130)])
@pytest.mark.parametrize("kind", ["mkv", "png"])
def test_grey_of_16_bits_comes_back_to_the_bit(tmp_path, kind, size):
    pictures = [RNG.integers(0, 1 << 16, size, dtype=np.uint16) for _ in range(3)]
    pictures[1][0, 0] = (1 << 16) - 1
    path = tmp_path / f"scores{SUFFIXES[kind]}"
    write_all(path, kind, pictures, layout=Layout("bgr", *size), threads=2)
    if kind == "mkv":
        found = [frame.to_ndarray() for frame in decode(path)]
    else:
        found = [read_image(path / f"{number:06d}.png") for number in (1, 2, 3)]
    for one, picture in zip(found, pictures, strict=True):
        assert one.dtype == np.uint16
        np.testing.assert_array_equal(one, picture)


def test_h264_refuses_16_bits(tmp_path):
    sink = open_sink(tmp_path / "a.mp4", "scores", layout=Layout("gray", 4, 4), kind="mp4")
    with pytest.raises(ValueError, match="16 bits; write mkv or png"):
        sink.write(np.zeros((4, 4), np.uint16))
    sink.abort()


@pytest.mark.parametrize("kind", ["mp4", "mkv", "png"])
def test_pictures_of_another_size_than_the_layout(tmp_path, kind):
    path = tmp_path / f"wide é 漢 a:b{SUFFIXES[kind]}"
    write_all(path, kind, [smooth(20, 80)] * 2, layout=Layout("gray", 20, 20))
    if kind != "png":
        assert decode(path)[0].width == 80


def times_of(path):
    return [float(frame.pts * frame.time_base) for frame in decode(path)]


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
def test_uniform_times_give_an_exact_rate(tmp_path, kind):
    rate = Fraction(30000, 1001)
    times = [7 + round(1000 * i / rate) / 1000 for i in range(40)]  # as containers round them
    path = tmp_path / f"a.{kind}"
    picture = smooth(16, 16)
    write_all(path, kind, [picture] * 40, layout=Layout("bgr", 16, 16), times=times, rate=rate)
    with av.open(str(path)) as container:
        assert container.streams.video[0].average_rate == rate
    expected = [i / rate for i in range(40)]
    np.testing.assert_allclose(
        times_of(path), np.array(expected, float), atol=1e-9 if kind == "mp4" else 5.1e-4
    )


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
def test_other_times_are_kept(tmp_path, kind):
    times = np.cumsum([0.5, 0.04, 0.055, 0.013, 2.0, 0.04])
    path = tmp_path / f"a.{kind}"
    layout = Layout("bgr", 16, 16)
    write_all(path, kind, [smooth(16, 16)] * 6, layout=layout, times=times, rate=Fraction(25))
    np.testing.assert_allclose(times_of(path), times - times[0], atol=6e-4)


def test_a_player_can_jump_every_two_seconds(tmp_path):
    path = tmp_path / "a.mp4"
    pictures = [RNG.integers(0, 256, (16, 16), dtype=np.uint8) for _ in range(120)]
    write_all(path, "mp4", pictures, layout=Layout("gray", 16, 16), rate=Fraction(25))
    keys = [i for i, frame in enumerate(decode(path)) if frame.key_frame]
    assert keys == [0, 50, 100, 119]


@pytest.mark.parametrize("kind", ["mp4", "mkv", "png"])
def test_a_sink_without_frames_is_an_error(tmp_path, kind):
    path = tmp_path / "nothing"
    sink = open_sink(path, "mask", layout=Layout("gray", 4, 4), kind=kind)
    with pytest.raises(OutputError, match="nothing: no frame"):
        sink.close()
    sink.abort()
    assert not path.exists()


@pytest.mark.parametrize("kind", ["mp4", "mkv", "png"])
def test_frames_that_do_not_fit_are_refused(tmp_path, kind):
    sink = open_sink(tmp_path / "a", "mask", layout=Layout("gray", 4, 4), kind=kind)
    for wrong in (
        np.zeros(15, np.uint8),
        np.zeros((4, 4, 2), np.uint8),
        np.zeros((0, 4), np.uint8),
    ):
        with pytest.raises(ValueError, match="expected"):
            sink.write(wrong, 0.0)
    with pytest.raises(ValueError, match="uint8"):
        sink.write(np.zeros((4, 4)), 0.0)
    sink.write(np.zeros((4, 4), np.uint8), 0.0)
    assert sink.close() == 1


def test_frames_of_a_video_are_alike(tmp_path):
    sink = open_sink(tmp_path / "a.mp4", "mask", layout=Layout("gray", 4, 4), kind="mp4")
    sink.write(np.zeros((4, 4), np.uint8))
    for other in (np.zeros((4, 6), np.uint8), np.zeros((4, 4, 3), np.uint8)):
        with pytest.raises(ValueError, match="like the first"):
            sink.write(other)
    sink.abort()


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
@pytest.mark.parametrize("written", [0, 1, 9])
def test_abort_removes_the_file(tmp_path, kind, written):
    path = tmp_path / "a"
    sink = open_sink(path, "mask", layout=Layout("gray", 16, 16), kind=kind)
    for _ in range(written):
        sink.write(np.zeros((16, 16), np.uint8))
    assert path.exists()
    sink.abort()
    sink.abort()
    assert not path.exists()


def test_abort_keeps_the_files_of_others(tmp_path):
    sink = open_sink(tmp_path / "a", "mask", layout=Layout("gray", 4, 4), kind="png")
    sink.write(np.zeros((4, 4), np.uint8))
    (tmp_path / "a" / "note.txt").write_text("mine")
    sink.abort()
    assert [file.name for file in (tmp_path / "a").iterdir()] == ["note.txt"]


def test_a_directory_in_use_is_refused(tmp_path):
    (tmp_path / "000001.png").write_bytes(b"mine")
    with pytest.raises(OutputError, match="not empty"):
        open_sink(tmp_path, "mask", layout=Layout("gray", 4, 4), kind="png")
    assert (tmp_path / "000001.png").read_bytes() == b"mine"


@pytest.mark.parametrize("kind", ["mp4", "mkv", "png"])
def test_places_that_cannot_be_written(tmp_path, kind):
    layout = Layout("gray", 4, 4)
    (tmp_path / "file").write_text("not a directory")
    for parent in (tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(OutputError, match=rf"{parent.name}/mask.*directory.*--out"):
            open_sink(parent / "mask", "mask", layout=layout, kind=kind)
    if kind != "png":
        with pytest.raises(OutputError, match=r"Is a directory.*choose another place with --out"):
            open_sink(tmp_path, "mask", layout=layout, kind=kind)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("kind", ["mp4", "mkv"])
def test_full_disk_while_writing_video(tmp_path, kind):
    path = tmp_path / "full"
    path.symlink_to("/dev/full")
    sink = open_sink(path, "mask", layout=Layout("gray", 128, 128), kind=kind)
    with pytest.raises(OutputError, match=r"full: .*No space.*; free"):  # noqa: PT012 - see below
        for _ in range(60):  # buffers may hold some frames before the disk is asked
            sink.write(RNG.integers(0, 256, (128, 128), dtype=np.uint8))
    sink.abort()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_while_writing_pictures(tmp_path):
    sink = open_sink(tmp_path / "a", "mask", layout=Layout("gray", 4, 4), kind="png")
    sink.write(np.zeros((4, 4), np.uint8))
    (tmp_path / "a" / "000002.png").symlink_to("/dev/full")
    with pytest.raises(OutputError, match=r"000002\.png: .*No space left.*free some space"):
        sink.write(np.zeros((4, 4), np.uint8))
    sink.abort()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_damaged_pictures_are_noticed(tmp_path, damage):
    sink = open_sink(tmp_path / "a", "mask", layout=Layout("gray", 16, 16), kind="png")
    for _ in range(3):
        sink.write(RNG.integers(0, 256, (16, 16), dtype=np.uint8))
    last = tmp_path / "a" / "000003.png"
    if damage == "cut":
        last.write_bytes(last.read_bytes()[:-20])
    else:
        last.unlink()
    with pytest.raises(OutputError, match=r"000003\.png|holds 2 frames"):
        sink.close()


@pytest.mark.parametrize("kind", ["mp4", "mkv", "png"])
def test_a_lost_frame_is_noticed(tmp_path, kind):
    sink = open_sink(tmp_path / "lost", "mask", layout=Layout("gray", 16, 16), kind=kind)
    for _ in range(3):
        sink.write(np.zeros((16, 16), np.uint8))
    sink.count += 1
    with pytest.raises(OutputError, match="lost: holds 3 frames where 4 were written"):
        sink.close()


# The end of an mp4 is the end of its last frame; that of an mkv is an index.
@pytest.mark.parametrize(("kind", "kept"), [("mp4", 0.75), ("mkv", 0.75), ("mp4", 0.99)])
def test_a_cut_file_is_noticed(tmp_path, kind, kept):
    path = tmp_path / f"a.{kind}"
    pictures = [RNG.integers(0, 256, (32, 32), dtype=np.uint8) for _ in range(20)]
    write_all(path, kind, pictures, layout=Layout("gray", 32, 32))
    assert count_frames(path) == 20
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    try:
        count = count_frames(path)
    except OutputError as error:
        assert path.name in str(error)  # noqa: PT017 - both are right
    else:
        assert count < 20


def test_an_end_that_cannot_be_decoded_is_noticed(tmp_path):
    path = tmp_path / "a.mp4"
    write_all(path, "mp4", [np.zeros((32, 32), np.uint8)] * 5, layout=Layout("gray", 32, 32))
    with av.open(str(path)) as container:
        last = [packet for packet in container.demux(video=0) if packet.size][-1]
    content = bytearray(path.read_bytes())
    content[last.pos + 4] = 12  # a NAL unit of nothing but padding
    path.write_bytes(content)
    with pytest.raises(OutputError, match=r"a.mp4: cannot be read back after writing"):
        count_frames(path)


RATES = [Fraction(1, 10), Fraction(25), Fraction(24000, 1001), Fraction(2997, 100), Fraction(240)]


def seconds(clock, times):
    return [clock.tick(t) * clock.time_base for t in times]


def test_uniform_times_stay_exact():
    rate = Fraction(30000, 1001)
    clock = FrameClock(rate)
    assert seconds(clock, (round(i / rate, 3) for i in range(10_000)))[-1] == 9_999 / rate


@given(
    st.lists(st.floats(0.001, 20), max_size=40),
    st.sampled_from([*RATES, None]),
    st.sampled_from(["mp4", "mkv"]),
)
def test_a_clock_keeps_other_times(steps, rate, kind):
    clock = FrameClock(rate, kind)
    times = [3.0]
    for step in steps:
        times.append(times[-1] + step)
    stamps = seconds(clock, times)
    assert all(b > a for a, b in itertools.pairwise(stamps))
    tolerance = max(0.001, 0.1 / float(clock.rate)) + 0.0002
    # A frame that snapped forwards pushes those right behind it by no more than the tolerance.
    for stamp, t in zip(stamps, times, strict=True):
        assert abs(float(stamp) - (t - 3.0)) <= tolerance + 0.001 * len(times)


@given(st.lists(st.one_of(st.none(), st.floats())), st.sampled_from(["mp4", "mkv"]))
def test_timestamps_always_increase(times, kind):
    clock = FrameClock(None, kind)
    stamps = [clock.tick(t) for t in times]
    assert all(b > a for a, b in itertools.pairwise(stamps))
