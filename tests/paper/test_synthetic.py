from __future__ import annotations

import dataclasses

import pytest

from bgsub.paper.curves import VARIANTS, SyntheticOptions, run_synthetic

SMALL = SyntheticOptions(samples=80, features=(20,), components=3, shares=(0.2, 0.4), sets=2)


def without_seconds(points):
    return [{**point, "seconds": 0.0} for point in points]


@pytest.fixture(scope="module")
def points():
    return run_synthetic(SMALL)


def test_there_is_a_point_for_every_variant_and_share(points):
    assert len(points) == 2 * 2 * len(VARIANTS)
    assert all(p["sets"] == 2 and p["tre_mean"] >= 0 <= p["tre_std"] for p in points)


def test_the_claim_of_the_paper(points):
    """On Data1 with 40 % of outliers, TRPCA with true t has the smallest tre of all."""
    at = {p["variant"]: p["tre_mean"] for p in points if (p["data"], p["share"]) == ("Data1", 0.4)}
    assert at["TRPCA"] < 1e-9
    others = [v.name for v in VARIANTS if v.method != "trpca"]
    assert at["TRPCA"] < min(at[name] for name in others) / 100


def test_the_same_seed_gives_the_same_numbers_whatever_else_is_drawn(points):
    quick = tuple(v for v in VARIANTS if v.method in {"trpca", "pca"})
    fewer = dataclasses.replace(SMALL, shares=(0.4,))
    again = run_synthetic(fewer, variants=quick)
    names = {v.name for v in quick}
    before = [p for p in points if p["share"] == 0.4 and p["variant"] in names]
    assert without_seconds(again) == without_seconds(before)
    other = run_synthetic(dataclasses.replace(fewer, seed=1), variants=quick)
    assert without_seconds(other) != without_seconds(again)


def test_progress_goes_to_its_end():
    seen = []
    tiny = dataclasses.replace(SMALL, shares=(0.2,), sets=1)
    run_synthetic(tiny, variants=VARIANTS[-1:], progress=lambda *step: seen.append(step))
    assert seen == [("data sets", 1, 2), ("data sets", 2, 2)]
