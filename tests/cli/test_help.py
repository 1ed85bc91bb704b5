from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from bgsub import errors
from bgsub.cli import cli, exit_code_table


def test_exit_codes_are_those_of_the_errors() -> None:
    table = dict(exit_code_table())
    assert list(table) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 130]
    assert table[3] == errors.InputError.meaning
    assert table[130] == errors.Interrupted.meaning


def test_exit_codes_stand_in_the_help(invoke) -> None:
    text = invoke("--help").stdout
    for code, meaning in exit_code_table():
        assert f"{code:3d}  {meaning}" in text


def test_completion_stands_in_the_help(invoke) -> None:
    text = invoke("--help").stdout
    for shell in ("bash", "zsh", "fish"):
        assert f"_BGSUB_COMPLETE={shell}_source bgsub" in text


def test_options_stand_under_headings(invoke) -> None:
    text = invoke("run", "--help").stdout
    places = [text.index(f"\n{title}:\n") for title in ("Results", "Input", "Fit", "Output")]
    assert places == sorted(places)
    assert text.index("--roi") < text.index("\nFit:\n") < text.index("--n-init")


def test_help_fits_a_terminal(invoke) -> None:
    for command in ("run", "apply", "info"):
        text = invoke(command, "--help").stdout
        assert max(len(line) for line in text.splitlines()) <= 100


@pytest.mark.parametrize(
    ("words", "typed", "found"),
    [
        ([], "i", ["info"]),
        (["run"], "--n-i", ["--n-init"]),
        (["run", "--from-json", "missing.json"], "--see", ["--seed"]),
        (["run", "--format"], "m", ["mp4", "mkv"]),
    ],
)
def test_shells_complete(words, typed, found) -> None:
    completion = ShellComplete(cli, {}, "bgsub", "_BGSUB_COMPLETE")
    assert [item.value for item in completion.get_completions(words, typed)] == found
