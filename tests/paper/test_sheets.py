"""Pictures of frames at two scalings, each with its scale."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.paper.figures import render_sheet
from bgsub.paper.options import Comparison, MethodRow

pytestmark = pytest.mark.figures


@pytest.fixture
def comparison():
    numbers = np.arange(1, 11)
    picture = np.linspace(20, 220, 48).reshape(6, 8)
    names = [("trpca", ""), ("trpca", "(.5)"), ("pcp", "")]
    rows = [MethodRow(method=m, variant=v, k=k, t=5) for m, v in names for k in (1, 3)]
    return Comparison(
        name="a$clip.avi",
        rows=rows,
        numbers=numbers,
        times=numbers / 25,
        pixels=48,
        labels=None,
        chosen=[3, 7],
        pictures=[picture, picture],
        backgrounds={f"{m}{v}": [picture - 30, 2 * picture - 20] for m, v in names[:2]},
        stages={},
        facts={},
        warnings=[],
    )


def test_every_picture_has_a_bar_of_its_own_scale(comparison):
    text = render_sheet(comparison, "own", plot_format="svg").decode()
    assert text.count("frame 3") == text.count("frame 7") == 1
    assert text.count(">foreground<") == 4
    assert text.count("no result") == 2
    for name in ("trpca", "trpca(.5)", "pcp"):
        assert text.count(f">{name}<") == 2
    # The frame from 20 to 220, a background 30 below it, and one of twice its contrast.
    for word in (">220<", ">-10<", ">190<", ">420<", ">-200<"):
        assert word in text
    assert "grey levels" not in text
    assert "k = 3" in text


def test_one_scale_for_all_has_one_bar(comparison):
    text = render_sheet(comparison, "common", plot_format="svg").decode()
    assert text.count(">grey levels<") == 1
    assert "one scale for all" in text
    assert ">220<" not in text
    assert render_sheet(comparison, "common", plot_format="svg").decode() == text
