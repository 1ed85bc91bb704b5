import numpy as np

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
