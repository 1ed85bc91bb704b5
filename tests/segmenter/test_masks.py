"""A mask marks nothing of what is left out, and says what other options would mark."""

from itertools import pairwise

import cv2
import numpy as np
import pytest

from bgsub.background.plates import at_working_size
from bgsub.segmenter.masks import MaskModel
from bgsub.segmenter.network import enlarged
from bgsub.segmenter.protocol import FrameView, MaskOptions


def test_what_is_doubted_is_told_of_frames_without_an_object():
    rng = np.random.default_rng(3)
    floor = cv2.GaussianBlur(rng.normal(150, 40, (90, 120, 3)), (0, 0), 2)
    frames = np.clip(floor + rng.normal(0, 1.5, (11, 90, 120, 3)), 0, 250).astype(np.uint8)
    small = np.stack([at_working_size(frame) for frame in frames[:10]])
    model = MaskModel.learned(small, (90, 120), MaskOptions(sensitivity="low"))
    doubts, thing = [], cv2.GaussianBlur(rng.normal(120, 60, (4, 4, 3)), (0, 0), 1.5)
    for share in np.linspace(0.02, 0.18, 65):  # of a thing, the floor shines through it
        shown = frames[10].copy()
        shown[40:44, 30:34] = np.rint((1 - share) * shown[40:44, 30:34] + share * thing)
        found = model.mask(FrameView.of(shown))
        assert found.left_out == model.mask(FrameView.of(shown), with_scores=True).left_out
        doubts += [] if found.mask.any() else [found.left_out.doubt]
    assert doubts[0] == 0
    assert max(doubts) > 0


def test_a_clock_that_is_left_out_marks_nothing_beside_itself():
    rng = np.random.default_rng(5)
    floor = cv2.GaussianBlur(rng.normal(150, 40, (90, 120, 3)), (0, 0), 2)
    frames = np.clip(floor + rng.normal(0, 1.5, (40, 90, 120, 3)), 0, 250).astype(np.uint8)
    blocks = np.where(rng.random((40, 1, 12, 1)) < 0.5, 20, 235)
    frames[:, 66:] = np.repeat(blocks, 10, axis=2)
    inside = np.arange(90)[:, None] < np.full(120, 66)
    views = [FrameView.of(frame) for frame in frames]
    model = MaskModel.learned(np.stack([view.small for view in views]), (90, 120), None)
    seen = [model.observe(view, before) for before, view in pairwise(views)]
    assert all(model.mask(*both).mask[66:].any() for both in zip(views[1:], seen, strict=True))
    found = [model.mask(*both, inside=inside).mask for both in zip(views[1:], seen, strict=True)]
    assert sum(mask.any() for mask in found) <= 2


def test_what_appears_is_doubted_until_the_next_frame_shows_it_too():
    floor = np.full((240, 320, 3), 128, np.uint8)
    seen = MaskModel.learned(np.stack([floor] * 5), (240, 320), None).observe(FrameView.of(floor))
    now, before = np.zeros((2, 240, 320), np.float32)
    now[100:120, 100:140], before[100:120, 80:120] = 0.6, 0.6
    left = seen._replace(objects=now).placed(seen._replace(objects=before)).objects
    expected = np.where(np.arange(320) < 122, now, now**2)  # within two pixels it stays
    np.testing.assert_allclose(left, expected, atol=1e-6)
    np.testing.assert_array_equal(seen._replace(objects=now).placed().objects, now)


@pytest.mark.parametrize("size", [(120, 160), (130, 170), (240, 320)])
def test_probabilities_follow_edges_of_luma_at_every_size_and_stay_where_there_are_none(size):
    truth = np.zeros((120, 160), np.uint8)
    truth[40:80, 60:100] = 1
    rim = cv2.dilate(truth, np.ones((3, 3), np.uint8)) - truth
    wide = truth + np.float32(0.6) * rim
    edges, plain = 60 + 120 * truth, np.full_like(truth, 60)
    exact = cv2.resize(truth, size[::-1], interpolation=cv2.INTER_NEAREST) > 0
    found, left = (
        enlarged(wide, cv2.resize(one, size[::-1], interpolation=cv2.INTER_NEAREST), one) >= 0.5
        for one in (edges, plain)
    )
    assert np.count_nonzero(found != exact) < 0.6 * np.count_nonzero(left != exact)
    if size == wide.shape:
        assert np.allclose(enlarged(wide, plain, plain), wide, rtol=0, atol=1e-6)


def test_small_things_whose_texture_is_that_of_the_place_keep_their_probability():
    luma = np.random.default_rng(2).integers(60, 200, (120, 160)).astype(np.uint8)
    small = np.float32(0.9) * (np.indices(luma.shape) % 20 < 2).all(axis=0)
    found = enlarged(small, luma, luma) >= 0.5
    assert np.count_nonzero(found[small > 0]) > 0.8 * np.count_nonzero(small)
    assert np.count_nonzero(found[small == 0]) == 0
