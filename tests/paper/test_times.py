"""Run times beside the paper's: drawn with and without figures of theirs."""

from __future__ import annotations

import numpy as np

from bgsub.paper.figures import render_times
from bgsub.paper.options import Comparison, MethodRow


def comparison_of(names):
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
    shown = comparison_of([("trpca", "", 0.1), ("trpca", "(.5)", 0.2), ("pcp", "", None)])
    text = render_times(shown, plot_format="svg").decode()
    assert "the paper's own figures (2014)" in text
    assert "a$clip" not in text
    for name in ("trpca", "trpca(.5)"):
        assert f">{name}<" in text
    assert ">pcp<" not in text  # it has no result


def test_methods_without_figures_of_the_paper_are_drawn():
    drawn = render_times(comparison_of([("pca", "", 0.1)]))
    assert drawn.startswith(b"\x89PNG")
