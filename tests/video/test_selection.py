import contextlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bgsub.errors import UsageError
from bgsub.video.selection import (
    Picker,
    Position,
    Region,
    Selection,
    format_time,
    parse_position,
    parse_region,
    parse_step,
    sample_rows,
)

RATE = Fraction(25)


def pick(selection, frames=100, rate=RATE):
    picker, picked = Picker(selection), []
    for number in range(1, frames + 1):
        time_s = float((number - 1) / rate)
        if picker.is_past(number, time_s):
            break
        if picker.wants(number, time_s):
            picked.append(number)
    return picked


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection.parse(), range(1, 101)),
        (Selection.parse(start=20, end=30), range(20, 31)),
        (Selection.parse(start="1s", end="2s"), range(26, 52)),
        (Selection.parse(start=11, every=10), range(11, 101, 10)),
        (Selection.parse(end="0.2s"), range(1, 7)),
        (Selection.parse(every="0.1s"), range(1, 101, 3)),
        (Selection.parse(every="0.12s"), range(1, 101, 3)),
        (Selection.parse(start="00:00:01.000", end=30, every="0.04s"), range(26, 31)),
        (Selection.parse(start=500), []),
        (Selection.parse(start="3s", end=20), []),
    ],
)
def test_what_is_picked(selection, expected):
    assert pick(selection) == list(expected)
    assert selection.estimate(100, RATE) == len(expected)


POSITIONS = st.none() | st.integers(1, 120) | st.integers(0, 480).map(lambda n: f"{n / 100}s")
STEPS = st.none() | st.integers(1, 30) | st.integers(1, 100).map(lambda n: f"{n / 100}s")


@given(POSITIONS, POSITIONS, STEPS)
def test_estimates_are_exact_at_a_constant_rate(start, end, every):
    try:
        selection = Selection.parse(start, end, every)
    except UsageError:
        assume(False)
    assert selection.estimate(100, RATE) == len(pick(selection))


def test_estimates_that_cannot_be_made():
    assert Selection().estimate(None, RATE) is None
    assert Selection.parse(end=7).estimate(None, None) == 7
    assert Selection.parse(start="1s").estimate(100, None) is None
    assert Selection.parse(every="1s").estimate(100, None) is None


def test_end_before_start():
    with pytest.raises(UsageError, match="end 3 lies before start 5"):
        Selection.parse(start=5, end=3)
    with pytest.raises(UsageError, match=r"end 1s lies before start 2\.5s"):
        Selection.parse(start="2.5s", end="1s")


@pytest.mark.parametrize("value", ["1,2,30,40", (1, 2, 30, 40), Region(1, 2, 30, 40)])
def test_regions(value):
    assert parse_region(value) == Region(1, 2, 30, 40)


@pytest.mark.parametrize("value", ["1,2,3", "a,b,c,d", "", "1,2,3,4,5", (1, 2, None, 4)])
def test_regions_that_are_none(value):
    with pytest.raises(UsageError, match="give X,Y,W,H"):
        parse_region(value)


@pytest.mark.parametrize("value", ["-1,0,4,4", "0,0,0,4", "0,0,4,-4"])
def test_regions_without_pixels(value):
    with pytest.raises(UsageError, match="1 or more"):
        parse_region(value)


@pytest.mark.parametrize(
    ("text", "frame", "seconds"),
    [
        (1, 1, None),
        ("250", 250, None),
        (" 250f ", 250, None),
        ("12.5s", None, 12.5),
        (".5s", None, 0.5),
        ("0s", None, 0.0),
        ("01:30", None, 90.0),
        ("90:00.25", None, 5400.25),
        ("1:02:03.004", None, 3723.004),
    ],
)
def test_forms_of_positions(text, frame, seconds):
    assert parse_position(text) == Position(frame, seconds)


NONSENSE = ("", "s", "-1", "1.5", "-2s", "1:2:3:4", "00:61", "1:60:00", "1e3s", "nan", "²", "12,5s")


@pytest.mark.parametrize("text", NONSENSE)
def test_nonsense_is_named(text):
    with pytest.raises(UsageError, match=r"start .* is not understood; give a frame number"):
        parse_position(text, "start")


@pytest.mark.parametrize("text", ["0", "0s", 0, "00:00"])
def test_no_step(text):
    with pytest.raises(UsageError, match=r"every 0.*1 frame at least"):
        parse_step(text, "every")


@given(st.integers(0, 400 * 3600 * 1000), st.floats(-0.49, 0.49))
def test_written_times_are_read_back(milliseconds, more):
    """To the nearest millisecond."""
    seconds = parse_position(format_time(abs(milliseconds + more) / 1000)).seconds
    assert seconds == pytest.approx(milliseconds / 1000, abs=1e-6)


@given(st.text())
def test_any_text_is_a_position_or_a_usage_error(text):
    with contextlib.suppress(UsageError):
        position = parse_position(text)
        assert (position.frame or 1) >= 1
        assert (position.seconds or 0) >= 0


@pytest.mark.parametrize(("n", "m"), [(2001, 2000), (20_000, 2000), (7, 3), (100, 99), (5, 9)])
def test_a_sample_is_one_frame_of_each_of_equal_stretches(n, m):
    rows = sample_rows(n, m, 5)
    assert np.array_equal(rows, sample_rows(n, m, 5))
    assert rows.size == min(n, m)
    edges = np.arange(rows.size + 1) * n / rows.size
    assert ((rows >= np.floor(edges[:-1])) & (rows < edges[1:])).all()
