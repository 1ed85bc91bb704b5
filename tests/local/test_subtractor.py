"""Fit, apply, save and load, in arrays alone."""

import numpy as np
import pytest

from bgsub.errors import InputError, UsageError
from bgsub.local.subtractor import Subtractor


@pytest.fixture(scope="module", params=["colour", "grey"])
def film(request):
    """Sixty frames of a still place; a bright square passes in the last twenty."""
    rng = np.random.default_rng(1)
    place = np.kron(rng.integers(60, 140, (6, 8, 3)), np.ones((8, 8, 1)))
    frames = np.clip(place + rng.normal(0, 2, (60, 48, 64, 3)), 0, 255).astype(np.uint8)
    for t in range(40, 60):
        frames[t, 20:32, 2 * (t - 40) : 2 * (t - 40) + 10] = 240
    return frames if request.param == "colour" else frames[..., 1].copy()


@pytest.fixture(scope="module")
def fitted(film):
    return Subtractor(threads=1).fit(film)


def test_the_square_is_the_mask(fitted, film):
    mask = fitted.apply(film[50])
    assert mask.dtype == np.uint8
    assert set(np.unique(mask)) == {0, 255}
    expected = np.zeros((48, 64), bool)
    expected[20:32, 20:30] = True
    both = np.count_nonzero(expected & (mask > 0))
    assert both / np.count_nonzero(expected | (mask > 0)) > 0.8
    assert not fitted.apply(film[10]).any()


def test_scores_are_in_thresholds(fitted, film):
    scores = fitted.scores(film[50])
    assert scores.shape == (48, 64)
    assert scores[26, 25] > 1
    assert np.median(scores) < 1


def test_the_background_is_empty_and_of_the_same_kind(fitted, film):
    empty = np.median(film[:40], axis=0)
    for background in (fitted.background(), fitted.background(film[50])):
        assert background.shape == film.shape[1:]
        assert np.abs(background.astype(float) - empty).max() < 12


def test_frames_may_come_one_by_one(fitted, film):
    again = Subtractor(threads=1).fit(frame for frame in film)
    np.testing.assert_array_equal(again.apply(film[50]), fitted.apply(film[50]))


def test_long_films_are_thinned_out(film):
    many = Subtractor(threads=1).fit(film[i % 60] for i in range(900))
    assert many.apply(film[50])[26, 25] == 255


def test_what_is_saved_gives_the_same_masks(fitted, film, tmp_path):
    fitted.save(tmp_path / "s.npz")
    again = Subtractor.load(str(tmp_path / "s.npz"))
    np.testing.assert_array_equal(again.apply(film[50]), fitted.apply(film[50]))
    np.testing.assert_array_equal(again.background(), fitted.background())
    assert repr(again) == repr(fitted)


def test_what_is_no_saved_subtractor_is_refused(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 no")
    np.savez(tmp_path / "b.npz", frames=np.zeros(3))
    for name in ("a.npz", "b.npz", "missing.npz"):
        with pytest.raises(InputError, match=name):
            Subtractor.load(tmp_path / name)


def test_mistakes_are_one_line(film):
    with pytest.raises(UsageError, match="call fit first"):
        Subtractor().apply(film[0])
    with pytest.raises(UsageError, match="takes 2"):
        Subtractor().fit(film[:1])
    with pytest.raises(UsageError, match="must be uint8"):
        Subtractor().fit(film.astype(float))
    with pytest.raises(UsageError, match="frame 2 has another size"):
        Subtractor().fit([film[0], film[1][:20]])


def test_a_frame_of_another_size_is_refused(fitted, film):
    with pytest.raises(UsageError, match="were fitted"):
        fitted.apply(film[0][:20])
