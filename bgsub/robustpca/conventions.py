"""Keep scikit-learn's conventions without needing scikit-learn, and check what is given."""

from __future__ import annotations

import inspect
import math
import sys
import warnings
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import NotFittedError
from bgsub.robustpca.gram import ColumnReader
from bgsub.robustpca.spaces import row_blocks

_CONTAINERS = ("default", "pandas", "polars")
# Fourth powers of the entries, summed, must stay finite. As float64 it is comparable to float32.
_LARGEST = np.float64(1e70)

# What parameters must be, wherever an estimator has them: integers from a number on, and numbers
# above 0 (`tol`: from it on).
_INTEGERS = {
    "window": 2,
    **dict.fromkeys(("n_components", "n_init", "max_iter", "threads", "refresh"), 1),
    **dict.fromkeys(("n_fresh", "n_anneal", "max_removals"), 0),
}
_NUMBERS = {"tol", "reweight_cutoff", "lam", "scale"}


class Conventions:
    """Base of estimators: parameters by name, features that are remembered and checked."""

    # Words that a parameter may be.
    _words: ClassVar[dict[str, tuple[str, ...]]] = {}

    components_: NDArray[np.float64]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _sklearn_output_config: dict[str, str]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - convention
        """Return the parameters of the constructor by name; none of them is an estimator."""
        names = sorted(inspect.signature(type(self)).parameters)
        return {name: getattr(self, name) for name in names}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of the constructor; ValueError for a name that it does not have."""
        names = sorted(inspect.signature(type(self)).parameters)
        for name, value in parameters.items():
            if name not in names:
                message = f"Invalid parameter {name!r} for estimator {self}."
                raise ValueError(f"{message} Valid parameters are: {names!r}.")
            setattr(self, name, value)
        return self

    def _check(self, n_samples: int) -> None:
        """Raise ValueError for a parameter out of range; what is the default is right."""
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value, words = getattr(self, name), self._words.get(name, ())
            if value is parameter.default or (isinstance(value, str) and value in words):
                continue
            if name in _INTEGERS:
                least, is_integer = _INTEGERS[name], isinstance(value, (int, np.integer))
                is_right = is_integer and not isinstance(value, bool) and value >= least
                rule = f"an integer of at least {least}"
            elif name in _NUMBERS:
                is_right = _is_number(value) and (value >= 0 if name == "tol" else value > 0)
                rule = f"a number {'of at least' if name == 'tol' else 'above'} 0"
                rule += "".join(f" or {word!r}" for word in words)
            else:
                is_right, rule = not words, " or ".join(map(repr, words))
            if not is_right:
                raise ValueError(f"{name}={value!r}: {rule} is needed")
        support_size(n_samples, getattr(self, "support_fraction", None))

    def __repr__(self) -> str:
        """Show the call that makes this estimator, without parameters that have their default."""
        defaults = inspect.signature(type(self)).parameters
        changed = (
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if value is not defaults[name].default and repr(value) != repr(defaults[name].default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn (1.6 or later)."""
        from sklearn.utils import Tags, TargetTags, TransformerTags

        target = TargetTags(required=False)
        transformer = TransformerTags(preserves_dtype=["float64"])
        return Tags(estimator_type=None, target_tags=target, transformer_tags=transformer)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return: "default", "pandas" or "polars".

        An array, or a data frame whose columns are `get_feature_names_out`; None leaves it as it
        is. Without a choice it is that of ``sklearn.set_config(transform_output=…)``.
        """
        if transform is not None:
            # The attribute that scikit-learn's `clone` takes along.
            self._sklearn_output_config = {"transform": _check_container(transform)}
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the scores, such as trpca0, trpca1, shape (k,).

        Names of the input are only compared with those of the fit: ValueError where they differ.
        """
        self._check_fitted()
        if input_features is not None:
            names = np.asarray(input_features, dtype=object)
            if not np.array_equal(getattr(self, "feature_names_in_", names), names):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(names) != self.n_features_in_:
                message = "input_features should have length equal to number of features"
                raise ValueError(f"{message} ({self.n_features_in_}), got {len(names)}")
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(len(self.components_))], dtype=object)

    def _contained(self, X: Any, scores: NDArray[np.float64]) -> Any:
        """Return the scores of X in the container that was chosen."""
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform")
        sklearn = sys.modules.get("sklearn")
        if chosen is None and sklearn is not None:
            chosen = sklearn.get_config().get("transform_output")
        chosen = _check_container(chosen or "default")
        if chosen == "default":
            return scores
        frames, names = import_module(chosen), self.get_feature_names_out().tolist()
        if chosen == "polars":
            return frames.DataFrame(scores, schema=names, orient="row")
        index = X.index if isinstance(X, frames.DataFrame) else None
        return frames.DataFrame(scores, index=index, columns=names, copy=False)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` has run: rows can be transformed."""
        return hasattr(self, "components_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            # An error that scikit-learn knows as its own, if it is in use.
            theirs: Any = sys.modules.get("sklearn.exceptions")
            error = NotFittedError if theirs is None else theirs.NotFittedError
            name = type(self).__name__
            raise error(f"This {name} instance is not fitted yet: call 'fit' with rows first")

    def _forget(self) -> None:
        """Delete what an earlier fit has left."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _training_matrix(self, X: Any) -> Any:
        """Check X and the parameters, and remember its features in place of an earlier fit."""
        matrix, names = check_matrix(X), _feature_names(X)
        self._check(matrix.shape[0])
        self._forget()
        self.n_features_in_ = int(matrix.shape[1])
        if names is not None:
            self.feature_names_in_ = names
        return matrix

    def _matrix(self, X: Any) -> Any:
        """Check that X is a matrix with the features that were fitted."""
        self._check_fitted()
        estimator = type(self).__name__
        names, fitted = _feature_names(X), getattr(self, "feature_names_in_", None)
        if (names is None) != (fitted is None):
            ours, theirs = ("does not have valid", "with") if names is None else ("has", "without")
            message = f"X {ours} feature names, but {estimator} was fitted {theirs} feature names"
            warnings.warn(message, UserWarning, stacklevel=3)
        elif names is not None and fitted is not None and not np.array_equal(names, fitted):
            raise ValueError(_difference(names.tolist(), fitted.tolist()))
        matrix = check_matrix(X)
        if matrix.shape[1] != self.n_features_in_:
            expected = f"{estimator} is expecting {self.n_features_in_} features as input"
            raise ValueError(f"X has {matrix.shape[1]} features, but {expected}")
        return matrix


def _check_container(name: str) -> str:
    if name not in _CONTAINERS:
        message = f"transform={name!r}: one of {', '.join(map(repr, _CONTAINERS))} is needed"
        raise ValueError(message)
    return name


def _feature_names(X: Any) -> NDArray[np.object_] | None:
    """Names of the columns of a data frame, if all of them are strings; None otherwise."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None or callable(columns) else list(columns)
    are_texts = bool(names) and all(isinstance(name, str) for name in names)
    return np.array(names, dtype=object) if are_texts else None


def _difference(names: list[str], fitted: list[str]) -> str:
    """Return, in scikit-learn's words, how names of features differ from those of the fit."""
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    lines = ["The feature names should match those that were passed during fit."]
    for title, some in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if some:
            lines += [title, *(f"- {name}" for name in some[:5]), *(["- ..."] if some[5:] else [])]
    if not unseen and not missing:
        lines.append("Feature names must be in the same order as they were in fit.")
    return "\n".join(lines) + "\n"


# --- parameters and matrices --------------------------------------------------------------------


def support_size(n_samples: int, support_fraction: float | None) -> int:
    """Return t, checked against ⌈n/2⌉ ≤ t ≤ n; None is ⌈n/2⌉."""
    least = (n_samples + 1) // 2
    if support_fraction is None:
        return least
    if not _is_number(support_fraction) or not 0.5 <= support_fraction <= 1.0:
        rule = f"t must be at least ⌈n/2⌉ = {least} and at most n = {n_samples}"
        message = f"support_fraction={support_fraction!r}: {rule}"
        raise ValueError(f"{message}, so a fraction from 0.5 to 1 is needed")
    # Without the slack 0.55 · 200 would be rounded up to 111.
    return max(least, math.ceil(support_fraction * n_samples - 1e-9))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def rows_of(X: NDArray[Any] | ColumnReader) -> NDArray[Any]:
    """Return a checked matrix as an array, read as a whole."""
    rows = X if isinstance(X, np.ndarray) else check_matrix(X.columns(0, X.shape[1]))
    return np.asarray(rows)


def check_matrix(X: Any) -> Any:
    """Return X as a matrix of a supported type, or raise ValueError naming what is wrong."""
    if not isinstance(X, np.ndarray) and isinstance(X, ColumnReader):
        return X
    if hasattr(X, "toarray"):
        raise TypeError("X is a sparse matrix, which centring would fill: give X.toarray()")
    X = np.asarray(X)
    if X.ndim != 2 or X.size == 0:
        message = f"X has shape {X.shape}: a matrix with at least one row and one column is needed"
        if X.ndim == 1:
            message += ". Reshape your data: one row is X.reshape(1, -1)"
        elif X.ndim == 2 and X.shape[1] == 0:
            message += f"; 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        raise ValueError(message)
    if X.dtype == np.uint8:
        return X
    if np.issubdtype(X.dtype, np.complexfloating):
        raise ValueError(f"Complex data not supported: X has entries of type {X.dtype}")
    if X.dtype == np.object_:
        X = X.astype(np.float64)
    if not np.issubdtype(X.dtype, np.number):
        raise ValueError(f"X has entries of type {X.dtype}: real numbers are needed")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    for rows in row_blocks(*X.shape):
        allowed = np.abs(X[rows]) < _LARGEST
        if not allowed.all():
            row, column = np.argwhere(~allowed)[0]
            value = str(X[rows][row, column]).replace("nan", "NaN")
            rule = f"every entry must be a finite number, of magnitude below {_LARGEST:g}"
            raise ValueError(f"X[{rows.start + row}, {column}] is {value}: {rule}")
    return X
