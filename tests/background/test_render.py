"""From model and scores to pictures."""

import numpy as np
import pytest

from bgsub.background.model import BackgroundModel
from bgsub.background.render import (
    OutsideMask,
    PlaneSums,
    cutout,
    difference_picture,
    largest_difference,
    reconstruct,
    signed_difference,
)
from bgsub.video.frames import Layout

KINDS = ["gray", "yuv420", "bgr"]
SIZES = [(6, 8), (5, 7), (1, 1), (1, 9)]


def random_rows(layout, n=1, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, layout.size), dtype=np.uint8)


def smooth_rows(layout, seed=0):
    """Colours far from the ends of the range, where clipping hides differences."""
    rng = np.random.default_rng(seed)
    row = rng.integers(100, 150, layout.size).astype(np.uint8)
    return row, (row + rng.integers(-9, 9, layout.size)).astype(np.uint8)


class TestPlaneSums:
    def test_give_centre_and_components_as_weighted_sums_of_frames(self, workers):
        rng = np.random.default_rng(0)
        rows = rng.integers(0, 256, (70, 40), dtype=np.uint8)
        weights = rng.random(70)
        weights /= weights.sum()
        basis = rng.normal(size=(70, 3)) / 100
        basis -= basis.mean(axis=0)
        sums = PlaneSums(weights, basis, 40)
        for start in range(0, 70, 32):
            sums.add(start, rows[start : start + 32], workers)
        center, components = sums.result()
        np.testing.assert_allclose(center, weights @ rows, atol=1e-3)
        np.testing.assert_allclose(components, basis.T @ rows, atol=1e-3)

    def test_alike_frames_have_themselves_as_centre_exactly(self, workers):
        rows = np.repeat(random_rows(Layout("gray", 5, 7)), 9, axis=0)
        sums = PlaneSums(np.full(9, 1 / 9), np.empty((9, 0)), 35)
        sums.add(0, rows, workers)
        center, components = sums.result()
        np.testing.assert_array_equal(center, rows[0])
        assert components.shape == (0, 35)


class TestReconstruct:
    def test_is_centre_plus_components_times_scores_rounded_and_clipped(self, whole_run, workers):
        model = BackgroundModel.load(whole_run.out / "model.npz")
        scores = np.random.default_rng(0).normal(0, 6000, (5, 2))
        levels = model.center.astype(float) + scores @ model.components.astype(float)
        assert levels.min() < 0
        assert levels.max() > 255
        background = reconstruct(model, scores, workers)
        assert background.dtype == np.uint8
        assert np.abs(background - np.clip(levels, 0, 255)).max() < 0.51


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
class TestPictures:
    def test_largest_difference_is_that_of_the_pictures(self, kind, size):
        layout = Layout(kind, *size)
        row, own = smooth_rows(layout)
        channels = np.abs(layout.to_bgr(row).astype(int) - layout.to_bgr(own))
        expected = channels if channels.ndim == 2 else channels.max(axis=2)
        found = largest_difference(layout, row, own)
        assert (found.shape, found.dtype) == (size, np.uint8)
        # Converting 4:2:0 rounds each of the two pictures.
        assert np.abs(found.astype(int) - expected).max() <= (2 if kind == "yuv420" else 0)

    def test_a_frame_equal_to_its_background_leaves_nothing(self, kind, size):
        layout = Layout(kind, *size)
        row = random_rows(layout)[0]
        assert not largest_difference(layout, row, row.copy()).any()

    def test_signed_modulo_256_gives_the_frame_back(self, kind, size):
        layout = Layout(kind, *size)
        row, own = random_rows(layout, 2)
        shown = signed_difference(layout, row, own, wrap=True)
        row, own = layout.to_bgr(row), layout.to_bgr(own)
        np.testing.assert_array_equal(shown.ravel() + own.ravel() - np.uint8(128), row.ravel())

    def test_signed_for_the_eye_is_clipped_around_grey(self, kind, size):
        layout = Layout(kind, *size)
        row, own = random_rows(layout, 2)
        shown = signed_difference(layout, row, own, wrap=False)
        if kind == "bgr":
            row, own = layout.to_bgr(row), layout.to_bgr(own)
        expected = np.clip(row.astype(int) - own + 128, 0, 255)
        np.testing.assert_array_equal(shown.ravel(), expected.ravel())

    def test_cutout_is_black_where_the_mask_is_not_set(self, kind, size):
        layout = Layout(kind, *size)
        row, _ = smooth_rows(layout)
        for level in (0, 255):
            mask = np.full(size, level, np.uint8)
            shown = cutout(layout, row, mask)
            picture = layout.to_bgr(shown) if shown.ndim == 1 else shown
            expected = layout.to_bgr(row) if level else np.zeros_like(layout.to_bgr(row))
            np.testing.assert_array_equal(picture, expected)

    def test_abs_grows_with_the_difference_and_saturates(self, kind, size):
        layout = Layout(kind, *size)
        row, own = random_rows(layout, 2)
        largest = largest_difference(layout, row, own)
        shown = difference_picture(largest, 2.0)
        np.testing.assert_array_equal(shown, np.minimum(2 * largest.astype(int), 255))

    def test_pixels_outside_the_mask_stay_as_they_are(self, kind, size):
        layout = Layout(kind, *size)
        rows, backgrounds = random_rows(layout, 3), random_rows(layout, 3, seed=1)
        inside = np.random.default_rng(2).random(size) < 0.5
        before = backgrounds.copy()
        OutsideMask(layout, inside).restore(backgrounds, rows)
        for row, own, old in zip(rows, backgrounds, before, strict=True):
            np.testing.assert_array_equal(layout.luma(own)[~inside], layout.luma(row)[~inside])
            np.testing.assert_array_equal(layout.luma(own)[inside], layout.luma(old)[inside])
            if kind == "bgr":
                colors, given = layout.to_bgr(own), layout.to_bgr(row)
                np.testing.assert_array_equal(colors[~inside], given[~inside])
                np.testing.assert_array_equal(colors[inside], layout.to_bgr(old)[inside])


def test_without_a_mask_nothing_is_put_back():
    layout = Layout("gray", 5, 7)
    rows, backgrounds = random_rows(layout), random_rows(layout, seed=1)
    before = backgrounds.copy()
    OutsideMask(layout, None).restore(backgrounds, rows)
    np.testing.assert_array_equal(backgrounds, before)
