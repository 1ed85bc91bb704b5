"""What is watched, and how FFmpeg may open it."""

from __future__ import annotations

from bgsub.live.feed import read_source


def test_passwords_are_not_said():
    source = read_source("rtsp://me:secret@camera:554/stream")
    assert source.name == "rtsp://camera:554/stream"
    assert "secret" in source.address
    assert source.options == {"rtsp_flags": "prefer_tcp"}


def test_what_a_stream_names_cannot_be_a_file_of_this_machine():
    for url in ("http://a/list.m3u8", "rtsp://a/b", "tcp://a:1", "udp://@:5"):
        assert "file" not in read_source(url).protocols.split(",")
