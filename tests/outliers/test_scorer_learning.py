"""What is learned of fitted frames does not depend on how they come."""

import numpy as np
import pytest

from bgsub.outliers.scorer_learning import FrameWeights, ScorerLearner
from bgsub.outliers.scorer_size import LEVEL_FRAMES
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
    frames = film(60)
    fitted = weights_of(frames)
    one, _ = learned(frames, fitted, block=60)
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
