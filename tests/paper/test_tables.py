"""Tables of curves, with the shares side by side."""

from __future__ import annotations

from bgsub.paper.figures import tre_table


def point(data, share, variant, value):
    return {"data": data, "p": 20, "share": share, "variant": variant, "tre_mean": value}


def test_panels_stay_together_and_shares_become_columns():
    points = [
        point("A", 0.1, "x", 1e-14), point("A", 0.1, "y", 0.1234),
        point("B", 0.1, "x", 2.0), point("A", 0.45, "x", 0.00056),
    ]  # fmt: skip
    header, rows = tre_table(points, ("data", "p"))
    assert header == ["data", "p", "variant", "λ = 0.1", "λ = 0.45"]
    assert rows == [
        {"data": "A", "p": 20, "variant": "x", "λ = 0.1": 0.0, "λ = 0.45": 0.00056},
        {"data": "A", "p": 20, "variant": "y", "λ = 0.1": 0.12, "λ = 0.45": None},
        {"data": "B", "p": 20, "variant": "x", "λ = 0.1": 2.0, "λ = 0.45": None},
    ]
