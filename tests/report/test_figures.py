"""Figures of comparisons and experiments: they are drawn, whatever is missing."""

from __future__ import annotations

import io
from dataclasses import dataclass

import matplotlib.image
import numpy as np
import pytest

from bgsub.comparison.report import render_decomposition, render_errors
from bgsub.comparison.result import Comparison, MethodRow
from bgsub.experiments.report import Panel, render_tre
from bgsub.experiments.times import render_times
from bgsub.report.figures import METHOD_COLORS, METHOD_MARKERS
from bgsub.robustpca.competitors.methods import METHODS


def image(data):
    return matplotlib.image.imread(io.BytesIO(data))


@pytest.fixture
def comparison():
    rng = np.random.default_rng(0)
    numbers = np.arange(1, 31)
    errors = 100 * 25 + 100.0 * rng.random(30)
    errors[20:] *= 9
    picture = rng.uniform(0, 255, (12, 16))
    rows = [
        MethodRow(method="trpca", k=k, t=15, seconds=0.1 * k, errors=errors / k) for k in (1, 3)
    ]
    rows += [MethodRow(method="pcp", k=k, t=15, reason="took 5 $ and λ") for k in (1, 3)]
    return Comparison(
        name="a$clip.avi",
        rows=rows,
        numbers=numbers,
        times=numbers / 25,
        pixels=100,
        labels=np.array([0] * 20 + [1] * 9 + [-1], dtype=np.int8),
        chosen=[3, 25],
        pictures=[picture, picture],
        backgrounds={"trpca": [picture, picture * 0.5]},
        stages={},
        facts={},
        warnings=[],
    )


def test_there_is_a_panel_for_every_method(comparison):
    drawn = image(render_errors(comparison))
    assert drawn.shape[:2] == (470, 1100)
    assert b"<svg" in render_errors(comparison, plot_format="svg")


def test_svg_names_methods_and_reasons(comparison):
    text = render_errors(comparison, plot_format="svg").decode()
    for word in ("trpca", "pcp", "k = 1, 3: took 5", "k = 3", "true outliers shaded"):
        assert word in text


def test_the_decomposition_shows_what_there_is(comparison):
    text = render_decomposition(comparison, plot_format="svg").decode()
    assert text.count("no result") == 4
    assert "frame 25" in text


def test_the_papers_times_are_marked_as_theirs(comparison):
    @dataclass
    class Seconds:
        low: float
        high: float

    text = render_times(comparison, {"trpca": Seconds(7, 119)}, plot_format="svg").decode()
    assert "the paper's own figures (2014)" in text
    assert "7 to" in text
    none = render_times(comparison, {}, plot_format="svg").decode()
    assert "none is known to us" in none


def test_the_same_figure_twice_is_the_same_file(comparison):
    assert render_errors(comparison) == render_errors(comparison)


@dataclass
class Point:
    share: float
    variant: str
    method: str
    t: str
    tre_mean: float
    tre_std: float


def test_tre_of_nothing_is_drawn_on_the_floor():
    points = [
        Point(0.1, "TRPCA", "trpca", "true", 0.0, 0.0),
        Point(0.2, "TRPCA", "trpca", "true", 1e-3, 1e-2),
        Point(0.1, "PCA", "pca", "", 2.0, 0.5),
        Point(0.2, "PCA", "pca", "", 3.0, 0.5),
    ]
    panels = [Panel("first", points), Panel("second", points), Panel("third", points)]
    text = render_tre(panels, "title", plot_format="svg").decode()
    for word in ("first", "third", "TRPCA", "told the true t"):
        assert word in text
    assert image(render_tre(panels, "title")).ndim == 3


def test_every_method_has_a_colour_and_a_mark_of_its_own():
    assert set(METHOD_COLORS) == set(METHOD_MARKERS) == set(METHODS)
    assert len(set(METHOD_COLORS.values())) == len(set(METHOD_MARKERS.values())) == len(METHODS)
