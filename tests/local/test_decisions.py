"""What is said of places with two lasting states."""

import cv2
import numpy as np
import pytest

from bgsub.local.changes import Change
from bgsub.local.clustering import find_layers
from bgsub.local.decisions import Region, describe_changes
from bgsub.local.layers import LAYERS, Layers
from bgsub.local.objects import Verdict, judge_changes
from bgsub.local.scene_fit import fit_scene
from bgsub.local.telling import UNKNOWN

BODY = (slice(30, 54), slice(40, 54))


def film(scenes, there, *, sways, n=80):
    """A place where somebody of one colour stands in the frames of `there`."""
    rng = np.random.default_rng(3)
    y, x = np.mgrid[:24, :14]
    body = np.zeros(scenes.shape, np.float32)
    body[BODY] = np.exp(-(((y - 11.5) / 9) ** 4 + ((x - 6.5) / 5) ** 4))
    frames = []
    for i in range(n):
        frame = scenes.place()
        if there[0] <= i < there[1]:
            right, down = rng.uniform(-sways, sways, 2)
            shift = np.array([[1, 0, right], [0, 1, down]], np.float32)
            alpha = cv2.warpAffine(body, shift, body.shape[::-1])[..., None]
            frame = frame * (1 - alpha) + alpha * np.array((40, 60, 215.0))
        frames.append(frame)
    return scenes.finish(frames)


def largest(scenes, workers, there, *, sways):
    regions = fit_scene(film(scenes, there, sways=sways), seed=0, workers=workers).regions
    return max(regions, key=lambda region: region.pixels)


def test_somebody_who_stood_there_for_most_of_the_film_and_left(scenes, workers):
    region = largest(scenes, workers, (0, 50), sways=0.5)
    assert (region.chosen, region.background) == ("object left", "after")
    assert 38 <= region.x < region.x + region.width <= 56
    assert 28 <= region.y < region.y + region.height <= 56
    assert 100 < region.pixels <= region.width * region.height
    assert region.sample == pytest.approx(50, abs=4)
    assert region.edge_balance > 0.1
    assert region.edge_motion_px[0] > 0.1
    # It is seen in more frames than what is behind it, so that a count would have been wrong.
    assert region.share_before > region.share_after
    # Of the frames: who sways shows a place more than one colour.
    assert 0.35 < region.share_before <= 50 / 80
    assert 0.3 < region.share_after <= 30 / 80
    assert region.overruled_pixels > 0.5 * region.pixels
    assert f"balance {region.edge_balance:+.2f}" in region.reason
    assert "an object was there and left" in region.reason
    assert "continues the surroundings" in region.reason


def test_somebody_who_came_and_stayed_to_the_end(scenes, workers):
    region = largest(scenes, workers, (30, 80), sways=0.5)
    assert (region.chosen, region.background) == ("object came", "before")
    assert region.sample == pytest.approx(30, abs=4)
    assert region.edge_balance < -0.1
    assert region.reason.startswith("its outline has more edges since then")


@pytest.mark.parametrize("stands", ["comes_back", "is_around"])
def test_a_place_that_comes_back_or_is_around_overrules_what_was_decided(
    stands, scenes, workers, monkeypatch
):
    everywhere = np.ones(scenes.shape, bool)
    monkeypatch.setattr(f"bgsub.local.scene_fit.{stands}", lambda *_: everywhere)
    assert largest(scenes, workers, (0, 50), sways=0.5).overruled_pixels == 0


def with_things(scenes, *places, n=80):
    """Regions of a film in which things lie still: upper left corners, first frames and ends."""
    frames = np.stack([scenes.place() for _ in range(n)])
    truth = np.zeros(scenes.shape, bool)
    for top, left, first, end in places:
        for frame in frames[first:end]:
            scenes.put(frame, truth, top, left, scenes.thing())
    return scenes.finish(frames)


def test_a_thing_that_was_moved(scenes, workers):
    frames = with_things(scenes, (30, 16, 0, 40), (36, 60, 40, 80))
    regions = fit_scene(frames, seed=0, workers=workers).regions
    assert len(regions) >= 2
    for region in regions:
        thing = "before" if region.x < 40 else "after"
        assert region.background in (thing, "both")
        assert region.chosen in ("thing moved", "not decided")
        assert region.edge_motion_px[thing == "after"] < 0.1
        assert "less than the 0.1 of people" in region.reason
    assert "thing moved" in [region.chosen for region in regions]


@pytest.mark.parametrize(
    ("there", "chosen", "background"),
    [((0, 50), "object left", "after"), ((30, 80), "object came", "before")],
)
def test_a_thing_that_was_brought_or_taken(there, chosen, background, scenes, workers):
    frames = with_things(scenes, (30, 40, *there))
    regions = fit_scene(frames, seed=0, workers=workers).regions
    region = max(regions, key=lambda region: region.pixels)
    assert (region.chosen, region.background) == (chosen, background)
    assert region.edge_motion_px[chosen == "object came"] < 0.1


def test_nothing_is_said_of_an_empty_place(scenes, workers):
    assert fit_scene(film(scenes, (0, 0), sways=0), seed=0, workers=workers).regions == ()


