"""From residuals to masks."""

import cv2
import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from bgsub.background.learning import NOISE_FRAMES, THRESHOLD_BOUNDS, choose_threshold
from bgsub.background.model import BackgroundModel
from bgsub.pipeline.run import run
from bgsub.robustpca.spaces import evenly
from bgsub.segmenter.residual import ResidualSegmenter, default_min_area, drop_small
from bgsub.video.frames import Layout

EIGHT = np.ones((3, 3))

masks = st_numpy.arrays(
    bool, st.tuples(st.integers(1, 14), st.integers(1, 14)), elements=st.booleans()
).map(lambda mask: mask.astype(np.uint8) * np.uint8(255))


def without_small(mask, min_area):
    """What `drop_small` promises, pixel by pixel: blobs with their holes filled are measured."""
    labels, _ = scipy.ndimage.label(scipy.ndimage.binary_fill_holes(mask > 0), EIGHT)
    large = np.bincount(labels.ravel()) >= min_area
    large[0] = False
    return np.where(large[labels], mask, 0)


class TestDropSmall:
    @given(mask=masks, min_area=st.integers(0, 30))
    def test_keeps_blobs_of_at_least_that_area_whole_and_nothing_else(self, mask, min_area):
        expected = without_small(mask, max(min_area, 1))
        drop_small(mask, min_area)
        np.testing.assert_array_equal(mask, expected)

    @given(mask=masks, min_area=st.integers(0, 30))
    def test_twice_is_once(self, mask, min_area):
        drop_small(mask, min_area)
        once = mask.copy()
        drop_small(mask, min_area)
        np.testing.assert_array_equal(mask, once)

    @pytest.mark.parametrize(("min_area", "kept"), [(9, True), (10, False)])
    def test_the_smallest_area_is_kept(self, min_area, kept):
        mask = np.zeros((12, 12), np.uint8)
        mask[4:7, 4:7] = 255
        drop_small(mask, min_area)
        assert mask.any() == kept


class TestMasks:
    @given(threshold=st.floats(0, 255))
    def test_a_pixel_is_foreground_where_its_difference_is_above_the_threshold(self, threshold):
        differences = np.arange(256, dtype=np.uint8).reshape(16, 16)
        mask = ResidualSegmenter(threshold, clean=False, min_area=99).cut(differences)
        np.testing.assert_array_equal(mask, np.where(differences > threshold, 255, 0))
        assert mask.dtype == np.uint8

    def test_cleaning_removes_specks_and_fills_pinholes(self):
        differences = np.zeros((40, 40), np.uint8)
        differences[10:30, 10:30] = 90
        differences[20, 20] = 0
        differences[3, 3] = differences[35, 30:32] = 90
        mask = ResidualSegmenter(20, clean=True, min_area=2).cut(differences)
        assert mask[20, 20] == 255
        assert not mask[:8].any()
        assert not mask[32:].any()

    @given(
        differences=st_numpy.arrays(np.uint8, (9, 11), elements=st.sampled_from([0, 20, 21, 90]))
    )
    def test_cleaning_is_a_median_filter_and_the_smallest_area(self, differences):
        mask = ResidualSegmenter(20, clean=True, min_area=6).cut(differences.copy())
        plain = np.where(differences > 20, 255, 0).astype(np.uint8)
        filtered = np.asarray(cv2.medianBlur(plain, 5))
        np.testing.assert_array_equal(mask, without_small(filtered, 6))

    @given(inside=st_numpy.arrays(bool, (9, 11)), clean=st.booleans())
    def test_pixels_outside_are_never_foreground(self, inside, clean):
        rule = ResidualSegmenter(20, clean=clean, min_area=1)
        assert not rule.cut(np.full((9, 11), 90, np.uint8), inside)[~inside].any()

    def test_the_differences_stay_as_they_are(self):
        differences = np.full((9, 11), 90, np.uint8)
        rule = ResidualSegmenter(20, clean=True, min_area=1)
        rule.cut(differences, np.zeros((9, 11), bool))
        rule.scores(differences, np.zeros((9, 11), bool))
        assert (differences == 90).all()


