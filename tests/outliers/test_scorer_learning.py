"""What is learned of fitted frames does not depend on how they come."""

import tracemalloc

import numpy as np
import pytest

from bgsub.outliers.frame_scorer import LEVEL_FRAMES, scorer_bytes
from bgsub.outliers.own_light import shrink, shrink_inside, shrinking
from bgsub.outliers.scorer_learning import FrameWeights, ScorerLearner
from bgsub.robustpca.trpca import TRPCA
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Layout

H, W = 24, 32
LAYOUT = Layout("gray", H, W)


def film(n, seed=0):
    rng = np.random.default_rng(seed)
    ground = rng.uniform(40, 200, (H, W))
    return np.clip(ground + rng.normal(0, 2, (n, H, W)), 0, 255).round().astype(np.uint8)


def weights_of(frames):
    fit = TRPCA(1, random_state=0, reweight_cutoff=8.0).fit(frames.reshape(len(frames), -1))
    return FrameWeights(fit.center_weights_, fit.component_weights_, fit.scores_, fit.support_)


def learned(frames, fitted, *, block=16, inside=None, threads=1):
    with Workers(threads, 1) as workers:
        learner = ScorerLearner(fitted, LAYOUT, inside, workers)
        for start in range(0, len(frames), block):
            learner.add(start, frames[start : start + block].reshape(-1, H * W))
        return learner.finish(), learner


def test_blocks_and_threads_make_no_difference():
    frames = film(30)
    fitted = weights_of(frames)
    one, _ = learned(frames, fitted, block=30)
    other, _ = learned(frames, fitted, block=7, threads=2)
    ours, theirs = one.arrays(), other.arrays()
    for name, values in ours.items():
        np.testing.assert_allclose(values, theirs[name], rtol=1e-3, atol=1e-3, err_msg=name)


def test_frames_outside_the_support_teach_nothing_and_are_not_measured():
    frames = film(60)
    fitted = weights_of(frames)
    support = np.arange(60) < 50
    fitted = FrameWeights(fitted.weights, fitted.basis, fitted.coefficients, support)
    loud = frames.copy()
    loud[50:] = 255 - loud[50:]
    scorer, learner = learned(frames, fitted)
    assert np.isfinite(learner.measured[:50]).all()
    assert np.isnan(learner.measured[50:]).all()
    quiet = FrameWeights(
        np.where(support, fitted.weights, 0) / fitted.weights[support].sum(),
        np.where(support[:, None], fitted.basis, 0),
        fitted.coefficients,
        support,
    )
    with_them, _ = learned(loud, quiet)
    without, _ = learned(frames, quiet)
    np.testing.assert_array_equal(with_them.noise, without.noise)
    assert with_them.level == without.level
    assert scorer.noise.shape == (H, W)


def test_of_many_frames_a_sample_is_kept():
    frames = film(LEVEL_FRAMES + 40)
    _, learner = learned(frames, weights_of(frames))
    assert np.isfinite(learner.measured).all(axis=1).sum() <= LEVEL_FRAMES


def test_a_leverage_near_one_does_not_blow_a_residual_up():
    coefficients = np.zeros((10, 1))
    coefficients[3] = 1e6
    fitted = FrameWeights(np.full(10, 0.1), np.zeros((10, 1)), coefficients, np.ones(10, bool))
    assert fitted.left_out.shape == (10,)
    assert fitted.left_out.min() == 0.05
    assert fitted.left_out[0] > 0.5


def test_nothing_is_learned_of_no_frame():
    with Workers(1, 1) as workers:
        learner = ScorerLearner(weights_of(film(12)), LAYOUT, None, workers)
        with pytest.raises(ValueError, match="no frame was added"):
            learner.finish()


@pytest.mark.parametrize(("height", "width", "factor"), [(160, 220, 1), (400, 520, 2)])
def test_learning_keeps_to_what_is_announced(height, width, factor):
    n, k = 48, 2
    rng = np.random.default_rng(0)
    fitted = FrameWeights(
        np.full(n, 1 / n), rng.normal(size=(n, k)) / n, rng.normal(size=(n, k)), np.ones(n, bool)
    )
    block = rng.integers(0, 256, (8, height * width), dtype=np.uint8)
    assert shrinking(height, width) == factor
    with Workers(1) as workers:
        tracemalloc.start()
        try:
            learner = ScorerLearner(fitted, Layout("gray", height, width), None, workers)
            for start in range(0, n, 8):
                learner.add(start, block)
            passing = tracemalloc.get_traced_memory()[1]
            learner.finish()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    while_frames_pass, at_the_end = scorer_bytes(height * width, n, k, 1)
    assert passing <= 1.1 * while_frames_pass
    assert 0.6 * at_the_end <= peak <= 1.05 * at_the_end


def test_large_pictures_are_shrunk_by_means():
    assert shrinking(240, 320) == 1
    assert shrinking(720, 1280) == 3
    picture = np.arange(7 * 8, dtype=np.uint8).reshape(7, 8)
    small = shrink(picture, 3)
    assert small.shape == (2, 2)
    assert small[0, 0] == picture[:3, :3].mean()


def test_squares_count_all_pixels_of_which_count():
    shape = (720, 1280)
    inside = np.ones(shape, bool)
    inside[:, :100] = False
    small = shrink_inside(inside, shape)
    assert small.shape == (240, 426)
    assert not small[:, :34].any()
    assert small[:, 34:].all()
    assert shrink_inside(None, shape).shape == (240, 426)


def test_where_no_square_counts_as_a_whole_the_best_ones_do():
    inside = np.zeros((720, 1280), bool)
    inside[3:5, 3:5] = inside[9:11, 9:12] = True
    assert np.argwhere(shrink_inside(inside, inside.shape)).tolist() == [[3, 3]]
