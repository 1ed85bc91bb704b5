"""A task of a worker is done in a process of its own."""

import pytest

from bgsub.cluster import pool as child


@pytest.fixture(autouse=True)
def worker(monkeypatch):
    """Stand for the worker whose task this is."""
    monkeypatch.setattr(child, "cancelled", lambda: lambda: False)
    monkeypatch.setattr(child, "slots_here", lambda _: 1)


def test_modules_among_the_films_are_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "click.py").write_text("open('was_run', 'w').close()")
    child.do_in_child("bgsub.cli.jobs", {}, {})
    assert not (tmp_path / "was_run").exists()


def test_what_a_process_that_cannot_start_said_last_comes_back(tmp_path):
    found = child.do_in_child("bgsub.no_such_module", {}, {})
    assert found["died"] == 1
    assert "No module named bgsub.no_such_module" in found["last_line"]
