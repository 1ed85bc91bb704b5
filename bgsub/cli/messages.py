"""Write to stderr what happens, what failed and how it was stopped, as lines or as JSON."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import json
import logging
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import IO, Any, Literal, TextIO, cast

import click

from bgsub.cli.help import F, option, together
from bgsub.errors import (
    BgsubError,
    BgsubWarning,
    InputError,
    Interrupted,
    MemoryLimitError,
    OutliersFound,
    OutputError,
    UsageError,
)

Event = Literal[
    "start",
    "note",
    "progress",
    "finding",
    "hint",
    "warning",
    "result",
    "summary",
    "log",
    "error",
]

NOTES = "bgsub.notes"
"""Logger of what a person wants to hear of a run as it begins: shown without --verbose, too."""

_LEVEL_OF = {"hint": "warning", "warning": "warning", "error": "error"}
_PREFIX = {"hint": "hint: ", "warning": "warning: ", "error": "bgsub: "}


@dataclass
class Session:
    """How one call of bgsub talks, and about which input at the moment.

    Attributes
    ----------
    quiet, verbose, log_json, debug
        The options of the same names; `verbose` counts.
    input : str, optional
        The input at work; stands in JSON lines.
    label : str, optional
        The same in short where there are several; begins plain lines.
    bars : bool
        Whether a terminal may show progress bars.
    """

    quiet: bool = False
    verbose: int = 0
    log_json: bool = False
    debug: bool = False
    input: str | None = None
    label: str | None = None
    bars: bool = True

    @property
    def log_level(self) -> int:
        """Level from which messages of bgsub's own modules are shown."""
        if self.quiet:
            return logging.ERROR
        if self.debug or self.verbose > 1:
            return logging.DEBUG
        return logging.INFO if self.verbose else logging.WARNING

    def log(self, event: Event, message: str, **facts: object) -> None:
        """Say one thing on stderr.

        Parameters
        ----------
        event : str
            Its kind; with --quiet only errors are said.
        message : str
            In plain language; line breaks become spaces.
        **facts
            Values that stand in the JSON object besides; None is left out.
        """
        if self.quiet and event != "error":
            return
        text = one_line(message)
        if self.log_json:
            self.put(self._json(event, text, facts), event)
            return
        if self.label:  # a message of the library may begin with the name, with or without folders
            for name in (self.label, Path(self.label).name):
                text = text.removeprefix(f"{name}: ")
            text = f"{self.label}: {text}"
        self.put(_PREFIX.get(event, "") + text, event)

    def put(self, line: str, event: Event) -> None:  # noqa: ARG002 - for those who keep some
        """Write a line of a kind."""
        write_line(line)

    def _json(self, event: str, message: str, facts: dict[str, Any]) -> str:
        entry = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "level": _LEVEL_OF.get(event, "info"),
            "event": event,
            "input": self.input,
            "message": message,
            **facts,
        }
        return json.dumps({name: value for name, value in entry.items() if value is not None})

    @contextlib.contextmanager
    def about(self, name: str, *, label: str | None = None) -> Iterator[None]:
        """Let all that is said inside be about one input.

        After an error it stays so, for what is said of the error.
        """
        before = self.input, self.label
        self.input, self.label = name, label
        yield
        self.input, self.label = before


def one_line(text: object) -> str:
    r"""Return a text as one line.

    Examples
    --------
    >>> one_line("two\n  lines")
    'two lines'
    """
    return " ".join(str(text).split())


def write_line(line: str) -> None:
    """Write a line to stderr, above the progress bar if there is one; never fail."""
    bars = sys.modules.get("tqdm.std")
    # A message that cannot be shown (a closed pipe, a full disk) must not end a run.
    with contextlib.suppress(OSError, ValueError):
        above = bars.tqdm.external_write_mode(file=sys.stderr) if bars else contextlib.nullcontext()
        with above:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()


class _SessionHandler(logging.Handler):
    """Hands log records to a session."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._said: set[tuple[str | None, str]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Say a record: warnings and errors as such, a detail once of each input."""
        message = record.getMessage()
        if record.levelno < logging.WARNING and record.name != NOTES:
            if (self.session.input, message) in self._said:
                return
            self._said.add((self.session.input, message))
        if record.exc_info and record.exc_info[1]:
            message = f"{message} ({type(record.exc_info[1]).__name__}: {record.exc_info[1]})"
        level = record.levelname.lower()
        event: Event = "note" if record.name == NOTES else "log"
        if record.levelno >= logging.WARNING:
            event = "warning" if record.levelno < logging.ERROR else "error"
        self.session.log(event, message, level=level, logger=record.name)


