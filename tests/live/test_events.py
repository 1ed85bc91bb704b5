"""Events of a stream: each start has one end, and what only flickers makes none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bgsub.live.events import LiveEvents
from bgsub.tracking.tracker import Observation


def seen(time_s, box=(1, 2, 3, 4), track=1, area=9, score=1.6):
    return Observation(round(time_s * 25), time_s, track, box, 2, 2, area, score, "")


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


def test_who_does_not_come_back_with_the_stream_was_last_seen_before_it_was_lost():
    events, said = said_of()
    events.see([seen(1.0, area=50)], None)
    event = events.open
    events.lose(100.0)
    events.resume(12.0, 20.0)
    events.pass_time(13.9)
    assert events.open is event
    events.pass_time(14.1)
    assert [what for what, *_ in said] == ["start", "end"]
    assert event.last_s == 1.0


def said_of(small_area=20.0, after_s=2.0):
    """Events of which only those of objects from so many pixels on are said at once."""
    said = []
    events = LiveEvents(
        lambda what, event, reason: said.append((what, event.number, event.start_s)),
        after_s=after_s,
    )
    events.resume(0.0, small_area)
    return events, said


def test_what_is_small_is_an_event_only_when_it_has_lasted_and_since_it_was_first_seen():
    events, said = said_of()
    for i in range(8):
        events.see([seen(i / 5)], None)
        events.pass_time(i / 5)
    events.pass_time(19.0)
    assert said == []
    for i in range(12):
        events.see([seen(20 + i / 5, track=2)], None)
    assert said == [("start", 1, 20.0)]
    assert events.open.tracks == {2}
    events.pass_time(50.0)
    assert said[-1] == ("end", 1, 20.0)


def test_what_is_small_and_weak_must_last_for_longer():
    events, said = said_of()
    for i in range(49):
        events.see([seen(1 + i / 5, score=1.2)], None)
    assert said == []
    for i in range(49, 52):
        events.see([seen(1 + i / 5, score=1.2)], None)
    assert said == [("start", 1, 1.0)]


def test_flicker_makes_no_event_longer_and_has_no_part_in_it():
    events, said = said_of()
    events.see([seen(1.0, area=50), seen(1.0, box=(90, 90, 3, 3), track=2)], None)
    assert events.open.tracks == {1}
    assert events.open.box == (1, 2, 3, 4)
    for i in range(16):
        events.see([seen(2.0 + i / 8, track=3 + i)], None)
        events.pass_time(2.0 + i / 8)
    assert [what for what, *_ in said] == ["start", "end"]


def test_what_is_small_keeps_an_event_over_a_loss():
    events, said = said_of()
    for i in range(12):
        events.see([seen(i / 5)], None)
    events.lose(100.0)
    events.resume(5.0, 20.0)
    for i in range(40):
        events.see([seen(5 + i / 5, track=2)], None)
        events.pass_time(5 + i / 5)
    assert [what for what, *_ in said].count("start") == 1
    assert "end" not in [what for what, *_ in said]
    events, said = said_of()
    for i in range(12):
        events.see([seen(i / 5)], None)
    events.lose(100.0)
    events.resume(5.0, 20.0)
    for i in range(60):  # what only flickers does not keep it for ever
        events.see([seen(5 + i / 5, track=2 + i)], None)
        events.pass_time(5 + i / 5)
    assert [what for what, *_ in said if what != "update"] == ["start", "end"]
