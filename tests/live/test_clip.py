"""Clips: the packets as they came, in a film that plays while it is written."""

from __future__ import annotations

import pytest

from bgsub.errors import OutputError
from bgsub.live.clips import ClipWriter
from bgsub.live.decoding import Header, StreamPacket, read

from .conftest import decoded, packets, transport, walk


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """A header, and the packets of 60 frames."""
    path = tmp_path_factory.mktemp("film") / "film.ts"
    path.write_bytes(transport(walk(60, [])))
    settings = {"address": f"file:{path}", "format": None, "options": {}, "protocols": "file"}
    settings |= {"scale": None, "every": 0.0, "sound": True, "drops": False}
    messages = list(read(settings))
    (header,) = [each for each in messages if isinstance(each, Header)]
    return header, [each for each in messages if isinstance(each, StreamPacket)]


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_clip_plays_while_it_is_written_and_has_all_packets(stream, tmp_path, suffix):
    header, given = stream
    path = tmp_path / f"clip.{suffix}"
    clip = ClipWriter(path, header)
    for packet in given[12:48]:
        clip.add(packet)
    assert clip.frames == 36
    assert len(decoded(path)) >= 12
    clip.close()
    assert len(decoded(path)) == 36
    assert [data[-40:] for data in packets(path)] == [each.data[-40:] for each in given[12:48]]


def test_a_clip_that_cannot_be_written_is_said_with_its_name(stream, tmp_path):
    with pytest.raises(OutputError, match=r"gone/clip\.mp4: cannot be written \(No such file"):
        ClipWriter(tmp_path / "gone" / "clip.mp4", stream[0]).add(stream[1][0])
