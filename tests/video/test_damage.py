"""What is read of damaged films of every codec and container: right numbers, or a word about it."""

from __future__ import annotations

import functools
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.video.source import open_source
from tests.video.damaged_films import CONTAINERS, DAMAGES, RATE, film, packet_places, shown_picture

FEW = 28  # pictures of films of which there are many: nearly three groups

#: A film of every codec, in a container that is usual for it; and of every container.
FILMS = sorted(
    {
        *(("libx264", name) for name in ("avi", "matroska", "mp4", "mpegts", "flv", "h264")),
        *(("libx265", name) for name in ("mp4", "mpegts")),
        *(("mjpeg", name) for name in ("avi", "matroska", "mov")),
        *(("mpeg4", name) for name in ("avi", "asf", "nut", "m4v")),
        *(("mpeg2video", name) for name in ("mpegts", "mpeg", "mpeg2video", "matroska")),
        *(("libvpx", "webm"), ("libvpx-vp9", "mp4"), ("flv", "flv"), ("msmpeg4", "avi")),
        *(("ffv1", name) for name in ("avi", "matroska")),
        *(("huffyuv", "avi"), ("rawvideo", "nut"), ("png", "mov"), ("gif", "gif")),
        *(("prores_ks", "mov"), ("cinepak", "avi"), ("wmv2", "asf")),
    }
)


def frames_of(source):
    return [(frame.number, frame.time_s, frame.luma.copy()) for frame in source]


def read(path, **options):
    source = open_source(path, color="gray", **options)
    return source, frames_of(source)


def write(tmp_path, data, container):
    path = tmp_path / f"film.{CONTAINERS[container]}"
    path.write_bytes(data)
    return path


@functools.cache
def undamaged(codec, container):
    """Read a film of which nothing is damaged; None where it cannot be written."""
    data = film(codec, container, FEW)
    if data is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, whole = read(write(Path(folder), data, container))
    assert [number for number, _, _ in whole] == list(range(1, len(whole) + 1))
    assert source.doubtful_frames == []
    assert source.bad_frames == []
    return whole


def check(source, whole):
    """Hold what is read of a damaged film against the undamaged one; give what was said of it."""
    frames = frames_of(source)
    said = " ".join(source.warnings)
    doubtful = set(source.doubtful_frames)
    numbers = [number for number, _, _ in frames]
    bad = [frame.number for frame in source.bad_frames]
    assert sorted({*numbers, *bad}) == sorted([*numbers, *bad])
    originals = np.stack([luma for _, _, luma in whole])
    others = 0
    for number, time_s, luma in frames:
        if number in doubtful or "unsure" in said:
            continue
        assert time_s == pytest.approx(whole[number - 1][1], abs=0.5 / RATE)
        if shown_picture(luma, originals[number - 1 : number])[1] < 0.1:
            continue
        shown, share = shown_picture(luma, originals)
        if share < 0.1:  # a picture that nothing but its look tells is torn cannot be noticed
            others += shown != number
    # Where damage cannot be seen, a picture may be a stale one, but those behind it are not.
    assert others <= ("cannot be seen" in said)
    return frames, said


#: What FFmpeg, the container's count or its index can tell; noise in place of a header may pass.
TOLD = sorted({*DAMAGES} - {"lose_first", "break_headers"})


@pytest.mark.parametrize("kind", TOLD)
@pytest.mark.parametrize(("codec", "container"), FILMS)
def test_numbers_and_times_are_those_of_the_pictures(codec, container, kind, tmp_path):
    whole = undamaged(codec, container)
    if whole is None:
        pytest.skip("this PyAV does not write it")
    seed = zlib.crc32(f"{codec} {container} {kind}".encode())
    data = DAMAGES[kind](film(codec, container, FEW), np.random.default_rng(seed))
    path = write(tmp_path, data, container)
    try:
        source = open_source(path, color="gray")
    except InputError:
        return  # its header is gone
    check(source, whole)


