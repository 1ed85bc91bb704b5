import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import UsageError
from bgsub.video.selection import Position, format_time, parse_position, parse_step


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
def test_forms(text, frame, seconds):
    assert parse_position(text) == Position(frame, seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s",
        "-1",
        "1.5",
        "-2s",
        "1:2:3:4",
        "00:61",
        "1:60:00",
        "1e3s",
        "nan",
        "²",
        "12,5s",
        "infs",
    ],
)
def test_nonsense_is_named(text):
    with pytest.raises(UsageError, match=r"start .* is not understood; give a frame number"):
        parse_position(text, "start")


def test_frames_are_counted_from_one():
    with pytest.raises(UsageError, match="start 0: frames are counted from 1"):
        parse_position("0", "start")


@pytest.mark.parametrize("text", ["0", "0s", 0, "00:00"])
def test_no_step(text):
    with pytest.raises(UsageError, match=r"every 0.*1 frame at least"):
        parse_step(text, "every")


def test_a_step_may_be_either():
    assert (parse_step("3").frame, parse_step("0.5s").seconds) == (3, 0.5)


@given(st.integers(0, 400 * 3600 * 1000))
def test_written_times_are_read_back(milliseconds):
    seconds = parse_position(format_time(milliseconds / 1000)).seconds
    assert seconds == pytest.approx(milliseconds / 1000, abs=1e-6)


@given(st.integers(1, 10**9) | st.floats(0, 1e6, allow_nan=False))
def test_positions_are_read_back(value):
    position = (
        Position(frame=value) if isinstance(value, int) else Position(seconds=round(value, 3))
    )
    assert parse_position(str(position)) == position


@given(st.text())
def test_any_text_is_a_position_or_a_usage_error(text):
    with contextlib.suppress(UsageError):
        position = parse_position(text)
        assert (position.frame or 1) >= 1
        assert (position.seconds or 0) >= 0
