import numpy as np
import pytest

from bgsub.local import clustering
from bgsub.local.clean_frames import clean_shares, find_clean_frames
from bgsub.local.clustering import find_layers
from bgsub.local.layers import LAYERS, UNSEEN
from bgsub.runtime.threads import Workers

COLORS = np.array([(40, 90, 200), (200, 60, 30), (90, 90, 90)], np.uint8)


@pytest.fixture
def film(workers):
    """Three colours in all pixels: 10 frames of the second, 30 of the first, 5 of the third."""
    shown = np.repeat([1, 0, 2, 0], [10, 20, 5, 10])
    rng = np.random.default_rng(0)
    pictures = np.broadcast_to(COLORS[shown][:, None, None], (45, 9, 13, 3))
    noisy = (pictures + rng.integers(-2, 3, pictures.shape)).astype(np.uint8)
    first = np.broadcast_to(COLORS[1], (9, 13, 3))
    return shown, noisy, find_layers(noisy, first, 8, seed=0, workers=workers)


def test_layers_are_the_colours_by_their_counts(film):
    shown, _, layers = film
    assert (layers.counts[:, 4, 4] == [30, 10, 5, 0, 0, 0]).all()
    assert np.abs(layers.colors[:3].astype(int) - COLORS[:, None, None]).max() <= 2
    assert (layers.labels == shown[:, None, None]).all()
    assert layers.shares[0, 0, 0] == pytest.approx(30 / 45)


def test_visits_and_absences(film):
    _, _, layers = film
    assert (layers.visits[:3, 0, 0] == [2, 1, 1]).all()
    assert (layers.absences[:3, 0, 0] == [10, 35, 30]).all()


def test_values_of_no_layer_are_unseen(workers):
    rng = np.random.default_rng(1)
    noise = rng.integers(0, 256, (60, 4, 4, 3), dtype=np.uint8)
    layers = find_layers(noise, noise[0], 2, seed=0, workers=workers)
    assert (layers.labels == UNSEEN).mean() > 0.5
    assert (layers.counts.sum(axis=0) + (layers.labels == UNSEEN).sum(axis=0) == 60).all()


def test_clean_shares_count_clean_frames_alone(film):
    _, pictures, layers = film
    clean = find_clean_frames(pictures[..., 0])
    shares = clean_shares(layers.labels, clean, 3)
    assert (shares[0] > 0.99).all()
    assert (shares[1:] < 0.01).all()


# --- the definition, pixel by pixel ---


def codebook(values, first, tolerance, order):
    """Layers of one pixel: colours, and the layer of every value, by their counts."""
    centers, counts = [first.astype(int)], [1]

    def nearest(value):
        far = [np.abs(value - one).max() for one in centers]
        k = int(np.argmin(far))
        return k if far[k] <= tolerance else None

    for i in order:
        k = nearest(values[i])
        if k is not None:
            counts[k] += 1
            continue
        if len(centers) < LAYERS:
            centers.append(values[i].astype(int))
            counts.append(1)
        elif min(counts) <= 1:
            weakest = int(np.argmin(counts))
            centers[weakest], counts[weakest] = values[i].astype(int), 1
    for _ in range(2):
        labels = [nearest(value) for value in values]
        for k in range(len(centers)):
            own = [v for v, label in zip(values, labels, strict=True) if label == k]
            centers[k] = np.rint(np.mean(own, axis=0)).astype(int) if own else np.full(3, 9999)
    numbers = [labels.count(k) for k in range(len(centers))]
    rank = sorted(range(len(centers)), key=lambda k: -numbers[k])
    place = {k: i for i, k in enumerate(rank)} | {None: UNSEEN}
    return [centers[k] for k in rank], [numbers[k] for k in rank], [place[k] for k in labels]


def runs(shown):
    """Longest absence, and visits."""
    away, longest, visits, was = 0, 0, 0, False
    for here in shown:
        away = 0 if here else away + 1
        longest, visits, was = max(longest, away), visits + (here and not was), here
    return longest, visits


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tolerance", [4, 9])
def test_layers_are_their_definition(seed, tolerance, workers):
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 60, (8, 3))
    shown = rng.choice(8, (50, 5, 7), p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])
    pictures = (levels[shown] + rng.integers(-3, 4, (*shown.shape, 3)) + 5).astype(np.uint8)
    first = pictures[7]
    layers = find_layers(pictures, first, tolerance, seed=seed, workers=workers)
    order = np.random.default_rng(seed).permutation(50)
    for y, x in np.ndindex(5, 7):
        colors, counts, labels = codebook(
            pictures[:, y, x].astype(int), first[y, x], tolerance, order
        )
        counts += [0] * (LAYERS - len(counts))
        assert layers.counts[:, y, x].tolist() == counts
        assert layers.labels[:, y, x].tolist() == labels
        for k, color in enumerate(colors):
            if counts[k]:
                assert layers.colors[k, y, x].tolist() == color.tolist()
            longest, visits = runs([label == k for label in labels])
            assert (layers.absences[k, y, x], layers.visits[k, y, x]) == (longest, visits)


def of_strips(monkeypatch, pictures, pixels, strays=0.7):
    monkeypatch.setattr(clustering, "_STRIP_PIXELS", pixels)
    monkeypatch.setattr(clustering, "_MOST_STRAYS", strays)
    with Workers(1) as workers:
        return find_layers(pictures, pictures[3], 6, seed=0, workers=workers)


def assert_same(one, other):
    for name in ("colors", "counts", "absences", "visits", "labels"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_layers_do_not_depend_on_the_strips_that_the_picture_is_worked_on_in(monkeypatch):
    pictures = np.random.default_rng(0).integers(0, 40, (12, 37, 11, 3), dtype=np.uint8)
    whole = of_strips(monkeypatch, pictures, 37 * 11)
    for pixels in (200, 100):
        assert_same(of_strips(monkeypatch, pictures, pixels), whole)


@pytest.mark.parametrize("calm", [0.0, 0.4, 0.9, 1.0])
def test_pixels_that_never_stray_have_the_layers_that_they_have_among_others(monkeypatch, calm):
    rng = np.random.default_rng(1)
    pictures = rng.integers(0, 5, (12, 16, 11, 3), dtype=np.uint8)
    strays = rng.random((16, 11)) >= calm
    pictures[:, strays] = rng.integers(0, 40, (12, strays.sum(), 3), dtype=np.uint8)
    apart = of_strips(monkeypatch, pictures, 1000, strays=1.0)
    assert_same(apart, of_strips(monkeypatch, pictures, 1000, strays=-1.0))
    assert (apart.counts[1:, ~strays] == 0).all()
