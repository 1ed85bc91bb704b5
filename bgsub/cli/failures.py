"""Turn an exception into one line on stderr and an exit code."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback

import click

from bgsub.cli.logs import Session, one_line, write_line
from bgsub.errors import (
    BgsubError,
    InputError,
    Interrupted,
    MemoryLimitError,
    OutliersFound,
    OutputError,
    UsageError,
)

INTERRUPTED = "interrupted; nothing unfinished was left under a final name"

# As click writes it behind the message: ". Did you mean '--k'?", "(Possible options: --a, --b)".
_SUGGESTION = re.compile(r"\.? \(?Did you mean (.*?)\?\)?$")

# No file has such a name; it is what a damaged file has in the place of a number.
_ENDLESS_WORD = re.compile(r"([^\s/]{60})[^\s/]{239,}?(?=[:;,]*(?:[\s/]|$))")

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_TOO_MANY_FILES = {errno.EMFILE, errno.ENFILE}

_NO_MEMORY = re.compile(
    "failed to map segment|cannot allocate memory|start new thread|insufficient memory",
    re.IGNORECASE,
)


def describe(error: BaseException) -> tuple[str, int]:
    """Give the message of an error, one line, and the exit code that goes with it."""
    message, code = _describe(error)
    return one_line(_ENDLESS_WORD.sub(r"\1…", message)), code


def _describe(error: BaseException) -> tuple[str, int]:
    if _is_out_of_memory(error):
        advice = "take fewer frames with --every or smaller ones with --scale"
        reason = getattr(error, "strerror", None) or str(error)
        what = f"out of memory ({reason})" if reason else "out of memory"
        return f"{what}; {advice}", MemoryLimitError.exit_code
    if isinstance(error, BgsubError):
        return str(error) or error.meaning, error.exit_code
    if isinstance(error, click.ClickException):
        return _describe_click(error)
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return str(error) or INTERRUPTED, Interrupted.exit_code
    found = _describe_system(error) if isinstance(error, OSError) else None
    if found is not None:
        return found
    kind = type(error).__name__
    advice = "(run with --debug for the traceback)"
    return f"unexpected error: {kind}: {error} {advice}", BgsubError.exit_code


def _describe_system(error: OSError) -> tuple[str, int] | None:
    """Describe what the system refused, where nobody who knew what it was for has."""
    if error.errno in _NO_ROOM:
        name = error.filename or "an output"
        return f"{name}: cannot be written ({error.strerror})", OutputError.exit_code
    if error.errno in _TOO_MANY_FILES:
        advice = "allow more with `ulimit -n`, or use fewer --jobs"
        return f"too many files are open at once ({error.strerror}); {advice}", UsageError.exit_code
    if error.errno == errno.ENAMETOOLONG:
        name = f"{str(error.filename)[:60]}…"
        return f"{name}: cannot be opened ({error.strerror})", InputError.exit_code
    return None


def _is_out_of_memory(error: BaseException) -> bool:
    """Check whether a lack of memory is at the root of an error.

    An input that cannot be read stays one: its header may ask for more than there is anywhere.
    """
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, (InputError, UsageError, MemoryLimitError)):
        if isinstance(seen, MemoryError):
            return True
        if isinstance(seen, OSError) and seen.errno == errno.ENOMEM:
            return True
        # A library that does not fit, a thread for whose stack there is no room, OpenCV's own.
        kinds = (ImportError, RuntimeError, OSError) if not isinstance(seen, BgsubError) else ()
        if isinstance(seen, kinds) and _NO_MEMORY.search(str(seen)):
            return True
        origin = type(seen).__module__
        if origin == "cv2" and _NO_MEMORY.search(str(seen)):
            return True
        # FFmpeg's word for a thread that the system does not give it.
        if origin == "av.error" and getattr(seen, "errno", None) == errno.EAGAIN:
            return True
        seen = seen.__cause__
    return False


def _describe_click(error: click.ClickException) -> tuple[str, int]:
    text = error.format_message()
    if type(error) is click.BadParameter and isinstance(error.param, click.Option):
        text = f"{max(error.param.opts, key=len)}: {error.message}"  # and no "Invalid value for"
    text = _SUGGESTION.sub(r" (did you mean \1?)", text.rstrip("."))
    message = text[:1].lower() + text[1:]
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "bgsub"
        return f"{message}; see {command} --help", UsageError.exit_code
    code = InputError.exit_code if isinstance(error, click.FileError) else error.exit_code
    return message, code


def log_error(error: BaseException, session: Session) -> int:
    """Say an error on stderr as the session wants it, and give its exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        for line in error.format_message().splitlines():
            write_line(line)
        return error.exit_code
    message, code = describe(error)
    if isinstance(error, OutliersFound) and session.quiet:
        return code  # that is no error; the code says it
    trace = "".join(traceback.format_exception(error)) if session.debug else None
    if trace and not session.log_json:
        session.put(trace.rstrip("\n"), "error")
    facts = {"traceback": trace} if session.log_json else {}
    session.log("error", message, exit_code=code, **facts)
    return code


def silence_stdout() -> None:
    """Let nothing be written to a stdout whose reader is gone, not at Python's end either."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # not a real file, as in tests
        return
