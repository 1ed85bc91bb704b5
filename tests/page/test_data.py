"""What the scripts of a page work with holds the tables of the run, frame by frame."""

import base64
from dataclasses import replace

import numpy as np

from bgsub.page.data import describe_event, describe_film, pack_boxes, pack_series


def numbers_in(packed):
    return [first + step * i for first, step, count in packed["runs"] for i in range(count)]


def floats(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


def flags(text, n):
    packed = np.frombuffer(base64.b64decode(text), np.uint8)
    return np.unpackbits(packed, bitorder="little")[:n].astype(bool)


def test_frames_times_and_flags_are_those_of_the_run(result, views):
    done = []
    shown = {view: each.film for view, each in views.items()}
    data = pack_series(result, shown, result.events, lambda *step: done.append(step))
    n = result.numbers.size
    assert numbers_in(data["frames"]) == result.numbers.tolist()
    np.testing.assert_allclose(np.array(numbers_in(data["times"])) / 1e6, result.times, atol=1e-6)
    np.testing.assert_array_equal(flags(data["outliers"], n), result.table.outliers)
    assert set(data["curves"]) == {"error", "whole", "place", "foreground"}
    assert all(floats(curve).size == n for curve in data["curves"].values())
    assert data["cutoff"] == result.table.cutoff
    assert done[-1] == ("masks", n, n)


def test_without_errors_and_masks_there_are_no_curves(result):
    bare = replace(result, table=None)
    none = dict.fromkeys(("input", "background", "foreground", "mask"))
    data = pack_series(bare, none, [], lambda *_: None)
    assert data["curves"] == {}
    assert data["cutoff"] is None
    assert data["change"] is None


def test_events_have_places_and_not_numbers(result):
    shifted = replace(result, numbers=result.numbers * 3)
    event = replace(result.events[0], first_frame=9, last_frame=30, peak_frame=12)
    found = describe_event(shifted, event)
    assert (found["first"], found["last"], found["peak"]) == (2, 9, 3)


def test_a_view_without_a_film_says_why(result, views, tmp_path):
    gone = replace(views["mask"], film=None, reason="the run wrote no mask")
    found = describe_film(result, gone, tmp_path / "p.html", result.events, None)
    assert found == {"view": "mask", "reason": "the run wrote no mask"}
    linked = describe_film(result, views["mask"], result.folder / "p.html", result.events, None)
    assert linked["src"] == "mask.mp4"


def test_boxes_are_those_of_the_objects(result):
    boxes = pack_boxes(result)
    assert numbers_in(boxes["tracks"]) == [seen.track for seen in result.objects]
    frames = result.numbers[numbers_in(boxes["places"])].tolist()
    assert frames == [seen.frame for seen in result.objects]
    sides = floats(boxes["sides"]).reshape(-1, 4)
    np.testing.assert_allclose(sides, [seen.box for seen in result.objects])
    assert pack_boxes(replace(result, objects=[])) is None
    assert pack_boxes(replace(result, objects=result.objects[:1] * 40_001)) is None