@contextlib.contextmanager
def reporting(session: Session) -> Iterator[None]:
    """Send log records and Python's warnings to a session while inside."""
    handler = _SessionHandler(session)
    root, ours, notes = (logging.getLogger(name) for name in (None, "bgsub", NOTES))
    before = ours.level
    doubtful: set[str | None] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,  # noqa: ARG001 - Python's signature
        line: str | None = None,  # noqa: ARG001 - Python's signature
    ) -> None:
        where = f" ({filename}:{lineno})" if session.debug else ""
        if issubclass(category, RuntimeWarning):  # NumPy's, of a division by 0 and the like
            if session.input in doubtful:
                return
            doubtful.add(session.input)
            what = "some numbers are not finite, and what is made of them may be wrong"
            session.log("warning", f"{what} ({message}){where}")
            return
        session.log("warning", f"{message}{where}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for hidden in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", hidden)
        # The same warning about the next input of a batch is a new one.
        warnings.simplefilter("always", BgsubWarning)
        warnings.showwarning = show
        root.addHandler(handler)
        # Folders for fonts are no matter of ours; what is wrong with a picture is said by us.
        for library in ("matplotlib", "tifffile", "PIL"):
            logging.getLogger(library).setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", module=r"(PIL|tifffile)\b")
        ours.setLevel(session.log_level)
        notes.setLevel(min(session.log_level, logging.INFO))
        try:
            yield
        finally:
            root.removeHandler(handler)
            ours.setLevel(before)
            notes.setLevel(logging.NOTSET)


def current_session() -> Session:
    """Return the session of the command that is running."""
    return click.get_current_context().ensure_object(Session)


def _note(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    setattr(ctx.ensure_object(Session), param.name or "", value)


def log_options(function: F) -> F:
    """Add --quiet --verbose --log-json --debug, and make the command talk as they say.

    The command gets no parameters from them; `session` has them. Log records and Python's warnings
    are shown while it runs.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        current = current_session()
        if current.quiet and current.verbose:
            message = "--quiet and --verbose contradict each other; give one of them"
            raise UsageError(message)
        with reporting(current):
            return function(*args, **kwargs)

    # Eager, so that a mistake in any other option is already reported as they say.
    settings: dict[str, Any] = {"is_eager": True, "expose_value": False, "callback": _note}
    decorate = together(
        option("Messages", "-q", "--quiet", is_flag=True, help="Print errors only.", **settings),
        option(
            "Messages", "-v", "--verbose", count=True, help="Print more; -vv even more.", **settings
        ),
        option(
            "Messages",
            "--log-json",
            is_flag=True,
            help="Write one JSON object a line to stderr, for progress and errors as well.",
            **settings,
        ),
        option(
            "Messages",
            "--debug",
            is_flag=True,
            help="Print the traceback of an error.",
            **settings,
        ),
    )
    return decorate(cast("F", wrapper))


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
    """Return the message of an error, one line, and the exit code that goes with it."""
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
    """Return whether a lack of memory is at the root of an error.

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


_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


def install() -> None:
    """Make these signals raise KeyboardInterrupt in the main thread.

    SIGHUP stays ignored under nohup. SIGINT does not: shells ignore it for what scripts start with
    ``&``, and a person who stops the script, or sends it by hand, means it.
    """
    for number in _numbers():
        if number.name != "SIGHUP" or signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _first)


def work_is_done() -> None:
    """Ignore these signals from now on: what was asked for is there, and the exit code says so."""
    for number in _numbers():
        if signal.getsignal(number) in {_first, _second}:
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Let these signals set an event instead, for what must not be broken off at any line.

    The second one ends the program at once, as everywhere.
    """
    stop = threading.Event()
    before: dict[signal.Signals, Any] = {}

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        for other in before:
            signal.signal(other, _second)

    for number in _numbers():
        if signal.getsignal(number) in {_first, signal.SIG_DFL, signal.default_int_handler}:
            before[number] = signal.signal(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def log_results(
    out: str | os.PathLike[str], session: Session, message: str = "results are in {}"
) -> None:
    """Say where results are; if they are all that was asked for, no signal makes them a failure."""
    if session.label is None:
        work_is_done()
    session.log("result", message.format(os.fspath(out)), out=os.fspath(out))


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


def _first(_number: int, _frame: FrameType | None) -> None:
    for other in _numbers():
        if signal.getsignal(other) is _first:
            signal.signal(other, _second)
    raise KeyboardInterrupt


def _second(_number: int, _frame: FrameType | None) -> None:
    os._exit(Interrupted.exit_code)


def prepare() -> None:
    """Open what is closed on nothing, and let stdout replace letters that its encoding lacks."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, _nothing(number, mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            # Names of files that are no valid text come out of UTF-8 as they are.
            is_utf8 = stream.encoding.lower().replace("-", "") == "utf8"
            stream.reconfigure(errors="surrogateescape" if is_utf8 else "replace")


def _nothing(number: int, mode: str) -> IO[str]:
    """Open the null device, under the number of the stream if that is free.

    Otherwise the next file that is opened would get that number, and with it all that native code
    writes to the stream.
    """
    with contextlib.suppress(OSError):
        os.fstat(number)
        return open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123 - until the end
    descriptor = os.open(os.devnull, os.O_RDWR)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
    return open(number, mode, encoding="utf-8", closefd=False)
