"""Errors become one line on stderr and their exit code."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import click
import pytest

from bgsub import errors
from bgsub.cli.messages import Session, log_error


def raising(error: BaseException):
    def act(path: str, out: Path) -> None:
        raise error

    return act


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rnu"], "no such command 'rnu' (did you mean 'run'?); see bgsub --help"),
        (["run", "--kk", "3"], "no such option '--kk' (did you mean '--k'?); see bgsub run --help"),
        (["run", "--sca", "3"], "'--scale'"),
        (["run", "a.avi", "--format", "avi"], "--format avi: must be one of mp4, mkv, png, zarr"),
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


def refused(error: BaseException, capsys) -> str:
    log_error(error, Session())
    return capsys.readouterr().err.removeprefix("bgsub: ").removesuffix("\n")


def test_a_word_without_end_is_shortened(capsys) -> None:
    path = "/".join(["folder" * 20] * 20)
    error = errors.InputError(f"{path}, line 2: score '{'a' * 5000}' is not a number")
    message = refused(error, capsys)
    assert path in message
    assert len(message) < len(path) + 150
    assert message.endswith("… is not a number")


def test_a_name_that_is_cut_short_keeps_the_colon_behind_it(capsys):
    error = errors.OutputError(f"{'x' * 300}: cannot be written")
    assert refused(error, capsys) == f"{'x' * 60}…: cannot be written"
