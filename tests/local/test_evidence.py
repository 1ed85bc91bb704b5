import cv2
import numpy as np
import pytest

from bgsub.local.evidence import EvidenceMeter
from bgsub.local.palette import find_palette
from bgsub.local.params import DEFAULTS
from bgsub.local.scene import Scene


@pytest.fixture
def meter():
    rng = np.random.default_rng(0)
    colors = rng.integers(0, 256, (3, 20, 30, 3), dtype=np.uint8)
    scene = Scene(colors, np.zeros((20, 30), np.uint8), 2.5, [])
    return scene, EvidenceMeter(scene)


def test_evidence_is_its_formula(meter):
    scene, found = meter
    picture = np.random.default_rng(1).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    evidence, own, index = found.measure(picture)
    differences = picture.astype(int) - scene.colors.astype(int)
    largest = np.abs(differences).max(axis=3)
    np.testing.assert_array_equal(own, largest.min(axis=0))
    np.testing.assert_array_equal(index, largest.argmin(axis=0))
    nearest = np.take_along_axis(differences, index[None, ..., None].astype(int), axis=0)[0]
    sums = cv2.blur(nearest.astype(np.float64), (3, 3)) * 9
    expected = np.maximum(np.abs(sums).max(axis=2), 9 * DEFAULTS.detail * largest.min(axis=0))
    np.testing.assert_allclose(evidence, expected, atol=1)


@pytest.mark.parametrize(
    "shares", [(0.3,), (0.004,), (0,), (0.3, 0.004), (0.004, 0.3), (0.3, 0.004, 0, 0.002), (0, 0)]
)
def test_layers_that_few_pixels_have_are_looked_at_there(shares):
    """Elsewhere they have the colours of the first one, which comes before them."""
    rng, shape = np.random.default_rng(2), (40, 50)
    colors = rng.integers(0, 256, (1 + len(shares), *shape, 3), dtype=np.uint8)
    for layer, share in zip(colors[1:], shares, strict=True):
        layer[:] = np.where(rng.random(shape)[..., None] < share, layer, colors[0])
    scene = Scene(colors, np.zeros(shape, np.uint8), 2.5, [])
    meter = EvidenceMeter(scene)
    for layer in (None, *range(len(colors))):
        picture = colors[layer or 0] if layer else rng.integers(0, 256, (*shape, 3), np.uint8)
        differences = picture.astype(int) - colors.astype(int)
        largest = np.abs(differences).max(axis=3)
        evidence, own, index = meter.measure(picture)
        np.testing.assert_array_equal(own, largest.min(axis=0))
        np.testing.assert_array_equal(index, largest.argmin(axis=0))
        some = np.arange(7, own.size, 3)
        alone = meter.least_difference(picture, some)
        np.testing.assert_array_equal(alone, own.flat[some])
        nearest = np.take_along_axis(differences, index[None, ..., None].astype(int), axis=0)[0]
        sums = np.abs(np.rint(cv2.blur(nearest.astype(np.float64), (3, 3)) * 9)).max(axis=2)
        alone = (9 * np.float32(DEFAULTS.detail) * own).astype(int)
        np.testing.assert_array_equal(evidence, np.maximum(sums, alone))


def test_a_layer_has_no_evidence_and_noise_has_less_than_an_object(meter):
    scene, found = meter
    assert not found.measure(scene.colors[1])[0].any()
    base = np.clip(scene.colors[0].astype(int), 20, 235)
    flat = Scene(base[None].astype(np.uint8), scene.restless, 2.5, [])
    signs = np.random.default_rng(2).choice([-10, 10], base.shape)
    noisy, _, _ = EvidenceMeter(flat).measure((base + signs).astype(np.uint8))
    noisy = noisy.mean()
    moved, _, _ = EvidenceMeter(flat).measure((base + 10).astype(np.uint8))
    assert 1.3 * noisy < moved.mean() == 90


@pytest.mark.parametrize("has_palette", [False, True])
def test_levels_within_a_band_are_no_evidence_unless_their_colour_is_foreign(has_palette):
    """A turbulent place of any brightness; somebody's colour has levels that all occur there."""
    shape = (24, 40)
    colors = np.full((1, *shape, 3), 100, np.uint8)
    band = np.stack([np.full((*shape, 3), 60), np.full((*shape, 3), 140)]).astype(np.uint8)
    palette = None
    if has_palette:
        levels = np.linspace(60, 140, 40).astype(np.uint8)
        shown = np.broadcast_to(levels[:, None, None, None], (40, *shape, 3))
        palette = find_palette(np.tile(shown, (10, 1, 1, 1)), np.ones(shape, bool), 1)
    scene = Scene(colors, np.zeros(shape, np.uint8), 2.5, [], band, palette=palette)
    meter = EvidenceMeter(scene)

    def evidence(color):
        picture = np.empty((*shape, 3), np.uint8)
        picture[:] = color
        return meter.measure(picture)[0].copy() / meter.unit

    assert not evidence((130, 130, 130)).any()
    assert (evidence((180, 180, 180)) == 40).all()  # above the band
    for beyond in ((180, 100, 100), (100, 180, 100), (100, 100, 180), (100, 20, 100)):
        assert (evidence(beyond) == 40).all()
    assert (evidence((70, 70, 130)) > 15).all() == has_palette
    assert evidence((70, 70, 130)).any() == has_palette


def test_beside_a_band_evidence_reaches_one_pixel_to_all_sides():
    shape = (9, 11)
    band = np.stack([np.full((*shape, 3), 60), np.full((*shape, 3), 140)]).astype(np.uint8)
    scene = Scene(np.full((1, *shape, 3), 100, np.uint8), np.zeros(shape, np.uint8), 2.5, [], band)
    picture = np.full((*shape, 3), 100, np.uint8)
    picture[4, 5] = 200
    found = EvidenceMeter(scene).measure(picture)[0]
    reached = np.zeros(shape, bool)
    reached[3:6, 4:7] = True
    np.testing.assert_array_equal(found > 0, reached)


@pytest.mark.parametrize(
    ("is_faint", "shape"),
    [(False, (96, 128)), (True, (96, 128)), (True, (721, 803))],  # and every second pixel of these
)
def test_where_noise_is_faint_light_that_drifts_is_no_evidence(is_faint, shape):
    """Of somebody in sight all is, and of what fills the picture all but a level and a half."""
    scene = Scene(np.full((1, *shape, 3), 100, np.uint8), np.zeros(shape, np.uint8), 2.5, [])
    meter = EvidenceMeter(scene, is_faint=is_faint)
    picture = np.full((*shape, 3), 101, np.uint8)
    picture[40:60, 50:80] += 6
    found = meter.measure(picture)[0] / meter.unit
    drift = 1 if is_faint else 0
    assert found[42:58, 52:78].min() == found.max() == 7 - drift
    # A pixel's own difference still counts, by two fifths.
    assert found[:30].max() == pytest.approx(max(1 - drift, DEFAULTS.detail), abs=0.1)
    all_of = meter.measure(np.full((*shape, 3), 110, np.uint8))[0] / meter.unit
    np.testing.assert_allclose(all_of, 10 - 1.5 * drift, atol=0.1)
