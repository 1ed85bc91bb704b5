import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.evaluation.measures import MEASURES, Counts, Means, Verdict, count, judge

NUMBER = st.integers(0, 10**9)


def test_hand_computed_measures():
    counts = Counts(tp=30, fp=10, fn=20, tn=940)
    assert counts.pixels == 1000
    assert counts.precision == 0.75
    assert counts.recall == 0.6
    assert counts.f_measure == pytest.approx(2 / 3)
    assert counts.iou == 0.5
    assert counts.specificity == pytest.approx(940 / 950)
    assert counts.fpr == pytest.approx(10 / 950)
    assert counts.fnr == 0.4
    assert counts.pwc == 3.0


@pytest.mark.parametrize(
    ("counts", "undefined"),
    [
        (Counts(0, 0, 0, 5), {"precision", "recall", "f_measure", "iou", "fnr"}),
        (Counts(0, 2, 0, 3), {"recall", "fnr"}),
        (Counts(0, 0, 2, 3), {"precision"}),
        (Counts(4, 0, 1, 0), {"specificity", "fpr"}),
        (Counts(), set(MEASURES)),
    ],
)
def test_what_is_not_defined_is_none(counts, undefined):
    assert {name for name, value in counts.measures().items() if value is None} == undefined


def test_f_without_positives_is_0_once_a_pixel_is_marked():
    assert Counts(0, 1, 0, 99).f_measure == 0.0


@given(NUMBER, NUMBER, NUMBER, NUMBER)
def test_relations(tp, fp, fn, tn):
    counts = Counts(tp, fp, fn, tn)
    values = counts.measures()
    assert all(v is None or 0 <= v <= (100 if n == "pwc" else 1) for n, v in values.items())
    p, r, f, iou = counts.precision, counts.recall, counts.f_measure, counts.iou
    if p and r:
        assert f == pytest.approx(2 * p * r / (p + r))
        assert f == pytest.approx(2 * iou / (1 + iou))
    if r is not None:
        assert r + counts.fnr == pytest.approx(1)


def test_judge_and_count():
    #        bg  fg  bg  fg  unscored
    truth = np.array([[0, 1, 0, 1, 2], [0, 1, 0, 1, 2]], np.uint8)
    marked = np.array([[0, 0, 1, 1, 1], [0, 1, 0, 1, 0]], bool)
    verdicts = judge(marked, truth)
    tn, fp, fn, tp = Verdict.TN, Verdict.FP, Verdict.FN, Verdict.TP
    assert verdicts.dtype == np.uint8
    assert verdicts[:, :4].tolist() == [[tn, fn, fp, tp], [tn, tp, tn, tp]]
    assert count(verdicts) == Counts(tp=3, fp=1, fn=1, tn=3)
    roi = np.array([[1, 1, 0, 1, 1], [0, 1, 1, 1, 1]], bool)
    assert count(judge(marked, truth, roi)) == Counts(tp=3, fp=0, fn=1, tn=2)


def test_sums_and_means():
    first, second = Counts(1, 1, 0, 2), Counts(0, 0, 0, 4)
    assert Counts.sum([first, second]) == Counts(1, 1, 0, 6)
    means = Means.of([first, second]).values
    assert means["precision"] == 0.5, "that of the second is not defined"
    assert means["specificity"] == pytest.approx((2 / 3 + 1) / 2)
    assert Means.of([second]).values["f_measure"] is None
