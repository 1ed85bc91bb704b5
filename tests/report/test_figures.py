"""Figures of comparisons and experiments: they are drawn, whatever is missing."""

from __future__ import annotations

from bgsub.report.figures import METHOD_COLORS, METHOD_MARKERS
from bgsub.robustpca.competitors import COMPARED


def test_every_method_has_a_colour_and_a_mark_of_its_own():
    assert set(METHOD_COLORS) == set(METHOD_MARKERS) == set(COMPARED)
    assert len(set(METHOD_COLORS.values())) == len(set(METHOD_MARKERS.values())) == len(COMPARED)
