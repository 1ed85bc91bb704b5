from __future__ import annotations

import errno
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from bgsub import __version__, errors
from bgsub.cli.application import COMMANDS, cli

HEAVY = ("numpy", "scipy", "cv2", "av", "matplotlib", "tqdm")


def python(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["run", "--help"], ["--version"], ["info", "-h"], ["evaluate", "--help"]],
)
def test_help_imports_no_heavy_library(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom bgsub.cli import cli\n"
        "try:\n    cli.main(sys.argv[1:])\nexcept SystemExit as stop:\n    assert not stop.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = python(code, *arguments)
    assert done.stderr == "[]\n"
    assert done.stdout


def test_help_imports_no_command() -> None:
    code = (
        "import sys\nfrom bgsub.cli import cli\n"
        "try:\n    cli.main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if name == 'bgsub.cli.run'], file=sys.stderr)"
    )
    assert python(code).stderr == "[]\n"


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
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.short_help == COMMANDS[name][1]


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
    for name, (_, text) in COMMANDS.items():
        assert f"{name} " in done.stdout
        assert text in done.stdout


def test_nothing_at_all_shows_the_help_as_a_usage_error(invoke) -> None:
    done = invoke()
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "Commands:" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rnu"], "no such command 'rnu' (did you mean 'run'?); see bgsub --help"),
        (["run", "--kk", "3"], "no such option '--kk' (did you mean '--k'?); see bgsub run --help"),
        (["run", "--sca", "3"], "'--scale'"),
        (["run", "a.avi", "--format", "avi"], "'avi' is not one of"),
        (["info"], "missing argument 'INPUT'; see bgsub info --help"),
        (["run", "a.avi"], "--out is missing; name the folder for the results"),
        (["run", "--out", "x"], "no INPUT is given"),
        (["run", "a.avi", "--out"], "--out"),
        (["run", "a.avi", "--out", "x", "--quiet", "--verbose"], "contradict each other"),
    ],
)
def test_usage_errors_are_one_line(arguments, message, invoke) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("bgsub: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def raising(error: BaseException):
    def act(path: str, out: Path) -> None:
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("a.avi: bad"), 2),
        (errors.InputError("a.avi: bad"), 3),
        (errors.EmptySelectionError("a.avi: bad"), 4),
        (errors.OutputError("a.avi: bad"), 5),
        (errors.MemoryLimitError("a.avi: bad"), 7),
        (errors.Interrupted("a.avi: bad"), 130),
        (errors.BgsubError("a.avi:\n  bad"), 1),
    ],
)
def test_errors_are_one_line_and_their_code(error, code, pipeline, invoke, tmp_path) -> None:
    pipeline.act = raising(error)
    done = invoke("run", "a.avi", "--out", tmp_path / "r")
    assert (done.exit_code, done.stdout, done.stderr) == (code, "", "bgsub: a.avi: bad\n")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted; nothing unfinished was left under a final name"),
        (ZeroDivisionError("no\nway"), 1, "unexpected error: ZeroDivisionError: no way (run with "),
        (MemoryError(), 7, "out of memory; take fewer frames with --every"),
        (OSError(errno.ENOSPC, "No space left on device", "x.mp4"), 5, "x.mp4: cannot be written"),
        (OSError(errno.EIO, "Input/output error"), 1, "unexpected error: OSError"),
        (click.FileError("x", "gone"), 3, "x"),
    ],
)
def test_foreign_errors_have_a_code_too(error, code, message, pipeline, invoke, tmp_path) -> None:
    pipeline.act = raising(error)
    done = invoke("run", "a.avi", "--out", tmp_path / "r")
    assert done.exit_code == code
    assert done.stdout == ""
    assert done.stderr.startswith("bgsub: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_debug_shows_the_traceback(pipeline, invoke, tmp_path) -> None:
    pipeline.act = raising(errors.InputError("a.avi: bad"))
    done = invoke("run", "a.avi", "--out", tmp_path / "r", "--debug")
    assert done.exit_code == 3
    assert "Traceback" in done.stderr
    assert done.stderr.endswith("bgsub: a.avi: bad\n")


@pytest.mark.parametrize("place", [0, -1])
def test_debug_works_for_a_mistake_in_any_option(place, invoke) -> None:
    arguments = ["--k", "0"]
    arguments[place:place] = ["--debug"] if place == 0 else []
    done = invoke("run", "a.avi", *arguments, *([] if place == 0 else ["--debug"]))
    assert done.exit_code == 2
    assert "Traceback" in done.stderr


@pytest.mark.parametrize("option", [["--k", "0"], ["--no-such-option"], ["--format", "avi"]])
def test_errors_are_json_when_asked(option, invoke) -> None:
    done = invoke("run", "a.avi", *option, "--log-json")
    entry = json.loads(done.stderr)
    assert done.exit_code == 2
    assert entry["event"] == entry["level"] == "error"
    assert entry["exit_code"] == 2


def test_json_error_names_its_input(pipeline, invoke, tmp_path) -> None:
    pipeline.act = raising(ZeroDivisionError("no"))
    done = invoke("run", "a.avi", "--out", tmp_path / "r", "--log-json", "--debug")
    entry = json.loads(done.stderr.splitlines()[-1])
    assert entry["input"] == "a.avi"
    assert "Traceback" in entry["traceback"]


def test_errors_are_raised_outside_standalone_mode(pipeline, tmp_path) -> None:
    pipeline.act = raising(errors.InputError("a.avi: bad"))
    with pytest.raises(errors.InputError):
        cli.main(["run", "a.avi", "--out", str(tmp_path / "r")], standalone_mode=False)
