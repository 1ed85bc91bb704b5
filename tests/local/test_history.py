import json
from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.decisions import Region
from bgsub.local.history import MOST_REGIONS, History
from bgsub.local.scene import Scene


def region(pixels, sample=0):
    return Region(
        x=0,
        y=0,
        width=9,
        height=9,
        pixels=pixels,
        sample=sample,
        chosen="not decided",
        background="most frequent",
        edge_balance=0.0,
        edge_motion_px=(None, 0.2),
        share_before=0.4,
        share_after=0.5,
        overruled_pixels=0,
    )


def scene(level, regions=(), notes=()):
    colors = np.full((1, 12, 16, 3), level, np.uint8)
    return Scene(colors, np.zeros((12, 16), np.uint8), 2.5, list(notes), None, tuple(regions))


def make():
    scenes = [scene(90, [region(4, 2), region(7)], ["a"]), scene(30, [region(5, 1)], ["b"])]
    moments = [[(1, 0.0), (4, 0.12), (9, 0.32)], [(20, 0.76), (31, 1.2)]]
    return History.of(scenes, moments, [0, 2])


def test_states_and_regions_are_told():
    history = make()
    assert history.notes == ["2 states of the scene", "a", "b"]
    assert [state["sample_frames"] for state in history.states] == [3, 2]
    assert [state["share"] for state in history.states] == [0.6, 0.4]
    assert [state["level"] for state in history.states] == [90, 30]
    assert [state["relit_frames"] for state in history.states] == [0, 2]
    told = [(r["pixels"], r["state"], r["first_frame"], r["first_time_s"]) for r in history.regions]
    assert told == [(7, 0, 1, 0.0), (5, 1, 31, 1.2), (4, 0, 9, 0.32)]
    assert history.regions_left_out == 0


def test_numbers_are_rounded_for_people():
    third = scene(90)
    third.colors[0, :4] = 91  # a third of the twelve rows
    third = replace(third, sigma=2.123456, contrast=33.33333)
    moments = [[(1, 0.0), (2, 0.04)], [(3, 1 / 3)]]
    first, second = History.of([third, scene(30)], moments, [0, 0]).states
    assert (first["share"], second["share"]) == (0.6667, 0.3333)
    assert (first["level"], first["noise"], first["contrast"]) == (90.33, 2.123, 33.33)


def test_noise_is_what_was_measured_and_not_the_least_that_colours_are_told_apart_by():
    faint = replace(scene(90), sigma=2.5, grain=0.81)
    (state,) = History.of([faint], [[(1, 0.0)]], [0]).states
    assert state["noise"] == 0.81


def test_one_state_is_not_counted_in_words():
    assert History.of([scene(90)], [[(1, None)]], [0]).notes == []


def test_only_the_largest_regions_are_listed():
    sizes = np.random.default_rng(0).permutation(MOST_REGIONS + 7) + 1
    history = History.of([scene(90, map(region, sizes.tolist()))], [[(1, None)]], [0])
    expected = list(range(MOST_REGIONS + 7, 7, -1))
    assert [r["pixels"] for r in history.regions] == expected
    assert history.regions_left_out == 7


def test_it_is_json_and_comes_back_from_an_array():
    history = make()
    assert json.loads(json.dumps(history.to_json(), allow_nan=False))["mask_notes"] == history.notes
    assert History.from_array(history.to_array()) == history


@pytest.mark.parametrize("text", ["", "[]", "3", '{"notes": "a"}', '{"nots": []}'])
def test_what_is_no_history_is_refused(text):
    with pytest.raises((TypeError, ValueError)):
        History.from_array(np.array(text))
