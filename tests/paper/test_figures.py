"""Figures of comparisons and experiments: they are drawn, whatever is missing."""

from __future__ import annotations

import io
from dataclasses import replace

import matplotlib.image
import numpy as np
import pytest

from bgsub.paper.figures import (
    render_decomposition,
    render_errors,
    render_sheet,
    render_times,
    render_tre,
)
from bgsub.paper.options import Comparison, MethodRow


@pytest.mark.figures
def test_there_is_a_panel_for_every_method(comparison):
    drawn = matplotlib.image.imread(io.BytesIO(render_errors(comparison)))
    assert drawn.shape[:2] == (470, 1100)


def test_svg_names_methods_and_reasons(comparison):
    text = render_errors(comparison, plot_format="svg").decode()
    for word in ("trpca", "pcp", "k = 1, 3: took 5", "k = 3", "true outliers shaded"):
        assert word in text


def test_the_decomposition_shows_what_there_is(comparison):
    text = render_decomposition(comparison, plot_format="svg").decode()
    assert text.count("no result") == 4
    assert "frame 25" in text


def test_tre_of_nothing_is_drawn_on_the_floor():
    names = ("share", "variant", "method", "t", "tre_mean", "tre_std")
    cells = [
        (0.1, "TRPCA", "trpca", "true", 0.0, 0.0),
        (0.2, "TRPCA", "trpca", "true", 1e-3, 1e-2),
        (0.1, "PCA", "pca", "", 2.0, 0.5),
        (0.2, "PCA", "pca", "", 3.0, 0.5),
    ]
    points = [dict(zip(names, row, strict=True)) for row in cells]
    panels = {"first": points, "other": points}
    text = render_tre(panels, "title", plot_format="svg").decode()
    for word in ("first", "other", "TRPCA", "told the true t"):
        assert word in text


@pytest.fixture
def sheet():
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


def test_every_picture_has_a_bar_of_its_own_scale(sheet):
    text = render_sheet(sheet, "own", plot_format="svg").decode()
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


def test_one_scale_for_all_has_one_bar(sheet):
    text = render_sheet(replace(sheet, chosen=[3]), "common", plot_format="svg").decode()
    assert text.count(">grey levels<") == 1
    assert "one scale for all" in text
    assert ">220<" not in text


def timed(names):
    numbers = np.arange(1, 31)
    rows = [
        MethodRow(method=method, variant=variant, k=k, t=15, seconds=seconds)
        for method, variant, seconds in names
        for k in (1, 3)
    ]
    return Comparison(
        "a$clip.avi", rows, numbers, numbers / 25, 100, None, [], [], {}, {}, {}, []
    )  # fmt: skip


def test_the_papers_times_are_marked_as_theirs():
    shown = timed([("trpca", "", 0.1), ("trpca", "(.5)", 0.2), ("pcp", "", None)])
    text = render_times(shown, plot_format="svg").decode()
    assert "the paper's own figures (2014)" in text
    assert "a$clip" not in text
    for name in ("trpca", "trpca(.5)"):
        assert f">{name}<" in text
    assert ">pcp<" not in text  # it has no result


@pytest.mark.figures(layout=False)
def test_methods_without_figures_of_the_paper_are_drawn():
    drawn = render_times(timed([("pca", "", 0.1)]))
    assert drawn.startswith(b"\x89PNG")
