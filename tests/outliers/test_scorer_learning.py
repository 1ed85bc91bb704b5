"""What is learned of fitted frames does not depend on how they come."""

import cv2
import numpy as np
import pytest

from bgsub.outliers.false_alarms import CleanLevel, clean_level
from bgsub.outliers.frame_scorer import FrameScorer, own_residuals
from bgsub.outliers.frame_scores import score_scale
from bgsub.outliers.own_light import OwnLight
from bgsub.outliers.scorer_learning import FrameWeights, ScorerLearner
from bgsub.outliers.scorer_size import LEVEL_FRAMES
from bgsub.outliers.windows import excess, highest, restlessness, windowed
from bgsub.robustpca.reweight import location_and_scale
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


def plainly_learned(frames, inside):
    """The scorer of frames that all show the background, as its module describes it."""
    pictures = (frames * inside).astype(np.float32)
    n, shape = len(frames), inside.shape
    left_out = 1 - 1 / n
    light = OwnLight(pictures.mean(axis=0), np.zeros((1, inside.size), np.float32), inside)
    changes = light.regress(pictures, np.zeros((n, 1), np.float32))

    def residuals(scorer):
        return own_residuals(scorer, pictures, changes, np.full(n, left_out))

    def ranked(values, share):
        return np.sort(values, axis=0)[round(share * (n - 1))]

    flat = FrameScorer(light, np.ones(shape, np.float32), 1e9, (), CleanLevel(0.0, 1.0))
    raw = residuals(flat)
    noise = np.maximum(ranked(raw, 0.5) / 0.6745, 0.7)
    chosen = np.unravel_index(light.chosen, shape)
    inner = [np.sort((one / noise)[chosen]) for one in raw]
    usual_noise = max(np.median([values[len(values) // 2] for values in inner]), 1e-3)
    scorer = FrameScorer(light, noise.astype(np.float32), usual_noise, (), CleanLevel(0.0, 1.0))
    near = cv2.dilate(noise, np.ones((3, 3), np.uint8))
    reach = np.maximum(noise, near / 2).astype(np.float32)
    left = residuals(scorer)
    windows, places = [], []
    for factor in (1, 2, 4):
        side = 5 * factor
        means = np.array([windowed((one / reach).astype(np.float32), side, factor) for one in left])
        spread = (ranked(means, 0.9) - ranked(means, 0.5)) / 1.2816
        least = 0.57 * (5 / side) ** 1.08 / windowed(reach, side, factor)
        spread = np.maximum(np.maximum(spread, least), 0.8 / side) * (1 + 6 / n)
        windows.append((ranked(means, 0.5), spread))
        places.append(means)
    totals = np.sqrt((left**2).sum(axis=(1, 2)))
    return noise, usual_noise, windows, places, left / reach, totals


def correlated(n, seed=0):
    """A film whose noise is that of large spots, strong in one half."""
    rng = np.random.default_rng(seed)
    ground = rng.uniform(90, 160, (H, W))
    spots = np.array([cv2.GaussianBlur(rng.normal(0, 30, (H, W)), (0, 0), 2) for _ in range(n)])
    strength = np.where(np.arange(W) < W // 2, 3.0, 0.3)
    return np.clip(ground + strength * spots, 0, 255).round().astype(np.uint8)


def flickering(n, sigma, seed=0):
    rng = np.random.default_rng(seed)
    ground = rng.uniform(90, 160, (H, W))
    return np.clip(ground + rng.normal(0, sigma, (n, H, W)), 0, 255).round().astype(np.uint8)


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(
    "frames",
    [flickering(40, 0.2), flickering(40, 2), flickering(41, 9), correlated(40), correlated(15)],
    ids=["still", "usual", "noisy", "spots", "few"],
)
def test_a_scorer_is_its_definition(frames, cut):
    inside = np.ones((H, W), bool)
    if cut:
        inside[:, :9] = False
    n = len(frames)
    fitted = FrameWeights(np.full(n, 1 / n), np.zeros((n, 1)), np.zeros((n, 1)), np.ones(n, bool))
    scorer, learner = learned(frames, fitted, inside=inside)
    noise, usual_noise, windows, places, deviations, totals = plainly_learned(frames, inside)
    np.testing.assert_allclose(scorer.noise, noise, atol=0.015)
    assert scorer.usual_noise == pytest.approx(usual_noise, rel=0.01, abs=0.006)
    step = scorer.light.step
    for i, (window, (usual, spread)) in enumerate(zip(scorer.windows, windows, strict=True)):
        np.testing.assert_allclose(window.usual, usual, atol=0.02)
        np.testing.assert_allclose(window.spread, spread, rtol=0.03, atol=0.01)
        above = restlessness(excess(places[i], window), window, step)
        assert window.restless == pytest.approx(max(np.median(above), 0.5), rel=0.03, abs=0.02)
        values = highest(deviations.astype(np.float32), window, step)
        np.testing.assert_allclose(learner.measured[:, 1 + i], values, rtol=0.05, atol=0.2)
        assert window.level == clean_level(learner.measured[:, 1 + i], 0.7)
    np.testing.assert_allclose(learner.measured[:, 0], totals, rtol=0.015)
    least = score_scale(*location_and_scale(learner.measured[:, 0]), int(inside.sum()))
    assert scorer.level == clean_level(learner.measured[:, 0], least)
