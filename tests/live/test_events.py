"""Events of a stream: each start has one end; the command that hears of them; the status."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import OutputError
from bgsub.live.watcher import EventHook, LiveEvents, Status, served_metrics
from bgsub.tracking.tracker import Observation


def seen(time_s, box=(1, 2, 3, 4), track=1, area=9, score=1.6):
    return Observation(round(time_s * 25), time_s, track, box, 2, 2, area, score, "")


def said_of():
    """Events, and what is said of them."""
    said = []
    events = LiveEvents(lambda what, event, reason: said.append((what, event.number, reason)))
    return events, said


@given(
    st.lists(
        st.tuples(st.sampled_from(["see", "nothing", "lose", "resume", "end"]), st.floats(0.01, 4)),
        max_size=40,
    )
)
def test_each_start_has_exactly_one_end(steps):
    events, said = said_of()
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
    events, said = said_of()
    events.see([seen(1.0)], 4.0)
    events.lose(100.0)
    events.lose(109.0)
    events.resume(12.0)
    events.pass_time(13.5)
    assert [what for what, *_ in said] == ["start"]
    events.see([seen(13.6, track=2)], 9.0)
    assert events.open.tracks == {1, 2}
    assert events.open.frame_score == 9.0
    events.lose(200.0)
    events.lose(211.0)
    assert said[-1] == ("end", 1, "lost")


def test_who_does_not_come_back_with_the_stream_was_last_seen_before_it_was_lost():
    events, said = said_of()
    events.see([seen(1.0, area=50)], None)
    event = events.open
    events.lose(100.0)
    events.resume(12.0)
    events.pass_time(13.9)
    assert events.open is event
    events.pass_time(17.1)
    assert [what for what, *_ in said] == ["start", "end"]
    assert event.last_s == 1.0


def test_a_command_that_cannot_be_started_is_left_out(tmp_path):
    EventHook(str(tmp_path / "gone")).start("{}\n", {"event": "start"})


def test_numbers_for_prometheus():
    status = Status(state="watching", frames=7, latency_s=0.25, event_open=True)
    with served_metrics(status, 0) as port:
        url = f"http://127.0.0.1:{port}/metrics"
        with urllib.request.urlopen(url) as answer:
            text = answer.read().decode()
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/etc")
        with pytest.raises(OutputError, match="cannot be served"), served_metrics(status, port):
            pass
    values = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    assert values["bgsub_up"] == "1"
    assert values["bgsub_frames_total"] == "7"
    assert values["bgsub_latency_s"] == "0.25"
    assert values["bgsub_event_open"] == "1"
