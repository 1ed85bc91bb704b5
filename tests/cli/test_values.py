"""Types of click that come from rules: its own where they say the same, one line each."""

from __future__ import annotations

import click
import pytest

from bgsub.cli import options
from bgsub.errors import UsageError
from bgsub.rules import POSITIVE, Choice, File, Folder, Integer, Number, Rectangle, Switch, or_auto

K = click.Option(["--k"])


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (Integer(1, 9), click.IntRange),
        (POSITIVE, click.FloatRange),
        (Number("a number"), options.ByRule),
        (Choice(("a", "b")), click.Choice),
        (File(), click.Path),
        (Folder(), click.Path),
        (or_auto(Integer(1)), options.ByRule),
        (Rectangle(), options.ByRule),
    ],
)
def test_click_s_own_types_where_they_say_the_same(rule, kind) -> None:
    assert isinstance(options.click_type(rule), kind)


def test_ranges_have_the_bounds_of_the_rule() -> None:
    assert options.click_type(Integer(1, 9)).convert("9", K, None) == 9
    assert options.click_type(POSITIVE).convert("0.5", K, None) == 0.5
    for rule, bad in ((Integer(1, 9), "10"), (POSITIVE, "0"), (Choice(("a", "b")), "c")):
        with pytest.raises(UsageError, match=f"^--k {bad}: must be "):
            options.click_type(rule).convert(bad, K, None)


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_numbers_are_finite(value) -> None:
    with pytest.raises(UsageError, match="must be a number above 0"):
        options.click_type(POSITIVE).convert(value, K, None)


def test_what_a_rule_refuses_names_the_option() -> None:
    rank = options.click_type(or_auto(Integer(1)))
    assert [rank.convert(value, K, None) for value in ("7", 7, "Auto")] == [7, 7, "auto"]
    for bad in ("0", 0, "seven", 2.5):
        with pytest.raises(UsageError, match=f"^--k {bad}: must be a whole number of 1 or more"):
            rank.convert(bad, K, None)


def test_switches_need_no_type() -> None:
    with pytest.raises(UsageError, match="must be true or false"):
        options.click_type(Switch()).convert("yes", K, None)
