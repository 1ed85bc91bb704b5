from __future__ import annotations

import gc
import os
import sys

import pytest

from bgsub.runtime.tuning import tune


@pytest.fixture
def settings(monkeypatch):
    """Put back what the process had."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    monkeypatch.setenv("NUMPY_MADVISE_HUGEPAGE", "")
    monkeypatch.delenv("NUMPY_MADVISE_HUGEPAGE")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)


@pytest.mark.usefixtures("settings")
def test_the_program_is_tuned_and_what_the_user_has_set_stays():
    tune()
    assert os.environ["NUMPY_MADVISE_HUGEPAGE"] == "0"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
    assert sys.getswitchinterval() < 0.005
    assert gc.get_threshold()[0] > 700
