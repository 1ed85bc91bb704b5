"""The notebook of the examples runs from its first cell to its last, and is stored executed.

Its kernel and pandas are too heavy for the other tests; they come with what a browser needs.
"""

import re
import warnings
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "tracks.ipynb"


@pytest.fixture
def executed(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.delenv("MPLBACKEND", raising=False)  # make sets it; then no plot is shown
    (tmp_path / "sample_videos").symlink_to(ROOT / "sample_videos")
    (tmp_path / "examples").mkdir()
    book = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(tmp_path / "examples")}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the kernel's own libraries
        return NotebookClient(book, timeout=300, kernel_name="python3", resources=where).execute()


def kinds(book):
    return [
        [output["output_type"] for output in cell.get("outputs", [])]
        for cell in book.cells
        if cell.cell_type == "code"
    ]


def test_it_runs_and_is_stored_with_its_outputs(executed):
    import nbformat

    stored = nbformat.read(NOTEBOOK, as_version=4)
    assert kinds(stored) == kinds(executed)
    assert all(outputs for outputs in kinds(executed))
    first = executed.cells[1].outputs[0]["data"]["text/html"]
    assert "stand out from the background" in first
    assert "data:image/png;base64," in first
    tables = [each for each in executed.cells[3].outputs if "text/html" in each["data"]]
    assert "first_frame" in tables[0]["data"]["text/html"]


def numbers(book):
    """Return the numbers that its cells show as text."""
    shown = [
        output["data"].get("text/plain", "")
        for cell in book.cells
        for output in cell.get("outputs", [])
        if output["output_type"] == "execute_result"
    ]
    return [float(each) for text in shown for each in re.findall(r"\d+(?:\.\d+)?", text)]


def test_what_is_stored_is_what_it_shows_today(executed):
    import nbformat

    stored = numbers(nbformat.read(NOTEBOOK, as_version=4))
    assert len(stored) > 30
    assert stored == pytest.approx(numbers(executed), rel=0.05, abs=0.02), "run make notebook"