def damaged(tmp_path, codec, container, place, start=0, **options):
    """A film with noise in one packet, and its frames before."""
    data = bytearray(film(codec, container, **options))
    path = write(tmp_path, bytes(data), container)
    whole = read(path)[1]
    position, size = _places(path)[place]
    first = position + start
    data[first : position + size] = np.random.default_rng(3).bytes(position + size - first)
    path.write_bytes(bytes(data))
    return path, whole


def _places(path):
    return packet_places(path.read_bytes())


@pytest.mark.parametrize(("container", "start"), [("mp4", 0), ("matroska", 8), ("mpegts", 20)])
def test_a_lost_sample_of_hevc_is_told(container, start, tmp_path):
    path, whole = damaged(tmp_path, "libx265", container, 15, start=start)
    frames, _ = check(source := open_source(path, color="gray"), whole)
    assert source.bad_frames
    numbers = {n for n, _, _ in frames} | {b.number for b in source.bad_frames}
    assert numbers == set(range(1, 41))
    again = read(path, threads=1)[0]
    assert again.bad_frames == source.bad_frames
    assert again.doubtful_frames == source.doubtful_frames


@pytest.mark.parametrize(("codec", "container"), [("msmpeg4", "avi"), ("wmv1", "nut")])
def test_junk_behind_a_picture_is_damage(codec, container, tmp_path):
    """The decoder makes a picture of it without an error, and only says that it is no good."""
    data = film(codec, container)
    path = write(tmp_path, data, container)
    whole = {number: luma for number, _, luma in read(path)[1]}
    noticed = 0
    for seed in range(12):
        path.write_bytes(DAMAGES["spoil_packet"](data, np.random.default_rng(seed)))
        source, frames = read(path)
        torn = {number for number, _, luma in frames if (luma != whole[number]).mean() > 0.1}
        assert torn.issubset(source.doubtful_frames)
        noticed += bool(source.bad_frames)
    assert noticed >= 9


def test_the_first_pictures_of_an_avi_are_lost_without_an_error(tmp_path):
    """Its sequence header is zeroed: the decoder waits for the next one in silence."""
    data = bytearray(film("mpeg2video", "avi"))
    path = write(tmp_path, bytes(data), "avi")
    position, size = _places(path)[0]
    data[position : position + size] = bytes(size)
    path.write_bytes(bytes(data))
    source, frames = read(path)
    missing = 40 - len(frames)
    assert missing > 0
    assert f"{missing} pictures cannot be decoded" in " ".join(source.warnings)


@pytest.mark.parametrize("container", ["avi", "obu", "mp4"])
def test_a_decoder_that_takes_its_time_is_no_damage(container, tmp_path):
    data = film("libsvtav1", container)
    if data is None:
        pytest.skip("this PyAV does not write it")
    source, frames = read(write(tmp_path, data, container))
    assert len(frames) == 40
    assert not [text for text in source.warnings if "something is damaged" in text]


def test_checksums_of_ffv1_are_believed(tmp_path):
    path, _ = damaged(tmp_path, "ffv1", "matroska", 15, start=100)
    source, _ = read(path)
    assert [(bad.number, bad.reason) for bad in source.bad_frames] == [
        (16, "its checksum is wrong")
    ]
    assert source.doubtful_frames
    assert source.warnings == []


@pytest.mark.parametrize(
    ("codec", "container", "options"),
    [("ffv1", "matroska", {"slicecrc": "0"}), ("huffyuv", "avi", {}), ("rawvideo", "nut", {})],
)
def test_it_is_said_once_where_damage_cannot_be_seen(codec, container, options, tmp_path):
    source, _ = read(write(tmp_path, film(codec, container, **options), container))
    assert source.warnings == [
        f"{codec} without checksums: damage to single pictures cannot be seen"
    ]


