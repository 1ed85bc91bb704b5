from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from bgsub import __version__, errors
from bgsub.cli import COMMANDS, cli, exit_code_table

HEAVY = ("numpy", "scipy", "cv2", "av", "matplotlib", "subprocess", "pickle")


def test_help_imports_no_heavy_library_and_that_of_bgsub_no_command() -> None:
    code = (
        "import sys\nfrom bgsub.cli import cli\n"
        "for line in ('--help', '--version', 'run --help', 'info -h', 'evaluate --help'):\n"
        "    try: cli.main(line.split())\n"
        "    except SystemExit as stop: assert not stop.code\n"
        f"    heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "    print(heavy, 'bgsub.cli.run' in sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.splitlines() == ["[] False"] * 2 + ["[] True"] * 3
    assert done.stdout.count("Usage: bgsub") == 4


def test_python_m_bgsub_is_bgsub() -> None:
    command = [sys.executable, "-m", "bgsub", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"bgsub {__version__}\n", "")


def test_reader_of_stdout_may_leave() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "bgsub", "--help"]
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, timeout=60, text=True, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_where_the_list_says(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.short_help == COMMANDS[name]  # which shells show when they complete names


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_examples(name, invoke) -> None:
    done = invoke(name, "--help")
    assert done.exit_code == 0
    assert "Examples:" in done.stdout
    assert f"  bgsub {name} " in done.stdout
    assert done.stderr == ""


def test_help_lists_the_commands(invoke) -> None:
    done = invoke("--help")
    assert done.exit_code == 0
    for name, text in COMMANDS.items():
        assert f"{name} " in done.stdout
        assert text in done.stdout


def test_nothing_at_all_shows_the_help_as_a_usage_error(invoke) -> None:
    done = invoke()
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "Commands:" in done.stderr


def raising(error: BaseException):
    def act(path: str, out: Path) -> None:
        raise error

    return act


def test_errors_are_raised_outside_standalone_mode(pipeline, tmp_path) -> None:
    pipeline.act = raising(errors.InputError("a.avi: bad"))
    with pytest.raises(errors.InputError):
        cli.main(["run", "a.avi", "--out", str(tmp_path / "r")], standalone_mode=False)


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
