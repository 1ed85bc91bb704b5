"""Damage, times, ranges and what else only video files have."""

import ctypes
import gc
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import av
import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.video import pyav
from bgsub.video.film_index import Place
from bgsub.video.matrix import FrameMatrix
from bgsub.video.seek import frames_at
from bgsub.video.source import open_source

LIMITED, FULL = 1, 2


def damage(path, where, length=60):
    """Overwrite bytes of a file with noise."""
    data = bytearray(path.read_bytes())
    noise = np.random.default_rng(0).integers(0, 256, length, dtype=np.uint8).tobytes()
    data[where : where + length] = noise
    path.write_bytes(data)
    return path


def packets(path):
    with av.open(str(path)) as container:
        return [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size]


@pytest.fixture
def damaged(make_video, scene):
    """A video of which the sixth of ten frames cannot be decoded, and what it was."""
    path = make_video("damaged.avi", scene(10), "mjpeg", "yuvj420p")
    whole = [frame.data for frame in open_source(path)]
    position, size = packets(path)[5]
    return damage(path, position + 8, size - 8), whole


def test_a_bad_frame_is_skipped_and_counted(damaged):
    path, whole = damaged
    source = open_source(path)
    frames = list(source)
    assert [frame.number for frame in frames] == [1, 2, 3, 4, 5, 7, 8, 9, 10]
    assert [(bad.number, bad.reason) for bad in source.bad_frames] == [(6, "its data are damaged")]
    assert source.bad_frames[0].time_s == pytest.approx(0.2)
    assert source.decoded == 9
    for frame in frames:
        np.testing.assert_array_equal(frame.data, whole[frame.number - 1])
        assert frame.time_s == pytest.approx((frame.number - 1) / 25)


@pytest.mark.parametrize("what", ["skip", "repeat"])
def test_frames_in_a_matrix_of_their_own_are_the_same(damaged, what):
    source = open_source(damaged[0], on_bad_frame=what)
    expected = list(source)
    with closing(FrameMatrix(source.layout, chunk_bytes=4 * source.layout.size)) as matrix:
        for frame in source.frames_into(matrix.room):
            matrix.append(frame)
        assert matrix.numbers.tolist() == [frame.number for frame in expected]
        for row, frame in enumerate(expected):
            np.testing.assert_array_equal(matrix.rows(row, row + 1)[0], frame.data)


def test_first_frame_bad(make_video, scene):
    path = make_video("first.avi", scene(4), "mjpeg", "yuvj420p")
    position, size = packets(path)[0]
    source = open_source(damage(path, position + 8, size - 8), on_bad_frame="repeat")
    frames = list(source)
    assert [frame.number for frame in frames] == [2, 3, 4]
    assert [frame.time_s for frame in frames] == pytest.approx([0.04, 0.08, 0.12])
    assert [(bad.number, bad.time_s) for bad in source.bad_frames] == [(1, 0.0)]


def test_why_no_frame_can_be_decoded_is_said(tmp_path):
    (tmp_path / "a.y4m").write_bytes(b"YUV4MPEG2 W64 H64 F25:1 Ip C420jpeg\n" + bytes(20_000))
    with pytest.raises(InputError, match=r"a.y4m: no frame can be decoded \(its data are damaged"):
        open_source(tmp_path / "a.y4m")


@pytest.mark.parametrize("victims", [(10,), (13, 27)])
@pytest.mark.parametrize(
    ("name", "codec", "options"),
    [("h264.mkv", "libx264", {"g": "10", "bf": "2"}), ("part2.avi", "mpeg4", {"g": "10"})],
)
def test_damage_costs_the_same_frames_on_any_threads(
    make_video, scene, name, codec, options, victims
):
    path = make_video(name, scene(40), codec, options=options)
    spans = packets(path)
    for victim in victims:
        damage(path, spans[victim][0] + 6, spans[victim][1] - 6)
    source = open_source(path, threads=1)
    first = [(frame.number, frame.time_s, frame.data.tobytes()) for frame in source]
    bad = source.bad_frames
    assert 1 <= len(bad) <= 12
    assert len(first) + len(bad) == 40
    doubtful = source.doubtful_frames
    for number, time_s, _ in first:  # no bad frame moves those behind it
        assert time_s == pytest.approx((number - 1) / 25)
    assert {number for number, _, _ in first}.isdisjoint(item.number for item in bad)
    for other in (source, *(open_source(path, threads=threads) for threads in (2, 4, 16))):
        again = [(frame.number, frame.time_s, frame.data.tobytes()) for frame in other]
        assert again == first
        assert other.bad_frames == bad
        assert other.doubtful_frames == doubtful


