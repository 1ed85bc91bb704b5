import cv2
import numpy as np
import pytest

from bgsub.local.light import (
    THUMBNAIL,
    Light,
    explained,
    find_light,
    in_one_light,
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


@pytest.mark.parametrize("shape", [(720, 1280), (480, 960), (7740, 80), (721, 1280)])
@pytest.mark.parametrize("levels", [(0, 256), (127, 129), (255, 256)])
def test_thumbnails_of_large_pictures_are_those_of_opencv(shape, levels):
    picture = np.random.default_rng(0).integers(*levels, (*shape, 3), np.uint8)
    expected = cv2.resize(picture, THUMBNAIL, interpolation=cv2.INTER_AREA)
    np.testing.assert_array_equal(thumbnail(picture), expected)


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


# --- the definition, pixel by pixel ---


def line_of(x, c, pairs, width):
    """Gain and offset of a channel: of those of pairs of pixels, and none, the best, refined."""
    proposals = []
    for a, b in pairs.T:
        if abs(c[a] - c[b]) > 20:
            gain = (x[a] - x[b]) / (c[a] - c[b])
            proposals.append((gain, x[a] - gain * c[a]))
    proposals.append((1.0, np.median(x - c)))
    counts = [
        np.count_nonzero(np.abs(x[::2] - gain * c[::2] - offset) < width)
        if 0.4 < gain < 2.5 and abs(offset) < 60
        else -1
        for gain, offset in proposals
    ]
    if max(counts) < 0:
        return 1.0, 0.0
    gain, offset = proposals[int(np.argmax(counts))]
    inside = np.abs(x - gain * c - offset) < width
    if inside.sum() <= 20:
        return 1.0, 0.0
    if np.ptp(c[inside]) == 0:
        return 1.0, 0.0
    gain, offset = np.polyfit(c[inside].astype(float), x[inside].astype(float), 1)
    return (gain, offset) if 0.4 < gain < 2.5 else (1.0, 0.0)


LIGHTS = {
    "darker": (0.6, 3.0),
    "much darker": (0.3, 0.0),
    "as bright as can be": (2.3, -20.0),
    "brighter": (1.3, -30.0),
    "far off": (1.0, 57.0),
    "too far off": (1.0, 70.0),
    "inverted": (-1.0, 250.0),
}


@pytest.mark.parametrize("light", LIGHTS)
@pytest.mark.parametrize("covered", [0.2, 0.6, 0.99])
@pytest.mark.parametrize("sigma", [1.5, 4.0])
def test_a_light_is_its_definition(light, covered, sigma):
    rng = np.random.default_rng(3)
    model = rng.uniform(40, 110, (12, 16, 3)).astype(np.float32)
    gain, offset = LIGHTS[light]
    seen = gain * model + offset + rng.normal(0, sigma, model.shape)
    hidden = rng.random(model.shape[:2]) < covered
    seen[hidden] = rng.uniform(0, 255, seen[hidden].shape)
    seen = seen.astype(np.float32)
    found = find_light(seen, model, sigma)
    pairs = np.random.default_rng(0).integers(0, 192, (2, 128))
    x, c = (one.reshape(-1, 3).T for one in (seen, model))
    lines = [line_of(x[k], c[k], pairs, 3 * sigma) for k in range(3)]
    left = np.max([np.abs(x[k] - g * c[k] - o) for k, (g, o) in enumerate(lines)], axis=0)
    share = (left < 3 * sigma).mean()
    plain = (np.abs(x - c).max(axis=0) < 3 * sigma).mean()
    if plain > 0.9 or share < plain + 0.03:
        assert found.is_identity
        assert found.share == pytest.approx(plain)
    else:
        assert not found.is_identity
        np.testing.assert_allclose(found.gain, [g for g, _ in lines], rtol=1e-4)
        np.testing.assert_allclose(found.offset, [o for _, o in lines], atol=2e-2)
        assert found.share == pytest.approx(share)


def bend_of(x, left, width):
    """Where an eighth of the levels that is for the most part near it is bent to its median."""
    at, by = [], []
    for part in np.array_split(np.argsort(x, kind="stable"), 8):
        near = part[np.abs(left[part]) < width]
        if near.size > 0.3 * part.size:
            at.append(x[near[near.size // 2]])
            by.append(np.sort(left[near])[near.size // 2])
    return np.interp(np.arange(256), at, by) if len(at) > 1 else np.zeros(256)


@pytest.mark.parametrize("hidden", [0.0, 0.5, 0.68, 0.72, 0.9])
@pytest.mark.parametrize("identity", [True, False])
def test_a_tone_curve_is_its_definition(hidden, identity):
    rng = np.random.default_rng(1)
    model = rng.uniform(30, 150, (15, 20, 3)).astype(np.float32)
    seen = 255 * (model / 255) ** 1.2
    gone = rng.random(model.shape[:2]) < hidden
    seen[gone] = rng.uniform(0, 255, seen[gone].shape)
    seen = np.rint(seen).astype(np.uint8)
    gain, offset = (1.0, 0.0) if identity else (np.array([0.8, 0.7, 0.9]), np.array([3.0, 0, -2]))
    gain, offset = (np.broadcast_to(one, 3).astype(np.float32) for one in (gain, offset))
    found = tone_curve(seen, model, Light(gain, offset, 0.5), 1.5)
    if identity:
        assert found is None
        return
    assert found.shape == (1, 256, 3)
    for k in range(3):
        x, c = seen[..., k].ravel().astype(float), model[..., k].ravel()
        table = (np.arange(256) - offset[k]) / gain[k]
        table += bend_of(x, c - (x - offset[k]) / gain[k], 12.0)
        expected = np.clip(np.rint(table), 0, 255)
        np.testing.assert_allclose(found[0, :, k], expected, atol=1)
        assert (found[0, :, k] == expected).mean() > 0.97


@pytest.mark.parametrize(
    ("gain", "offset"),
    [((1, 1, 1.01), (0, 0, 0)), ((1, 1, 1), (0, 0.1, 0)), ((1, 1, 1), (0, 0, 0))],
)
def test_the_identity_is_no_gain_and_no_offset_in_any_channel(gain, offset):
    light = Light(np.array(gain, np.float32), np.array(offset, np.float32), 1.0)
    assert light.is_identity == (sum(gain) == 3 and sum(offset) == 0)


class TestOneLight:
    """Pictures of a state in the light of their median."""

    def film(self, gains, noise=1.0, drift=0.0):
        rng = np.random.default_rng(2)
        place = np.kron(rng.uniform(60, 160, (30, 40, 3)), np.ones((2, 2, 1)))
        frames = [
            gain * place + drift * i + rng.normal(0, noise, place.shape)
            for i, gain in enumerate(gains)
        ]
        return np.clip(np.rint(frames), 0, 255).astype(np.uint8)

    def put(self, pictures, chosen, **options):
        small = np.stack([thumbnail(one) for one in pictures])
        return in_one_light(pictures, small, np.asarray(chosen), **options)

    def test_those_in_another_light_are_put_right_and_counted(self):
        pictures = self.film([1, 1, 0.8, 1, 1.25, 1, 1])
        before = pictures.copy()
        found, relit = self.put(pictures, range(7))
        assert relit == 2
        assert found is pictures
        for i in (0, 1, 3, 5, 6):
            np.testing.assert_array_equal(found[i], before[i])
        for i in (2, 4):
            assert np.median(np.abs(found[i].astype(int) - before[0])) <= 2

    def test_only_those_of_the_state_are(self):
        pictures = self.film([1, 0.5, 0.8, 1, 1, 1])
        before = pictures.copy()
        found, relit = self.put(pictures, [0, 2, 3, 4, 5])
        assert (len(found), relit) == (5, 1)
        np.testing.assert_array_equal(pictures[1], before[1])
        np.testing.assert_array_equal(found[2], before[3])
        assert np.median(np.abs(found[1].astype(int) - before[0])) <= 2

    def test_a_drift_of_the_light_is_no_noise(self):
        """Of 20 levels in 40 steps: what is three times the least noise away is light."""
        pictures = self.film([1] * 40, drift=0.5)
        found, relit = self.put(pictures, range(40))
        assert 22 <= relit <= 28
        assert np.ptp(found[:, 0].mean(axis=(1, 2))) > np.ptp(found[[0, -1]].mean(axis=(1, 2, 3)))

    @pytest.mark.parametrize("noise", [1.0, 12.0])
    def test_frames_of_one_light_stay_however_noisy(self, noise):
        pictures = self.film([1] * 12, noise=noise)
        before = pictures.copy()
        found, relit = self.put(pictures, range(12))
        assert relit == 0
        np.testing.assert_array_equal(found, before)

    @pytest.mark.parametrize("noise", [1.0, 3.0, 12.0])
    def test_the_noise_is_that_around_the_median_and_at_least_a_level_and_a_half(
        self, noise, monkeypatch
    ):
        """A thumbnail is a mean over 2×2 pixels, so it has half of their noise."""
        taken = []

        def find(seen, model, sigma, **options):
            taken.append(sigma)
            return find_light(seen, model, sigma, **options)

        monkeypatch.setattr("bgsub.local.light.find_light", find)
        pictures = self.film([1] * 15, noise=noise)
        size = thumbnail(pictures[0]).shape[:2]
        share = np.sqrt(size[0] * size[1] / (60 * 80))
        self.put(pictures, range(15))
        assert len(taken) == 15
        assert np.ptp(taken) == 0
        assert taken[0] == pytest.approx(max(noise * share, 1.5), rel=0.2)

    def test_one_frame_is_its_own_light(self):
        pictures = self.film([1, 0.6])
        found, relit = self.put(pictures, [1])
        assert relit == 0
        np.testing.assert_array_equal(found[0], pictures[1])
