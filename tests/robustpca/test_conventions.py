"""Scikit-learn's conventions, checked without it, and by it where it is installed."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

from bgsub.errors import NotFittedError
from bgsub.robustpca.competitors import COMPARED, Settings
from bgsub.robustpca.conventions import check_matrix
from bgsub.robustpca.gram import gram_matrix
from bgsub.robustpca.trpca import TRPCA

from .helpers import Columns, contaminated

ESTIMATORS = [type(method.make(Settings(k=2))) for method in COMPARED.values()]
every_estimator = pytest.mark.parametrize("kind", ESTIMATORS)


class Frame:
    """As much of a data frame as estimators look at."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


def short(kind, steps=1):
    """Parameters of few steps, where no check looks at how good a fit is."""
    return dict.fromkeys({"n_init", "max_iter", "max_removals"} & {*kind().get_params()}, steps)


def fitted(kind, X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(2, **parameters).fit(X)


@every_estimator
def test_ten_components_are_the_default(kind):
    assert kind().n_components == 10


@every_estimator
def test_parameters_by_name(kind):
    estimator = kind(3)
    parameters = estimator.get_params()
    assert parameters["n_components"] == 3
    assert parameters == {name: getattr(estimator, name) for name in parameters}
    assert estimator.set_params(n_components=4) is estimator
    assert estimator.n_components == 4
    assert kind(**estimator.get_params()).get_params() == estimator.get_params()
    message = r"Invalid parameter 'ranks' for estimator \w+\(n_components=4\). Valid .*n_components"
    with pytest.raises(ValueError, match=message):
        estimator.set_params(ranks=1)


MAY_BE_NONE = {"support_fraction", "lam", "max_removals", "scale", "random_state", "progress"}


@every_estimator
@pytest.mark.parametrize("value", [None, "a", [1], float("nan"), True])
def test_a_number_that_is_none_is_refused_by_its_name(kind, value):
    """And not by a traceback from the depth of a fit, or not at all."""
    X = contaminated(30, 12)
    for name, usual in kind(2).get_params().items():
        is_number = isinstance(usual, (int, float)) and not isinstance(usual, bool)
        if not is_number and name not in MAY_BE_NONE - {"random_state", "progress"}:
            continue
        if value is None and name in MAY_BE_NONE:
            continue
        with pytest.raises(ValueError, match=f"{name}="):
            kind(**{"n_components": 2, name: value}).fit(X)


def test_an_estimator_is_shown_as_the_call_that_makes_it():
    assert repr(TRPCA()) == "TRPCA()"
    assert repr(TRPCA(3, tol=1e-5, reweight=False)) == "TRPCA(n_components=3, reweight=False)"


@every_estimator
def test_features_are_remembered_and_checked(kind):
    X = contaminated(30, 12)
    estimator = fitted(kind, X)
    assert estimator.n_features_in_ == 12
    assert not hasattr(estimator, "feature_names_in_")
    for method in (estimator.transform, estimator.reconstruct, estimator.score):
        with pytest.raises(ValueError, match=r"X has 11 features, but \w+ is expecting 12 feat"):
            method(X[:, 1:])
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.transform(X), estimator.transform(X))


