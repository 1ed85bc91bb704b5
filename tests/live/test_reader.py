"""The process that decodes: its messages, its last one, and its end."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from functools import partial

import pytest

from bgsub.live.decoding import End, Header, LivePicture
from bgsub.runtime.messages import receive

from .conftest import transport, walk


def start(settings):
    """Run the process."""
    settings = {
        "format": None,
        "options": {},
        "scale": None,
        "every": 0.0,
        "sound": True,
        "drops": False,
        "parent": os.getpid(),
        **settings,
    }
    code = "from bgsub.live.decoding import main; main()"
    command = [sys.executable, "-c", code, json.dumps(settings)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def messages_of(path, **more):
    """Run the process on a file, and read what it sends."""
    settings = {"address": f"file:{path}", "protocols": "file"}
    with start(settings | more) as process:
        found = list(iter(partial(receive, process.stdout), None))
        assert process.wait(60) == 0
    assert isinstance(found[-1], End)
    return found


def test_a_stream_is_sent_from_its_header_to_its_end(tmp_path):
    (tmp_path / "film.ts").write_bytes(transport(walk(20, [])))
    header, *others, end = messages_of(tmp_path / "film.ts")
    assert isinstance(header, Header)
    assert sum(isinstance(each, LivePicture) for each in others) == 20
    assert end == End("")


@pytest.mark.parametrize(
    ("more", "reason", "is_final"),
    [
        ({}, "its data are damaged", False),
        ({"address": "srt://127.0.0.1:1", "protocols": "srt"}, "ffmpeg -i srt://", True),
        ({"address": "file:/none.ts"}, "o such file", False),
    ],
)
def test_what_cannot_be_read_is_the_last_message(tmp_path, more, reason, is_final):
    (tmp_path / "film.ts").write_bytes(b"no film" * 100)
    (end,) = messages_of(tmp_path / "film.ts", **more)
    assert reason in end.reason
    assert end.is_final == is_final


@pytest.mark.skipif(os.name == "nt", reason="has no parents")
def test_it_ends_though_its_parent_had_ended_before_it_looked():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with start({"address": address, "protocols": "tcp", "parent": gone.pid}) as process:
            try:
                assert process.wait(60) == 0
            finally:
                process.kill()
