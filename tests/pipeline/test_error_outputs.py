"""The table of the errors and its plot."""

import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.outliers.errors_table import ErrorTable
from bgsub.pipeline.outputs import TableOutputs
from bgsub.pipeline.results import ResultsDirectory
from bgsub.report.plots import render_errors


@pytest.fixture
def table():
    errors = np.linspace(100.0, 900.0, 40)
    return ErrorTable(
        frames=np.arange(1, 41),
        times=np.arange(40) / 25,
        errors=errors,
        pixels=100,
        scores=np.linspace(0.0, 20.0, 40),
        cutoff=12.0,
    )


def test_the_table_and_its_plot_are_written(tmp_path, table):
    from bgsub.outliers.events import find_events

    out = tmp_path / "out"
    with ResultsDirectory(out, ["errors.csv", "errors.svg"]) as results:
        outputs = TableOutputs({"errors", "plot"}, "svg", "film")
        outputs.write(table, results)
        drawn = results.stage("errors.svg").read_bytes()
        assert results.stage("errors.csv").exists()
    assert drawn == render_errors(table, find_events(table), title="film", plot_format="svg")


def test_nothing_is_drawn_that_nobody_wants(tmp_path, table):
    with ResultsDirectory(tmp_path / "out", ["errors.csv"]) as results:
        outputs = TableOutputs({"errors"}, "png", "film")
        outputs.write(table, results)
        assert not results.stage("errors.png").exists()


def test_without_a_table_there_is_nothing(tmp_path):
    with ResultsDirectory(tmp_path / "out", ["errors.csv"]) as results:
        outputs = TableOutputs({"errors", "plot"}, "png", "film")
        outputs.write(None, results)
        assert not results.stage("errors.csv").exists()


def test_a_plot_that_cannot_be_written_is_said(tmp_path, table):
    with ResultsDirectory(tmp_path / "out", ["errors.png"]) as results:
        outputs = TableOutputs({"plot"}, "png", "film")
        results.stage("errors.png").mkdir()
        with pytest.raises(OutputError, match=r"errors\.png"):
            outputs.write(table, results)
