import numpy as np
import pytest

from bgsub.local.clean_frames import find_clean_frames
from bgsub.local.layers import UNSEEN, clean_shares, find_layers

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
