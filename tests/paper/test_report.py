"""Figures of a comparison: they are drawn, whatever is missing."""

from __future__ import annotations

import io

import matplotlib.image
import pytest

from bgsub.paper.figures import render_decomposition, render_errors

pytestmark = pytest.mark.figures


def image(data):
    return matplotlib.image.imread(io.BytesIO(data))


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


def test_the_same_figure_twice_is_the_same_file(comparison):
    assert render_errors(comparison) == render_errors(comparison)
