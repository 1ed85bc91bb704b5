"""Rules of paths, places and amounts; what all rules have in common is in test_rules."""

from fractions import Fraction

import pytest

from bgsub.errors import OutputError, UsageError
from bgsub.input_rules import Drawing, File, Folder, Memory, Place, Rate, Rectangle, Segment


def test_a_folder_is_looked_at_before_any_work(tmp_path):
    assert Folder().read("--temp", tmp_path) == str(tmp_path)
    with pytest.raises(OutputError, match=r"--temp .*none: does not exist"):
        Folder().read("--temp", tmp_path / "none")


@pytest.mark.parametrize("name", ["a.png", "b/c.SVG"])
def test_a_drawing_says_its_format_by_its_name(name):
    assert Drawing().read("--plot", name) == name
    with pytest.raises(UsageError, match=r"--plot a.pdf: the name must end with .png or .svg"):
        Drawing().read("--plot", "a.pdf")


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


@pytest.mark.parametrize("rule", [File(), Drawing(), Folder(), Place(), Rate(), Rectangle()])
def test_words_complete_a_sentence(rule):
    words = rule.words()
    assert not words.startswith(("must", "A "))
    assert not words.endswith(".")


def test_amounts_stay_as_they_are_written():
    assert Memory().read("--memory", "1.5G") == "1.5G"
    with pytest.raises(UsageError, match="must be an amount such as 600M"):
        Memory().read("--memory", "lots")
