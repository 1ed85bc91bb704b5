"""Events of objects and of frames."""

from bgsub.outliers.events import Event
from bgsub.tracking.events import EventCollector, with_frame_events
from bgsub.tracking.tracker import Observation


def seen(frame, track=1, *, area=100.0, box=(10, 20, 30, 40), merged=False):
    return Observation(frame, frame / 10, track, box, 25, 40, area, 5.0, "darker", merged)


def collect(frames, gap=1.0):
    collector = EventCollector(gap)
    for frame in frames:
        collector.add(frame)
    return collector.finish()


def test_frames_with_objects_are_an_event():
    frames = [[], [seen(2)], [seen(3), seen(3, 2, box=(90, 0, 5, 5))], [seen(4)], []]
    (event,) = collect(frames)
    assert (event.kind, event.first_frame, event.last_frame) == ("object", 2, 4)
    assert (event.peak_frame, event.area) == (3, 200)
    assert event.tracks == (1, 2)
    assert event.box == (10, 0, 85, 60)
    assert event.to_dict()["box"] == [10, 0, 85, 60]


def test_a_gap_longer_than_a_second_parts_them():
    assert len(collect([[seen(1)], [seen(11)]])) == 1
    assert len(collect([[seen(1)], [seen(12)]])) == 2
    assert [event.number for event in collect([[seen(1)], [seen(12)]])] == [1, 2]


def test_frames_that_follow_each_other_are_one_event_without_any_gap():
    assert len(collect([[seen(1)], [seen(2)], [seen(3)]], gap=0)) == 1
    assert len(collect([[seen(1)], [seen(2)], [seen(4)]], gap=0)) == 2


def test_objects_that_have_merged_count_their_region_once():
    (event,) = collect([[seen(1, merged=True), seen(1, 2, merged=True), seen(1, 3, area=7)]])
    assert event.area == 107


def test_no_object_is_no_event():
    assert collect([[], []]) == []


def frame_event(first, last):
    return Event(1, first, last, first / 10, last / 10, first + 1, first / 10, 50.0, last - first)


def test_frame_events_join_what_they_overlap():
    objects = collect([[seen(10)], [seen(30)]])
    events = with_frame_events(objects, [frame_event(9, 31), frame_event(50, 60)])
    assert [(e.kind, e.first_frame, e.last_frame) for e in events] == [
        ("both", 9, 31),
        ("frame", 50, 60),
    ]
    assert [event.number for event in events] == [1, 2]
    assert events[0].tracks == (1,)
    assert events[0].peak_frame == 10
    assert events[1].box is None


def test_nothing_to_join_leaves_them_as_they_are():
    objects = collect([[seen(10)], [seen(30)]])
    assert with_frame_events(objects, []) == objects
