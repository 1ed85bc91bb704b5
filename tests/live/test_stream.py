"""One opened stream: what is decoded and what only goes to clips."""

from __future__ import annotations

import time

import pytest

from bgsub.live import decoding
from bgsub.live.decoding import Header, LivePicture, Skipped, StreamPacket, read
from bgsub.video import pyav

from .conftest import packets, transport, walk


def messages_of(path, **settings):
    plain = {"address": f"file:{path}", "format": None, "options": {}, "protocols": "file"}
    plain |= {"scale": None, "every": 0.0, "sound": True, "drops": True}
    return list(read(plain | settings))


@pytest.fixture
def film(tmp_path):
    path = tmp_path / "film.ts"
    path.write_bytes(transport(walk(60, [])))
    return path


def test_all_packets_and_pictures_come_after_the_header(film):
    header, *others = messages_of(film)
    assert isinstance(header, Header)
    assert (header.codec, header.size) == ("h264", (96, 72))
    pictures = [each for each in others if isinstance(each, LivePicture)]
    assert [each.time_s for each in pictures] == pytest.approx([i / 25 for i in range(60)])
    assert len([each for each in others if isinstance(each, StreamPacket)]) == 60
    few = [each for each in messages_of(film, every=0.2) if isinstance(each, LivePicture)]
    assert len(few) == 12


@pytest.mark.parametrize("drops", [True, False])
def test_what_there_is_no_time_to_decode_goes_to_clips_all_the_same(film, monkeypatch, drops):
    decode = pyav.decode

    def decode_slowly(packet):
        time.sleep(0.06)
        return decode(packet)

    monkeypatch.setattr(pyav, "decode", decode_slowly)
    monkeypatch.setattr(decoding, "_MOST_LATE_S", 0.2)
    monkeypatch.setattr(decoding, "_WAITED_S", 9.0)  # a machine that is busy
    others = messages_of(film, drops=drops)
    skipped = sum(each.count for each in others if isinstance(each, Skipped))
    pictures = [each.time_s for each in others if isinstance(each, LivePicture)]
    kept = [each.data for each in others if isinstance(each, StreamPacket)]
    assert kept == packets(film)
    assert len(pictures) + skipped == 60
    assert (skipped > 10) == drops
    assert pictures[-1] > 1.5  # it goes on after what was skipped
