"""Clips of events: packets as they came, through breaks of the stream; how many are kept."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from bgsub.errors import UsageError
from bgsub.live.clips import ClipWriter, EventFiles, clip_name, remove_oldest
from bgsub.live.decoding import Header, StreamPacket
from bgsub.live.feed import Opened, PacketRing
from bgsub.live.options import KEEP, WatchOptions, parse_keep

from .conftest import decoded, messages_of, packets, sound_is_in_step, transport, walk, with_sound


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """A header, and the packets of 60 frames, a key frame in every 12."""
    path = tmp_path_factory.mktemp("film") / "film.ts"
    path.write_bytes(transport(walk(60, [])))
    messages = messages_of(path)
    (header,) = [each for each in messages if isinstance(each, Header)]
    return header, [each for each in messages if isinstance(each, StreamPacket)]


@pytest.fixture
def ring(stream):
    """The first 40 packets."""
    kept = PacketRing(60.0)
    for packet in stream[1][:40]:
        kept.add(packet)
    return kept


@pytest.fixture
def begin(stream, ring):
    """Begin the files of an event 30 frames after the beginning; what failed is collected."""

    def start(folder, **options):
        failed = []
        files = EventFiles(folder, WatchOptions(**options), failed.append)
        path = files.begin(Opened(stream[0], 0.0, 0.0, ring), 30 / 25, 0.0, 7)
        return files, path, failed

    return start


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_clip_plays_while_it_is_written_and_has_all_packets(stream, tmp_path, suffix):
    header, given = stream
    path = tmp_path / f"clip.{suffix}"
    clip = ClipWriter(path, header)
    for packet in given[12:48]:
        clip.add(packet)
    assert len(decoded(path)) >= 12
    clip.close()
    assert len(decoded(path)) == 36
    assert [data[-40:] for data in packets(path)] == [each.data[-40:] for each in given[12:48]]


def test_a_clip_begins_with_the_key_frame_before_and_takes_what_comes(
    stream, ring, begin, tmp_path
):
    files, path, _ = begin(tmp_path)  # the key frames are 24 and 36
    assert path == files.path == tmp_path / "event-19700101T000000Z-0007.mp4"
    for packet in stream[1][40:50]:
        ring.add(packet)
    files.close()
    assert files.path is None
    assert len(decoded(path)) == 50 - 24


def test_what_cannot_be_written_is_said_and_given_up(begin, tmp_path):
    files, path, failed = begin(tmp_path / "gone")
    assert path is None
    assert "0007.mp4: cannot be written (No such file" in str(failed[0])
    files.write()
    files.close()
    assert len(failed) == 1


def test_masks_have_the_times_of_their_frames_and_are_not_left_without_any(begin, tmp_path):
    masks = np.zeros((3, 72, 96), np.uint8)
    masks[1, 20:40, 30:50] = 255
    files, path, _ = begin(tmp_path, writes_masks=True)
    for i, mask in enumerate(masks):
        files.add_mask(mask, 5.0 + i / 25)
    files.close()
    beside = path.with_name(f"{path.stem}-mask.mkv")
    np.testing.assert_array_equal(np.stack(decoded(beside))[..., 0], masks)
    beside.unlink()
    begin(tmp_path, writes_masks=True)[0].close()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("sound", "container", "asked", "suffix"),
    [
        ("aac", "matroska", "mkv", ".mkv"),
        ("mp2", "mpegts", "auto", ".mp4"),
        ("pcm_mulaw", "nut", "auto", ".mkv"),
        ("ac3", "mpegts", "auto", ".mkv"),
    ],
)
def test_sound_of_every_kind_is_in_step(tmp_path, sound, container, asked, suffix):
    hertz = {"pcm_mulaw": 8000, "ac3": 48000}.get(sound, 16000)
    film = with_sound(walk(28, [(10, 22)]), [(10, 22)], sound, container, hertz)
    (tmp_path / "film").write_bytes(film)
    ring, failed = PacketRing(60.0), []
    files = EventFiles(tmp_path, WatchOptions(clip_format=asked), failed.append)
    for message in messages_of(tmp_path / "film"):
        if isinstance(message, Header):
            header = message  # the last one, which knows of the sound
        if isinstance(message, StreamPacket):
            ring.add(message)
    clip = files.begin(Opened(header, 0.0, 0.0, ring), 10 / 25, 0.0, 7)
    files.close()
    assert failed == []
    assert clip.suffix == suffix
    sound_is_in_step(film, clip)


def test_amounts():
    assert parse_keep("2.5G") == (2_500_000_000, np.inf)
    assert parse_keep("12 h") == (np.inf, 43200)
    assert KEEP.read("--keep", "7d") == "7d"
    for value in ("", "10", "G", "-1G", "0d", "1e3G", 10):
        with pytest.raises(UsageError, match="--keep"):
            KEEP.read("--keep", value)


def test_the_oldest_clips_go_first_but_never_the_one_being_written(tmp_path):
    for i in range(5):
        path = tmp_path / clip_name(1000.0 * i, i, "mp4")
        path.write_bytes(b"x" * 100)
        os.utime(path, (time.time() - 1000 + i,) * 2)
    (tmp_path / "mine.mp4").write_bytes(b"x" * 1000)
    writing = tmp_path / clip_name(0.0, 0, "mp4")
    remove_oldest(tmp_path, "0.25K", writing)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [writing.name, clip_name(4000.0, 4, "mp4"), "mine.mp4"]
    remove_oldest(tmp_path, "1m", None)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.mp4"]
