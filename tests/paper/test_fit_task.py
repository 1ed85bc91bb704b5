"""A single fit: errors and backgrounds as the method itself gives them."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.paper.compare import FitTask, fit_stream, fit_task
from bgsub.paper.options import Entry
from bgsub.robustpca.competitors import METHODS, Settings
from bgsub.robustpca.gram import gram_matrix
from bgsub.robustpca.online import OnlineTRPCA
from bgsub.robustpca.reweight import FOOTAGE_CUTOFF


@pytest.mark.parametrize("name", METHODS)
def test_a_task_gives_errors_and_backgrounds(frames, name):
    X = np.array(frames.map())
    outcome = fit_task(
        FitTask(entry=Entry(method=name), k=2, seed=1, rows=(3, 20)), X, gram_matrix(X)
    )
    fit = METHODS[name].make(Settings(k=2, random_state=1)).fit(X)
    found = outcome.fitted[2]
    np.testing.assert_allclose(found.errors, fit.errors_, rtol=1e-6)
    assert outcome.converged
    assert outcome.seconds > 0
    expected = fit.inverse_transform(found.coefficients)[[3, 20]]
    np.testing.assert_allclose(outcome.backgrounds, expected, atol=1e-3)


def test_a_stream_is_seen_as_it_comes(frames):
    X = np.array(frames.map())
    outcome = fit_task(
        FitTask(entry=Entry(method="online"), k=2, seed=1, rows=(3, 20)), X, gram_matrix(X)
    )
    fit = OnlineTRPCA(2, random_state=1, reweight_cutoff=FOOTAGE_CUTOFF).fit(X)
    np.testing.assert_allclose(outcome.fitted[2].errors, fit.errors_, rtol=1e-6)
    np.testing.assert_allclose(outcome.backgrounds, fit.reconstruct(X[[3, 20]]))
    short = OnlineTRPCA(2, window=12, refresh=4, random_state=1)
    fitted, backgrounds, iterations, converged = fit_stream(short, X, (3, 20))
    whole = OnlineTRPCA(2, window=12, refresh=4, random_state=1).fit(X)
    np.testing.assert_allclose(fitted.errors, whole.errors_)
    np.testing.assert_array_equal(short.components_, whole.components_)
    early = OnlineTRPCA(2, window=12, refresh=4, random_state=1).fit(X[:12])
    np.testing.assert_allclose(backgrounds[0], early.reconstruct(X[3:4])[0])
    assert iterations >= 4
    assert converged
