from dataclasses import replace

import cv2
import numpy as np
import pytest

from bgsub.local.light_field import even_out, find_light_field
from bgsub.local.params import DEFAULTS, MaskOptions

HEIGHT, WIDTH = 96, 160
LIMIT = np.full((HEIGHT, WIDTH), 8, np.float32)


def make_street(seed=0):
    """Grass and a wall with texture, and a plain road between them."""
    rng = np.random.default_rng(seed)
    rough = rng.uniform(70, 130, (HEIGHT // 2, WIDTH // 2, 1)) * np.array([0.8, 1.0, 0.9])
    street = cv2.resize(rough, (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR)
    street[40:72] = 105
    street[54:58, ::2] = 125
    return street


def sunlight(strength=0.4):
    """Gain of every pixel: more light in the right half, its edge 60 pixels wide."""
    ramp = np.clip((np.arange(WIDTH) - WIDTH / 2 + 30) / 60, 0, 1)
    return (1 + strength * ramp)[None, :, None] * np.ones((HEIGHT, 1, 1))


def as_bytes(picture):
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)


def raw_mask(seen, street):
    return (np.abs(seen.astype(int) - street.astype(int)).max(axis=2) > 8).astype(np.uint8)


def behind(street):
    return lambda rows, columns: street[rows, columns]


def limit(rows, columns):
    return LIMIT[rows, columns]


def find(seen, street):
    return find_light_field(seen, behind(street), limit, raw_mask(seen, street), 1)


def test_light_that_changes_in_a_part_is_evened_out():
    street = as_bytes(make_street())
    seen = as_bytes(street * sunlight())
    field = find(seen, street)
    assert field is not None
    left = np.abs(even_out(seen, field, 1).astype(int) - street)
    assert np.median(np.abs(seen.astype(int) - street)[:, 110:]) > 30
    assert np.quantile(left, 0.9) < 8
    assert np.median(left) < 3


def test_an_object_in_it_stays_as_strong():
    street = as_bytes(make_street())
    shown = street * sunlight()
    shown[30:70, 100:120] = 230 - 0.5 * shown[30:70, 100:120].mean()
    seen = as_bytes(shown)
    field = find(seen, street)
    assert field is not None
    left = np.abs(even_out(seen, field, 1).astype(int) - street).max(axis=2)
    assert np.median(left[30:70, 100:120]) > 12
    left[26:74, 96:124] = 0
    assert np.quantile(left, 0.9) < 8


def test_objects_alone_are_no_light():
    street = as_bytes(make_street())
    seen = street.copy()
    rng = np.random.default_rng(4)
    seen[20:80, 30:100] = rng.uniform(40, 220, (60, 70, 1))
    assert find(seen, street) is None
    seen[20:80, 30:100] = 200
    assert find(seen, street) is None
    assert find(street, street) is None


def test_a_few_blocks_among_objects_are_no_change_of_light():
    street = as_bytes(make_street())
    seen = street.copy()
    seen[:32, :32] = as_bytes(seen[:32, :32] * 1.4)
    assert find(seen, street) is not None
    rng = np.random.default_rng(4)
    seen[:, 32:] = rng.uniform(40, 220, (HEIGHT, WIDTH - 32, 1))
    assert find(seen, street) is None


@pytest.mark.parametrize(("contrast", "is_found"), [(1.2, False), (2.0, False), (4.5, True)])
def test_texture_weaker_than_a_third_of_the_threshold_is_no_evidence(contrast, is_found):
    """At a threshold of 8 grey levels: noise and rounding would agree by chance."""
    rough = np.random.default_rng(2).normal(0, 1, (HEIGHT // 2, WIDTH // 2))
    rough = cv2.resize(rough, (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR)
    street = as_bytes(np.repeat((110 + contrast * rough / rough.std())[..., None], 3, axis=2))
    field = find(as_bytes(street * sunlight()), street)
    assert (field is not None) == is_found


def test_without_blocks_there_is_no_field():
    street = as_bytes(make_street())
    seen = as_bytes(street * sunlight())
    none = replace(DEFAULTS, light_block=0)
    assert find_light_field(seen, behind(street), limit, raw_mask(seen, street), 1, none) is None


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("cut", [0, 5])
def test_sizes_that_blocks_do_not_divide(step, cut):
    street = as_bytes(make_street())[: HEIGHT - cut, : WIDTH - cut]
    seen = as_bytes(street * sunlight()[: HEIGHT - cut, : WIDTH - cut])
    field = find_light_field(seen, behind(street), limit, raw_mask(seen, street), step)
    assert field is not None
    assert even_out(seen, field, step).shape == seen.shape


@pytest.fixture(scope="module")
def film():
    """80 frames of a street; the sun comes out in 75–79, and in 77–79 somebody walks there."""
    rng = np.random.default_rng(7)
    street = make_street()
    thing = np.clip(rng.normal((40, 60, 205), 25, (36, 16, 3)), 0, 255)
    frames, truths = [], []
    for number in range(80):
        light = sunlight(0.1 * (number - 74)) if number > 74 else 1.0
        frame = street * light
        truth = np.zeros((HEIGHT, WIDTH), bool)
        if number > 76:
            left = 100 + 8 * (number - 77)
            frame[34:70, left : left + 16] = thing
            truth[34:70, left : left + 16] = True
        frames.append(as_bytes(frame + rng.normal(0, 2, frame.shape)))
        truths.append(truth)
    return np.stack(frames), truths


def test_sun_that_comes_out_marks_nothing_but_who_walks_in_it(film, learn, scenes):
    frames, truths = film
    model = learn(frames)
    for number in (75, 76):
        assert (model.mask(frames[number]) > 0).mean() <= 0.001
    masks = [model.mask(frames[number]) for number in (77, 78, 79)]
    assert scenes.f_measure(masks, truths[77:]) > 0.9
    assert (model.scores(frames[76]) >= 90).mean() < 0.02


def test_without_the_field_and_the_texture_it_would(film, learn):
    frames, _ = film
    params = replace(DEFAULTS, light_block=0, texture_kept=1.1)
    model = learn(frames, params=params)
    assert (model.mask(frames[79]) > 0).mean() > 0.05


def test_who_keeps_shadows_keeps_light(film, learn):
    frames, _ = film
    model = learn(frames)
    kept = model.with_options(MaskOptions(shadows="keep"))
    assert (kept.mask(frames[76]) > 0).mean() > (model.mask(frames[76]) > 0).mean()