def test_a_frame_of_another_size_is_bad(make_video, scene, tmp_path):
    for name, width in (("one.ts", 64), ("two.ts", 80)):
        make_video(name, scene(4, 48, width), "mpeg2video")
    joined = tmp_path / "joined.ts"
    joined.write_bytes((tmp_path / "one.ts").read_bytes() + (tmp_path / "two.ts").read_bytes())
    source = open_source(joined)
    assert [frame.number for frame in source][:3] == [1, 2, 3]
    later = {bad.reason for bad in source.bad_frames if bad.number > 4}
    assert "its size is 80×48, not 64×48" in later


def test_variable_rate_keeps_its_times(make_video, scene):
    times = [0, 0.04, 0.08, 0.5, 0.54, 2.0]
    source = open_source(make_video("vfr.mkv", scene(6), times=times))
    assert [frame.time_s for frame in source] == pytest.approx(times, abs=1e-3)
    assert source.warnings == []
    assert [frame.number for frame in open_source(source.path, start="0.5s", end="1.9s")] == [4, 5]
    assert [frame.number for frame in open_source(source.path, every="0.4s")] == [1, 4, 6]


@pytest.mark.parametrize("pixel_format", ["gray", "yuv420p", "yuv444p"])
def test_both_ranges_come_out_full(make_video, pixel_format):
    ramp = np.tile(np.linspace(0, 255, 64).astype(np.uint8), (2, 48, 1))
    frames = ramp if pixel_format == "gray" else np.repeat(ramp[..., None], 3, axis=3)
    source = open_source(make_video("plain.mkv", frames, "ffv1", pixel_format))
    luma = next(iter(source)).luma.astype(int)
    assert np.abs(luma - ramp[0]).max() <= 2


@pytest.mark.parametrize("pixel_format", ["gray", "yuv420p"])
@pytest.mark.parametrize("color_range", [LIMITED, FULL])
def test_the_range_that_a_file_states_is_believed(tmp_path, pixel_format, color_range):
    path = tmp_path / "range.mkv"
    levels = np.tile(np.linspace(16, 235, 64).round().astype(np.uint8), (48, 1))
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, pixel_format
        stream.codec_context.color_range = color_range
        frame = av.VideoFrame(64, 48, pixel_format)
        frame.color_range = color_range
        for index, plane in enumerate(frame.planes):
            data = np.full((plane.height, plane.line_size), 128, np.uint8)
            if index == 0:
                data[:, :64] = levels
            plane.update(data.tobytes())
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    luma = next(iter(open_source(path))).luma
    expected = (levels - 16.0) * 255 / 219 if color_range == LIMITED else levels
    assert np.abs(luma - expected).max() <= 0.5


def test_hd_colours_are_told_from_sd_colours(make_video, scene):
    path = make_video("sd.mp4", scene(1))
    assert open_source(path).layout.matrix == "bt601"
    with av.open(str(path.with_name("hd.mp4")), "w") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.colorspace = 1
        frame = av.VideoFrame.from_ndarray(scene(1)[0], format="rgb24")
        frame = frame.reformat(format="yuv420p", dst_colorspace="ITU709")
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    source = open_source(path.with_name("hd.mp4"))
    assert source.layout.matrix == "bt709"
    picture = next(iter(source)).image.astype(int)
    assert np.abs(picture - scene(1)[0]).mean() < 5
    exact = next(iter(open_source(source.path, exact_color=True))).image
    assert np.abs(picture - exact).mean() < 2