def test_names_of_the_features():
    X, names = contaminated(30, 12), [f"pixel {i}" for i in range(12)]
    frame = Frame(X, names)
    fit = TRPCA(2, random_state=0).fit(frame)
    assert fit.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(fit.transform(frame), TRPCA(2, random_state=0).fit_transform(X))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but TRPCA was"):
        fit.transform(X)
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        fit.transform(Frame(X, names[::-1]))
    others = ["a", *names[1:]]
    message = (
        "unseen at fit time:\n- a\nFeature names seen at fit time, yet now missing:\n- pixel 0"
    )
    with pytest.raises(ValueError, match=message):
        fit.transform(Frame(X, others))
    with pytest.raises(ValueError, match=r"- p2\n- \.\.\.\nFeature names seen"):
        fit.transform(Frame(X, [f"p{i}" for i in range(12)]))
    fit.fit(Frame(X, list(range(12))))
    assert not hasattr(fit, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but TRPCA was fitted without"):
        fit.transform(frame)


@every_estimator
def test_what_is_not_fitted_says_so(kind):
    X = contaminated(30, 12)
    for method in ("transform", "reconstruct", "reconstruction_error", "score"):
        with pytest.raises(ValueError, match=rf"{kind.__name__} instance is not fitted yet") as e:
            getattr(kind(2), method)(X)
        assert isinstance(e.value, AttributeError)
    with pytest.raises((NotFittedError, AttributeError), match="not fitted yet"):
        kind(2).get_feature_names_out()
    assert not kind(2).__sklearn_is_fitted__()
    assert fitted(kind, X).__sklearn_is_fitted__()
    names = fitted(kind, X).get_feature_names_out()
    assert names.tolist() == [f"{kind.__name__.lower()}0", f"{kind.__name__.lower()}1"]


def test_nothing_of_an_earlier_fit_stays():
    X = contaminated(12, 30)
    fit = TRPCA(2, random_state=0).fit(X)
    assert hasattr(fit, "center_weights_")
    fit.fit(X.T)
    assert not hasattr(fit, "center_weights_")
    fit.fit_gram(gram_matrix(X))
    assert fit.n_features_in_ == 30
    assert not hasattr(fit, "components_")
    with pytest.raises(ValueError, match="not fitted yet: call 'fit' with rows first"):
        fit.transform(X)


def test_a_matrix_of_another_kind_is_refused_or_converted():
    X = contaminated(12, 30)
    plain = TRPCA(2, random_state=0).fit(X)
    for other in (X.tolist(), X.astype(object)):
        np.testing.assert_array_equal(TRPCA(2, random_state=0).fit(other).errors_, plain.errors_)
    with pytest.raises(ValueError, match="Complex data not supported"):
        TRPCA(2).fit(X + 1j)
    with pytest.raises(TypeError, match=r"must be .*string.* number"):
        TRPCA(2).fit([[{}]])
    with pytest.raises(ValueError, match=r"X has shape \(30,\).* Reshape your data"):
        plain.transform(X[0])
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(3, 0\)\)"):
        TRPCA(2).fit(np.zeros((3, 0)))

    class Sparse:
        def toarray(self):
            return X

    with pytest.raises(TypeError, match=r"sparse matrix.* give X\.toarray\(\)"):
        TRPCA(2).fit(Sparse())


@every_estimator
def test_score_is_minus_the_trimmed_mean_of_the_errors(kind):
    X = contaminated(31, 12)
    estimator = fitted(kind, X)
    errors = np.sort(estimator.reconstruction_error(X))
    assert estimator.score(X) == pytest.approx(-errors[:16].mean())
    if "support_fraction" in estimator.get_params():
        estimator.set_params(support_fraction=1.0)
        assert estimator.score(X) == pytest.approx(-errors.mean())


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_entries_that_are_no_finite_number(dtype, value):
    X = np.zeros((5, 4), dtype=dtype)
    X[3, 1] = value
    shown = "NaN" if np.isnan(value) else value
    with pytest.raises(ValueError, match=rf"X\[3, 1\] is {shown}: every entry must be a finite"):
        check_matrix(X)


def test_entries_whose_squares_would_overflow():
    with pytest.raises(ValueError, match=r"X\[0, 0\] is 1e\+160: .* magnitude below 1e\+70"):
        check_matrix(np.full((2, 2), 1e160))


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((0, 4)), np.zeros((4, 0)), 5.0])
def test_what_is_no_matrix(X):
    with pytest.raises(ValueError, match="a matrix with at least one row and one column is needed"):
        check_matrix(X)


@pytest.mark.parametrize("X", [np.array([["a"]]), np.array([[True]])])
def test_what_is_no_number(X):
    with pytest.raises(ValueError, match="real numbers are needed"):
        check_matrix(X)


def test_types_that_are_kept_and_that_are_not():
    for dtype in (np.uint8, np.float32, np.float64):
        X = np.ones((2, 2), dtype=dtype)
        assert check_matrix(X) is X
    assert check_matrix([[1, 2]]).dtype == np.float64
    reader = Columns(np.ones((2, 2)))
    assert check_matrix(reader) is reader


