import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bgsub.evaluation.measures import MEASURES, Counts, ScoreCurve, mean_measures
from bgsub.paper.curves import average_precision


def test_hand_computed_measures():
    assert Counts(tp=30, fp=10, fn=20, tn=940).measures() == pytest.approx(
        {
            "precision": 0.75,
            "recall": 0.6,
            "f_measure": 2 / 3,
            "iou": 0.5,
            "specificity": 940 / 950,
            "fpr": 10 / 950,
            "fnr": 0.4,
            "pwc": 3.0,
        }
    )


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


def test_means_leave_out_what_is_not_defined():
    means = mean_measures([Counts(1, 1, 0, 2), Counts(0, 0, 0, 4)])
    assert means["precision"] == 0.5
    assert means["specificity"] == pytest.approx((2 / 3 + 1) / 2)
    assert mean_measures([Counts(0, 0, 0, 4)])["f_measure"] is None


def make_curve(scores, truth, dtype=np.uint16):
    curve = ScoreCurve.empty()
    curve.add(np.array(scores, dtype), np.array(truth, np.uint8))
    return curve


def test_hand_computed_curve():
    # At or above 900: 1 of 1 right; 500: 1 of 2; 300: 3 of 4, all three found; the 7 is unscored.
    curve = make_curve([[900, 500, 300], [300, 10, 7]], [[1, 0, 1], [1, 0, 2]])
    assert curve.counts(300) == Counts(tp=3, fp=1, fn=0, tn=1)
    assert curve.counts(301) == Counts(tp=1, fp=1, fn=2, tn=1)
    assert curve.best_threshold() == 300
    levels, precision, recall = curve.precision_recall()
    assert levels.tolist() == [900, 500, 300, 10]
    assert precision.tolist() == [1, 0.5, 0.75, 0.6]
    assert recall == pytest.approx([1 / 3, 1 / 3, 1, 1])
    assert curve.average_precision == pytest.approx(1 / 3 + 0.75 * 2 / 3)
    assert (curve + make_curve([900], [1])).counts(900) == Counts(2, 0, 2, 2)


def test_without_foreground_nothing_is_marked():
    curve = make_curve([3, 200], [0, 0], np.uint8)
    assert curve.best_threshold() == 201
    assert curve.average_precision is None
    assert curve.precision_recall()[0].size == 0
    assert ScoreCurve.empty().best_threshold() == 0


def test_the_highest_of_equal_thresholds():
    assert make_curve([65535, 8], [1, 0]).best_threshold() == 65535
    # At 5 two of four are right, F 2/3; at 9 one of one, of two, F 2/3 as well.
    assert make_curve([9, 5, 5, 5], [1, 1, 0, 0]).best_threshold() == 9


@given(
    arrays(np.uint8, 20, elements=st.integers(0, 20)),
    arrays(np.uint8, 20, elements=st.integers(0, 1)),
)
def test_best_threshold_is_best_of_all(scores, truth):
    curve = make_curve(scores, truth, np.uint8)
    best = curve.counts(curve.best_threshold()).f_measure
    everything = [curve.counts(level).f_measure for level in range(22)]
    if truth.any():
        assert best == pytest.approx(max(f for f in everything if f is not None))
    if truth.any() and not truth.all():
        assert curve.average_precision == pytest.approx(average_precision(scores, truth == 1))
