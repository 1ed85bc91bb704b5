from itertools import combinations

import numpy as np
import pytest

from bgsub.evaluation import report as drawing
from bgsub.evaluation.measures import Counts, ScoreCurve, count
from bgsub.evaluation.report import colored, draw_verdicts, render_curves
from bgsub.video.images import decode_image

pytestmark = pytest.mark.figures

VERDICTS = np.array([[0, 1, 2], [3, 4, 5]], np.uint8)


class Sequence:
    """What a curve is drawn of."""

    def __init__(self, name, curve):
        self.name = name
        self.curve = curve


def make_curve(scores, truth):
    curve = ScoreCurve.empty()
    curve.add(np.array(scores, np.uint8), np.array(truth, np.uint8))
    return curve


def test_every_verdict_has_its_colour():
    assert [tuple(int(c) for c in pixel) for pixel in colored(VERDICTS).reshape(6, 3)] == [
        drawing.TRUE_NEGATIVE,
        drawing.FALSE_POSITIVE,
        drawing.FALSE_NEGATIVE,
        drawing.TRUE_POSITIVE,
        drawing.UNSCORED,
        drawing.UNSCORED,
    ]


def test_colours_differ_in_lightness():
    # Whoever sees no colours at all still sees which is which.
    named = (drawing.FALSE_POSITIVE, drawing.FALSE_NEGATIVE, drawing.TRUE_POSITIVE)
    lightness = [np.dot(c, (0.114, 0.587, 0.299)) for c in (*named, drawing.TRUE_NEGATIVE)]
    assert min(abs(a - b) for a, b in combinations(lightness, 2)) > 35


def test_picture_beside_its_frame():
    frame = np.full((2, 3, 3), (10, 20, 30), np.uint8)
    picture = draw_verdicts(VERDICTS, frame, count(VERDICTS), "frame 7")
    factor = 160
    assert picture.shape == (2 * factor + 52, 2 * 3 * factor + 6, 3)
    body = picture[26:-26]
    assert (body[:, : 3 * factor] == (10, 20, 30)).all()
    assert (body[::factor, 3 * factor + 6 :: factor] == colored(VERDICTS)).all()
    assert (picture[:26] < 255).any(), "a line of text"


def test_without_its_frame_the_picture_stands_alone():
    counts = Counts(0, 0, 0, 6)
    alone = draw_verdicts(VERDICTS, None, counts, "")
    other_size = draw_verdicts(VERDICTS, np.zeros((4, 4, 3), np.uint8), counts, "")
    assert alone.shape == (2 * 160 + 52, 480, 3)
    assert np.array_equal(alone, other_size)


def test_large_pictures_are_not_enlarged():
    verdicts = np.zeros((10, 700), np.uint8)
    assert draw_verdicts(verdicts, None, Counts(), "x").shape == (62, 700, 3)


@pytest.mark.parametrize("letter", ["", "é"])
def test_curves(letter):
    curve = make_curve([90, 50, 30, 10], [1, 0, 1, 0])
    empty = make_curve([3], [0])
    sequences = [Sequence(f"a$b{letter}", curve), Sequence("no one", empty)]
    image = decode_image(render_curves(sequences, curve + empty))
    assert image.shape == (700, 800, 3)
    text = render_curves(sequences, curve + empty, plot_format="svg").decode()
    assert "no one: no foreground" in text
    assert "F 0.800 at 30" in text
    assert "all, one threshold" in text
    assert (
        "all, one threshold" not in render_curves(sequences[:1], curve, plot_format="svg").decode()
    )