def test_a_hole_in_matroska_moves_no_number(tmp_path):
    data = film("mjpeg", "matroska")
    path = write(tmp_path, data, "matroska")
    whole = read(path)[1]
    places = _places(path)
    start, stop = places[15][0] + 10, places[22][0] + 10
    path.write_bytes(data[:start] + bytes(stop - start) + data[stop:])
    frames, said = check(source := open_source(path, color="gray"), whole)
    assert "frames are missing from the file, the first is frame" in said
    assert len(frames) + len(source.bad_frames) == 40
    assert frames[-1][0] == 40


@pytest.mark.parametrize("n_broken", [1, 9])
def test_broken_chunk_headers_of_an_avi(n_broken, tmp_path):
    data = bytearray(film("mjpeg", "avi", 200))
    path = write(tmp_path, bytes(data), "avi")
    whole = read(path)[1]
    for place in range(n_broken):
        position = _places(path)[20 * place + 10][0]
        data[position - 8 : position] = b"\xaa" * 8
    path.write_bytes(bytes(data))
    frames, said = check(source := open_source(path, color="gray"), whole)
    assert len(frames) + len(source.bad_frames) < 200
    assert f"decoded {len(frames)} of about 200 frames" in said
    assert "unsure" in said
    # Without the table at the end nobody knows which are missing, but that some are.
    path.write_bytes(bytes(data[: data.index(b"idx1")]))
    frames, said = check(source := open_source(path, color="gray"), whole)
    assert len(frames) < 200
    assert f"decoded {len(frames)} of about 200 frames" in said


