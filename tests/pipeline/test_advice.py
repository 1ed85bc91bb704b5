"""What a run says in plain language: what it found, what looks wrong, and what to do."""

from types import SimpleNamespace

import numpy as np
import pytest

from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import find_events, outlier_frames
from bgsub.outliers.scene_change import SceneChange
from bgsub.pipeline.loop import SceneFrame
from bgsub.pipeline.outcome import (
    camera_hints,
    describe_outliers,
    fit_hints,
    mask_hints,
    sight_findings,
)
from bgsub.pipeline.outputs import MaskStatistics
from bgsub.pipeline.run import run
from bgsub.segmenter.protocol import MaskResult
from bgsub.video.frames import Layout


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


def outlier_findings(table):
    change = table.scene_change
    first = None if change is None else change.first_frame
    flagged = int(outlier_frames(table).sum())
    return describe_outliers(find_events(table), flagged, table.frames.size, first)


SHARE, ADVICE = "in 294 of 300 frames, 2.5 % of the pixels", "`bgsub events` lists when"
STAND, MORE = "stand out from the background:", "(see `bgsub errors`)"


class TestFindings:
    @pytest.mark.parametrize(
        ("outliers", "line"),
        [
            ([7], "1 of 100 frames stands out from the background: 7"),
            ([7, 8, 9, 30], "4 of 100 frames stand out from the background: 7-9, 30"),
            (range(1, 14, 2), f"7 of 100 frames {STAND} 1-13"),
            (range(1, 100, 16), f"7 of 100 frames {STAND} 1, 17, 33, 49, 65 and 2 more {MORE}"),
        ],
    )
    def test_outliers_and_their_spans(self, outliers, line):
        assert outlier_findings(make_table(outliers)) == [line]

    @pytest.mark.parametrize(
        ("empty", "lines"),
        [
            (
                280,
                [
                    "none of 300 frames stands out from the background",
                    "foreground in 20 of 300 frames, 2.5 % of the pixels",
                ],
            ),
            (6, [f"something is in sight {SHARE}, so no frame stands out: {ADVICE}"]),
        ],
    )
    def test_no_line_contradicts_another(self, empty, lines):
        facts = {"mask_frames": 300, "empty_masks": empty, "mask_share": 0.025}
        assert sight_findings([], facts, 300) == lines
        standing_out = sight_findings(["2 of 300 frames stand out"], facts, 300)
        assert standing_out[0] == "2 of 300 frames stand out"
        assert "so no frame" not in standing_out[1]

    def test_frames_have_the_numbers_of_the_input(self):
        assert outlier_findings(make_table([1007], first=1001))[0].endswith(": 1007")

    def test_a_lasting_change_is_said_in_words(self):
        change = SceneChange(91, 3.6)
        lines = outlier_findings(make_table([5, *range(91, 101)], scene_change=change))
        assert lines[-1] == "from 91 to the end the scene stays different"
        assert lines[0].endswith(": 5")


def statistics_of(*shares):
    masks = MaskStatistics(100)
    for share in shares:
        frame = SceneFrame(Layout("gray", 1, 1), np.zeros(1, np.uint8), 1, 0.0, None)
        frame.result = MaskResult(np.zeros((1, 1), np.uint8))
        masks.write(frame, share)
    return masks


class TestMaskHints:
    def test_nothing_to_say_of_ordinary_masks_and_of_none(self):
        for statistics in (statistics_of(0, 0.2, 0.9), statistics_of(), None):
            assert not list(mask_hints(statistics, 20))

    def test_empty_masks(self):
        (hint,) = mask_hints(statistics_of(0, 0, 0), 20)
        assert "every mask is empty" in hint
        assert "20 grey levels" in hint
        assert "--threshold" in hint

    def test_full_masks(self):
        (hint,) = mask_hints(statistics_of(0, 0.9, 1.0), 20)
        assert "nearly full (63 % on average)" in hint
        assert "--threshold" in hint


def hints_of(frames, tmp_path, save, options, **changes):
    result = run(save(frames), tmp_path / "out", options(**{"outputs": {"errors"}} | changes))
    assert result.manifest["hints"] == result.hints
    assert not any("\n" in hint for hint in result.hints)
    return result.hints


