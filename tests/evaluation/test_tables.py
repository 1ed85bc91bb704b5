import csv
import io
import json
import re

import numpy as np
import pytest

from bgsub.cli.evaluate import FORMATS
from bgsub.evaluation import report as texts
from bgsub.evaluation.evaluate import Pair, evaluate
from bgsub.evaluation.measures import MEASURES
from bgsub.evaluation.options import EvaluationOptions
from bgsub.video.images import write_image


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
    header, first, second, total, mean = texts.as_table(found()).splitlines()
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
    assert len(texts.as_table(found(1)).splitlines()) == 2


def test_csv(found):
    rows = list(csv.DictReader(io.StringIO(texts.as_csv(found()))))
    assert [row["sequence"] for row in rows] == ["a|b", "c", "total", "mean"]
    assert [row["f_measure"] for row in rows[:2]] == ["0.66666667", ""]
    assert [rows[2][name] for name in ("tp", "fp", "fn", "tn")] == ["1", "1", "0", "3"]
    assert rows[3]["tp"] == ""


def test_markdown(found):
    lines = texts.as_markdown(found()).splitlines()
    assert lines[1].startswith("| --- | ---: |")
    assert lines[2].startswith(r"| a\|b | 1 | 0.5000 |")
    assert len({line.replace(r"\|", "").count("|") for line in lines}) == 1


def test_json(found):
    listing = json.loads(texts.as_json(found()))
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
    listing = json.loads(texts.as_json(evaluation))
    first, second = listing["sequences"]
    assert (first["threshold"], first["average_precision"]) == (255, 0.5)
    assert first["curve"][0] == {"threshold": 255, "precision": 0.5, "recall": 1.0}
    assert (second["threshold"], second["curve"]) == (1, [])
    assert listing["total"]["best_threshold"] == 255
    assert texts.as_table(evaluation).splitlines()[1].split()[:4] == ["a|b", "1", "255", "0.5000"]


def test_frames(found):
    rows = list(csv.DictReader(io.StringIO(texts.frames_csv(found()))))
    assert [(row["sequence"], row["frame"], row["truth"]) for row in rows] == [
        ("a|b", "7", "f07.png"),
        ("c", "7", "f07.png"),
    ]
    assert rows[0]["pwc"] == "25.0"


def test_summary(found):
    assert texts.summary(found().sequences[0]) == "a|b: 1 frame scored, matched by equal numbers"
