import cv2
import numpy as np
import pytest

from bgsub.local.model import LocalModel
from bgsub.local.params import LocalParams
from bgsub.local.tremor import without_moved_edges

SHAPE = (60, 80)


def wall(shift=0.0, levels=((40, 50, 60), (120, 110, 100))):
    """A slanted edge, as wide as a lens makes it, moved to the right by some pixels."""
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    over = columns - 0.3 * rows - 30 - shift
    share = 1 / (1 + np.exp(-over / 0.6))[..., None]
    low, high = np.array(levels, float)
    return np.rint(low + share * (high - low)).astype(np.uint8)


def behind(place):
    """Give parts of a background."""
    return lambda rows, columns: place[rows, columns]


def marked(picture, place):
    """The blobs of what differs by more than 10 grey levels."""
    differs = cv2.absdiff(picture, place).max(axis=2) > 10
    return differs.astype(np.uint8) * 255


@pytest.mark.parametrize("shift", [-0.8, -0.4, 0.4, 0.8])
def test_an_edge_that_moved_by_less_than_a_pixel_is_no_object(shift):
    place, picture = wall(), wall(shift)
    mask = marked(picture, place)
    mask[:15] = mask[-15:] = 0
    assert mask.any()
    assert not without_moved_edges(mask, picture, behind(place)).any()


@pytest.mark.parametrize("shift", [-3, 3])
def test_an_edge_that_moved_further_stays(shift):
    place, picture = wall(), wall(shift)
    mask = marked(picture, place)
    mask[:20] = mask[-20:] = 0
    kept = without_moved_edges(mask.copy(), picture, behind(place))
    np.testing.assert_array_equal(kept, mask)


@pytest.mark.parametrize("color", [(200, 200, 200), (10, 10, 10), (60, 90, 200), (95, 95, 95)])
@pytest.mark.parametrize("side", [4, 7, 12])
@pytest.mark.parametrize("left", [20, 34, 39, 45])
def test_an_object_on_an_edge_stays(color, side, left):
    place = wall()
    picture = place.copy()
    picture[25 : 25 + side, left : left + side] = color
    mask = marked(picture, place)
    kept = without_moved_edges(mask.copy(), picture, behind(place))
    np.testing.assert_array_equal(kept, mask)


def test_what_is_compact_is_no_edge():
    place, picture = wall(), wall(0.4)
    mask = np.zeros(SHAPE, np.uint8)
    mask[28:32, 37:41] = 255
    assert without_moved_edges(mask, picture, behind(place)).any()
    mask[18:42, 37:41] = 255
    assert not without_moved_edges(mask, picture, behind(place)).any()


def test_what_is_wide_is_no_edge_alone():
    place, picture = wall(), wall(0.4)
    mask = np.full(SHAPE, 255, np.uint8)
    assert without_moved_edges(mask, picture, behind(place)).all()


def test_holes_and_plain_places_are_borne():
    place = np.full((*SHAPE, 3), 90, np.uint8)
    mask = np.zeros(SHAPE, np.uint8)
    cv2.rectangle(mask, (30, 30), (35, 35), 255)
    kept = without_moved_edges(mask.copy(), place, behind(place))
    np.testing.assert_array_equal(kept, mask)


def post(shift, rng):
    """A short edge, with the noise of a camera."""
    picture = np.full((*SHAPE, 3), (30, 30, 30), float)
    levels = ((30, 30, 30), (220, 200, 180))
    picture[20:42] = wall(shift, levels)[20:42]
    return np.clip(picture + rng.normal(0, 1.5, picture.shape), 0, 255).astype(np.uint8)


def test_a_camera_that_drifts_leaves_no_slivers_in_masks(learn):
    rng = np.random.default_rng(0)
    model = learn(np.array([post(-0.4, rng) for _ in range(40)]))
    drifted = post(0.4, rng)
    unasked = LocalParams(edge_moved=1.1)
    assert LocalModel(model.scenes, model._usual, params=unasked).mask(drifted).any()
    assert not model.mask(drifted).any()
    drifted[45:57, 50:58] = (60, 90, 200)
    assert 60 <= np.count_nonzero(model.mask(drifted)) <= 130
