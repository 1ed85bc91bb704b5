"""Fit, apply, save and load, in arrays alone."""

from dataclasses import asdict

import numpy as np
import pytest

from bgsub.errors import InputError, OutputError, UsageError
from bgsub.local.subtractor import Subtractor, _thinned


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


@pytest.mark.parametrize("n", [2, 149, 150, 151, 299, 300, 301, 599, 600, 1300])
def test_of_many_frames_150_are_kept_evenly_spread(n):
    """Every other one is let go whenever there are 300."""
    numbers = np.arange(n)
    frames = np.zeros((n, 8, 8, 3), np.uint8)
    frames[..., 0], frames[..., 1] = (numbers // 256)[:, None, None], (numbers % 256)[:, None, None]
    kept = [256 * int(one[0, 0, 0]) + int(one[0, 0, 1]) for one in _thinned(frames)]
    every = 1
    while -(-n // every) >= 300:
        every *= 2
    spread = numbers[::every]
    if len(spread) > 150:
        spread = spread[np.rint(np.linspace(0, len(spread) - 1, 150)).astype(int)]
    assert kept == spread.tolist()


def test_frames_that_are_kept_are_copies():
    """A camera's buffer is overwritten by the next frame."""
    buffer = np.zeros((8, 8), np.uint8)

    def camera():
        for level in range(5):
            buffer[:] = level
            yield buffer

    assert [int(one[0, 0]) for one in _thinned(camera())] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("shape", [(8,), (8, 8, 1), (8, 8, 4), (2, 8, 8, 3), (0, 8), (8, 0, 3)])
def test_what_is_no_picture_is_refused_by_its_shape(shape):
    with pytest.raises(UsageError, match="must be uint8") as refused:
        Subtractor().fit([np.zeros(shape, np.uint8)] * 3)
    assert "×".join(map(str, shape)) in str(refused.value)


def test_two_frames_are_enough(film):
    assert Subtractor(threads=1).fit(film[:2]).apply(film[1]).shape == (48, 64)


@pytest.mark.parametrize(
    ("name", "value"),
    [("shadows", "keep"), ("sensitivity", "high"), ("min_area", 400), ("fill_holes", False)],
)
def test_options_are_those_of_the_masks(name, value):
    given = {"shadows": "drop", "sensitivity": "normal", "min_area": None, "fill_holes": True}
    given[name] = value
    given["fill"] = given.pop("fill_holes")
    frames = np.random.default_rng(0).integers(0, 256, (2, 8, 8), dtype=np.uint8)
    model = Subtractor(threads=1, **{name: value}).fit(frames)._fitted()
    assert asdict(model.options) == given


def test_scores_are_one_where_a_mask_begins(fitted, film):
    model = fitted._fitted()
    np.testing.assert_allclose(fitted.scores(film[50]), model.scores(film[50]) / 90, rtol=1e-6)


def test_the_background_of_a_frame_is_that_of_its_state():
    rng = np.random.default_rng(0)
    rooms = np.kron(rng.integers(40, 200, (2, 6, 8, 3)), np.ones((1, 8, 8, 1)))
    order = np.repeat([0, 1], [40, 20])
    frames = np.clip(rooms[order] + rng.normal(0, 2, (60, 48, 64, 3)), 0, 255).astype(np.uint8)
    model = Subtractor(threads=1).fit(frames)
    for shown, room in ((None, 0), (frames[5], 0), (frames[50], 1)):
        assert np.abs(model.background(shown).astype(int) - rooms[room]).max() < 8


def test_it_says_what_it_was_fitted_to(fitted, film):
    assert repr(Subtractor()) == "Subtractor(not fitted)"
    kind = "grey" if film.ndim == 3 else "colour"
    assert repr(fitted) == f"Subtractor(64×48, {kind})"


def test_a_folder_that_is_missing_is_no_place_to_save(fitted, tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        fitted.save(tmp_path / "no" / "s.npz")


@pytest.mark.parametrize("wrong", [{"sensitivity": "hihg"}, {"shadows": "no"}, {"shadows": None}])
def test_words_that_it_does_not_know_are_refused_at_once(wrong):
    (name,) = wrong
    with pytest.raises(UsageError, match=f"{name} .*must be one of"):
        Subtractor(**wrong)
