"""Whole streams over loopback: events, clips, and what happens when the stream breaks."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from datetime import UTC, datetime
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import av
import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.live import feed as feed_module
from bgsub.live.analysis import Analysis
from bgsub.live.decoding import Header, Seen
from bgsub.live.feed import Lost, Opened, PacketRing, read_source
from bgsub.live.options import WatchOptions
from bgsub.live.watcher import Watcher
from bgsub.pipeline.run import run
from bgsub.video.frames import Layout
from tests.conftest import make_options

from .conftest import (
    decoded,
    ends_once,
    packets,
    seen_and_heard,
    sound_is_in_step,
    transport,
    walk,
    with_sound,
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The model of a run on the place of `walk`, with which nothing has to be learned."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "place.ts").write_bytes(transport(walk(40, [])))
    run(folder / "place.ts", folder / "run", make_options(k=1, outputs={"model"}))
    return str(folder / "run" / "model.npz")


def test_an_event_is_said_as_it_happens_and_has_a_clip_of_the_streams_own_packets(watch, serve):
    film = transport(walk(95, [(30, 60)], size=(96, 72)))
    server = serve([film, 30.0])
    watched = watch(server.url, refresh_s=60.0).until(lambda w: w.count("end") == 1)
    ends_once(watched.lines)
    start, *updates, end = watched.lines
    assert updates
    assert end["reason"] == "gone"
    assert end["time_s"] - start["start_s"] == pytest.approx(30 / 25, abs=0.25)
    assert end["duration_s"] == pytest.approx(30 / 25, abs=0.25)
    _, y, _, height = start["box"]
    assert (y, height) == (pytest.approx(24, abs=3), pytest.approx(21, abs=5))
    # The film came at once: its stamps are ahead of the clock, and what is said is not.
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert start["time"] <= end["time"] <= now
    shown = decoded(start["file"])
    # From a key frame half a second before frame 30 on: the square comes in it, and has gone.
    magenta = [int(((f[..., 0] > 180) & (f[..., 1] < 90)).sum()) > 60 for f in shown]
    assert magenta.index(True) in range(12, 26)
    assert sum(magenta) == 30
    assert not magenta[-1]
    raw = packets(film)
    # mp4 has lengths before the units in place of start codes; the units are the same.
    units = {unit[-40:] for unit in raw}
    assert all(packet[-40:] in units for packet in packets(start["file"]))


def test_the_connection_may_be_cut_amid_an_event(watch, serve, model):
    before, after = walk(40, [(15, 40)]), walk(75, [(0, 20)])
    server = serve([transport(before)], [transport(after), 30.0])
    watched = watch(server.url, every_s=0.08, model=model)
    watched.until(lambda w: w.count("end") == 1)
    ends_once(watched.lines)
    assert watched.count("start") == 1
    assert server.connections == 2
    assert watched.watcher.status.connections == 2
    end = watched.lines[-1]
    assert len(end["files"]) == 2
    assert all(file.endswith("mp4") and len(decoded(file)) > 20 for file in end["files"])
    assert any("trying again in 0.1 s" in note for note in watched.notes)
    assert any("is back" in note for note in watched.notes)


def test_clips_have_the_sound_in_step(watch, tmp_path, model):
    film = with_sound(walk(28, [(10, 22)]), [(10, 22)])
    (tmp_path / "film").write_bytes(film)
    watched = watch(tmp_path / "film", model=model)
    watched.until(lambda w: w.count("end") == 1)
    (clip,) = watched.lines[-1]["files"]
    sound_is_in_step(film, clip)


def test_half_a_frame_makes_no_event(watch, serve, model):
    still = transport(walk(30, []))
    other = transport(walk(100, [(35, 50)]))
    # Cut amid a packet; the next connection begins amid a group of pictures.
    server = serve([still[: len(still) - 700]], [other[len(other) // 6 :], 30.0])
    watched = watch(server.url, every_s=0.08, model=model)
    watched.until(lambda w: w.count("end") == 1)
    ends_once(watched.lines)
    assert watched.count("start") == 1
    assert watched.lines[0]["start_s"] > 0
    for picture in decoded(watched.lines[-1]["file"]):
        assert np.ptp(picture.astype(int)) > 60  # no grey picture


@contextlib.contextmanager
def http(body, kind="video/mp2t", patience_s=0.0):
    """Answer requests with a body, and keep the connection for a while."""
    over = threading.Event()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body)
            over.wait(patience_s)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        over.set()
        server.shutdown()
        server.server_close()


def test_a_playlist_cannot_name_a_file_of_this_machine(watch, tmp_path):
    film = tmp_path / "film.ts"
    film.write_bytes(transport(walk(30, [(10, 20)])))
    text = f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:5,\nfile://{film}\n#EXT-X-ENDLIST\n"
    with http(text.encode(), "application/vnd.apple.mpegurl") as url:
        watched = watch(f"{url}/list.m3u8")
        watched.until(lambda w: any("trying again" in note for note in w.notes))
    assert watched.watcher.status.connections == 0
    assert watched.lines == []


def test_a_stall_is_given_up(watch, serve, model):
    server = serve([transport(walk(12, [])), 60.0], [transport(walk(90, [(24, 40)])), 30.0])
    watched = watch(server.url, stall_s=3.0, every_s=0.08, model=model)
    watched.until(lambda w: w.count("end") == 1)
    assert server.connections == 2
    assert any("nothing came for 3 s" in note for note in watched.notes)
    ends_once(watched.lines)


def test_pauses_grow_but_after_a_silent_server_there_is_a_short_one(watch, serve, model):
    film = transport(walk(30, []))
    # A machine that is busy may be silent for so long, too: there is more than one film.
    server = serve([], [], [60.0], *[[film, 60.0]] * 9)
    watched = watch(server.url, stall_s=2.0, pauses_s=(0.1, 0.2, 300.0), model=model)
    watched.until(lambda w: w.watcher.status.frames > 0)
    assert server.connections >= 4
    assert [note[-5:] for note in watched.notes if "trying again" in note][:3] == [
        "0.1 s",
        "0.2 s",
        "0.1 s",
    ]


def test_stamps_that_jump_are_mended_and_said(watch, serve, model):
    """And the sound goes on."""
    frames, beeps = walk(80, [(15, 55)]), ([(15, 25)], [], [(5, 13)])
    parts, begins = (frames[:28], frames[28:42], frames[42:]), (9000.0, 14000.0, 3.0)
    film = b"".join(
        with_sound(*part, first_s=first_s)
        for *part, first_s in zip(parts, beeps, begins, strict=True)
    )
    watched = watch(serve([film, 30.0]).url, model=model).until(lambda w: w.count("end") == 1)
    ends_once(watched.lines)
    assert watched.count("start") == 1
    assert watched.lines[-1]["duration_s"] == pytest.approx(40 / 25, abs=0.3)
    assert sum("time stamps jumped" in note for note in watched.notes) == 2
    assert len(decoded(watched.lines[-1]["file"])) > 50
    assert len(seen_and_heard(watched.lines[-1]["file"])[1]) == 2


def test_another_size_is_learned_anew(watch, serve):
    small, large = walk(42, [(30, 42)]), walk(77, [(30, 42)], size=(64, 48))
    server = serve([transport(small)], [transport(large), 30.0])
    watched = watch(server.url, refresh_s=60.0).until(lambda w: w.count("end") == 2)
    ends_once(watched.lines)
    assert [line["reason"] for line in watched.lines if line["event"] == "end"] == [
        "changed",
        "gone",
    ]
    shapes = [decoded(line["file"])[0].shape for line in watched.lines if line["event"] == "end"]
    assert shapes == [(36, 48, 3), (48, 64, 3)]


def test_a_file_ends(watch, tmp_path):
    film = tmp_path / "film.ts"
    film.write_bytes(with_sound(walk(64, [(30, 64)], size=(64, 48)), [(40, 50)]))
    watched = watch(film, writes_masks=True, sound=False, refresh_s=60.0)
    watched.until(lambda w: w.count("end") == 1)
    assert seen_and_heard(watched.lines[-1]["file"])[1] == []  # as asked for
    assert watched.error is None
    (masks,) = (tmp_path / "clips").glob("event-*-mask.mkv")
    drawn = decoded(masks)
    assert len(drawn) == pytest.approx(32, abs=4)
    assert {int(level) for level in np.unique(drawn)} == {0, 255}
    assert (drawn[20][..., 0] > 0).sum() == pytest.approx(14 * 10, rel=0.2)
    assert watched.lines[-1]["reason"] == "over"
    assert watched.lines[-1]["time"] is None
    assert watched.lines[-1]["duration_s"] == pytest.approx(33 / 25, abs=0.2)


def test_what_cannot_be_opened_is_an_input_error(watch, tmp_path):
    text = tmp_path / "text.ts"
    text.write_text("this is a text")
    watched = watch(text)
    watched.until(lambda w: w.error is not None)
    assert isinstance(watched.error, InputError)
    assert "text.ts: cannot be read (its data are damaged" in str(watched.error)


@pytest.mark.skipif(sys.platform != "linux", reason="cameras are those of Linux")
def test_what_is_no_camera_is_not_tried_again(watch):
    watched = watch("/dev/null")
    watched.until(lambda w: w.error is not None)
    assert str(watched.error) == "/dev/null: cannot be read (it is no camera)"
    assert watched.notes == []


def test_a_protocol_that_this_ffmpeg_lacks_is_not_tried_again(watch, monkeypatch):
    monkeypatch.setitem(feed_module._PROTOCOLS, "nosuch", "nosuch")
    watched = watch("nosuch://camera:9/film")
    watched.until(lambda w: w.error is not None)
    assert isinstance(watched.error, InputError)
    assert str(watched.error).startswith("nosuch://camera:9/film: cannot be read (the FFmpeg")
    assert "ffmpeg -i nosuch://… -c copy -f mpegts - | bgsub watch -" in str(watched.error)
    assert watched.notes == []


def test_clips_have_the_frames_that_were_not_analysed(watch, serve, model, monkeypatch):
    look = Analysis.look

    def look_slowly(*given):
        time.sleep(0.15)
        return look(*given)

    monkeypatch.setattr(Analysis, "look", look_slowly)
    # At its own pace, with a second visit if a busy machine misses the first.
    film = transport(walk(230, [(20, 70), (130, 180)]))
    pieces = [film[i : i + 2000] for i in range(0, len(film), 2000)]
    paced = [step for piece in pieces for step in (piece, 9.2 / len(pieces))]
    options = {"drop": True, "min_track": 2, "after_s": 1.0, "model": model}
    watched = watch(serve([*paced, 30.0]).url, **options)
    watched.until(lambda w: w.count("end") == 1)
    status = watched.watcher.status
    assert status.dropped > status.frames > 0
    with av.open(watched.lines[-1]["file"]) as container:
        shown = sorted(packet.pts * packet.time_base for packet in container.demux() if packet.size)
    assert len(shown) > 50
    assert max(np.diff(shown)) == pytest.approx(1 / 25, abs=0.001)


def test_stopping_ends_the_event_and_finishes_its_clip(watch, model):
    """Of a stream over HTTP, which is watched too."""
    with http(transport(walk(45, [(15, 45)])), patience_s=60.0) as url:
        watched = watch(f"{url}/stream", after_s=60.0, model=model)
        watched.until(lambda w: w.count("update") >= 1)
    ends_once(watched.lines)
    assert watched.lines[-1]["reason"] == "stopped"
    assert len(decoded(watched.lines[-1]["file"])) > 20


def test_a_clip_that_cannot_be_written_keeps_no_event_back(watch, serve, model, monkeypatch):
    monkeypatch.setattr("bgsub.live.clips.clip_name", lambda *_: "gone/clip.mp4")
    film = transport(walk(52, [(15, 30)]))
    watched = watch(serve([film, 30.0]).url, model=model).until(lambda w: w.count("end") == 1)
    assert watched.lines[-1]["file"] is None
    assert watched.watcher.status.clips_failed == 1
    assert sum("cannot be written" in note for note in watched.notes) == 1


class SilentFeed:
    """Takes the place of a feed: the frames of a stream of which no model is learned in time."""

    connections = 1

    def __init__(self, *_, **__):
        header = Header("h264", (4, 4), Layout("gray", 4, 4), Fraction(1, 25), b"", "mp4")
        self.dropped = 0
        self._steps = [(0, 0, Opened(header, 100.0, time.time(), PacketRing(1.0)))]
        for now_s, dropped, time_s in (
            *((30, 2, 100.0), (61, 4, 124.0), (62, 5, 125.5), (122, 5, 126.0), (183, 5, 300.0)),
        ):
            self._steps.append((now_s, dropped, Seen(time_s, bytes(16), 0.0)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def get(self, timeout):
        if not self._steps:
            return Lost("", None)
        SilentFeed.now_s, self.dropped, item = self._steps.pop(0)
        return item


def test_what_takes_too_long_is_said(tmp_path, monkeypatch):
    notes, SilentFeed.now_s = [], 0.0
    clock = SimpleNamespace(monotonic=lambda: SilentFeed.now_s, time=time.time)
    monkeypatch.setattr("bgsub.live.watcher.time", clock)
    monkeypatch.setattr("bgsub.live.watcher.Feed", SilentFeed)
    stream = read_source("tcp://127.0.0.1:1")
    watcher = Watcher(
        stream, tmp_path, WatchOptions(), say=print, note=lambda text, kind: notes.append(text)
    )
    watcher.run(threading.Event())
    left_out = "not analysed for lack of time; clips have them all"
    late = "there is no model after 26 s: the machine is too busy to learn one"
    assert notes == [
        "tcp://127.0.0.1:1: h264, 4×4 pixels; objects are told up to 8 frames late",
        f"4 frames of the last minute were {left_out}",
        f"tcp://127.0.0.1:1: {late}; nothing is reported until there is one",
        f"1 frame of the last minute was {left_out}",
    ]
