"""Scores of frames of a rendered scene: what is nobody stays below the cut-off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from bgsub.outliers.false_alarms import DEFAULT_CUTOFF, CleanLevel, cutoff_for
from bgsub.outliers.frame_scorer import FrameScorer, deviate, measure, scene_light
from bgsub.outliers.scorer_learning import FrameWeights, ScorerLearner
from bgsub.robustpca.trpca import TRPCA
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes, Layout

H, W, N = 72, 96, 60
Pictures = NDArray[np.float64]
rng = np.random.default_rng(5)
GROUND = rng.normal(0, 1, (H, W))
GROUND = (
    110
    + 25 * cv2.GaussianBlur(GROUND, (0, 0), 4) / 0.07 / 2
    + 40 * cv2.GaussianBlur(GROUND, (0, 0), 1.2)
)
GROUND = np.clip(GROUND, 30, 190)
WAVES = (18, 30, 5), (11, 40, 3), (30, 15, 8)
"""Of a curtain: pixels across and down, and frames, for a phase of 1."""


def noisy(pictures: Pictures, sigma: float = 2.0, seed: int = 0) -> Bytes:
    noise = np.random.default_rng(seed).normal(0, sigma, pictures.shape)
    return np.clip(np.rint(pictures + noise), 0, 255).astype(np.uint8)


def scores_by(scorer: FrameScorer, *frames: NDArray[Any]) -> NDArray[np.float64]:
    return scorer.scores_of(scorer.measure_frames(*frames))


def scored(
    frames: Bytes, inside: NDArray[np.bool_] | None = None, k: int = 1
) -> NDArray[np.float64]:
    """Both scores of every frame of a film, shape (n, 2)."""
    fitted, scorer, _ = learned(frames, inside, k)
    return scores_by(scorer, frames, fitted.coefficients.astype(np.float32), fitted.left_out)


def learned(
    frames: Bytes, inside: NDArray[np.bool_] | None = None, k: int = 1
) -> tuple[FrameWeights, FrameScorer, TRPCA]:
    rows = frames.reshape(len(frames), -1)
    fit = TRPCA(k, random_state=0, reweight_cutoff=8.0).fit(rows)
    fitted = FrameWeights(fit.center_weights_, fit.component_weights_, fit.scores_, fit.support_)
    with Workers(1, 1) as workers:
        learner = ScorerLearner(fitted, Layout("gray", *frames.shape[1:]), inside, workers)
        for start in range(0, len(rows), 16):
            learner.add(start, rows[start : start + 16])
        return fitted, learner.finish(), fit


def still() -> Pictures:
    return np.repeat(GROUND[None], N, axis=0)


def flash() -> Pictures:
    film = still()
    film[[9, 30, 31]] = 1.3 * film[[9, 30, 31]] + 12
    return film


def tremor() -> Pictures:
    film = still()
    for i, shift in ((7, 0.3), (20, -0.25), (44, 0.2)):
        move = np.array([[1, 0, shift], [0, 1, 0]])
        film[i] = cv2.warpAffine(GROUND, move, (W, H), borderMode=cv2.BORDER_REPLICATE)
    return film


def daylight() -> Pictures:
    return still() * np.linspace(0.5, 1.2, N)[:, None, None]


def sweeping_shadow() -> Pictures:
    edge = np.interp(np.arange(N), [0, 30, 45, N], [-20, -20, W + 20, W + 20])
    depth = 1 / (1 + np.exp((np.arange(W)[None] - edge[:, None]) / 1.5))
    return still() * (1 - 0.4 * depth[:, None, :])


@pytest.mark.parametrize("film", [flash, tremor, daylight])
def test_light_and_tremor_are_no_visitors(film: Callable[[], Pictures]) -> None:
    assert scored(noisy(film())).max() < DEFAULT_CUTOFF


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("gain", [0.7, 1.2])
def test_light_in_which_highlights_are_clipped_no_more_is_no_visitor(
    gain: float, mirrored: bool
) -> None:
    """A gain tells nothing of what a clipped pixel shows; an object before it is still seen."""
    scene = GROUND.copy()
    scene[20:25, 40:52] = 330
    scene[50:56, 10:16] = 240
    film = np.repeat(scene[None], N, axis=0)
    film[40:49] *= gain
    film[12, 20:28, 44:52] = film[44, 20:28, 44:52] = 90
    frames = noisy(film)
    frames = 255 - frames if mirrored else frames
    over = scored(frames).max(axis=1) > DEFAULT_CUTOFF
    assert np.flatnonzero(over).tolist() == [12, 44]


def test_squares_of_a_large_picture_may_be_clipped_in_part() -> None:
    scene = cv2.resize(GROUND, (480, 360))
    for top in range(101, 300, 4):
        scene[top : top + 1, 200:300] = 330
    film = np.repeat(scene[None], 18, axis=0)
    film[9:11] *= 1.2
    assert scored(noisy(film)).max() < DEFAULT_CUTOFF


def test_noise_that_doubles_is_no_visitor() -> None:
    frames = np.concatenate([noisy(still()[:40], 4.0), noisy(still()[:20], 8.0, seed=1)])
    assert scored(frames).max() < DEFAULT_CUTOFF


def test_a_sweeping_shadow_is_no_visitor_but_where_it_comes_in_and_leaves() -> None:
    over = scored(noisy(sweeping_shadow())).max(axis=1) > DEFAULT_CUTOFF
    assert over.mean() <= 0.07


@pytest.mark.parametrize("change", [-12, 60])
def test_a_patch_of_five_pixels_a_side_is_seen_by_its_place(change: int) -> None:
    film = daylight()
    film[33, 40:45, 50:55] += change
    scores = scored(noisy(film))
    assert np.flatnonzero(scores[:, 1] > DEFAULT_CUTOFF).tolist() == [33]
    assert (scores[:, 0] < DEFAULT_CUTOFF).all() or change == 60


def test_a_visitor_over_half_of_the_picture_is_seen_by_both() -> None:
    film = still()
    film[50:, :, : W // 2] = np.random.default_rng(2).uniform(20, 230, (N - 50, H, W // 2))
    over = scored(noisy(film)) > DEFAULT_CUTOFF
    assert over[50:].all()
    assert not over[:50].any()


def test_pixels_that_do_not_count_do_not_matter() -> None:
    inside = np.ones((H, W), bool)
    inside[:, :20] = False
    frames = noisy(still())
    other = frames.copy()
    other[10:, :, :20] = np.random.default_rng(3).integers(0, 256, (N - 10, H, 20))
    fitted, scorer, _ = learned(frames, inside)
    coefficients = fitted.coefficients.astype(np.float32)
    some = slice(0, 60, 30)
    np.testing.assert_array_equal(
        scores_by(scorer, frames[some], coefficients[some], np.ones(2)),
        scores_by(scorer, other[some], coefficients[some], np.ones(2)),
    )


@pytest.fixture(scope="module")
def of_still() -> tuple[FrameWeights, FrameScorer, NDArray[np.float32]]:
    fitted, scorer, fit = learned(noisy(still()))
    center, components = fit.center_.astype(np.float32), fit.components_.astype(np.float32)
    return fitted, scorer, scene_light(center, components, (H, W), None)


def test_a_scorer_comes_back_from_its_arrays(of_still) -> None:
    frames, (fitted, scorer, light) = noisy(still())[:12], of_still
    back = FrameScorer.from_arrays(scorer.arrays(), light)
    coefficients = fitted.coefficients.astype(np.float32)[:12]
    np.testing.assert_allclose(
        scores_by(back, frames, coefficients, np.ones(12)),
        scores_by(scorer, frames, coefficients, np.ones(12)),
        atol=1e-2,
    )
    arrays = scorer.arrays() | {"scorer_noise": np.zeros((3, 3), np.float32)}
    with pytest.raises(ValueError, match="scorer_noise"):
        FrameScorer.from_arrays(arrays, light)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scorer_spread", np.full(7, 1.0)),
        ("scorer_usual", np.full(H * W * 21 // 16, -1.0)),
        ("scorer_places", np.full((3, 3), np.nan)),
        ("scorer_places", np.zeros((3, 3))),
        ("scorer_places", np.ones(9)),
        ("scorer_noise", np.zeros((H, W), np.float32)),
        ("scorer_noise", np.full((H, W), 1e38, np.float32)),
        ("scorer_noise", np.ones((H, W), complex)),
        ("scorer_whole", np.array([0.0, 1.0, 1.0])),
        ("scorer_whole", np.array([1.0, 1.0, -1.0])),
        ("scorer_clipped", np.full((2, H, W), np.inf, np.float32)),
        ("scorer_local", np.array([1e300, 1.0])),
    ],
)
def test_arrays_that_no_scorer_gives_are_refused(
    name: str, value: NDArray[np.float64], of_still
) -> None:
    _, scorer, light = of_still
    with pytest.raises(ValueError, match="scorer_"):
        FrameScorer.from_arrays(scorer.arrays() | {name: value}, light)


@pytest.mark.parametrize("scale", [1, 5])
def test_what_learning_measures_is_what_scoring_would_measure(scale: int) -> None:
    """Larger pictures are kept in 16 bits."""
    frames = noisy(daylight()[::3])
    frames = frames.repeat(scale, axis=1).repeat(scale, axis=2)
    rows = frames.reshape(len(frames), -1)
    fit = TRPCA(1, random_state=0).fit(rows)
    fitted = FrameWeights(fit.center_weights_, fit.component_weights_, fit.scores_, fit.support_)
    with Workers(1, 1) as workers:
        learner = ScorerLearner(fitted, Layout("gray", *frames.shape[1:]), None, workers)
        learner.add(0, rows)
        scorer = learner.finish()
    known = ~np.isnan(learner.measured[:, 0])
    np.testing.assert_array_equal(known, fit.support_)
    anew = scorer.measure_frames(
        frames[known], fitted.coefficients[known].astype(np.float32), fitted.left_out[known]
    )
    np.testing.assert_allclose(learner.measured[known], anew, rtol=1e-3, atol=1e-3)


def test_scores_do_not_depend_on_the_frames_that_are_scored_with_them() -> None:
    frames = noisy(daylight())
    fitted, scorer, _ = learned(frames)
    coefficients = fitted.coefficients.astype(np.float32)
    together = scores_by(scorer, frames[:8], coefficients[:8], np.ones(8))
    alone = [scores_by(scorer, frames[[i]], coefficients[[i]], np.ones(1))[0] for i in range(8)]
    np.testing.assert_allclose(together, alone, atol=1e-3)


def test_what_moves_may_reach_further_than_it_was_seen_to() -> None:
    """A twig that a gust takes into calm sky is nobody; the same thing far from any twig is."""
    film = still()
    film[:, :, : W // 2] = 200.0
    film[:, 20:50, 8:18] = np.random.default_rng(1).normal(120, 40, (N, 30, 10))
    film[33, 30:36, 18:22] = film[47, 30:36, 36:40] = 170.0
    over = scored(noisy(film))[:, 1] > DEFAULT_CUTOFF
    assert np.flatnonzero(over).tolist() == [47]


def curtain(seed: int) -> tuple[Bytes, NDArray[np.bool_]]:
    """Cloth that sways by an amplitude that drifts, and in which frames somebody is before it."""
    generator = np.random.default_rng(seed)
    total, (y, x) = 300, np.mgrid[:H, :W].astype(np.float32)
    walk = np.zeros(total)
    for i in range(1, total):
        walk[i] = 0.99 * walk[i - 1] + generator.normal(0, 0.085)
    cloth = 140 + 30 * np.sin(x / 2.5 + np.sin(y / 15)) + 12 * np.sin(x / 1.3)
    phases = generator.uniform(0, 6, 3)
    film = still()[:1].repeat(total, axis=0)
    for i, amplitude in enumerate(np.exp(walk)):
        waves = (
            np.sin(x / a - y / b + i / c + p) for (a, b, c), p in zip(WAVES, phases, strict=True)
        )
        across = (x - amplitude * sum(waves) * y / H).astype(np.float32)
        film[i, :60, 10:80] = cv2.remap(cloth, across, y, cv2.INTER_LINEAR)[:60, 10:80]
    there = np.arange(total) >= 270
    for i in np.flatnonzero(there):
        left = 2 * (i - 260)
        film[i, 25:70, left : left + 12] = 45
    return noisy(film, 1.5, seed), there


def test_cloth_that_sways_further_than_the_fit_has_seen_is_nobody() -> None:
    """In these films 8 % of the empty frames were flagged when scores knew nothing of movement."""
    frames, there = (each[::2] for each in curtain(4))
    over = scored(frames, k=5).max(axis=1) > DEFAULT_CUTOFF
    assert over[~there].mean() <= 0.02
    assert over[there].mean() >= 0.95


@pytest.mark.parametrize("shape", [(1, 40), (4, 4), (6, 7)])
def test_tiny_pictures(shape: tuple[int, int]) -> None:
    pictures = np.full((12, *shape), 90.0)
    pictures[7] = 200
    assert np.isfinite(scored(noisy(pictures, 1.0))).all()


@pytest.mark.parametrize(("shape", "far"), [((20, 30), 1), ((40, 60), 2), ((120, 100), 5)])
def test_a_pixel_is_no_steadier_than_half_of_what_is_near(shape: tuple[int, int], far: int) -> None:
    noise = np.random.default_rng(0).uniform(1, 6, shape).astype(np.float32)
    light = scene_light(np.ones(shape, np.float32), np.zeros((0, noise.size)), shape, None)
    scorer = FrameScorer(light, noise, 1.0, (), CleanLevel(0.0, 1.0))
    for y, x in ((0, 0), (11, 17), (shape[0] - 1, 9)):
        near = noise[max(y - far, 0) : y + far + 1, max(x - far, 0) : x + far + 1].max()
        assert scorer.reach[y, x] == max(noise[y, x], near / 2)


@pytest.mark.parametrize(
    ("usual", "factor"), [(1e9, 1.0), (None, 1.0), (0.5, 2.0), (1 / 3, 3.0), (1e-6, 4.0)]
)
def test_a_frame_is_measured_in_its_own_noise(usual: float | None, factor: float) -> None:
    """From the usual noise to four times that; what was fitted as if it had been left out."""
    shape = (20, 30)
    generator = np.random.default_rng(2)
    picture = (GROUND[:20, :30] + generator.normal(0, 2, shape)).astype(np.float32)
    noise = generator.uniform(4, 9, shape).astype(np.float32)
    light = scene_light(
        GROUND[:20, :30].astype(np.float32), np.zeros((0, 600), np.float32), shape, None
    )
    change = np.zeros(4, np.float32)
    own = float(np.sort((np.abs(picture - light.center) / noise).ravel())[300])
    scorer = FrameScorer(light, noise, own * (usual or 1.0), (), CleanLevel(0.0, 1.0))
    left_out = np.array([0.8])
    totals, (deviation,) = deviate(scorer, picture[None], change[None], left_out)
    residual = deviation * scorer.reach
    np.testing.assert_allclose(
        residual, np.abs(picture - light.center) / (0.8 * factor), rtol=1e-4, atol=1e-4
    )
    ((total,),) = measure(scorer, totals, deviation[None])
    assert total == pytest.approx(float(np.sqrt((residual**2).sum())), rel=1e-5)


def calm(kind: str) -> Pictures:
    """Noise over the ground, and what a camera and its light do."""
    generator = np.random.default_rng(4)
    shape = n, _, _ = 100, H, W
    noise = generator.normal(0, 3, shape)
    if kind == "t(3)":
        return np.asarray(GROUND + generator.standard_t(3, shape))
    if kind == "Poisson":
        return np.asarray(2.0 * generator.poisson(GROUND / 2, shape))
    if kind == "beat":
        phase = np.arange(n)[:, None, None] / 7.3 + np.arange(H)[None, :, None] / H
        return np.asarray(GROUND * (1 + 0.04 * np.sin(2 * np.pi * phase)) + noise)
    film = GROUND + noise
    if kind == "blinking pixels":
        for top, left in generator.integers((0, 0), (H, W), (20, 2)):
            film[:, top, left] += 60 * (generator.random(n) < 0.3)
    return np.asarray(film)


@pytest.mark.parametrize("kind", ["Gaussian", "t(3)", "Poisson", "beat", "blinking pixels"])
def test_scores_of_calm_films_are_as_rare_as_they_are_said_to_be(kind: str) -> None:
    """The local score is the highest of three windows, of which each has a level of its own."""
    scores = scored(np.clip(np.rint(calm(kind)), 0, 255).astype(np.uint8))
    if kind in {"Gaussian", "t(3)"}:
        assert 0.4 <= (scores[:, 1] > 0).mean() <= 0.6
    for rate in (1 / 10, 1 / 100):
        assert ((scores > cutoff_for(rate)).mean(axis=0) <= 1.5 * rate).all()
    assert scores.max() < DEFAULT_CUTOFF