def test_the_entry_that_is_wrong_is_named_in_any_block_of_rows():
    X = np.zeros((5, 1 << 19), dtype=np.float32)
    X[4, 7] = -np.inf
    with pytest.raises(ValueError, match=r"X\[4, 7\] is -inf"):
        check_matrix(X)


# --- by scikit-learn, where it is installed -----------------------------------------------------


@every_estimator
def test_all_checks_of_scikit_learn_pass(kind):
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.utils.estimator_checks import check_estimator

    # Among its data are some of one feature or one row, which have fewer components than two.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(kind(2, **short(kind)), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(result["status"] == "passed" for result in results) >= 40


@every_estimator
def test_pipeline_clone_and_grid_search(kind):
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = contaminated(40, 12, share=0.1)
    estimator = kind(2)
    twin = clone(estimator)
    assert twin is not estimator
    assert twin.get_params() == estimator.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = make_pipeline(StandardScaler(), kind(2)).fit(X)
        assert pipeline.transform(X).shape == (40, 2)
        assert pipeline.get_feature_names_out().size == 2
        search = GridSearchCV(
            kind(**short(kind, 3)), {"n_components": [1, 3]}, cv=2, error_score="raise"
        ).fit(X)
    assert search.best_params_ == {"n_components": 3}
    assert search.best_estimator_.components_.shape == (3, 12)


CHECKS = (
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_global_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_get_feature_names_out_error",
)


@pytest.mark.parametrize(
    ("kind", "check"),
    # What is chosen for all is looked up in one place.
    [(kind, check) for check in CHECKS for kind in ESTIMATORS[: 1 if "global" in check else None]],
)
def test_checks_that_scikit_learn_runs_on_its_own_transformers_alone(kind, check):
    """Run what `check_estimator` leaves out, but for the check of a private attribute of theirs."""
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.exceptions import SkipTestWarning
    from sklearn.utils import estimator_checks

    for module in ("pandas", "polars"):
        if module in check:
            pytest.importorskip(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", SkipTestWarning)
        getattr(estimator_checks, check)(kind.__name__, kind(2, **short(kind)))


@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_scores_come_in_the_container_that_was_chosen(module):
    frames = pytest.importorskip(module)
    X = contaminated(30, 8)
    plain = TRPCA(2, random_state=0).fit(X)
    chosen = TRPCA(2, random_state=0).set_output(transform=module)
    for scores in (chosen.fit_transform(X), chosen.transform(X)):
        assert isinstance(scores, frames.DataFrame)
        assert list(scores.columns) == ["trpca0", "trpca1"]
        np.testing.assert_array_equal(np.asarray(scores), plain.transform(X))
    np.testing.assert_array_equal(chosen.inverse_transform(scores), plain.reconstruct(X))
    np.testing.assert_array_equal(chosen.reconstruct(X), plain.reconstruct(X))
    assert isinstance(chosen.set_output(transform="default").transform(X), np.ndarray)


def test_a_data_frame_keeps_its_index_and_scikit_learn_may_choose_for_all():
    pandas = pytest.importorskip("pandas")
    sklearn = pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.base import clone

    X = pandas.DataFrame(contaminated(30, 8)).add_prefix("x").set_index(np.arange(30) * 2 + 7)
    fit = TRPCA(2, random_state=0).fit(X)
    with sklearn.config_context(transform_output="pandas"):
        scores = fit.transform(X)
    assert scores.index.equals(X.index)
    assert isinstance(fit.transform(X), np.ndarray)
    assert isinstance(clone(fit.set_output(transform="pandas")).fit_transform(X), pandas.DataFrame)


def test_a_container_that_there_is_none_of_is_refused():
    with pytest.raises(ValueError, match="transform='list': one of 'default', 'pandas', 'polars'"):
        TRPCA(2).set_output(transform="list")


@every_estimator
@pytest.mark.parametrize("shape", [(4, 3), (4, 1), (2,)])
def test_scores_of_another_width_are_refused(kind, shape):
    estimator = fitted(kind, contaminated(31, 6))
    with pytest.raises(ValueError, match=r"scores have shape .* a matrix of 2 columns is needed"):
        estimator.inverse_transform(np.zeros(shape))
