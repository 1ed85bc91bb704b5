"""The clip of an open event: from the key frame before it, through breaks of the stream."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.live.clips import MaskRecording, Recording
from bgsub.live.decoding import Header, StreamPacket, read
from bgsub.live.feed import Opened, PacketRing
from bgsub.video.frames import Layout

from .conftest import decoded, transport, walk


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """What is known of a stream, and the packets of its 60 frames, a key frame in every 12."""
    path = tmp_path_factory.mktemp("film") / "film.ts"
    path.write_bytes(transport(walk(60, [])))
    settings = {"address": f"file:{path}", "format": None, "options": {}, "protocols": "file"}
    messages = list(read(settings | {"scale": None, "every": 0.0, "sound": True, "drops": False}))
    (header,) = [each for each in messages if isinstance(each, Header)]
    return header, [each for each in messages if isinstance(each, StreamPacket)]


@pytest.fixture
def ring(stream):
    """The first 40 packets."""
    kept = PacketRing(60.0)
    for packet in stream[1][:40]:
        kept.add(packet, 0.0)
    return kept


def opened(stream, ring):
    return Opened(stream[0], 0.0, 0.0, ring.epoch)


def test_a_clip_begins_with_the_key_frame_before_and_takes_what_comes(stream, ring, tmp_path):
    recording = Recording(tmp_path, ring, "auto")
    path = recording.begin(opened(stream, ring), 30 / 25, 0.0, 7)  # the key frames are 24 and 36
    assert path == recording.path == tmp_path / "event-19700101T000000Z-0007.mp4"
    for packet in stream[1][40:50]:
        ring.add(packet, 0.0)
    recording.write()
    recording.close()
    assert recording.path is None
    assert len(decoded(path)) == 50 - 24


def test_packets_of_another_connection_stay_out_of_a_clip(stream, ring, tmp_path):
    recording = Recording(tmp_path, ring, "mkv")
    path = recording.begin(opened(stream, ring), 30 / 25, 0.0, 1)
    ring.clear()
    for packet in stream[1][:10]:
        ring.add(packet, 9.0)
    recording.write()
    recording.close()
    assert path.suffix == ".mkv"
    assert len(decoded(path)) == 40 - 24


def test_what_cannot_be_written_is_said_and_given_up(stream, ring, tmp_path):
    recording = Recording(tmp_path / "gone", ring, "mp4")
    with pytest.raises(OutputError, match="cannot be written"):
        recording.begin(opened(stream, ring), 0.0, 0.0, 1)
    recording.close()
    recording.write()
    assert recording.path is None


def test_masks_have_the_times_of_their_frames_and_are_not_made_unless_wanted(tmp_path):
    layout = Layout("bgr", 4, 6)
    masks = np.zeros((3, 4, 6), np.uint8)
    masks[1, 1:3, 2:4] = 255
    for is_wanted in (False, True):
        recording = MaskRecording(is_wanted=is_wanted)
        recording.begin(tmp_path / "event-1.mp4", layout)
        for i, mask in enumerate(masks):
            recording.add(mask, 5.0 + i / 25)
        recording.close()
        assert (tmp_path / "event-1-mask.mkv").exists() == is_wanted
    found = np.stack(decoded(tmp_path / "event-1-mask.mkv"))
    np.testing.assert_array_equal(found[..., 0], masks)


def test_masks_of_an_event_without_an_analysed_frame_are_not_left(tmp_path):
    recording = MaskRecording(is_wanted=True)
    recording.begin(tmp_path / "event-1.mp4", Layout("bgr", 4, 6))
    recording.close()
    recording.add(np.zeros((4, 6), np.uint8), 1.0)
    assert list(tmp_path.iterdir()) == []
