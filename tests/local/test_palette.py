import numpy as np
import pytest

from bgsub.local.palette import PARTS, Palette, find_palette

N, HEIGHT, WIDTH = 60, 40, 50
OWN, VISITOR = (200, 40, 40), (40, 200, 40)


@pytest.fixture
def palette():
    """Stripes that shift about; a visitor comes for a sixth of the film."""
    rng = np.random.default_rng(0)
    frames = np.empty((N, HEIGHT, WIDTH, 3), np.uint8)
    for i, frame in enumerate(frames):
        columns = (np.arange(WIDTH) + rng.integers(0, 8)) % 8 < 4
        frame[:] = np.where(columns[None, :, None], OWN, (90, 90, 90))
        if 20 <= i < 30:
            frame[10:30, 10:30] = VISITOR
    where = np.zeros((HEIGHT, WIDTH), bool)
    where[5:35, 5:45] = True
    return find_palette(frames, where, 1)


def apart(palette, color):
    picture = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    picture[:] = color
    distance = np.zeros((HEIGHT, WIDTH), np.uint8)
    palette.keep_apart(distance, picture, np.full_like(distance, 255))
    return distance


def test_colors_of_the_whole_film_belong_to_the_place(palette):
    assert not apart(palette, OWN).any()
    assert not apart(palette, (90, 90, 90)).any()
    assert apart(palette, (90, 90, 99))[20, 20] == 4


def test_the_colors_of_a_visitor_do_not(palette):
    distance = apart(palette, VISITOR)
    assert (distance[5:35, 5:45] > 90).all()
    assert not distance[:5].any()


def test_distances_that_are_large_already_stay(palette):
    distance = np.full((HEIGHT, WIDTH), 200, np.uint8)
    palette.keep_apart(distance, np.zeros((HEIGHT, WIDTH, 3), np.uint8), distance.copy())
    assert (distance == 200).all()


def test_fewer_frames_than_parts_do():
    frames = np.zeros((PARTS - 3, 8, 8, 3), np.uint8)
    assert find_palette(frames, np.ones((8, 8), bool), 1).distances[0, 0] == 0


def test_arrays_that_do_not_fit_are_refused(palette):
    cells, distances = palette.cells, palette.distances
    assert Palette.from_arrays(None, None, cells.shape) is None
    assert Palette.from_arrays(cells, distances, cells.shape) is not None
    with pytest.raises(ValueError, match="40, 50"):
        Palette.from_arrays(cells, distances, (3, 3))
    with pytest.raises(ValueError, match="40, 50"):
        Palette.from_arrays(cells, distances[:1], cells.shape)
    with pytest.raises(ValueError, match="7"):
        Palette.from_arrays(cells, distances[:, :7], cells.shape)
