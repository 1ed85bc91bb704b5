"""Figures of the experiments: what is below the floor is drawn on it."""

from __future__ import annotations

import io
from dataclasses import dataclass

import matplotlib.image
import pytest

from bgsub.paper.figures import Panel, render_tre

pytestmark = pytest.mark.figures


def image(data):
    return matplotlib.image.imread(io.BytesIO(data))


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