def test_boxes_are_in_pixels_of_the_frames(scenes, workers):
    frames = film(scenes, (0, 50), sways=0.5)
    first = np.rint(frames.mean(axis=0)).astype(np.uint8)
    layers = find_layers(frames, first, 9, seed=0, workers=workers)
    verdict = judge_changes(frames, layers, 3.0)
    fine = describe_changes(verdict, layers, 1, scenes.shape)
    coarse = describe_changes(verdict, layers, 2, (2 * 72 - 1, 2 * 96))
    assert fine
    for one, change in zip(fine, verdict.changes, strict=True):
        y, x = np.nonzero(change.region)
        assert (one.x, one.y, one.pixels) == (x.min(), y.min(), y.size)
        assert (one.x + one.width, one.y + one.height) == (x.max() + 1, y.max() + 1)
    for one, two in zip(fine, coarse, strict=True):
        assert (two.x, two.y) == (2 * one.x, 2 * one.y)
        assert (two.width, two.pixels) == (2 * one.width, 4 * one.pixels)
        assert two.y + two.height <= 2 * 72 - 1


def region(**changes):
    plain = {
        "x": 1,
        "y": 2,
        "width": 3,
        "height": 4,
        "pixels": 5,
        "sample": 6,
        "chosen": "not decided",
        "background": "most frequent",
        "edge_balance": 0.05,
        "edge_motion_px": (None, None),
        "share_before": 0.4,
        "share_after": 0.5,
        "overruled_pixels": 0,
    }
    return Region(**plain | changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "the edges along its outline do not tell (balance +0.05)"),
        ({"edge_balance": -0.4}, "only the light changed, or it was there at other times"),
        (
            {"background": "after", "edge_motion_px": (None, 0.05)},
            "since then its edges move by 0.05 pixels, less than the 0.1 of people: that is the",
        ),
        (
            {"background": "both", "edge_motion_px": (0.03, 0.05), "chosen": "thing moved"},
            "until then its edges moved by 0.03 pixels and since then its edges move",
        ),
        (
            {"background": "before", "chosen": "object came"},
            "it has the colours of an object of another change (balance +0.05): an object came",
        ),
    ],
)
def test_reasons_are_in_words(changes, words):
    assert region(**changes).reason.startswith(words)


@pytest.mark.parametrize(
    ("chosen", "balance", "words"),
    [
        ("object left", 0.4, "more edges until then (balance +0.40), which move by 0.31 pixels"),
        ("object came", -0.4, "more edges since then (balance -0.40), which move by 0.07 pixels"),
    ],
)
def test_an_object_s_edges_moved_while_it_was_there(chosen, balance, words):
    said = region(chosen=chosen, edge_balance=balance, edge_motion_px=(0.31, 0.07)).reason
    assert words in said
    assert "what is seen most often" not in said
    unknown = region(chosen=chosen, edge_balance=balance).reason
    assert "which move" not in unknown
    overruled = region(chosen=chosen, edge_balance=balance, overruled_pixels=77).reason
    assert "seen most often at 77 pixels" in overruled


def test_json_has_the_place_in_the_film():
    plain = region().to_json(1, 140, 5.6000000001)
    assert (plain["state"], plain["first_frame"], plain["first_time_s"]) == (1, 140, 5.6)
    assert plain["reason"] == region().reason
    assert "sample" not in plain


@pytest.mark.parametrize("background", ["before", "after", "both"])
@pytest.mark.parametrize("motion", [(None, None), (None, 0.04), (0.04, None), (0.04, 0.3)])
def test_only_motions_that_were_measured_are_given_as_a_reason(background, motion):
    region = Region(
        **dict.fromkeys(("x", "y", "width", "height", "pixels", "sample"), 1),
        chosen="thing moved",
        background=background,
        edge_balance=0.0,
        edge_motion_px=motion,
        share_before=0.5,
        share_after=0.5,
        overruled_pixels=0,
    )
    reason = region.to_json(0, 1, None)["reason"]
    sides = {"before": motion[:1], "after": motion[1:], "both": motion}[background]
    assert ("0.04 pixels, less than" in reason) == (0.04 in sides)
    assert ("at another change" in reason) == (0.04 not in sides)
    assert "0.30" not in reason


# --- what is described, of layers and verdicts made by hand ---

SHAPE = 12, 16
PLACE = np.s_[3:7, 4:10]


def described(
    *,
    is_object=(),
    is_thing=(),
    balance=0.5,
    motion=(0.2, 0.3),
    elsewhere=(UNKNOWN, UNKNOWN),
    counts=(30, 12),
    step=1,
):
    """A change from layer 1 to layer 0; objects and things are pairs of a layer and rows."""
    number = np.zeros((LAYERS, *SHAPE), np.uint8)
    number[1], number[0] = counts
    layers = Layers(
        np.zeros((*number.shape, 3), np.uint8),
        number,
        number,
        number,
        np.zeros((40, *SHAPE), np.uint8),
    )
    region = np.zeros(SHAPE, bool)
    region[PLACE] = True
    before, after = np.full(SHAPE, 1, np.int8), np.zeros(SHAPE, np.int8)
    marks = []
    for pairs in (is_object, is_thing):
        marked = np.zeros(number.shape, bool)
        for layer, rows in pairs:
            marked[layer, 3 : 3 + rows] = True
        marks.append(marked)
    change = Change(17, region, before, after, balance, motion, elsewhere=elsewhere)
    verdict = Verdict(*marks, [change], np.zeros(SHAPE, bool))
    (found,) = describe_changes(verdict, layers, step, (24, 31))
    return found


