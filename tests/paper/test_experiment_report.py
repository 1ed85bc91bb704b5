"""Figures of the experiments: what is below the floor is drawn on it."""

from __future__ import annotations

import io

import matplotlib.image
import pytest

from bgsub.paper.figures import render_tre

pytestmark = pytest.mark.figures


def image(data):
    return matplotlib.image.imread(io.BytesIO(data))


def test_tre_of_nothing_is_drawn_on_the_floor():
    names = ("share", "variant", "method", "t", "tre_mean", "tre_std")
    cells = [
        (0.1, "TRPCA", "trpca", "true", 0.0, 0.0),
        (0.2, "TRPCA", "trpca", "true", 1e-3, 1e-2),
        (0.1, "PCA", "pca", "", 2.0, 0.5),
        (0.2, "PCA", "pca", "", 3.0, 0.5),
    ]
    points = [dict(zip(names, row, strict=True)) for row in cells]
    panels = {"first": points, "second": points, "third": points}
    text = render_tre(panels, "title", plot_format="svg").decode()
    for word in ("first", "third", "TRPCA", "told the true t"):
        assert word in text
    assert image(render_tre(panels, "title")).ndim == 3
