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
    Share,
    Text,
)
from bgsub.rules import POSITIVE, Choice, Integer, Number, OrAuto, Several, Switch

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
        OrAuto(Integer(1)),
        [("auto", "auto"), (3, 3)],
        ["3", 0, None, "automatic", np.array([1, 2])],
    ),
    (OrAuto(Integer(2), auto=None), [("auto", None), (3, 3)], [1]),
    (File(), [("a", "a"), (Path("b/c"), str(Path("b/c")))], ["", "a\0b", 7, None, []]),
    (FileOfKind((".png",)), [("a.PNG", "a.PNG")], ["a", ".png/b", "", 7]),
    (Text(), [("a", "a")], [7, None, [], {}]),
    (
        PictureSize(),
        [("64x48", "64x48")],
        ["64", "64x", "0x48", "64X48", "64x48x3", 64, None, (64, 48)],
    ),
    (Duration(), [("10m", 600.0), (np.float32(0.5), 0.5)], ["soon", 0, math.inf, True, None, []]),
    (
        Duration(zero=True),
        [("0", 0.0), (0, 0.0)],
        ["", "-1s", -1, "s", "nans", "5G", "1e3", "ten", math.nan, "٣s"],
    ),
    (
        Rate(),
        [("12.5", "25/2"), (25, "25"), ("30000/1001", "30000/1001"), (Fraction(5, 2), "5/2")],
        ["fast", 0, "-1", None, [25]],
    ),
    (Share(), [(Fraction(1, 4), 0.25)], [0, 0.6, "1/4", True, None]),
    (Place(), [("12.5s", "12.5s"), (3, 3)], [0, "soon", True, None, [1], 1.5, math.inf]),
    (Place(step=True), [("2s", "2s"), ("5", "5")], [0, "0s"]),
    (
        Segment(),
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
        (OrAuto(Integer(1)), " Auto ", "auto"),
        (OrAuto(Integer(1)), "7", 7),
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
    assert Integer(1).words() == "a whole number of 1 or more"
    assert Integer(0, 9).words() == "a whole number of 0 to 9"
    assert OrAuto(Integer(2)).words() == "a whole number of 2 or more, or auto"


@pytest.mark.parametrize("text", ["", "  "])
def test_nothing_is_no_list_on_the_command_line(text) -> None:
    with pytest.raises(UsageError, match=r"^--only is empty: must be one of a, b, separated by"):
        Several(Choice(("a", "b"))).parse("--only", text)


def test_a_folder_is_looked_at_before_any_work(tmp_path):
    assert Folder().read("--temp", tmp_path) == str(tmp_path)
    with pytest.raises(OutputError, match=r"--temp .*none: does not exist"):
        Folder().read("--temp", tmp_path / "none")


def test_a_line_without_a_name_has_that_of_its_numbers():
    assert Segment().read("--line", "1,2,3,4")[0] == "1,2,3,4"
    assert Segment().read("--line", "a:b:1,2,3,4")[0] == "a:b"


@pytest.mark.parametrize(
    ("given", "seconds", "written"),
    [
        ("90", 90.0, "90s"),
        (" 2.5 s ", 2.5, "2.5s"),
        ("120m", 7200.0, "2h"),
        ("36h", 129600.0, "36h"),
        ("2d", 172800.0, "2d"),
        (".5", 0.5, "0.5s"),
        (0, 0.0, "0s"),
    ],
)
def test_a_time_is_stored_in_seconds_and_written_in_its_largest_unit(given, seconds, written):
    rule = Duration(zero=True)
    assert rule.read("--window", given) == rule.read("--window", written) == seconds
    assert rule.to_text(seconds) == written