@pytest.mark.parametrize(
    ("is_object", "is_thing", "balance", "chosen", "background"),
    [
        ((), (), 0.5, "not decided", "most frequent"),
        ([(1, 2)], (), 0.5, "object left", "after"),  # half of it is enough
        ([(1, 1)], (), 0.5, "not decided", "most frequent"),
        ([(0, 2)], (), -0.5, "object came", "before"),
        ([(0, 3), (1, 3)], (), 0.5, "object left", "after"),
        ([(0, 4), (1, 3)], (), 0.5, "object came", "before"),
        ([(1, 3)], [(1, 4)], 0.5, "object left", "after"),
        ((), [(1, 2)], 0.5, "thing moved", "before"),
        ((), [(1, 1)], 0.5, "not decided", "most frequent"),
        ((), [(1, 2)], -0.5, "not decided", "before"),
        ((), [(0, 2)], -0.5, "thing moved", "after"),
        ((), [(0, 2)], 0.0, "thing moved", "after"),
        ((), [(0, 2)], 0.5, "not decided", "after"),
        ((), [(0, 2), (1, 2)], 0.5, "thing moved", "both"),
    ],
)
def test_what_is_chosen_is_what_most_of_the_place_says(
    is_object, is_thing, balance, chosen, background
):
    found = described(is_object=is_object, is_thing=is_thing, balance=balance)
    assert (found.chosen, found.background) == (chosen, background)


def test_figures_of_a_region_are_rounded_and_in_pixels_of_the_frames():
    found = described(is_object=[(0, 3)], balance=-0.12345, motion=(0.34567, UNKNOWN), step=2)
    assert (found.x, found.y, found.width, found.height) == (8, 6, 12, 8)
    assert (found.pixels, found.overruled_pixels, found.sample) == (96, 72, 17)
    assert (found.share_before, found.share_after) == (0.75, 0.3)
    assert (found.edge_balance, found.edge_motion_px) == (-0.123, (0.346, None))
    assert described(counts=(1, 13)).share_after == 0.325


def test_boxes_end_with_the_picture():
    found = described(step=4)
    assert (found.x + found.width, found.y + found.height) == (31, 24)


@pytest.mark.parametrize(("balance", "tells"), [(0.1, True), (0.0999, False), (-0.1, True)])
def test_an_outline_tells_from_a_tenth_on(balance, tells):
    words = region(edge_balance=balance).reason
    assert words.startswith("only the light changed") == tells
    left = region(chosen="object left", edge_balance=balance).reason
    assert ("more edges until then" in left) == (balance >= 0.1)
    came = region(chosen="object came", edge_balance=balance).reason
    assert ("more edges since then" in came) == (balance <= -0.1)


@pytest.mark.parametrize(("motion", "rests"), [(0.099, True), (0.1, False)])
def test_edges_rest_that_move_by_less_than_those_of_people(motion, rests):
    for sides, kind in (((motion, None), "before"), ((None, motion), "after")):
        words = region(background=kind, edge_motion_px=sides).reason
        assert ("pixels, less than the 0.1 of people" in words) == rests


@pytest.mark.parametrize(("motion", "rests"), [(0.14, True), (0.16, False)])
def test_where_a_codec_moves_edges_those_elsewhere_are_the_reason(motion, rests):
    for sides, elsewhere, kind in (
        ((motion, None), (0.1, None), "before"),
        ((None, motion), (None, 0.1), "after"),
    ):
        words = region(background=kind, edge_motion_px=sides, elsewhere_px=elsewhere).reason
        assert (f"by {motion} pixels, those elsewhere by 0.10:" in words) == rests
        assert ("at another change" in words) == (not rests)
        assert "of people" not in words
    still = region(background="before", edge_motion_px=(0.049, None), elsewhere_px=(0.02, None))
    assert "by 0.05 pixels, those elsewhere by 0.02" in still.reason


def test_edges_elsewhere_are_known_where_a_codec_freezes_the_film():
    found = described(is_thing=[(1, 3)], motion=(0.12, UNKNOWN), elsewhere=(0.1004, UNKNOWN))
    assert found.elsewhere_px == (0.1, None)
    assert found.reason.startswith("until then its edges moved by 0.12 pixels, those elsewhere")
    assert "elsewhere_px" not in found.to_json(0, 1, None)
    assert described().elsewhere_px == (None, None)


def test_times_are_given_to_the_microsecond():
    assert region().to_json(0, 3, 1.23456789)["first_time_s"] == 1.234568
