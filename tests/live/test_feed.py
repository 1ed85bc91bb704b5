"""A stream that is kept open: what is left out where there is no time, and what is tried again."""

from __future__ import annotations

from pathlib import Path

import pytest

from bgsub.live.decoding import End, Note
from bgsub.live.feed import Feed, LiveSource, Lost, PacketRing, Seen, read_source

from .conftest import blocked_in


def test_frames_for_which_there_is_no_time_are_left_out_and_counted():
    feed = Feed(read_source("tcp://127.0.0.1:1"), PacketRing(1.0))
    for i in range(9):
        feed._put(Seen(float(i), b"", 0.0))
    feed._put(Note("something"))
    items = list(iter(lambda: feed.get(0), None))
    assert [item.time_s for item in items if isinstance(item, Seen)] == [4.0, 5.0, 6.0, 7.0, 8.0]
    assert items[-1] == Note("something")
    assert (feed.dropped, feed.pictures) == (4, 9)


@pytest.mark.parametrize(("kind", "tries"), [("url", 2), ("file", 1)])
def test_only_what_may_come_back_is_tried_again(tmp_path, kind, tries):
    gone = tmp_path / "gone.ts"
    source = read_source("tcp://127.0.0.1:1") if kind == "url" else LiveSource(str(gone), kind)
    with Feed(source, PacketRing(1.0), pauses_s=(0.01, 0.02)) as feed:
        lost = [feed.get(60.0) for _ in range(tries)]
    assert [type(item) for item in lost] == [Lost] * tries
    assert [item.retry_s for item in lost] == ([0.01, 0.02] if tries == 2 else [None])
    assert all(item.reason for item in lost)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_ctrl_c_does_not_reach_a_process_that_begins(tmp_path):
    source = LiveSource(str(tmp_path / "gone.ts"), "file")
    seen = []
    feed = Feed(source, PacketRing(1.0))
    feed._listen = lambda _pipe: (seen.append(blocked_in(feed._process.pid)), (End(""), False))[1]
    feed._connect()
    assert {"SIGINT", "SIGTERM"} <= seen[0]
