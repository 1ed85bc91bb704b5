import csv
import io
import json
import re
from itertools import combinations

import numpy as np
import pytest

from bgsub.cli.evaluate import FORMATS
from bgsub.evaluation import EvaluationOptions
from bgsub.evaluation import report as texts
from bgsub.evaluation.evaluate import Pair, evaluate
from bgsub.evaluation.measures import MEASURES, Counts, ScoreCurve
from bgsub.video.images import decode_image, write_image


@pytest.fixture
def found(tmp_path):
    """Two sequences: one with 1 TP, 1 FP and 2 TN, one without any foreground."""
    pairs = []
    for name, mask, truth in (("a|b", [255, 255, 0, 0], [255, 0, 0, 50]), ("c", [0], [0])):
        for kind, values in (("masks", mask), ("truth", truth)):
            (tmp_path / name / kind).mkdir(parents=True)
            write_image(tmp_path / name / kind / "f07.png", np.array([values], np.uint8))
        pairs.append(
            Pair(str(tmp_path / name / "masks"), str(tmp_path / name / "truth"), name=name)
        )

    def make(n=2, **options):
        return evaluate(pairs[:n], EvaluationOptions(**options))

    return make


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("form", FORMATS)
def test_nothing_is_printed_as_nan(found, form, scores):
    text = texts.list_evaluation(form, found(scores=scores))
    assert not re.search(r"\bnan\b", text.lower())
    assert text.endswith("\n")


def test_table(found):
    header, first, second, total, mean = texts.list_evaluation("table", found()).splitlines()
    assert header.split()[:5] == ["sequence", "frames", "precision", "recall", "F"]
    assert first.split() == [
        *("a|b", "1", "0.5000", "1.0000", "0.6667", "0.5000", "0.6667", "0.3333", "0.0000"),
        *("25.0000", "1", "1", "0", "2"),
    ]
    assert second.split()[:5] == ["c", "1", "–", "–", "–"]
    assert total.split()[:3] == ["total", "2", "0.5000"]
    assert mean.split()[0:2] == ["mean", "0.5000"]
    assert len({len(line) for line in (header, first, second, total)}) == 1, "columns align"


def test_one_sequence_is_its_own_total(found):
    assert len(texts.list_evaluation("table", found(1)).splitlines()) == 2


def test_csv(found):
    rows = list(csv.DictReader(io.StringIO(texts.list_evaluation("csv", found()))))
    assert [row["sequence"] for row in rows] == ["a|b", "c", "total", "mean"]
    assert [row["f_measure"] for row in rows[:2]] == ["0.66666667", ""]
    assert [rows[2][name] for name in ("tp", "fp", "fn", "tn")] == ["1", "1", "0", "3"]
    assert rows[3]["tp"] == ""


def test_markdown(found):
    lines = texts.list_evaluation("markdown", found()).splitlines()
    assert lines[1].startswith("| --- | ---: |")
    assert lines[2].startswith(r"| a\|b | 1 | 0.5000 |")
    assert len({line.replace(r"\|", "").count("|") for line in lines}) == 1


def test_json(found):
    listing = json.loads(texts.list_evaluation("json", found()))
    assert listing["schema_version"] == 1
    first, second = listing["sequences"]
    assert {name: first[name] for name in ("tp", "fp", "fn", "tn")} == {
        "tp": 1,
        "fp": 1,
        "fn": 0,
        "tn": 2,
    }
    assert (first["offset"], first["frames"]) == (0, 1)
    assert [name for name in MEASURES if second[name] is None] == [
        *("precision", "recall", "f_measure", "iou", "fnr")
    ]
    assert listing["total"]["specificity"] == 0.75
    assert listing["mean"]["f_measure"] == pytest.approx(2 / 3, abs=1e-8)


def test_scores_have_their_threshold_and_curve(found):
    evaluation = found(scores=True)
    listing = json.loads(texts.list_evaluation("json", evaluation))
    first, second = listing["sequences"]
    assert (first["threshold"], first["average_precision"]) == (255, 0.5)
    assert first["curve"][0] == {"threshold": 255, "precision": 0.5, "recall": 1.0}
    assert (second["threshold"], second["curve"]) == (1, [])
    assert listing["total"]["best_threshold"] == 255
    assert texts.list_evaluation("table", evaluation).splitlines()[1].split()[:4] == [
        "a|b",
        "1",
        "255",
        "0.5000",
    ]


def test_frames(found):
    rows = list(csv.DictReader(io.StringIO(texts.frames_csv(found()))))
    assert [(row["sequence"], row["frame"], row["truth"]) for row in rows] == [
        ("a|b", "7", "f07.png"),
        ("c", "7", "f07.png"),
    ]
    assert rows[0]["pwc"] == "25.0"


def test_summary(found):
    assert texts.summary(found().sequences[0]) == "a|b: 1 frame scored, matched by equal numbers"


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
    assert texts.PALETTE[VERDICTS].reshape(6, 3).tolist() == [
        [0, 0, 0],  # right
        [0, 94, 213],  # too much: vermillion
        [233, 180, 86],  # too little: sky blue
        [255, 255, 255],  # right
        [96, 96, 96],
        [96, 96, 96],
    ]


def test_colours_differ_in_lightness():
    # Whoever sees no colours at all still sees which is which.
    lightness = texts.PALETTE[:4] @ (0.114, 0.587, 0.299)
    assert min(abs(a - b) for a, b in combinations(lightness, 2)) > 35


def test_picture_beside_its_frame():
    frame = np.full((2, 3, 3), (10, 20, 30), np.uint8)
    picture = texts.draw_verdicts(VERDICTS, frame, Counts.of(VERDICTS), "frame 7")
    factor = 160
    assert picture.shape == (2 * factor + 52, 2 * 3 * factor + 6, 3)
    body = picture[26:-26]
    assert (body[:, : 3 * factor] == (10, 20, 30)).all()
    assert (body[::factor, 3 * factor + 6 :: factor] == texts.PALETTE[VERDICTS]).all()
    assert (picture[:26] < 255).any(), "a line of text"


def test_without_its_frame_the_picture_stands_alone():
    counts = Counts(0, 0, 0, 6)
    alone = texts.draw_verdicts(VERDICTS, None, counts, "")
    other_size = texts.draw_verdicts(VERDICTS, np.zeros((4, 4, 3), np.uint8), counts, "")
    assert alone.shape == (2 * 160 + 52, 480, 3)
    assert np.array_equal(alone, other_size)


def test_large_pictures_are_not_enlarged():
    verdicts = np.zeros((10, 700), np.uint8)
    assert texts.draw_verdicts(verdicts, None, Counts(), "x").shape == (62, 700, 3)


@pytest.mark.figures
def test_curves():
    curve = make_curve([90, 50, 30, 10], [1, 0, 1, 0])
    empty = make_curve([3], [0])
    sequences = [Sequence("a$bé", curve), Sequence("no one", empty)]
    image = decode_image(texts.render_curves(sequences, curve + empty))
    assert image.shape == (700, 800, 3)
    text = texts.render_curves(sequences, curve + empty, plot_format="svg").decode()
    assert "no one: no foreground" in text
    assert "F 0.800 at 30" in text
    assert "all, one threshold" in text
    assert (
        "all, one threshold"
        not in texts.render_curves(sequences[:1], curve, plot_format="svg").decode()
    )
