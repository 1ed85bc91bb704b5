import numpy as np
import pytest

from bgsub.local.light import (
    THUMBNAIL,
    explained,
    find_light,
    relight,
    thumbnail,
    tone_curve,
)
from bgsub.local.model import LocalModel


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    return rng.uniform(40, 180, (THUMBNAIL[1], THUMBNAIL[0], 3)).astype(np.float32)


def test_the_same_light_is_the_identity(model):
    noisy = model + np.random.default_rng(1).normal(0, 1.5, model.shape).astype(np.float32)
    light = find_light(noisy, model, 2.0)
    assert light.is_identity
    assert light.share > 0.95
    assert tone_curve(noisy, model, light, 2.0) is None


def test_gain_and_offset_are_found_behind_a_large_object(model):
    seen = model * (0.6, 0.7, 0.8) + (5, 0, 10)
    seen[:, :16] = 20  # two fifths of the picture
    light = find_light(seen.astype(np.float32), model, 2.0)
    assert light.gain == pytest.approx([0.6, 0.7, 0.8], abs=0.02)
    assert light.offset == pytest.approx([5, 0, 10], abs=3)
    assert light.share == pytest.approx(0.6, abs=0.02)


def test_a_frame_gets_its_backgrounds_light_back_though_the_camera_bends_it(model):
    seen = np.rint(255 * (model / 255) ** 1.4).astype(np.uint8)
    light = find_light(seen, model, 3.0)
    back = relight(seen, tone_curve(seen, model, light, 3.0))
    assert np.median(np.abs(back - model)) < 2.5
    assert explained(back, model, 3.0) > 0.9 > explained(seen, model, 3.0)


def test_thumbnails_are_means():
    picture = np.zeros((60, 80, 3), np.uint8)
    picture[::2] = 100
    assert (thumbnail(picture) == 50).all()


@pytest.mark.parametrize("level", [0, 128, 255])
@pytest.mark.parametrize("span", [(0, 50), (40, 180), (200, 255)])
def test_a_frame_without_contrast_has_no_gain_and_divides_by_nothing(level, span):
    rng = np.random.default_rng(0)
    model = rng.uniform(*span, (THUMBNAIL[1], THUMBNAIL[0], 3)).astype(np.float32)
    seen = np.full(model.shape, level, np.uint8)
    light = find_light(seen, model, 2.0)
    assert (light.gain > 0.3).all()
    curve = tone_curve(seen, model, light, 2.0)
    assert curve is None or curve.dtype == np.uint8


EVEN = {"black": 0, "white": 255, "grey": 90}


@pytest.mark.parametrize("film", EVEN)
@pytest.mark.parametrize("frame", EVEN)
def test_films_of_one_level_are_learnt_and_a_frame_of_another_is_foreground(film, frame, workers):
    pictures = np.full((12, 36, 48, 3), EVEN[film], np.uint8)
    model = LocalModel.fit(pictures, workers=workers)
    mask = model.mask(np.full((36, 48, 3), EVEN[frame], np.uint8))
    assert (mask == (0 if film == frame else 255)).all()


@pytest.mark.parametrize(("more", "identity"), [(0.01, True), (0.02, True), (0.05, False)])
def test_another_light_must_explain_three_per_cent_more_than_none(more, identity, model):
    """A little brighter throughout, within the noise; a share of the pixels is just beyond it."""
    rng = np.random.default_rng(0)
    seen = model + 2.5 + rng.uniform(-0.4, 0.4, model.shape)
    flat, order = seen.reshape(-1, 3), rng.permutation(model.shape[0] * model.shape[1])
    covered, beyond = round(0.2 * order.size), round((0.2 + more) * order.size)
    flat[order[covered:beyond]] += 4
    flat[order[:covered]] = 20
    light = find_light(seen.astype(np.float32), model, 2.0)
    assert light.is_identity == identity
    assert light.share == pytest.approx(0.8 - more if identity else 0.8, abs=0.005)


@pytest.mark.parametrize("channel", range(3))
def test_a_pixel_is_explained_where_all_its_channels_are(channel, model):
    seen = model.copy()
    seen[:15, :, channel] += 7
    assert explained(seen, model, 2.0) == pytest.approx(0.5)
    assert explained(seen, model, 2.4) == 1
