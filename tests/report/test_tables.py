from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.report.tables import list_rows, values_text

COLUMNS = ("method", "k", "seconds", "converged", "reason")
ROWS = [
    {"method": "trpca", "k": 1, "seconds": 0.0123456, "converged": True, "reason": ""},
    {"method": "a_b", "k": 10, "seconds": None, "converged": None, "reason": "50 % & λ | {x}"},
]

FORMATS = ("table", "csv", "json", "markdown", "latex")


def test_a_table_aligns_numbers_to_the_right():
    lines = list_rows("table", COLUMNS, ROWS).splitlines()
    assert lines[0] == "method   k  seconds  converged  reason"
    assert lines[1] == "trpca    1  0.01235        yes"
    assert lines[2] == "a_b     10                      50 % & λ | {x}"


def test_columns_without_any_value_are_left_out_of_the_table_alone():
    rows = [{"a": 1, "b": None, "c": ""}, {"a": 2, "b": None, "c": ""}]
    assert list_rows("table", ("a", "b", "c"), rows) == "a\n1\n2\n"
    assert list_rows("csv", ("a", "b", "c"), rows) == "a,b,c\n1,,\n2,,\n"


def test_csv_is_read_back():
    read = list(csv.DictReader(io.StringIO(list_rows("csv", COLUMNS, ROWS))))
    assert read[0] == {
        "method": "trpca", "k": "1", "seconds": "0.0123456", "converged": "1", "reason": ""
    }  # fmt: skip
    assert read[1]["reason"] == ROWS[1]["reason"]


def test_json_holds_facts_and_exact_values():
    read = json.loads(list_rows("json", COLUMNS, ROWS, schema_version=1))
    assert read == {"schema_version": 1, "rows": ROWS}


def test_markdown_escapes_bars():
    lines = list_rows("markdown", COLUMNS, ROWS).splitlines()
    assert lines[1] == "| --- | ---: | ---: | ---: | --- |"
    assert r"50 % & λ \| {x}" in lines[3]


def test_latex_escapes_what_latex_would_take_for_its_own():
    text = list_rows("latex", COLUMNS, ROWS)
    assert text.startswith("\\begin{tabular}{lrrrl}\n\\toprule\n")
    assert r"a\_b & 10 &  &  & 50 \% \& $\lambda$ | \{x\} \\" in text
    assert text.endswith("\\bottomrule\n\\end{tabular}\n")


def test_long_words_take_several_lines():
    rows = [{"name": "a", "text": "one two three --long-option four five"}]
    text = values_text(("name", "text"), rows, width=24)
    assert max(map(len, text.splitlines())) <= 24
    assert "--long-option" in text
    assert values_text(("name", "text"), rows, width=200) == values_text(("name", "text"), rows)


@pytest.mark.parametrize("form", FORMATS)
def test_no_row_is_no_error(form):
    assert list_rows(form, ("a", "b"), [])


@given(st.lists(st.text(max_size=8), min_size=1, max_size=4), st.sampled_from(FORMATS))
def test_any_text_can_be_listed(cells, form):
    rows = [{"a": cell, "b": 1} for cell in cells]
    assert list_rows(form, ("a", "b"), rows)
