"""Options of a comparison, and the rows of its table."""

from __future__ import annotations

import pytest

from bgsub.errors import UsageError
from bgsub.options import RunOptions, SourceOptions
from bgsub.paper.options import COLUMNS, CompareOptions
from bgsub.robustpca.competitors import METHODS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ("svd",)}, "--methods svd: must be one of trpca"),
        ({"ks": ()}, "--k is empty: must be"),
        ({"ks": (0,)}, "--k 0"),
        ({"frames": (0,)}, "--frames 0"),
        ({"timeout": 0.0}, "--timeout 0"),
    ],
)
def test_options_are_checked(changes, message):
    with pytest.raises(UsageError, match=message):
        CompareOptions(**changes)


def test_options_are_plain_json():
    source = SourceOptions(every=2, roi=(0, 0, 8, 8))
    plain = CompareOptions(run=RunOptions(source=source), ks=(1, 3)).to_json()
    assert plain["k"] == [1, 3]
    assert plain["source"]["every"] == 2
    assert plain["methods"] == list(METHODS)


def test_methods_and_ks_come_in_the_order_of_the_rows(comparison):
    assert comparison.names == ["trpca", "pcp"]
    assert comparison.ks == [1, 3]
    assert [row.failed for row in comparison.rows] == [False, False, True, True]
    assert tuple(comparison.rows[0].cells()) == COLUMNS
