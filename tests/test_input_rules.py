"""Rules of paths, places and amounts; what all rules have in common is in test_rules."""

from fractions import Fraction

import pytest

from bgsub.errors import OutputError, UsageError
from bgsub.input_rules import (
    Duration,
    File,
    FileOfKind,
    Folder,
    Memory,
    PictureSize,
    Place,
    Rate,
    Rectangle,
    Segment,
    Text,
)

DRAWING = FileOfKind((".png", ".svg"))


def test_a_folder_is_looked_at_before_any_work(tmp_path):
    assert Folder().read("--temp", tmp_path) == str(tmp_path)
    with pytest.raises(OutputError, match=r"--temp .*none: does not exist"):
        Folder().read("--temp", tmp_path / "none")


@pytest.mark.parametrize("name", ["a.png", "b/c.SVG"])
def test_a_drawing_says_its_format_by_its_name(name):
    assert DRAWING.read("--plot", name) == name
    with pytest.raises(UsageError, match=r"--plot a.pdf: the name must end with .png or .svg"):
        DRAWING.read("--plot", "a.pdf")


@pytest.mark.parametrize(
    ("given", "stored"),
    [("12.5", "25/2"), (25, "25"), ("30000/1001", "30000/1001"), (Fraction(5, 2), "5/2")],
)
def test_a_rate_is_kept_exactly(given, stored):
    assert Rate().read("--fps", given) == stored


@pytest.mark.parametrize("given", ["fast", 0, "-1", None, [25]])
def test_what_is_no_rate_is_refused(given):
    with pytest.raises(UsageError, match="--fps"):
        Rate().read("--fps", given)


def test_a_line_without_a_name_has_that_of_its_numbers():
    assert Segment().read("--line", "1,2,3,4")[0] == "1,2,3,4"
    assert Segment().read("--line", "a:b:1,2,3,4")[0] == "a:b"
    assert Segment().to_json(("gate", 1.0, 2.0, 3.0, 4.0)) == ["gate", 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    "rule",
    [
        *(File(), DRAWING, Folder(), Place(), Rate(), Rectangle()),
        *(Text(), Duration(), PictureSize()),
    ],
)
def test_words_complete_a_sentence(rule):
    words = rule.words()
    assert not words.startswith(("must", "A "))
    assert not words.endswith(".")


def test_amounts_stay_as_they_are_written():
    assert Memory().read("--memory", "1.5G") == "1.5G"
    with pytest.raises(UsageError, match="must be an amount such as 600M"):
        Memory().read("--memory", "lots")


@pytest.mark.parametrize(
    ("given", "seconds", "written"),
    [
        ("90", 90.0, "90s"),
        (" 2.5 s ", 2.5, "2.5s"),
        ("10m", 600.0, "10m"),
        ("120m", 7200.0, "2h"),
        ("36h", 129600.0, "36h"),
        ("2d", 172800.0, "2d"),
        (0.1, 0.1, "0.1s"),
        (3600, 3600.0, "1h"),
        (".5", 0.5, "0.5s"),
    ],
)
def test_a_time_is_stored_in_seconds_and_written_in_its_largest_unit(given, seconds, written):
    rule = Duration()
    assert rule.read("--window", given) == seconds
    assert rule.to_text(seconds) == written
    assert rule.read("--window", written) == seconds


@pytest.mark.parametrize(
    "given", ["", "0", "0s", "5G", "-3s", "ten", "1e3", 0, -1.0, True, None, float("nan"), "٣s"]
)
def test_what_is_no_time_is_refused(given):
    with pytest.raises(UsageError, match=r"--window .*: must be a time above 0, such as 30s"):
        Duration().read("--window", given)


def test_a_size_is_two_numbers():
    assert PictureSize().read("--size", "640x480") == "640x480"
    for given in ("640", "640x", "0x480", "640X480", "640x480x3", (640, 480)):
        with pytest.raises(UsageError, match=r"--size .*: must be WIDTHxHEIGHT, such as 640x480"):
            PictureSize().read("--size", given)


def test_a_text_is_any_but_nothing_else():
    assert Text().read("--region", "") == ""
    with pytest.raises(UsageError, match="--region 7: must be a text"):
        Text().read("--region", 7)


def test_no_time_at_all_is_one_where_a_rule_says_so():
    rule = Duration(zero=True)
    assert rule.read("--before", "0") == rule.read("--before", 0) == 0.0
    assert rule.to_text(0.0) == "0s"
    for wrong in ("-1s", -1, "s", "nans"):
        with pytest.raises(UsageError, match=r"--before .*: must be a time of 0 or more"):
            rule.read("--before", wrong)