class TestFitHints:
    @pytest.fixture
    def hints(self, tmp_path, save, options):
        def look(frames, **changes):
            return hints_of(frames, tmp_path, save, options, **changes)

        return look

    def test_a_good_run_has_none(self, hints, scene):
        assert hints(scene(20, visit=15), outputs={"mask", "errors"}) == []

    def test_the_formula_says_that_its_masks_are_empty(self, hints, scene):
        chosen = {"outputs": {"mask"}, "model": "paper", "threshold": 250}
        (hint,) = (each for each in hints(scene(24, visit=99), **chosen) if "mask" in each)
        assert "every mask is empty" in hint

    def test_noise_alone_fills_the_masks(self, hints):
        frames = np.random.default_rng(0).integers(0, 256, (30, 20, 24), dtype=np.uint8)
        found = hints(frames, k=1, model="paper", outputs={"mask"})
        assert any("nearly full" in hint for hint in found)

    def test_no_convergence(self, hints, scene):
        found = hints(scene(24, visit=18), max_iter=1)
        assert any("did not converge in 1 iteration;" in hint for hint in found)

    def test_a_rank_that_is_too_large_says_both_numbers(self, hints, scene):
        clean = scene(n=1, noise=0)[0].astype(int)
        frames = np.stack([np.clip(clean + 2 * (i % 3), 0, 255) for i in range(30)])
        (hint, *_) = hints(frames.astype(np.uint8), k=7)
        assert hint.startswith("--k 7 is too large")
        assert "rank 1;" in hint

    def test_frames_that_are_all_alike(self, hints):
        (hint, *_) = hints(np.full((20, 12, 16), 90, np.uint8))
        assert "all alike" in hint

    def test_outliers_in_half_of_the_frames(self, hints, scene):
        found = hints(scene(25, visit=13))
        assert any("48 % of the frames are outliers" in hint for hint in found)

    def test_foreground_in_most_frames_that_hides_itself(self, hints, scene):
        frames = scene(n=36, visit=99, color=False)
        rng = np.random.default_rng(0)
        for i, frame in enumerate(frames[12:]):
            for _ in range(1 + int(rng.integers(0, 1 + i % 6))):
                top, left = rng.integers(0, 20, 2)
                frame[top : top + 8, left : left + 10] = rng.integers(0, 256)
        found = hints(frames)
        assert any("in more than half of the frames" in hint for hint in found)

    def test_no_hint_hides_a_warning_of_another_kind(self):
        estimator = SimpleNamespace(
            scores_=np.zeros((4, 2)), n_components=2, error_location_=5.0, error_scale_=0.1
        )
        fit = SimpleNamespace(
            estimator=estimator,
            table=SimpleNamespace(outliers=np.zeros(4, bool), pixels=10),
            support=np.ones(40, bool),
            notes=["the moon is full"],
            converged=True,
            copies=None,
        )
        assert list(fit_hints(fit, fit.table)) == ["the moon is full"]


class TestCamera:
    MOVING = SimpleNamespace(is_moving=True, drifts=False, moved=9, pairs=10)
    SLOW = SimpleNamespace(is_moving=False, drifts=True, moved=0, pairs=10)
    STILL = SimpleNamespace(is_moving=False, drifts=False, moved=0, pairs=10)

    def hints(self, camera, **facts):
        return list(camera_hints(camera, facts))

    @pytest.mark.parametrize("shake", [1, 40])
    def test_a_camera_that_stands_still_is_no_news(self, shake):
        """By how much frames were aligned may be a fact of the model's film, and not of this."""
        assert not [*self.hints(self.STILL, mask_shake_pixels=shake), *self.hints(None)]

    def test_masks_need_a_camera_that_stands_still(self):
        (line,) = self.hints(self.MOVING, mask_shake_pixels=0)
        assert line.startswith("the whole picture moves (in 9 of 10 comparisons)")
        assert self.hints(self.MOVING) == [line]
        (line,) = self.hints(self.SLOW)
        assert line.startswith("the whole picture moves (slowly)")

    @pytest.mark.parametrize("camera", [MOVING, SLOW])
    def test_what_follows_the_camera_and_what_does_not_is_said(self, camera):
        (line,) = self.hints(camera, mask_shake_pixels=4)
        assert "by up to 4 pixels: masks and background follow it, but errors" in line
        assert "pans" not in line
