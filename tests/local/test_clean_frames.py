import numpy as np

from bgsub.local.clean_frames import CleanFrames, coarseness, find_clean_frames, trimmed_mean


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
