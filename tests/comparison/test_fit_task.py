"""A single fit: errors and backgrounds as the method itself gives them."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.comparison.entry import Entry
from bgsub.comparison.fit_task import FitTask, fit_task
from bgsub.comparison.frame_file import write_frames
from bgsub.comparison.shared_file import SharedFile
from bgsub.robustpca.competitors.methods import METHODS
from bgsub.robustpca.gram import gram_matrix
from bgsub.video.source import open_source


def no_progress(stage, done, total):
    pass


@pytest.fixture
def frames(scene, tmp_path):
    source = open_source(scene(24, height=20, width=30, visit=18, color=False))
    with SharedFile(tmp_path) as file:
        yield write_frames(source, file, progress=no_progress)


@pytest.mark.parametrize("name", METHODS)
def test_a_task_gives_errors_and_backgrounds(frames, name):
    X = np.array(frames.map())
    outcome = fit_task(
        FitTask(entry=Entry(method=name), k=2, seed=1, rows=(3, 20)), X, gram_matrix(X)
    )
    fit = METHODS[name].make(2, random_state=1).fit(X)
    found = outcome.fitted[2]
    np.testing.assert_allclose(found.errors, fit.errors_, rtol=1e-6)
    assert outcome.converged
    assert outcome.seconds > 0
    expected = fit.inverse_transform(found.coefficients)[[3, 20]]
    np.testing.assert_allclose(outcome.backgrounds, expected, atol=1e-3)
