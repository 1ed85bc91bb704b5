"""What segments are joined into; tests/segments/test_run.py says that every frame is right."""

from __future__ import annotations

import pytest

from bgsub.errors import OutputError
from bgsub.pipeline.manifest import Stopwatch
from bgsub.pipeline.results import ResultsDirectory
from bgsub.segments.join import MODELS, join_segments, joined_names
from bgsub.segments.plan import Segment, SegmentPlan


def test_models_are_a_folder_and_all_else_is_named_as_of_any_run(options):
    chosen = options(outputs={"model", "mask", "errors", "plot"}, format="mkv", plot_format="svg")
    assert sorted(joined_names(chosen)) == ["errors.csv", "errors.svg", "mask.mkv", MODELS]
    assert joined_names(options(outputs={"mask"}, format="mkv")) == ["mask.mkv"]


def test_a_missing_segment_is_named_and_nothing_is_left(options, tmp_path):
    chosen = options(outputs={"mask"})
    segments = tuple(Segment(n, 10 * n, 10 * n + 9, "") for n in range(1, 8))
    plan = SegmentPlan({"name": "a", "sha256": ""}, chosen, segments, "")
    out = tmp_path / "out"
    with (
        pytest.raises(OutputError, match=r"7 of 7 segments are missing \(1, 2, 3, 4, 5, …\)"),
        ResultsDirectory(out, joined_names(chosen)) as results,
    ):
        join_segments(out, results, plan, Stopwatch())
    assert not out.exists() or not list(out.iterdir())
