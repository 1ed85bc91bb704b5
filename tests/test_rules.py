"""Rules: what each accepts from Python, JSON and text, and how it refuses the rest."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import OutputError, UsageError
from bgsub.rules import (
    FALSE_ALARMS,
    PICTURE_SIZE,
    POSITIVE,
    Choice,
    Duration,
    Facts,
    File,
    FileOfKind,
    Folder,
    Integer,
    Line,
    ListOf,
    Memory,
    Nullable,
    Number,
    Or,
    Position,
    Rate,
    Rectangle,
    Several,
    Switch,
    Text,
)

SHARE = Number("a share from 0 to below 1", 0.0, 1.0, open_most=True)

# A rule, what it accepts and stores, and what it refuses.
RULES = [
    (Integer(1), [(1, 1), (np.int64(7), 7)], [0, -1, 2.0, 2.5, True, None, "3", [], math.nan]),
    (Integer(0, 9), [(0, 0), (9, 9)], [10, -1]),
    (POSITIVE, [(1, 1.0), (np.float32(0.5), 0.5)], [0, -1, math.inf, math.nan, "1", True, None]),
    (POSITIVE, [(Fraction(1, 2), 0.5)], [10**400, {}, 1j]),
    (SHARE, [(0, 0.0), (0.99, 0.99)], [1, 1.0, -0.01]),
    (Choice(("a", "b")), [("a", "a")], ["c", "A", None, 1, ["a"], {}]),
    (Switch(), [(True, True), (False, False)], [1, 0, "true", None]),
    (
        Or(Integer(1), {"auto": "auto"}),
        [("auto", "auto"), (3, 3)],
        ["3", 0, None, "automatic", np.array([1, 2])],
    ),
    (Or(Integer(2), {"auto": None}), [("auto", None), (3, 3)], [1]),
    (File(), [("a", "a"), (Path("b/c"), str(Path("b/c")))], ["", "a\0b", 7, None, []]),
    (FileOfKind((".png",)), [("a.PNG", "a.PNG")], ["a", ".png/b", "", 7]),
    (Text(), [("a", "a")], [7, None, [], {}]),
    (PICTURE_SIZE, [("64x48", "64x48")], ["64", 64, None, [64, 48]]),
    (Duration(), [("10m", 600.0), (np.float32(0.5), 0.5)], ["soon", 0, math.inf, True, None, []]),
    (FALSE_ALARMS, [(Fraction(1, 4), 0.25)], [0, 0.6, "1/4", True, None]),
    (Position(), [("12.5s", "12.5s"), (3, 3)], [0, "soon", True, None, [1], 1.5, math.inf]),
    (Position(step=True), [("2s", "2s"), ("5", "5")], [0, "0s"]),
    (
        Line(),
        [("gate:1,2,3,4", ("gate", 1, 2, 3, 4)), (["a", 1, 2, 3, 4], ("a", 1, 2, 3, 4))],
        ["1,2,3", "1,2,1,2", "1,2,3,x", "inf,0,1,1", 7, [1, 2, 3, 4]],
    ),
    (Rectangle(), [("1,2,3,4", (1, 2, 3, 4)), ([1, 2, 3, 4], (1, 2, 3, 4))], ["1,2", 7, [1.5] * 4]),
    (Memory(), [("600M", "600M"), ("50%", "50%")], ["much", "0", "200%", 7, None, math.inf]),
    (Several(Integer(1)), [((3, 1, 3), (3, 1)), ([], ())], ["1", 1, [0], [1.5], None]),
    (Several(Integer(1), least=1), [([2], (2,))], [[], ()]),
    (
        Several(Choice(("a", "b")), frozenset),
        [({"a"}, {"a"}), (iter("ab"), {"a", "b"})],
        ["a", ["c"], [{}], 7],
    ),
]


@pytest.mark.parametrize(("rule", "good", "bad"), RULES)
def test_what_is_accepted_and_what_is_not(rule, good, bad):
    for value, stored in good:
        found = rule.read("--x", value)
        assert found == stored
        assert type(found) is type(stored) or isinstance(found, frozenset)
    for value in bad:
        with pytest.raises(UsageError) as caught:
            rule.read("--x", value)
        message = str(caught.value)
        assert message.startswith("--x")
        assert "\n" not in message


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=6,
    ),
    st.sampled_from([rule for rule, _, _ in RULES]),
)
def test_any_json_is_read_or_refused_and_goes_back(value, rule):
    try:
        stored = rule.read("--x", value)
    except UsageError:
        return
    if stored is not None:  # auto, where None means it
        plain = json.loads(json.dumps(rule.to_json(stored), allow_nan=False))
        assert rule.read("--x", plain) == stored


@given(st.text(max_size=12), st.sampled_from([rule for rule, _, _ in RULES]))
def test_any_text_is_read_or_refused(text, rule):
    try:
        stored = rule.parse("--x", text)
    except UsageError:
        return
    assert stored is None or rule.read("--x", stored) == stored


@pytest.mark.parametrize(
    ("rule", "text", "stored"),
    [
        (Integer(1), "7", 7),
        (SHARE, "0.25", 0.25),
        (Or(Integer(1), {"auto": "auto"}), " Auto ", "auto"),
        (Or(Integer(1), {"auto": "auto"}), "7", 7),
        (Several(SHARE, least=1), "0.1, 0.2,0.1", (0.1, 0.2)),
        (Several(Choice(("a", "b")), frozenset), "a , b", {"a", "b"}),
        (Rectangle(), "1,2,30,40", (1, 2, 30, 40)),
    ],
)
def test_text(rule, text, stored):
    assert rule.parse("--x", text) == stored


@pytest.mark.parametrize("text", ["", "a,", "c", "a b"])
def test_one_wrong_name_is_named(text):
    with pytest.raises(UsageError, match=r"--x .*: must be one of a, b"):
        Several(Choice(("a", "b")), frozenset).parse("--x", text)


def test_words_say_the_bounds():
    assert str(Integer(1)) == "a whole number of 1 or more"
    assert str(Integer(0, 9)) == "a whole number of 0 to 9"
    assert str(Or(Integer(2), {"auto": "auto"})) == "a whole number of 2 or more, or auto"


@pytest.mark.parametrize("text", ["", "  "])
def test_nothing_is_no_list_on_the_command_line(text) -> None:
    with pytest.raises(UsageError, match=r"^--only is empty: must be one of a, b, separated by"):
        Several(Choice(("a", "b"))).parse("--only", text)


def test_a_folder_is_looked_at_before_any_work(tmp_path):
    assert Folder().read("--temp", tmp_path) == str(tmp_path)
    with pytest.raises(OutputError, match=r"--temp .*none: does not exist"):
        Folder().read("--temp", tmp_path / "none")


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
    assert Line().read("--line", "1,2,3,4")[0] == "1,2,3,4"
    assert Line().read("--line", "a:b:1,2,3,4")[0] == "a:b"
    assert Line().to_json(("gate", 1.0, 2.0, 3.0, 4.0)) == ["gate", 1.0, 2.0, 3.0, 4.0]


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


def test_no_time_at_all_is_one_where_a_rule_says_so():
    rule = Duration(zero=True)
    assert rule.read("--before", "0") == rule.read("--before", 0) == 0.0
    assert rule.to_text(0.0) == "0s"
    for wrong in ("-1s", -1, "s", "nans"):
        with pytest.raises(UsageError, match=r"--before .*: must be a time of 0 or more"):
            rule.read("--before", wrong)


def test_facts_of_a_file_are_named_by_their_place():
    rule = Facts({"size": ListOf(Integer(1), 2), "rate": Nullable(POSITIVE)}, frozenset({"rate"}))
    assert rule.read("", {"size": [3, 4], "rate": None, "more": 1})["more"] == 1
    for wrong, message in (
        ({"rate": 1}, "size is missing: must be a list of 2, of which each is a whole number"),
        ({"size": [3]}, "size list: must be a list of 2"),
        ({"size": [3, 0]}, r"size\[1\] 0: must be a whole number of 1 or more"),
        ({"size": [3, 4], "rate": 0}, "rate 0: must be a number above 0"),
        ([], "list: must be an object with size, rate"),
    ):
        with pytest.raises(UsageError, match=message):
            rule.read("", wrong)
