from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from bgsub.paper.compare import FitError, FitProcess, FitTask, fit_task
from bgsub.paper.options import Entry
from bgsub.robustpca.gram import gram_matrix


def no_progress(stage, done, total):
    pass


def test_one_process_makes_all_fits_and_survives_its_own_death(frames):
    X = np.array(frames.map())
    task = FitTask(entry=Entry(method="trpca"), k=2, rows=(1,))
    here = fit_task(task, X, gram_matrix(X))
    stages = []
    with FitProcess(frames, gram_matrix(X)) as process:

        def note(stage, done, total):
            stages.append(stage)

        there = process.run(task, timeout=60, progress=note)
        np.testing.assert_allclose(there.fitted[2].errors, here.fitted[2].errors, rtol=1e-9)
        np.testing.assert_allclose(there.backgrounds, here.backgrounds, rtol=1e-9)
        process.run(FitTask(entry=Entry(method="pcp"), k=2), timeout=None, progress=note)
        assert "trpca k=2" in stages
        assert any(stage.startswith("pcp k=2 · residual ") for stage in stages)

        with pytest.raises(FitError, match="at least 1"):
            process.run(FitTask(entry=Entry(method="pca"), k=0), timeout=60, progress=no_progress)
        with pytest.raises(FitError, match="longer than 1e-09 s"):
            process.run(task, timeout=1e-9, progress=no_progress)

        def kill(stage, done, total):
            os.kill(process._process.pid, signal.SIGKILL)

        with pytest.raises(FitError, match="its process died"):
            process.run(task, timeout=60, progress=kill)
        again = process.run(task, timeout=60, progress=no_progress)
        np.testing.assert_array_equal(again.fitted[2].errors, there.fitted[2].errors)
        child = process._process
    with pytest.raises(ValueError, match="closed"):
        child.is_alive()