class TestScores:
    @given(
        differences=st_numpy.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9))),
        threshold=st.sampled_from([0, 0.5, 12, 12.7, 13, 35, 254.9, 255]),
        clean=st.booleans(),
        data=st.data(),
    )
    def test_cut_at_their_level_they_are_the_mask_before_small_blobs_go(
        self, differences, threshold, clean, data
    ):
        inside = data.draw(st.none() | st_numpy.arrays(bool, differences.shape))
        rule = ResidualSegmenter(threshold, clean=clean, min_area=0)
        scores = rule.scores(differences, inside)
        assert scores.dtype == np.uint16
        np.testing.assert_array_equal(scores >= rule.score_level, rule.cut(differences, inside) > 0)
        if inside is not None:
            assert not scores[~inside].any()

    def test_they_are_hundredths_of_the_lowest_difference_above_the_threshold(self):
        differences = np.array([[0, 6, 12, 13, 26, 255]], np.uint8)
        scores = ResidualSegmenter(12.7, clean=False, min_area=9).scores(differences)
        np.testing.assert_array_equal(scores, [[0, 46, 92, 100, 200, 1961]])


def test_the_smallest_blob_grows_with_the_frame():
    assert default_min_area(128, 160) == 10
    assert default_min_area(1080, 1920) > 50
    assert default_min_area(1, 1) >= 1


@given(st.integers(1, 200))
def test_noise_is_measured_on_some_of_the_inliers_all_different(inliers):
    chosen = evenly(inliers, NOISE_FRAMES)
    assert len(set(chosen.tolist())) == len(chosen) == min(inliers, NOISE_FRAMES)
    assert (chosen[0], chosen[-1]) == (0, inliers - 1)


class TestThreshold:
    def threshold_of(self, noise, tmp_path, scene, save, options, **changes):
        path = save(scene(24, noise=noise, color=False, visit=16), f"{noise}.npy")
        chosen = options(outputs={"model"}, model="paper", **changes)
        return run(path, tmp_path / f"out{noise}", chosen).manifest["threshold"]

    def test_follows_the_noise_between_its_bounds(self, tmp_path, scene, save, options):
        low, high = THRESHOLD_BOUNDS
        quiet, medium, loud = (
            self.threshold_of(noise, tmp_path, scene, save, options) for noise in (0.5, 4, 30)
        )
        assert (quiet, loud) == (low, high)
        assert medium == pytest.approx(5 * 4, rel=0.15)

    @pytest.mark.parametrize(("share", "threshold"), [(0.0012, 20.0), (0.0008, 12.0)])
    def test_of_a_heavy_tail_is_its_999th_thousandth(self, share, threshold, workers):
        layout = Layout("gray", 100, 100)
        model = BackgroundModel(
            layout=layout,
            center=np.full(layout.size, 100, np.float32),
            components=np.zeros((0, layout.size), np.float32),
            noise=np.ones(layout.pixels, np.float32),
            threshold=0.0,
            error_location=1.0,
            error_scale=1.0,
            cutoff=12.0,
            support=np.ones(5, dtype=bool),
            frame_numbers=np.arange(1, 6),
            pixel_mask=None,
            geometry={},
            facts={},
        )
        rows = np.full((5, layout.size), 100, np.uint8)
        rows.ravel()[: round(share * rows.size)] = 120
        found = choose_threshold(model, rows, np.zeros((5, 0)), workers)
        assert found == pytest.approx(threshold, abs=0.5)

    def test_is_taken_as_it_is_given(self, tmp_path, scene, save, options):
        assert self.threshold_of(2, tmp_path, scene, save, options, threshold=40.5) == 40.5


class TestOnTheSample:
    """The figure in water.avi: absorbed by plain PCA, found by TRPCA."""

    def score(self, name, tmp_path, options, video, **changes):
        truth = video("sample_videos/water_masks.mkv", "gray")[::16] > 127
        chosen = options(
            k=10, every=16, format="mkv", outputs={"mask"}, seed=0, model="paper", **changes
        )
        run("sample_videos/water.avi", tmp_path / name, chosen)
        mask = video(tmp_path / name / "mask.mkv", "gray") > 127
        hits = np.count_nonzero(mask & truth)
        return 2 * hits / (mask.sum() + truth.sum()), hits / truth.sum()

    def test_f_measure_and_the_share_of_the_figure_that_is_found(
        self, tmp_path, options, video, pytestconfig, monkeypatch
    ):
        monkeypatch.chdir(pytestconfig.rootpath)
        f_measure, found = self.score("trpca", tmp_path, options, video)
        assert f_measure > 0.78
        assert found > 0.97
        # All frames and no reweighting: the objective of plain PCA.
        pca = {"support_fraction": 1.0, "reweight": False}
        f_measure, found = self.score("pca", tmp_path, options, video, **pca)
        assert f_measure < 0.6
        assert found < 0.6
