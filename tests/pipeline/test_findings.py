"""What a run says in plain language: what it found, and what looks wrong."""

import numpy as np
import pytest

from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.scene_change import SceneChange
from bgsub.pipeline.findings import mask_hints, outlier_findings, plural
from bgsub.pipeline.outputs import MaskTally


def make_table(outliers, n=100, scene_change=None, first=1):
    scores = np.ones(n)
    scores[[number - first for number in outliers]] = 50
    return ErrorTable(
        frames=np.arange(first, first + n),
        times=np.arange(n) * 0.1,
        errors=scores,
        pixels=10,
        scores=scores,
        scene_change=scene_change,
    )


STAND, MORE = "stand out from the background:", "(see `bgsub errors`)"


class TestFindings:
    @pytest.mark.parametrize(
        ("outliers", "line"),
        [
            ([], "none of 100 frames stands out from the background"),
            ([7], "1 of 100 frames stands out from the background: 7"),
            ([7, 8, 9, 30], "4 of 100 frames stand out from the background: 7-9, 30"),
            (range(1, 14, 2), f"7 of 100 frames {STAND} 1-13"),
            (range(1, 100, 16), f"7 of 100 frames {STAND} 1, 17, 33, 49, 65 and 2 more {MORE}"),
        ],
    )
    def test_outliers_and_their_spans(self, outliers, line):
        assert outlier_findings(make_table(outliers)) == [line]

    def test_frames_have_the_numbers_of_the_input(self):
        assert outlier_findings(make_table([1007], first=1001))[0].endswith(": 1007")

    def test_a_lasting_change_is_said_in_words(self):
        change = SceneChange(91, 3.6)
        lines = outlier_findings(make_table([5, *range(91, 101)], scene_change=change))
        assert lines[-1] == "from 91 to the end the scene stays different"
        assert lines[0].endswith(": 5")

    def test_plural(self):
        assert [plural(n, "frame") for n in (0, 1, 2)] == ["0 frames", "1 frame", "2 frames"]


def tally_of(*shares, pixels=100):
    tally = MaskTally(pixels)
    for share in shares:
        tally.add(share)
    return tally


class TestMaskHints:
    def test_nothing_to_say_of_ordinary_masks_and_of_none(self):
        assert mask_hints(tally_of(0, 0.2, 0.9), 20) == []
        assert mask_hints(tally_of(), 20) == []
        assert mask_hints(None, None) == []

    def test_empty_masks(self):
        (hint,) = mask_hints(tally_of(0, 0, 0), 20)
        assert "every mask is empty" in hint
        assert "20 grey levels" in hint
        assert "--threshold" in hint

    def test_full_masks(self):
        (hint,) = mask_hints(tally_of(0, 0.9, 1.0), 20)
        assert "nearly full (63% on average)" in hint
        assert "--threshold" in hint
