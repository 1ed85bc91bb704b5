"""Keep scikit-learn's conventions for estimators without needing scikit-learn.

`clone`, `Pipeline`, `GridSearchCV` and `check_estimator` look for parameters by name, tags, the
number and names of the features, and an error of their own for what is not fitted yet.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections import defaultdict
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import NotFittedError
from bgsub.robustpca.checks import check_matrix

_CONTAINERS = ("default", "pandas", "polars")


class Conventions:
    """Base of estimators: parameters by name, features that are remembered and checked."""

    n_features_in_: int
    _sklearn_output_config: dict[str, str]
    feature_names_in_: NDArray[np.object_]

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters of the constructor, and those of estimators among them if `deep`."""
        found: dict[str, Any] = {}
        for name in self._parameter_names():
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return found

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of the constructor; ValueError for a name that it does not have."""
        names = self._parameter_names()
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in parameters.items():
            name, _, inner = key.partition("__")
            if name not in names:
                message = (
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {names!r}."
                )
                raise ValueError(message)
            if inner:
                nested[name][inner] = value
            else:
                setattr(self, name, value)
        for name, values in nested.items():
            getattr(self, name).set_params(**values)
        return self

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
        """Tell scikit-learn (1.6 or later) what kind of estimator this is."""
        from sklearn.utils import Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=["float64"]),
        )

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            An array, or a data frame whose columns are `get_feature_names_out`; None leaves it as
            it is. Without a choice it is that of ``sklearn.set_config(transform_output=…)``.
        """
        if transform is not None:
            _check_container(transform)
            # The attribute that scikit-learn's `clone` takes along.
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the scores, such as trpca0, trpca1, shape (k,).

        Names of the input are only compared with those of the fit; a ValueError says how they
        differ.
        """
        self._check_fitted()
        if input_features is not None:
            names = np.asarray(input_features, dtype=object)
            if not np.array_equal(getattr(self, "feature_names_in_", names), names):
                message = "input_features is not equal to feature_names_in_"
                raise ValueError(message)
            if len(names) != self.n_features_in_:
                message = (
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(names)}"
                )
                raise ValueError(message)
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self._n_scores)], dtype=object)

    @property
    def _n_scores(self) -> int:
        """Columns that `transform` returns."""
        raise NotImplementedError

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
        """Say whether `fit` has run: rows can be transformed."""
        return hasattr(self, "components_")

    def _forget(self) -> None:
        """Delete what an earlier fit has left."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _training_matrix(self, X: Any) -> Any:
        """Check X, and remember number and names of its features in place of an earlier fit."""
        matrix, names = check_matrix(X), _feature_names(X)
        self._forget()
        self.n_features_in_ = int(matrix.shape[1])
        if names is not None:
            self.feature_names_in_ = names
        return matrix

    def _matrix(self, X: Any) -> Any:
        """Check that X is a matrix with the features that were fitted."""
        self._check_fitted()
        name = type(self).__name__
        self._check_names(_feature_names(X), name)
        matrix = check_matrix(X)
        if matrix.shape[1] != self.n_features_in_:
            message = (
                f"X has {matrix.shape[1]} features, but {name} is expecting "
                f"{self.n_features_in_} features as input"
            )
            raise ValueError(message)
        return matrix

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            name = type(self).__name__
            raise _not_fitted(f"This {name} instance is not fitted yet: call 'fit' with rows first")

    def _check_names(self, names: NDArray[np.object_] | None, estimator: str) -> None:
        fitted = getattr(self, "feature_names_in_", None)
        if names is None and fitted is None:
            return
        if names is None or fitted is None:
            ours, theirs = ("does not have valid", "with") if names is None else ("has", "without")
            message = f"X {ours} feature names, but {estimator} was fitted {theirs} feature names"
            warnings.warn(message, UserWarning, stacklevel=4)
        elif not np.array_equal(names, fitted):
            raise ValueError(_difference(names.tolist(), fitted.tolist()))


def _check_container(name: str) -> str:
    if name not in _CONTAINERS:
        message = f"transform={name!r}: one of {', '.join(map(repr, _CONTAINERS))} is needed"
        raise ValueError(message)
    return name


def _feature_names(X: Any) -> NDArray[np.object_] | None:
    """Names of the columns of a data frame, if all of them are strings; None otherwise."""
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns):
        return None
    names = list(columns)
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return np.array(names, dtype=object)


def _difference(names: list[str], fitted: list[str]) -> str:
    """Say, in scikit-learn's words, how names of features differ from those of the fit."""
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


def _not_fitted(message: str) -> Exception:
    """Make an error that scikit-learn knows as its own, if it is in use."""
    theirs = sys.modules.get("sklearn.exceptions")
    kind = NotFittedError if theirs is None else theirs.NotFittedError
    error: Exception = kind(message)
    return error
