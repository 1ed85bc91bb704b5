"""The parts of watching, each alone."""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.error
import urllib.request
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import OutputError, UsageError
from bgsub.live.clips_folder import Keep, clip_name, parse_keep, parse_seconds, remove_oldest
from bgsub.live.events import LiveEvents
from bgsub.live.feed import Feed, Seen
from bgsub.live.hooks import EventHook
from bgsub.live.learner import Learner, Schedule
from bgsub.live.messages import LearningSettings, Note, StreamPacket
from bgsub.live.options import WatchOptions
from bgsub.live.ring import PacketRing
from bgsub.live.source import read_source
from bgsub.live.stamps import StampMender
from bgsub.live.status import MetricsServer, Status
from bgsub.live.watcher import Watcher
from bgsub.live.window import MOST_FRAMES, Window
from bgsub.local.params import MaskOptions
from bgsub.tracking.tracker import Observation
from bgsub.video.frames import Layout

from .conftest import walk

stamps = st.one_of(st.none(), st.integers(-(2**40), 2**40))


@given(st.lists(st.tuples(stamps, stamps, st.floats(0, 100)), max_size=30))
def test_mended_stamps_increase_and_nothing_is_shown_before_it_is_decoded(packets):
    mender = StampMender(Fraction(1, 1000), 40)
    now, last = 0.0, -1
    for pts, dts, passed in packets:
        now += passed
        shown, decoded, _ = mender.mend(pts, dts, now)
        assert decoded > last
        assert shown >= decoded
        assert (decoded - max(last, 0)) / 1000 <= 5.0 + passed + 0.001
        last = decoded


def test_sound_stamps_stay_as_they_are():
    mender = StampMender(Fraction(1, 90000), 3600)
    given_stamps = [(9000, 0), (16200, 3600), (12600, 7200), (14400, 10800)]
    found = [mender.mend(pts, dts, i / 25) for i, (pts, dts) in enumerate(given_stamps)]
    assert [each[:2] for each in found] == [(pts, dts) for pts, dts in given_stamps[:3]] + [
        (14400, 10800)
    ]
    # A stream that pauses for a minute goes on a minute later.
    assert mender.mend(None, 10800 + 60 * 90000, 61.0)[2] is None
    assert mender.mend(None, 10800 + 120 * 90000, 61.1)[2] == pytest.approx(60.0)


def packet(i, group=10, size=100):
    return StreamPacket(b"x" * size, i * 40, i * 40, 40, i % group == 0, i / 25)


def test_the_ring_begins_with_a_key_frame_and_holds_enough():
    ring = PacketRing(1.0)
    for i in range(200):
        ring.add(packet(i), 5.0)
        kept = ring.since(0, 0)
        assert kept[0][1].is_key
        assert kept[0][1].time_s <= max(5.0, 5.0 + i / 25 - 1.0)
        assert len(kept) <= 25 + 10 + 1
    assert ring.begin(5.0 + 7.9) == 190
    assert ring.begin(0.0) == ring.since(0, 0)[0][0]
    assert ring.since(195, 1) == []
    ring.clear()
    assert ring.begin(0.0) == ring.next_serial == 200


def test_the_ring_waits_for_what_is_being_written():
    ring = PacketRing(1.0)
    ring.hold(0)
    for i in range(200):
        ring.add(packet(i), 0.0)
    assert len(ring.since(0, 0)) == 200
    ring.hold(120)
    ring.add(packet(200), 0.0)
    assert ring.since(0, 0)[0][0] == 120


def test_the_ring_takes_so_much_memory_and_no_more(monkeypatch):
    monkeypatch.setattr("bgsub.live.ring._MOST_BYTES", 5000)
    ring = PacketRing(1000.0)
    for i in range(300):
        ring.add(packet(i, group=1000 if i > 100 else 10), 0.0)
        assert sum(len(each.data) for _, each in ring.since(0, 0)) <= 5000


