import numpy as np
import pytest

from bgsub.local.clean_frames import (
    CleanFrames,
    clean_shares,
    coarseness,
    find_clean_frames,
    trimmed_mean,
)


def busy(n=40, size=48):
    """A grey place; a square that stands in another quarter every ten frames, a dark one."""
    rng = np.random.default_rng(0)
    luma = np.rint(rng.normal(120, 2, (n, size, size))).astype(np.uint8)
    for i in range(n):
        y, x = divmod(i // 10, 2)
        luma[i, 24 * y : 24 * y + 24, 24 * x : 24 * x + 24] -= 60
    return luma


def test_frames_with_an_object_are_not_clean_where_it_is():
    luma = busy()
    weights = np.stack([one.copy() for one in find_clean_frames(luma).weights()])
    assert weights[:10, :16, :16].max() == 0
    assert weights[10:, :16, :16].mean() > 150
    assert weights[20:30, 32:, :16].max() == 0


def test_weights_have_no_seams():
    still = np.full((8, 40, 56), 90, np.uint8)
    total = sum(one.astype(int) for one in find_clean_frames(still).weights())
    assert total.max() - total.min() <= 8 * 4  # four tents, rounded down, in every frame
    assert total.min() > 0.5 * 8 * 240


def test_the_trimmed_mean_is_that_of_the_place():
    luma = busy()
    pictures = np.repeat(luma[..., None], 3, axis=3)
    mean = trimmed_mean(pictures, find_clean_frames(luma))
    assert abs(float(mean.mean()) - 120) < 0.6
    assert np.abs(mean - 120)[:16, :16].max() < 3
    assert np.abs(pictures.mean(axis=0) - 120).mean() > 10


def test_tiles_grow_with_the_picture():
    assert coarseness(120, 160) == coarseness(360, 640) == 1
    assert (coarseness(720, 1280), coarseness(2160, 3840)) == (2, 6)


def test_a_tile_weighs_most_in_its_middle_and_the_same_to_all_sides():
    supports = [np.zeros((1, rows, columns), np.uint8) for rows in (3, 4) for columns in (3, 4)]
    supports[0][0, 1, 1] = 255
    (weights,) = CleanFrames((48, 48), 16, supports).weights()
    tile = weights[16:32, 16:32].astype(int)
    assert weights.astype(int).sum() == tile.sum()
    for turned in (tile[::-1], tile[:, ::-1], tile.T):
        np.testing.assert_array_equal(turned, tile)
    assert tile[7, 7] == tile.max() > 200
    assert (np.diff(tile[7, :8]) > 0).all()


# --- the definition, tile by tile ---


def trimmed(values, keep):
    """Frames nearest to their own mean, from the median on; shape (n, values)."""
    center = np.sort(values, axis=0)[(len(values) - 1) // 2]
    support = None
    for _ in range(8):
        errors = ((values - center) ** 2).sum(axis=1)
        near = np.sort(np.argsort(errors, kind="stable")[:keep])
        if support is not None and (near == support).all():
            break
        support, center = near, values[near].mean(axis=0)
    return support


def weights_by_definition(luma, fraction):
    """Of four tilings of 16 pixels, each a half off, blended by tents of 252 in all."""
    n, height, width = luma.shape
    keep = int(np.ceil(n * fraction))
    total = np.zeros(luma.shape, int)
    for down, right in ((0, 0), (0, 8), (8, 0), (8, 8)):
        fewer = luma[:, ::2, ::2].astype(float)
        starts = down // 2, right // 2
        pads = [(s, -(side + s) % 8) for s, side in zip(starts, fewer.shape[1:], strict=True)]
        wide = np.pad(fewer, [(0, 0), *pads], mode="edge")
        middle = [
            (8 - np.abs((np.arange(side) + s) % 16 - 7.5)) / 8
            for s, side in ((down, height), (right, width))
        ]
        tent = (252 * np.outer(*middle)).astype(int)
        for row, column in np.ndindex(wide.shape[1] // 8, wide.shape[2] // 8):
            part = wide[:, 8 * row : 8 * row + 8, 8 * column : 8 * column + 8].reshape(n, -1)
            top, left = 16 * row - down, 16 * column - right
            box = np.s_[max(top, 0) : max(top + 16, 0), max(left, 0) : max(left + 16, 0)]
            for i in trimmed(part, keep):
                total[i][box] += tent[box]
    return total


@pytest.mark.parametrize("fraction", [0.5, 0.3])
@pytest.mark.parametrize("size", [(32, 48), (30, 42)])
def test_clean_frames_are_their_definition(fraction, size):
    rng = np.random.default_rng(2)  # no two frames that deviate as much in a part
    luma = rng.integers(60, 140, (1, *size)) + rng.normal(0, 3, (11, *size))
    for i in range(11):
        top, left = rng.integers(0, 25), rng.integers(0, 35)
        luma[i, top : top + 12, left : left + 12] += rng.uniform(-60, 60)
    luma = np.clip(luma, 0, 255).astype(np.uint8)
    clean = find_clean_frames(luma, fraction)
    found = np.stack([one.astype(int) for one in clean.weights()])
    expected = weights_by_definition(luma, fraction)
    np.testing.assert_array_equal(found, expected)
    pictures = rng.integers(0, 256, (*luma.shape, 3), dtype=np.uint8)
    mean = (pictures * found[..., None].astype(float)).sum(axis=0)
    mean /= np.maximum(found.sum(axis=0), 1)[..., None]
    np.testing.assert_allclose(trimmed_mean(pictures, clean), mean, rtol=1e-5)


def test_of_large_pictures_every_tile_is_as_large_a_part():
    """Twice as large a picture: every other pixel is looked at, and tiles are twice as wide."""
    luma = np.zeros((5, 720, 1280), np.uint8)
    luma[2, 100:110, 200:210] = 90
    clean = find_clean_frames(luma)
    assert clean.tile == 32
    weights = np.stack([one.copy() for one in clean.weights()])
    assert weights.shape == luma.shape
    assert weights[2, 105, 205] == 0 < weights[0, 105, 205]


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_clean_shares_are_weighted_means(weight):
    """Where no frame is clean nothing has a share."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, (9, 16, 16), dtype=np.uint8)
    supports = [255 * (rng.random((9, r, c)) < 0.5 * weight) for r in (2, 3) for c in (2, 3)]
    clean = CleanFrames((16, 16), 8, [one.astype(np.uint8) for one in supports])
    weights = np.stack([one.copy() for one in clean.weights()]).astype(float)
    for k, share in enumerate(clean_shares(labels, clean, 3)):
        expected = (weights * (labels == k)).sum(axis=0) / np.maximum(weights.sum(axis=0), 1)
        np.testing.assert_allclose(share, expected, atol=1e-6)
