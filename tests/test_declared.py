"""An option is declared once: checks, docstring and JSON come from the declaration."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pytest

from bgsub.declared import (
    Declared,
    declaration,
    declared_fields,
    default_in_words,
    documented,
    flag,
    option,
)
from bgsub.errors import InputError, UsageError
from bgsub.input_rules import Rectangle
from bgsub.rules import Integer


@documented
@dataclass(frozen=True, kw_only=True)
class Baking(Declared):
    """How bread is baked."""

    loaves: int = option("Dough", 2, Integer(1, 9), "Loaves to bake.")
    rest_hours: int | None = option("Dough", None, Integer(0), "Rest.", unset="overnight")
    pan: tuple[int, ...] = option("Oven", (0, 0, 20, 30), Rectangle(), "Place.", flag="--tray")
    oven: str = "gas"


def test_values_are_checked_where_options_are_made_and_stored_in_their_type():
    assert Baking(loaves=3, pan=[0, 0, 10, 12]).pan == (0, 0, 10, 12)
    with pytest.raises(UsageError, match="--loaves 10: must be a whole number of 1 to 9"):
        Baking(loaves=10)
    with pytest.raises(UsageError, match="--loaves None"):
        Baking(loaves=None)
    with pytest.raises(UsageError, match="--tray"):
        Baking(pan=[1, 2, 3])
    assert Baking(rest_hours=None).rest_hours is None


def test_json_goes_there_and_back_without_what_is_not_declared():
    given = Baking(loaves=4, rest_hours=8, oven="wood")
    plain = given.to_json()
    assert plain == {"loaves": 4, "rest_hours": 8, "pan": [0, 0, 20, 30]}
    assert Baking.from_json(plain) == Baking(loaves=4, rest_hours=8)
    assert Baking.from_json({}) == Baking()


def test_json_that_is_none_of_ours_is_refused():
    with pytest.raises(UsageError, match="option 'flour' is not known to this version"):
        Baking.from_json({"flour": 1})
    with pytest.raises(InputError, match="is damaged: its options are"):
        Baking.from_json([1, 2])
    with pytest.raises(UsageError, match="--rest-hours"):
        Baking.from_json({"rest_hours": "long"})


def test_names_on_the_command_line_follow_the_fields():
    found = declared_fields(Baking)
    assert [flag(one) for one in found] == ["--loaves", "--rest-hours", "--tray"]
    assert declaration(found[0]).section == "Dough"
    assert "oven" not in [one.name for one in found]
    assert "oven" in [one.name for one in fields(Baking)]


def test_defaults_in_words():
    assert [default_in_words(one) for one in declared_fields(Baking)] == [
        "",
        "overnight",
        "0,0,20,30",
    ]


def test_the_docstring_lists_the_options():
    text = Baking.__doc__
    assert text.startswith("How bread is baked.\n\nAttributes\n----------\nloaves : int\n")
    assert "    Rest. Default: overnight." in text