def seen(time_s, box=(1, 2, 3, 4), track=1):
    return Observation(1, time_s, track, box, 2, 2, 9, 1.5, "")


@given(
    st.lists(
        st.tuples(st.sampled_from(["see", "nothing", "lose", "resume", "end"]), st.floats(0.01, 4)),
        max_size=40,
    )
)
def test_each_start_has_exactly_one_end(steps):
    said = []
    events = LiveEvents(lambda what, event, reason: said.append((what, event.number, reason)))
    now = 0.0
    for step, passed in steps:
        now += passed
        if step == "see":
            events.see([seen(now)], None)
        elif step == "nothing":
            events.pass_time(now)
        elif step == "end":
            events.end("changed")
        else:
            getattr(events, step)(now)
    events.end("stopped")
    for number in range(1, events.count + 1):
        own = [what for what, of, _ in said if of == number]
        assert own[0] == "start"
        assert own[-1] == "end"
        assert set(own[1:-1]) <= {"update"}
    assert all((reason is None) == (what != "end") for what, _, reason in said)


def test_an_event_survives_a_short_loss():
    said = []
    events = LiveEvents(lambda what, *_: said.append(what), after_s=2.0, lost_s=10.0)
    events.see([seen(1.0)], 4.0)
    events.lose(100.0)
    events.lose(109.0)
    events.resume(12.0)
    events.pass_time(13.5)
    assert said == ["start"]
    events.see([seen(13.6, track=2)], 9.0)
    assert events.open.tracks == {1, 2}
    assert events.open.frame_score == 9.0
    events.lose(200.0)
    events.lose(211.0)
    assert said[-1] == "end"


def test_amounts_and_times():
    assert parse_keep("2.5G") == Keep(size=2_500_000_000)
    assert parse_keep("12 h").age_s == 43200
    for text in ("", "10", "G", "-1G", "0d", "1e3G"):
        with pytest.raises(UsageError, match="--keep"):
            parse_keep(text)
    for text in ("", "0", "5G", "-3s", "ten"):
        with pytest.raises(UsageError, match="--window"):
            parse_seconds("--window", text)


def test_the_oldest_clips_go_first_but_never_the_one_being_written(tmp_path):
    for i in range(5):
        path = tmp_path / clip_name(1000.0 * i, i, "mp4")
        path.write_bytes(b"x" * 100)
        os.utime(path, (time.time() - 1000 + i,) * 2)
    (tmp_path / "mine.mp4").write_bytes(b"x" * 1000)
    writing = tmp_path / clip_name(0.0, 0, "mp4")
    assert remove_oldest(tmp_path, Keep(size=250), writing) == 3
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [writing.name, clip_name(4000.0, 4, "mp4"), "mine.mp4"]
    assert remove_oldest(tmp_path, Keep(age_s=60), None) == 2
    assert remove_oldest(tmp_path, Keep(age_s=60), None) == 0
    assert (tmp_path / "mine.mp4").exists()


def test_passwords_are_not_said():
    source = read_source("rtsp://me:secret@camera:554/stream")
    assert source.name == "rtsp://camera:554/stream"
    assert "secret" in source.address
    assert source.options == {"rtsp_flags": "prefer_tcp"}


def test_what_a_stream_names_cannot_be_a_file_of_this_machine():
    for url in ("http://a/list.m3u8", "rtsp://a/b", "tcp://a:1", "udp://@:5"):
        assert "file" not in read_source(url).protocols.split(",")


def test_numbers_for_prometheus():
    status = Status(state="watching", frames=7, latency_s=0.25, event_open=True)
    with MetricsServer(status, 0) as server:
        url = f"http://127.0.0.1:{server.port}/metrics"
        with urllib.request.urlopen(url) as answer:
            text = answer.read().decode()
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/etc")
        with pytest.raises(OutputError, match="cannot be served"):
            MetricsServer(status, server.port)
    values = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    assert values["bgsub_up"] == "1"
    assert values["bgsub_frames_total"] == "7"
    assert values["bgsub_latency_s"] == "0.25"
    assert values["bgsub_event_open"] == "1"