def test_pictures_stored_bottom_up(make_video, scene):
    path = make_video("up.avi", scene(3), "rawvideo", "bgr24")
    data = bytearray(path.read_bytes())
    height = data.index(b"strf") + 16
    assert int.from_bytes(data[height : height + 4], "little", signed=True) == -48
    data[height : height + 4] = (48).to_bytes(4, "little")
    path.write_bytes(data)
    for frame, expected in zip(open_source(path), scene(3), strict=True):
        np.testing.assert_array_equal(frame.image, expected[::-1])


def test_a_title_in_latin_1_is_no_obstacle(make_video, scene):
    path = make_video("title.mkv", scene(3), "ffv1", "gray")
    with av.open(str(path)) as source, av.open(str(path.with_name("t.mkv")), "w") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        target.metadata["title"] = "Tuer_e"
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = stream
                target.mux(packet)
    titled = path.with_name("12:30 é.mkv")
    titled.write_bytes(path.with_name("t.mkv").read_bytes().replace(b"Tuer_e", b"T\xfcr\xe9_e"))
    with pyav.open_input(titled) as container:
        assert container.streams.video[0].width == scene(3).shape[2]


LISTS = {
    "a.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n",
    "a.mp4": "\ufeff#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n",
    "a.txt": "ffconcat version 1.0\nfile secret.ts\n",
    "a.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n",
    "a.mpd": '<?xml version="1.0"?>\n<!-- x -->\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"></MPD>',
    "a.xml": '<?xml version="1.0"?><CompositionPlaylist></CompositionPlaylist>',
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_other_files_are_refused(name, make_video, scene, tmp_path):
    make_video("secret.ts", scene(30))
    (tmp_path / name).write_text(LISTS[name], encoding="utf-8")
    with pytest.raises(InputError, match=rf"^{name}: is not a video that can be read"):
        open_source(tmp_path / name)


@pytest.mark.parametrize("name", ["concat", "hls", "sdp", "vobsub"])
def test_ffmpeg_refuses_lists_itself(name, make_video, scene, monkeypatch):
    path, genuine = make_video("a.ts", scene(3)), av.open
    monkeypatch.setattr(av, "open", lambda file, **given: genuine(file, format=name, **given))
    with pytest.raises(av.ArgumentError), pyav.open_input(path):
        pass


_READ_AGAIN_AND_AGAIN = """
import sys
import av
from bgsub.video.source import open_source
av.logging.set_level(av.logging.VERBOSE)
for _ in range(8):
    print(sum(1 for _ in open_source(sys.argv[1], threads=8)))
"""


def test_a_damaged_film_does_not_hang_a_program_that_hears_ffmpegs_messages(encode):
    frames = np.random.default_rng(0).integers(0, 255, (40, 60, 80, 3), dtype=np.uint8)
    path = encode(frames)
    data = bytearray(Path(path).read_bytes())
    for place in np.linspace(0.1 * len(data), 0.9 * len(data), 20).astype(int):
        data[place : place + 8] = b"\xff" * 8
    Path(path).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", _READ_AGAIN_AND_AGAIN, path],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert len(done.stdout.split()) == 8


class _Mallinfo(ctypes.Structure):
    _fields_: ClassVar = [(f"field{index}", ctypes.c_size_t) for index in range(10)]


def _bytes_in_use():
    gc.collect()
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        pytest.skip("only glibc 2.33 and later can be asked")
    ask.restype = _Mallinfo
    return ask().field7


def test_looking_up_frames_keeps_no_memory(make_video, scene):
    """A hundred bytes and a half for each seek were 20 MB at the end of a day in segments."""
    source = open_source(make_video("film.mp4", scene(40), "mpeg4", options={"g": "4"}))
    keys = {number: (number - 1) / 25 for number in (9, 21, 33)}
    places = [Place(number, time_s, time_s, time_s) for number, time_s in keys.items()]
    looked = [len(list(frames_at(source, places)))]
    before = _bytes_in_use()
    looked += [len(list(frames_at(source, places))) for _ in range(40)]
    assert set(looked) == {3}
    assert _bytes_in_use() - before < 40 * 300
