"""A task of a worker is done in a process of its own."""

from bgsub.runtime.processes import ask_child


def ask(module):
    return ask_child(module, {}, lambda: False)


def test_modules_among_the_films_are_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "click.py").write_text("open('was_run', 'w').close()")
    ask("bgsub.cli.jobs")
    assert not (tmp_path / "was_run").exists()


def test_what_a_process_that_cannot_start_said_last_comes_back(tmp_path):
    found = ask("bgsub.no_such_module")
    assert found["died"] == 1
    assert "No module named bgsub.no_such_module" in found["last_line"]