@pytest.mark.parametrize(
    ("codec", "container"),
    [
        *(("libx264", name) for name in ("avi", "mp4", "matroska", "mpegts")),
        *(("mjpeg", name) for name in ("avi", "mp4", "matroska")),
    ],
)
def test_a_picture_that_a_cut_file_holds_in_part_is_not_good(codec, container, tmp_path):
    options = {"movflags": "faststart"} if container == "mp4" else {}
    data = film(codec, container, muxer=tuple(options.items()))
    path = write(tmp_path, data, container)
    whole = read(path)[1]
    originals = np.stack([luma for _, _, luma in whole])
    places = _places(path)
    for packet in (20, 25, 31):
        position, size = places[packet]
        path.write_bytes(data[: position + 2 * size // 3])
        source, frames = read(path)
        good = [frame for frame in frames if frame[0] not in source.doubtful_frames]
        assert 15 <= len(good) <= packet + 1
        for number, _, luma in good:
            np.testing.assert_array_equal(luma, originals[number - 1])


def dropping(tmp_path, pattern):
    """An avi whose table has an empty packet where the pattern has a 0."""
    data = film("mjpeg", "avi", 20)
    path = write(tmp_path, data, "avi")
    packets = [data[p - 8 : p + size + size % 2] for p, size in _places(path)]
    chunks, table, offset = [], [], 4
    shown = iter(packets)
    for is_shown in pattern:
        chunk = next(shown) if is_shown else b"00dc" + bytes(4)
        chunks.append(chunk)
        length = int.from_bytes(chunk[4:8], "little")
        table.append(
            chunk[:4]
            + (16).to_bytes(4, "little")
            + offset.to_bytes(4, "little")
            + length.to_bytes(4, "little")
        )
        offset += len(chunk)
    body = b"movi" + b"".join(chunks)
    header = bytearray(data[: data.index(b"movi") - 8])
    rate = header.index(b"vids") + 20  # scale, rate, start, length
    header[rate : rate + 8] = (1).to_bytes(4, "little") + (50).to_bytes(4, "little")
    header[rate + 12 : rate + 16] = len(pattern).to_bytes(4, "little")
    content = bytes(header) + b"LIST" + len(body).to_bytes(4, "little") + body
    content += b"idx1" + (16 * len(table)).to_bytes(4, "little") + b"".join(table)
    path.write_bytes(content[:4] + (len(content) - 8).to_bytes(4, "little") + content[8:])
    return path


def test_an_avi_with_an_empty_packet_after_each_frame(tmp_path):
    source, frames = read(dropping(tmp_path, [1, 0] * 20))
    assert source.warnings == []
    assert source.bad_frames == []
    assert (source.rate, source.input_frames) == (25, 20)
    assert [time_s for _, time_s, _ in frames] == pytest.approx([i / 25 for i in range(20)])


def test_an_avi_whose_recorder_left_out_some_frames(tmp_path):
    source, frames = read(dropping(tmp_path, [1] * 10 + [0] * 3 + [1] * 10))
    assert source.bad_frames == []
    assert [number for number, _, _ in frames] == list(range(1, 21))
    assert frames[10][1] == pytest.approx(13 / 50)
    assert [text.split(":")[0] for text in source.warnings] == ["the recorder left out 3 frames"]


def test_a_stream_that_begins_amid_the_file(tmp_path):
    data = film("flashsv", "swf")
    path = write(tmp_path, DAMAGES["hole"](data, np.random.default_rng(233669717)), "swf")
    source, frames = read(path)  # PyAV raises an IndexError there
    assert frames
    assert any("unsure" in text for text in source.warnings)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("codec", "container"),
    [("mpeg4", "m4v"), ("flv", "flv"), ("mpeg1video", "mpegts"), ("zlib", "asf"), ("mpeg4", "avi")],
)
def test_threads_change_nothing(codec, container, seed, tmp_path):
    """Not the frames that were given before damage was found, either."""
    data = film(codec, container, FEW)
    kind = sorted(DAMAGES)[seed % len(DAMAGES)]
    damage = DAMAGES[kind](data, np.random.default_rng(seed))
    path = write(tmp_path, damage, container)
    states = []
    for threads in (1, 2, 5):
        try:
            source, frames = read(path, threads=threads)
        except InputError:
            return
        times = [(number, time_s) for number, time_s, _ in frames]
        states.append((times, source.bad_frames, source.doubtful_frames, source.warnings))
    assert states[0] == states[1] == states[2]


def test_a_stamp_that_leaps_moves_no_other(tmp_path):
    """The first byte of an flv's time is far up in its value."""
    data = bytearray(film("flv", "flv"))
    path = write(tmp_path, bytes(data), "flv")
    place = _places(path)[20][0]
    data[place + 4] ^= 0x10
    path.write_bytes(bytes(data))
    source, frames = read(path)
    assert [number for number, _, _ in frames] == list(range(1, 41))
    assert [time_s for _, time_s, _ in frames] == pytest.approx([i / RATE for i in range(40)])
    assert any("1 timestamp is damaged" in text for text in source.warnings)


def test_a_picture_of_five_bytes_is_one(tmp_path):
    """AV1 shows a picture that was sent before by a packet of so many."""
    data = film("libsvtav1", "avi")
    if data is None:
        pytest.skip("this PyAV does not write it")
    path = write(tmp_path, data, "avi")
    changed = bytearray(data)
    position, size = next((p, s) for p, s in _places(path)[20:] if s < 8)
    changed[position : position + size] = b"\x12\0" + bytes(size - 2)
    path.write_bytes(bytes(changed))
    source, frames = read(path)
    assert len(frames) < 40
    assert "1 picture cannot be decoded" in " ".join(source.warnings)


def test_b_pictures_of_an_asf_come_at_a_steady_pace(tmp_path):
    """It holds the times of decoding for them."""
    source, frames = read(write(tmp_path, film("libx264", "asf"), "asf"))
    assert source.warnings == []
    steps = np.diff([time_s for _, time_s, _ in frames])
    assert steps == pytest.approx(np.full(39, 1 / RATE))


def test_pictures_up_to_the_next_key_frame_are_doubtful(tmp_path):
    path, _ = damaged(tmp_path, "mpeg4", "avi", 15, sc_threshold="1000000000")
    source, _ = read(path)
    first = min(bad.number for bad in source.bad_frames)
    assert first in {15, 16}
    last = max([first, *source.doubtful_frames])
    lost = {bad.number for bad in source.bad_frames}
    assert lost.union(source.doubtful_frames) == set(range(first, last + 1))
    assert first < last < 26
