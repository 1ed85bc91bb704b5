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


@pytest.mark.parametrize("frames", [60, 7])
def test_a_palette_is_its_definition(frames):
    """Colours that most parts of the film show, and the distance of any other to the nearest."""
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 256, (6, 3))
    pictures = levels[rng.choice(6, (frames, 12, 70), p=[0.6, 0.34, 0.02, 0.02, 0.01, 0.01])]
    pictures = pictures.astype(np.uint8)
    pictures[:, :, 32:64][:, ::3] = levels[4]
    where = rng.random((12, 70)) < 0.9
    where[:, 40:50] = False
    found = find_palette(pictures, where, 1)
    np.testing.assert_array_equal(found.cells >= 0, where)
    places = [where & (np.arange(70) // 32 == k) for k in range(3)]
    for number, place in enumerate(places):
        assert (found.cells[place] == number).all()
        parts = [part for part in np.array_split(pictures, 10) if len(part)]
        seen = [{tuple(c) for c in (part[:, place] // 8).reshape(-1, 3).tolist()} for part in parts]
        usual = [c for c in set().union(*seen) if sum(c in one for one in seen) >= 0.6 * len(parts)]
        others = rng.integers(0, 32, (200, 3))
        for color in [*usual, *map(tuple, others.tolist())]:
            steps = min(
                (max(abs(a - b) for a, b in zip(color, c, strict=True)) for c in usual), default=32
            )
            blue, green, red = color
            expected = min(max(8 * steps - 4, 0), 255)
            assert found.distances[number, (blue * 32 + green) * 32 + red] == expected


def test_places_grow_with_the_picture():
    pictures = np.zeros((3, 70, 130, 3), np.uint8)
    where = np.ones((70, 130), bool)
    one, two = (find_palette(pictures, where, coarse).cells for coarse in (1, 2))
    assert one.max() + 1 == 3 * 5
    assert two.max() + 1 == 2 * 3
    for cells, side in ((one, 32), (two, 64)):
        for y, x in ((0, 0), (side - 1, side - 1), (side, 0), (0, side), (69, 129)):
            same = (np.arange(70) // side == y // side)[:, None] & (
                np.arange(130) // side == x // side
            )
            np.testing.assert_array_equal(cells == cells[y, x], same)


def test_a_distance_counts_where_it_is_smaller_than_another_and_only_rises(palette):
    picture = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    picture[:] = VISITOR
    foreign = int(apart(palette, VISITOR)[20, 20])
    for distance, other, expected in ((0, 1, foreign), (1, 1, 1), (250, 255, 250)):
        found = np.full((HEIGHT, WIDTH), distance, np.uint8)
        palette.keep_apart(found, picture, np.full_like(found, other))
        assert found[20, 20] == expected


def test_arrays_of_other_kinds_are_refused(palette):
    cells, distances = palette.cells, palette.distances
    for one, other in (
        (cells.astype(np.int32), distances),
        (np.where(cells < 0, -2, cells).astype(np.int16), distances),
        (cells, distances.astype(np.int16)),
    ):
        with pytest.raises(ValueError, match=r"\d"):
            Palette.from_arrays(one, other, cells.shape)
    assert Palette.from_arrays(cells, None, cells.shape) is None
    assert Palette.from_arrays(None, distances, cells.shape) is None
    nothing = np.zeros((0, 5), np.int16)
    assert Palette.from_arrays(nothing, distances, (0, 5)) is not None
