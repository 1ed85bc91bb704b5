import numpy as np
import pytest

from bgsub.local.shadows import object_evidence


@pytest.fixture
def place():
    rng = np.random.default_rng(0)
    return rng.integers(90, 200, (30, 40, 3), dtype=np.uint8)


def share(place, seen, sigma=3.0):
    mask = np.zeros(place.shape[:2], np.uint8)
    mask[5:25, 5:35] = 1
    evidence = object_evidence(np.clip(seen, 0, 255).astype(np.uint8), place, mask, sigma)
    assert not evidence[mask == 0].any()
    return evidence[mask > 0].mean()


def test_less_light_of_the_same_colour_is_no_evidence(place):
    assert share(place, 0.6 * place) == 0
    assert share(place, 1.1 * place) == 0


def test_too_little_or_too_much_light_is(place):
    assert share(place, 0.2 * place) == 1
    assert share(place, np.minimum(1.0 * place, 150) * 1.6) > 0.9


def test_other_colours_are(place):
    assert share(place, place * (0.5, 0.7, 0.9)) > 0.95


def test_another_texture_is(place):
    other = np.random.default_rng(1).uniform(50, 120, (*place.shape[:2], 1)) * np.ones(3)
    assert share(place, other) > 0.95
