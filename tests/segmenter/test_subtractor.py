"""Fit, apply, learn on the go, save and load, in arrays alone."""

import cv2
import numpy as np
import pytest

from bgsub import Subtractor
from bgsub.errors import InputError, UsageError


@pytest.fixture(scope="module", params=["colour", "grey"])
def film(request):
    """Sixty frames of a still place; a bright square passes in the last twenty."""
    rng = np.random.default_rng(1)
    place = np.kron(rng.integers(60, 140, (6, 8, 3)), np.ones((5, 5, 1)))
    frames = np.clip(place + rng.normal(0, 2, (60, 30, 40, 3)), 0, 255).astype(np.uint8)
    for t in range(40, 60):
        frames[t, 12:22, t - 40 : t - 30] = 240
    return frames if request.param == "colour" else frames[..., 1].copy()


@pytest.fixture(scope="module")
def fitted(film):
    return Subtractor(threads=1).fit(film)


in_colour = pytest.mark.parametrize("film", ["colour"], indirect=True)


def is_the_square(mask):
    """Whether a mask of frame 50 holds the square, and hardly anything else."""
    expected = np.zeros((30, 40), bool)
    expected[12:22, 10:20] = True
    both = np.count_nonzero(expected & (mask > 0))
    return both / np.count_nonzero(expected | (mask > 0)) > 0.75


def in_motion(subtractor, film):
    """The mask of frame 50 behind the one before it, whatever was seen earlier."""
    subtractor.apply(film[49])
    return subtractor.apply(film[50])


def test_the_square_is_the_mask(fitted, film):
    mask = fitted.apply(film[50])
    assert mask.dtype == np.uint8
    assert set(np.unique(mask)) == {0, 255}
    assert is_the_square(mask)
    assert np.count_nonzero(fitted.apply(film[10])) < 20


def test_scores_are_probabilities(fitted, film):
    scores = fitted.scores(film[50])
    assert scores.shape == (30, 40)
    assert 0.5 < scores[17, 15] <= 1
    assert 0 <= np.median(scores) < 0.1


def test_the_background_is_empty_and_of_the_same_kind(fitted, film):
    empty = np.median(film[:40], axis=0)
    for background in (fitted.getBackgroundImage(), fitted.background(film[50])):
        assert background.shape == film.shape[1:]
        assert np.abs(background.astype(float) - empty).mean() < 3


def test_it_learns_as_it_goes(film):
    """As OpenCV's do: nothing is fitted, and an array may be given for the mask."""
    subtractor, mask = Subtractor(threads=1), np.empty((30, 40), np.uint8)
    for frame in film[20:50]:
        assert subtractor.apply(frame, mask) is mask
    subtractor.apply(film[50], mask)
    assert is_the_square(mask)
    assert not Subtractor(threads=1).apply(film[0]).any()


def test_a_rate_of_zero_learns_nothing(film):
    subtractor = Subtractor(threads=1)
    for frame in film[:5]:
        subtractor.apply(frame, learningRate=0)
    with pytest.raises(UsageError, match="nothing is learned"):
        subtractor.getBackgroundImage()


def test_shadows_are_marked_where_they_are_asked_for():
    rng = np.random.default_rng(3)
    floor = cv2.GaussianBlur(rng.normal(150, 40, (90, 120, 3)), (0, 0), 2)
    frames = np.clip(floor + rng.normal(0, 1.5, (32, 90, 120, 3)), 0, 255).astype(np.uint8)
    frames[20:, 62:72, 52:98] = (0.6 * frames[20:, 62:72, 52:98]).astype(np.uint8)
    frames[20:, 30:67, 45:60] = (30, 40, 160)
    masks = [
        Subtractor(threads=1, detect_shadows=detects).fit(frames[10:20]).apply(frames[25])
        for detects in (True, False)
    ]
    assert set(np.unique(masks[0])) == {0, 127, 255}
    np.testing.assert_array_equal(masks[0] == 255, masks[1] == 255)


@in_colour
def test_frames_may_come_one_by_one(fitted, film):
    other = Subtractor(threads=1).fit(iter(film))
    np.testing.assert_array_equal(in_motion(fitted, film), in_motion(other, film))


@in_colour
def test_long_films_are_thinned_out(film):
    many = Subtractor(threads=1).fit(film[i % 60] for i in range(900))
    assert is_the_square(many.apply(film[50]))


@in_colour
def test_a_buffer_may_be_overwritten_by_the_next_frame(film):
    buffer = np.empty_like(film[0])

    def camera():
        for frame in film[::3]:
            buffer[:] = frame
            yield buffer

    assert is_the_square(Subtractor(threads=1).fit(camera()).apply(film[50]))


def test_what_is_saved_gives_the_same_masks(fitted, film, tmp_path):
    fitted.save(tmp_path / "s.npz")
    again = Subtractor.load(str(tmp_path / "s.npz"))
    np.testing.assert_array_equal(in_motion(again, film), in_motion(fitted, film))
    assert repr(again) == repr(fitted)


def test_what_is_no_saved_subtractor_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "s.npz")
    np.savez(tmp_path / "c.npz", **{**np.load(tmp_path / "s.npz"), "mask_plates": -1})
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 no")
    np.savez(tmp_path / "b.npz", frames=np.zeros(3))
    for name in ("a.npz", "b.npz", "c.npz", "missing.npz"):
        with pytest.raises(InputError, match=name):
            Subtractor.load(tmp_path / name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda film: Subtractor().scores(film[0]), "nothing is learned"),
        (lambda film: Subtractor().fit(film[:1]), "takes 2"),
        (lambda film: Subtractor().fit(film.astype(float)), "must be uint8"),
        (lambda film: Subtractor().fit([film[0], film[1][:20]]), "frame 2 has another size"),
        (lambda film: Subtractor(threads=1).fit(film[:9]).apply(film[0][:20]), "those before are"),
        (lambda film: Subtractor(sensitivity="extreme"), "sensitivity"),
    ],
)
def test_mistakes_are_one_line(film, call, message):
    with pytest.raises(UsageError, match=message):
        call(film)


def test_a_grey_one_refuses_colour(film):
    other = np.repeat(film[0][..., None], 3, 2) if film.ndim == 3 else film[0][..., 1].copy()
    with pytest.raises(UsageError, match="given to a subtractor that has learned"):
        Subtractor(threads=1).fit(film[:9]).apply(other)


@pytest.mark.parametrize("shape", [(8,), (8, 8, 1), (8, 8, 4), (2, 8, 8, 3), (0, 8), (8, 0, 3)])
def test_what_is_no_picture_is_refused_by_its_shape(shape):
    with pytest.raises(UsageError, match="must be uint8") as refused:
        Subtractor().fit([np.zeros(shape, np.uint8)] * 3)
    assert "×".join(map(str, shape)) in str(refused.value)


def test_two_frames_are_enough(film):
    assert Subtractor(threads=1).fit(film[:2]).apply(film[1]).shape == (30, 40)


@in_colour
def test_sensitivity_marks_more_or_less(film):
    three = (Subtractor(threads=1, sensitivity=one) for one in ("low", "normal", "high"))
    counts = [np.count_nonzero(one.fit(film[::3]).apply(film[50])) for one in three]
    assert counts == sorted(counts)
