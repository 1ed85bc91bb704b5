"""Small scenes whose objects are known: noise, shadows, light, leaves, people who stand."""

from types import SimpleNamespace

import numpy as np
import pytest

from bgsub.local.model import LocalModel
from bgsub.runtime.threads import Workers

HEIGHT, WIDTH = 72, 96
N_FRAMES = 80


def make_place(seed=0):
    """A room of smooth patches in colour, shape (h, w, 3)."""
    rng = np.random.default_rng(seed)
    coarse = rng.uniform(70, 190, (HEIGHT // 12, WIDTH // 12, 3))
    return np.repeat(np.repeat(coarse, 12, axis=0), 12, axis=1)


def make_object(seed=5):
    """Somebody in stripes and speckles, shape (24, 14, 3)."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal((40, 60, 215), 25, (24, 14, 3)), 0, 255)


def finish(frames, noise=3.0, seed=1):
    rng = np.random.default_rng(seed)
    noisy = np.asarray(frames) + rng.normal(0, noise, np.shape(frames))
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def place_object(frame, truth, top, left, thing):
    """Put an object into a frame and its truth, cut off at the borders."""
    height, width = thing.shape[:2]
    first, last = max(left, 0), min(left + width, WIDTH)
    if last > first:
        frame[top : top + height, first:last] = thing[:, first - left : last - left]
        truth[top : top + height, first:last] = True


def f_measure(masks, truths):
    """F over all pixels of some masks."""
    found, true = np.asarray(masks) > 0, np.asarray(truths)
    return 2 * float((found & true).sum()) / float(found.sum() + true.sum())


@pytest.fixture
def scenes():
    return SimpleNamespace(
        place=make_place,
        thing=make_object,
        finish=finish,
        put=place_object,
        shape=(HEIGHT, WIDTH),
        frames=N_FRAMES,
        f_measure=f_measure,
    )


@pytest.fixture
def learn():
    """Fit a model to frames, which stay as they are."""

    def fit(frames, **options):
        with Workers(1) as workers:
            return LocalModel.fit(frames.copy(), workers=workers, **options)

    return fit


@pytest.fixture(scope="session")
def passing():
    """A still place where somebody walks by every now and then: frames, truths, model."""
    place, thing = make_place(), make_object()
    frames, truths = [], []
    for i in range(N_FRAMES):
        frame, truth = place.copy(), np.zeros((HEIGHT, WIDTH), bool)
        place_object(frame, truth, 30, 7 * (i % 40) - 20, thing)
        frames.append(frame)
        truths.append(truth)
    shown = finish(frames)
    with Workers(1) as workers:
        model = LocalModel.fit(shown.copy(), workers=workers)
    return SimpleNamespace(frames=shown, truths=truths, model=model)
