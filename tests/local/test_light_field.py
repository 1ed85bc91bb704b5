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


# --- the definition, block by block ---


def blocks_by_definition(seen, street, chosen, limit):
    """Blocks that show the background in some light: their gains by channel, where there is one."""
    found = {}
    for row, column in zip(*np.nonzero(chosen), strict=True):
        part = np.s_[16 * row : 16 * row + 16, 16 * column : 16 * column + 16]
        x, b = (
            cv2.cvtColor(one, cv2.COLOR_BGR2GRAY)[part].astype(float).ravel() + 4
            for one in (seen, street)
        )
        if b.std() == 0 or x.std() == 0 or np.corrcoef(x, b)[0, 1] <= 0.85:
            continue
        gain = np.median(x / b)
        explained = np.abs(x - gain * b) < limit * max(gain, 1)
        if not 0.4 < gain < 2.5 or b.std() <= limit / 3 or explained.mean() <= 0.7:
            continue
        levels, behind = (
            (one[part].reshape(-1, 3).astype(float) + 4)[explained].sum(axis=0)
            for one in (seen, street)
        )
        found[row, column] = np.log(np.clip(levels / behind, 0.4, 2.5))
    return found


def spread_by_definition(found, shape):
    weight, weighted = np.zeros(shape, np.float32), np.zeros((*shape, 3), np.float32)
    for place, gain in found.items():
        weight[place], weighted[place] = 1, gain
    field = np.zeros((*shape, 3))
    for width in (8, 4, 2, 1):
        near, total = (
            cv2.GaussianBlur(one, (0, 0), width, borderType=cv2.BORDER_CONSTANT)
            for one in (weighted, weight)
        )
        field = (near + 0.05 * field) / (total[..., None] + 0.05)
    return field


def patched(seed):
    """A street of which some blocks are in another light, some hidden, some both in part."""
    rng = np.random.default_rng(seed)
    street = as_bytes(make_street(seed))
    seen = street.astype(float)
    for row, column in np.ndindex(6, 10):
        part = seen[16 * row : 16 * row + 16, 16 * column : 16 * column + 16]
        kind = rng.integers(0, 6)
        if kind < 3:
            part *= rng.choice([0.3, 0.42, 0.7, 1.3, 1.8]) * rng.uniform(0.9, 1.1, 3)
        if kind == 3:
            part[:] = rng.uniform(0, 255, part.shape[:2])[..., None]
        if kind in (2, 4):
            part[: rng.integers(1, 8)] = 250
    return street, as_bytes(seen + rng.normal(0, 2, seen.shape))


@pytest.mark.parametrize("seed", range(8))
def test_a_field_is_its_definition(seed):
    street, seen = patched(seed)
    raw = raw_mask(seen, street)
    marked = raw.reshape(6, 16, 10, 16).mean(axis=(1, 3)) > 0.5
    agreeing = blocks_by_definition(seen, street, marked, 8)
    field = find_light_field(seen, behind(street), limit, raw, 1)
    assert (field is None) == (len(agreeing) < max(1, marked.sum() / 8))
    if field is not None:
        found = blocks_by_definition(seen, street, np.ones_like(marked), 8)
        np.testing.assert_allclose(field, spread_by_definition(found, (6, 10)), atol=2e-3)


def blocks_in_light(count, among):
    """A street whose first blocks are in another light, and the next ones hidden."""
    street = as_bytes(make_street())
    street[32:] = street[:32].repeat(2, axis=0)
    seen = street.astype(float)
    rng = np.random.default_rng(4)
    for i in range(among):
        row, column = divmod(i, 10)
        part = seen[16 * row : 16 * row + 16, 16 * column : 16 * column + 16]
        if i < count:
            part *= 1.4
        else:
            part[:] = rng.uniform(0, 255, part.shape)
    return as_bytes(seen), street


@pytest.mark.parametrize(
    ("count", "among", "found"), [(1, 8, True), (1, 9, False), (2, 16, True), (2, 17, False)]
)
def test_an_eighth_of_the_marked_blocks_must_agree(count, among, found):
    assert (find(*blocks_in_light(count, among)) is not None) == found


@pytest.mark.parametrize("step", [1, 2])
def test_the_field_takes_each_pixel_to_its_background_between_the_middles_of_blocks(step):
    """Levels count from −4, and are rounded."""
    rng = np.random.default_rng(0)
    height, width = 16 * step * 3 - 5, 16 * step * 4 - 3
    picture = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    field = rng.uniform(-0.5, 0.5, (3, 4, 3)).astype(np.float32)
    found = even_out(picture, field, step)
    at = [(np.arange(side) + 0.5) / (16 * step) - 0.5 for side in (height, width)]
    rows, columns = (np.clip(one, 0, side - 1) for one, side in zip(at, (3, 4), strict=True))
    low_y, low_x = (
        np.minimum(one.astype(int), side - 2) for one, side in ((rows, 3), (columns, 4))
    )
    part_y, part_x = (rows - low_y)[:, None, None], (columns - low_x)[None, :, None]
    factor = np.exp(-field)
    corners = [factor[low_y + i][:, low_x + j] for i in (0, 1) for j in (0, 1)]
    upper, lower = (a + part_x * (b - a) for a, b in (corners[:2], corners[2:]))
    expected = np.clip((picture + 4.0) * (upper + part_y * (lower - upper)) - 4, 0, 255)
    assert np.abs(found - expected).max() < 0.51


def test_a_field_of_every_other_pixel_is_that_of_the_picture_of_half_the_size():
    street, seen = patched(1)
    wide, shown = (np.repeat(np.repeat(one, 2, axis=0), 2, axis=1) for one in (street, seen))
    limits = np.full(wide.shape[:2], 8, np.float32)
    found = find_light_field(
        shown, behind(wide), lambda rows, columns: limits[rows, columns], raw_mask(shown, wide), 2
    )
    np.testing.assert_allclose(found, find(seen, street), atol=1e-5)