def test_a_command_that_cannot_be_started_is_counted(tmp_path):
    hook = EventHook(str(tmp_path / "gone"))
    hook.start("{}\n", {"event": "start"})
    assert hook.left_out == 1


def test_a_window_is_thinned_and_forgets():
    layout = Layout("gray", 24, 32)
    schedule, due = Schedule(window_s=60, refresh_s=30, warm_up_s=2), []
    window = Window(layout, MaskOptions(), window_s=60)
    for i in range(4000):
        if schedule.wants(i / 25):
            window.add(np.zeros(layout.size, np.uint8), i / 25)
            due += [i / 25] * schedule.is_due()
    assert len(window.times) <= MOST_FRAMES
    assert window.times[0] >= 4000 / 25 - 61
    assert np.diff(window.times).max() < 0.3
    assert due == pytest.approx([2, 4, 8, 16, 32, 62, 92, 122, 152], abs=1.5)


LAYOUT = Layout("bgr", 72, 96)


def row_of(picture):
    return LAYOUT.pack(np.ascontiguousarray(picture[..., ::-1]))


@pytest.fixture
def learner():
    """One that frames wait for."""
    settings = LearningSettings(LAYOUT, MaskOptions(), 60.0, 1, gives_way=False)
    schedule = Schedule(window_s=60, refresh_s=30, warm_up_s=1)
    learner = Learner(settings, schedule, threading.Event())
    learner.start()
    yield learner
    learner.close()


def test_a_model_scores_frames_by_what_is_usual(learner):
    frames = walk(60, [(50, 60)])
    for i, frame in enumerate(frames[:50]):
        learner.offer(row_of(frame), i / 25)
    assert learner.model is not None
    usual, visited = (learner.model.frame_score(LAYOUT.luma(row_of(f))) for f in frames[49:51])
    assert usual < 6 < visited
    json.dumps([usual, visited])


def test_another_process_takes_the_place_of_one_that_died(learner):
    frames = walk(40, [])
    for i, frame in enumerate(frames):
        learner.offer(row_of(frame), i / 25)
    first = learner.model
    learner._process.kill()
    assert "another one begins" in learner.complaints.get(timeout=60)
    deadline = time.monotonic() + 60
    while learner.model is first and time.monotonic() < deadline:
        i += 1
        learner.offer(row_of(frames[i % 40]), i / 25)
        time.sleep(0.01)
    assert first is not None
    assert learner.model is not first


def test_a_model_that_cannot_be_learned_is_said_and_the_next_one_serves(learner):
    learner.offer(np.zeros(7, np.uint8), 0.0)
    for i, frame in enumerate(walk(40, [])):
        learner.offer(row_of(frame), (i + 1) / 25)
    assert "could not be learned" in learner.complaints.get(timeout=60)


def test_frames_for_which_there_is_no_time_are_left_out_and_counted(tmp_path):
    feed = Feed(read_source("tcp://127.0.0.1:1"), PacketRing(1.0))
    for i in range(9):
        feed._put(Seen(float(i), b"", 0.0))
    feed._put(Note("something"))
    times = [item.time_s for item in iter(lambda: feed.get(0), None) if isinstance(item, Seen)]
    assert times == [4.0, 5.0, 6.0, 7.0, 8.0]
    assert (feed.dropped, feed.pictures) == (4, 9)
    notes = []
    watcher = Watcher(
        read_source("tcp://127.0.0.1:1"),
        tmp_path,
        WatchOptions(),
        say=print,
        note=lambda text, kind: notes.append(text),
    )
    for now_s in (30.0, 61.0, 62.0, 122.0):
        watcher._attend(feed, now_s)
    assert notes == [
        "4 frames of the last minute were not analysed for lack of time; clips have them all"
    ]
