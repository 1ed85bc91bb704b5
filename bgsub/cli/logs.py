"""Write to stderr: plain lines, or with --log-json one JSON object a line."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TextIO, cast

import click

from bgsub.cli.help import F, option, together
from bgsub.errors import BgsubWarning, UsageError

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

    def put(self, line: str, event: Event) -> None:
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
    r"""Give a text as one line.

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
        file: TextIO | None = None,
        line: str | None = None,
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
    """Give the session of the command that is running."""
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
