import numpy as np
import pytest

from bgsub.local.filling import fill_inwards


def test_a_hole_is_filled_by_what_continues_its_surroundings():
    place = np.zeros((24, 32, 3), np.uint8)
    place[:, :16], place[:, 16:] = (60, 90, 120), (180, 40, 70)
    person = np.full_like(place, 230)
    hole = np.zeros(place.shape[:2], bool)
    hole[6:18, 8:26] = True
    base = np.where(hole[..., None], person, place)
    shares = np.stack([np.full(hole.shape, share, np.float32) for share in (0.7, 0.15, 0.15)])
    colors = np.stack([person, place, place[:, ::-1]])
    allowed = np.ones((3, *hole.shape), bool)
    allowed[0] = False
    filled = fill_inwards(base, hole, colors, shares, allowed, 3.0)
    np.testing.assert_array_equal(filled, place)


def test_without_anything_allowed_nothing_changes():
    base = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    hole = np.ones((4, 5), bool)
    allowed = np.zeros((2, 4, 5), bool)
    shares = np.ones((2, 4, 5), np.float32)
    filled = fill_inwards(base, hole, np.stack([base, base + 1]), shares, allowed, 2.0)
    np.testing.assert_array_equal(filled, base)


def scribble(seed=0):
    """A hole amid random levels, with three layers of random colours, shares and places."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 80, (14, 18, 3), dtype=np.uint8)
    hole = np.zeros((14, 18), bool)
    hole[4:10, 5:13] = True
    colors = rng.integers(0, 80, (3, 14, 18, 3), dtype=np.uint8)
    shares = rng.uniform(0.05, 0.6, (3, 14, 18)).astype(np.float32)
    return base, hole, colors, shares, rng.uniform(size=(3, 14, 18)) < 0.8


@pytest.mark.parametrize("turn", [np.s_[::-1], np.s_[:, ::-1]])
def test_no_direction_is_preferred(turn):
    base, hole, colors, shares, allowed = scribble()
    across = (slice(None), *(turn if isinstance(turn, tuple) else (turn,)))
    turned = fill_inwards(
        base[turn], hole[turn], colors[across], shares[across], allowed[across], 5.0
    )
    filled = fill_inwards(base, hole, colors, shares, allowed, 5.0)
    np.testing.assert_array_equal(turned, filled[turn])


@pytest.mark.parametrize("seed", range(12))
def test_a_single_pixel_gets_the_layer_of_least_cost(seed):
    base, hole, colors, shares, _ = scribble(seed)
    hole[:] = False
    hole[6, 8] = True
    around = np.ones(hole.shape, bool)
    around[6, 8] = False
    beside = base[3:10, 5:12][around[3:10, 5:12]].astype(float)
    far = np.minimum(np.abs(colors[:, 6, 8, None] - beside).max(axis=2) / 20.0, 12)
    cost = far.min(axis=1) + 0.5 * far.mean(axis=1) - 0.5 * np.log(shares[:, 6, 8])
    filled = fill_inwards(base, hole, colors, shares, np.ones((3, *hole.shape), bool), 20.0)
    np.testing.assert_array_equal(filled[6, 8], colors[cost.argmin(), 6, 8])
