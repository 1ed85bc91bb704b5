"""Tabulate points of curves with a column for every share of outliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bgsub.experiments.report import TrePoint

_ROUNDING = 1e-9


def tre_table(
    points: Sequence[TrePoint], panel: Sequence[str]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Put the mean tre of a curve into one row.

    Parameters
    ----------
    points : sequence of TrePoint
    panel : sequence of str
        Attributes of the points that tell one panel from another.

    Returns
    -------
    header : list of str
    rows : list of dict
        Panel by panel, variant by variant; tre to two digits, 0 for what rounding leaves.
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    shares = list(dict.fromkeys(_column(point) for point in points))
    for point in sorted(points, key=lambda p: _first(points, p, panel)):
        cells = {name: getattr(point, name) for name in panel}
        key = (*cells.values(), point.variant)
        row = rows.setdefault(key, {**cells, "variant": point.variant, **dict.fromkeys(shares)})
        small = point.tre_mean < _ROUNDING
        row[_column(point)] = 0.0 if small else float(f"{point.tre_mean:.1e}")
    return [*panel, "variant", *shares], list(rows.values())


def _column(point: TrePoint) -> str:
    return f"λ = {point.share:g}"


def _first(points: Sequence[TrePoint], point: TrePoint, panel: Sequence[str]) -> int:
    """Give the place of a panel among the panels."""
    places = [[getattr(each, name) for name in panel] for each in points]
    return places.index([getattr(point, name) for name in panel])
