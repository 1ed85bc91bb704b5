"""The noise of every place, and the contrast of what moves."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from bgsub.local.evidence import EvidenceMeter
from bgsub.local.model import LocalModel
from bgsub.local.noise import NOISE_UNIT, with_noise
from bgsub.local.params import DEFAULTS, MaskOptions
from bgsub.local.scene import Scene


def walking(scenes, noise, contrast=120):
    """Somebody plain walks by a place that is noisy in its right half, nearly clean in the left."""
    rng, frames, truths = np.random.default_rng(4), [], []
    height, width = scenes.shape
    for i in range(scenes.frames):
        frame, truth = np.full((height, width, 3), 90.0), np.zeros(scenes.shape, bool)
        scenes.put(frame, truth, 20, 4 * (i % 30) - 14, np.full((24, 14, 3), 90.0 + contrast))
        frame += rng.normal(0, 1, frame.shape) * np.linspace(1, noise, width)[:, None]
        frames.append(np.clip(np.rint(frame), 0, 255).astype(np.uint8))
        truths.append(truth)
    return np.stack(frames), truths


def test_noise_follows_the_place(scenes, learn):
    frames, _ = walking(scenes, 8)
    found = learn(frames).scenes[0].noise / NOISE_UNIT
    left, right = np.median(found[:, :16]), np.median(found[:, -16:])
    assert right > 1.5 * left


def test_contrast_is_that_of_what_moves(scenes, learn):
    for contrast in (40, 120):
        frames, _ = walking(scenes, 1, contrast)
        assert abs(learn(frames).scenes[0].contrast - contrast) < 0.15 * contrast


def test_what_is_faint_beside_strong_objects_is_a_halo_and_otherwise_an_object(scenes, learn):
    for contrast, expected in ((16, True), (120, False)):
        frames, truths = walking(scenes, 1, contrast)
        model = learn(frames).with_options(MaskOptions(shadows="keep"))
        frame = np.full_like(frames[0], 90)
        frame[30:50, 40:60] += np.uint8(10)
        assert model.mask(frame)[35:45, 45:55].any() == expected
        masks = [model.mask(one) for one in frames]
        assert scenes.f_measure(masks, truths) > 0.85


def recoded(frames, truths, level):
    """Add noise to the blocks of 16×16 pixels that an object touches, as a codec does."""
    rng = np.random.default_rng(5)
    found = frames.copy()
    for frame, truth in zip(found, truths, strict=True):
        height, width = truth.shape
        for y in range(0, height, 16):
            for x in range(0, width, 16):
                part = np.s_[y : y + 16, x : x + 16]
                if truth[part].any():
                    coarse = rng.normal(0, level, (8, 8, 1)).repeat(2, axis=0).repeat(2, axis=1)
                    noise = coarse[: min(16, height - y), : min(16, width - x)]
                    noise = noise * ~truth[part][..., None]
                    frame[part] = np.clip(np.rint(frame[part] + noise), 0, 255)
    return found


def test_noise_that_a_codec_leaves_beside_objects_is_no_object(scenes, learn):
    frames, truths = walking(scenes, 1, 60)
    noisy = recoded(frames, truths, 14)
    clean, coded = learn(frames), learn(noisy)
    assert 0 < clean.scenes[0].halo < DEFAULTS.halo_noise
    assert coded.scenes[0].halo > 1.5 * DEFAULTS.halo_noise
    never = replace(DEFAULTS, halo_noise=1000)
    found, without = (
        scenes.f_measure([model.mask(one) for one in noisy], truths)
        for model in (coded, LocalModel(coded.scenes, [1.0], params=never))
    )
    assert found > 0.93
    assert without < 0.88


def test_light_in_a_few_frames_is_no_halo(scenes, learn):
    """It stands out beside what it hardly changes, as blocks of a codec do."""
    frames, truths = walking(scenes, 1, 60)
    noisy = recoded(frames, truths, 14)
    empty = np.rint(np.random.default_rng(8).normal(90, 1, (160, *noisy.shape[1:])))
    seldom = np.concatenate([noisy, empty.astype(np.uint8)])[::2]
    assert learn(seldom).scenes[0].halo == 0


def test_where_nothing_moves_no_halo_is_known(scenes, learn):
    frames = np.random.default_rng(8).normal(90, 2, (20, *scenes.shape, 3))
    assert learn(np.rint(frames).astype(np.uint8)).scenes[0].halo == 0


def dim_room(scenes, dark):
    """A light wall over a dark floor, before which somebody in dark clothes walks by."""
    rng, frames, truths = np.random.default_rng(7), [], []
    height, width = scenes.shape
    place = np.full((height, width, 3), 150.0)
    place[height // 2 + 8 :] = 28
    noise = np.where(place > 100, 4.0, dark)
    clothes = np.full((30, 14, 3), (16.0, 19.0, 27.0))
    clothes[:8] = (120, 150, 190)  # the head
    for i in range(scenes.frames):
        frame, truth = place.copy(), np.zeros(scenes.shape, bool)
        scenes.put(frame, truth, 38, 7 * (i % 30) - 20, clothes)
        frame += rng.normal(0, 1, frame.shape) * noise
        frames.append(np.clip(np.rint(frame), 0, 255).astype(np.uint8))
        truths.append(truth)
    return np.stack(frames), truths


@pytest.mark.parametrize(("dark", "expected"), [(0.8, 0.8 / 4), (4.0, 1)])
def test_grain_is_measured_by_level(scenes, learn, dark, expected):
    shares = learn(dim_room(scenes, dark)[0]).scenes[0].grain_shares
    assert shares[28 // 16] < 2 * expected
    assert shares[150 // 16] > 0.95
    assert shares[28 // 16] > 0.6 * expected
    assert (shares <= 1).all()


def test_dark_clothes_where_darkness_has_no_noise_are_no_shadow(scenes, learn):
    frames, truths = dim_room(scenes, 0.8)
    model = learn(frames)
    chosen = [i for i, one in enumerate(truths) if one.any()][::4]
    found = sum(np.count_nonzero(model.mask(frames[i])[truths[i]]) for i in chosen)
    assert found > 0.75 * sum(np.count_nonzero(truths[i]) for i in chosen)


def test_a_film_without_any_noise_says_nothing_of_levels(scenes, learn):
    assert learn(np.full((20, *scenes.shape, 3), 90, np.uint8)).scenes[0].grain_shares is None


def test_models_without_a_map_of_noise_draw_masks(passing):
    arrays = passing.model.arrays()
    for name in [one for one in arrays if "noise" in one or "contrast" in one]:
        del arrays[name]
    del arrays["local_params"]
    old = type(passing.model).from_arrays(arrays)
    mask = old.mask(passing.frames[8])
    assert np.count_nonzero(mask[passing.truths[8]]) > 0.7 * np.count_nonzero(passing.truths[8])


def test_noise_that_hides_what_moves_is_said(scenes, learn):
    rng = np.random.default_rng(6)
    frames, _ = walking(scenes, 1, 60)
    clean = learn(frames).history
    assert not clean.notes
    assert clean.states[0]["trust"] > 0.9
    noisy = np.clip(frames + rng.normal(0, 45, frames.shape), 0, 255).astype(np.uint8)
    found = learn(noisy).history
    assert any(note.startswith("noise: what differs by less than") for note in found.notes)
    assert found.states[0]["trust"] < 0.5


# --- the definition, pixel by pixel ---


def blurred(plane, side):
    return cv2.blur(plane.astype(np.float64), (side, side))


@pytest.mark.parametrize("has_band", [False, True])
def test_the_map_of_noise_and_the_contrast_are_their_definition(has_band):
    rng = np.random.default_rng(0)
    height, width, n = 40, 60, 50
    place = np.full((height, width, 3), 100.0)
    place[:, 30:] += rng.normal(0, 12, (height, 30, 3))
    place = np.clip(np.rint(place), 0, 255).astype(np.uint8)
    restless = np.zeros((height, width), np.uint8)
    restless[20:] = 200
    band = None
    if has_band:
        band = np.stack([place, place])
        band[0, :10, :10], band[1, :10, :10] = 60, 140
    scene = Scene(place[None], restless, 6.0, [], band)
    amount = np.linspace(1, 9, width)[None, :, None]
    pictures = place + amount * rng.normal(0, 1, (n, height, width, 3))
    pictures[30:, 8:28, 10:26] += rng.uniform(20, 90, (n - 30, 1, 1, 1))
    pictures = np.clip(np.rint(pictures), 0, 255).astype(np.uint8)
    found = with_noise(scene, pictures)

    chosen = np.rint(np.linspace(0, n - 1, 40)).astype(int)
    meter = EvidenceMeter(scene)
    evidence = np.stack([meter.measure(pictures[i])[0][::2, ::2] / meter.unit for i in chosen])
    eighths = np.floor(8 * evidence)
    usual = np.sort(eighths, axis=0)[11] * 1.75 / 8  # the 0.3 quantile of forty
    color = place.astype(np.float64)
    texture = np.sqrt(blurred(color**2, 9) - blurred(color, 9) ** 2).max(axis=2)
    most = ((0.1 + 0.8 * restless / 255) * texture)[::2, ::2]
    few = eighths[:, ::4, ::4]  # 5 × 8 of them, fewer than a region has
    around = np.pad(few, ((0, 0), (7, 7), (7, 7)), mode="symmetric")
    together = np.array(
        [[np.sort(around[:, 2:17, x : x + 15].reshape(40, -1))[:, 179] for x in (2, 6)]]
    )  # the 0.8 quantile of 225, for the one row and two columns of regions
    middle = np.sort(together, axis=2)[:, :, 11] * 1.75 * 0.526 / 8
    shared = np.minimum(cv2.resize(middle.astype(np.float32), (30, 20)), 3.75)
    believed = np.minimum(usual, np.maximum(np.maximum(most, shared), np.median(usual)))
    noise = np.maximum(blurred(believed, 5), 0.7)
    if has_band:
        noise[:5, :5] = np.maximum(noise[:5, :5], 6.0)
    large = cv2.resize(noise, (width, height), interpolation=cv2.INTER_LINEAR)
    expected = np.clip(np.rint(8 * large), 1, 255)
    assert np.abs(found.noise - expected).max() <= 1
    assert (found.noise == expected).mean() > 0.98
    clear = np.sort(eighths[eighths > 1.5 * 8 * 3.0 * noise])
    assert clear.size > 1000
    half = np.searchsorted(np.cumsum(clear), clear.sum() / 2)
    assert found.contrast == pytest.approx(clear[half] / 8, abs=0.2)


def plain_scene(height=120, width=160):
    """A grey place without texture, with little noise, and forty frames of it."""
    rng = np.random.default_rng(3)
    pictures = 100 + rng.normal(0, 1.2, (40, height, width, 1)).repeat(3, axis=3)
    scene = Scene(np.full((1, height, width, 3), 100, np.uint8), np.zeros((height, width)), 2.5, [])
    return scene, pictures


def test_what_is_faint_and_stays_for_long_does_not_count_as_noise():
    """Cars that wait in fog."""
    scene, pictures = plain_scene()
    pictures[6:, 50:70, 60:90] += 5
    found = with_noise(scene, np.rint(pictures).astype(np.uint8)).noise / NOISE_UNIT
    assert found[52:68, 62:88].max() < 1.2 * np.median(found)


def test_light_that_drifts_by_less_than_a_level_is_no_noise_where_there_is_little():
    """Evidence is measured beside that of the region, as in masks."""
    rng = np.random.default_rng(7)
    pictures = 100.65 + rng.normal(0, 0.6, (40, 120, 160, 1)).repeat(3, axis=3)
    found = with_noise(plain_scene()[0], np.rint(pictures).astype(np.uint8)).noise / NOISE_UNIT
    assert np.median(found) == pytest.approx(DEFAULTS.noise_floor, abs=0.07)


def test_what_a_wide_region_shows_together_is_noise():
    """Water changes everywhere at any time; noise of more than 3.75 levels is not believed."""
    scene, pictures = plain_scene()
    rng = np.random.default_rng(9)
    for strength, least in ((12, 3), (60, 3.5)):
        wavy = pictures.copy()
        for picture in wavy:
            waves = rng.normal(0, strength, (12, 40)).astype(np.float32)
            picture[:48] += cv2.resize(waves, (160, 48))[..., None]
        found = with_noise(scene, np.clip(np.rint(wavy), 0, 255).astype(np.uint8)).noise
        water, sand = np.median(found[:40]) / NOISE_UNIT, np.median(found[70:]) / NOISE_UNIT
        assert water > 2 * sand
        assert least < water <= 3.75


@pytest.mark.parametrize(("count", "contrast"), [(99, 0), (100, 50)])
def test_a_hundred_values_make_a_contrast(count, contrast):
    """Of pixels in every other row and column, in every frame."""
    pictures = np.full((4, 40, 40, 3), 100, np.uint8)
    values = np.zeros(4 * 400, np.uint8)
    values[:count] = 50
    pictures[:, ::2, ::2] += values.reshape(4, 20, 20)[..., None]
    scene = Scene(np.full((1, 40, 40, 3), 100, np.uint8), np.zeros((40, 40), np.uint8), 2.5, [])
    # A pixel alone counts for two fifths of its difference.
    assert with_noise(scene, pictures).contrast == pytest.approx(0.4 * contrast, abs=0.2)
