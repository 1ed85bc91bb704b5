"""Write to stderr what happens, how far it is, what failed and how it was stopped."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import logging
import math
import os
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import click

from bgsub import errors
from bgsub.errors import BgsubError, InputError, Interrupted, MemoryLimitError, UsageError, plural

# Logger of what a person wants to hear of a run as it begins: shown without --verbose, too.
NOTES = "bgsub.notes"
_LEVEL_OF = {"hint": "warning", "warning": "warning", "error": "error"}
_PREFIX = {"hint": "hint: ", "warning": "warning: ", "error": "bgsub: "}


@dataclass
class Session:
    """How one call of bgsub talks, and about which input at the moment."""

    quiet: bool = False
    verbose: int = 0
    log_json: bool = False
    debug: bool = False
    input: str | None = None  # at work; stands in JSON lines
    label: str | None = None  # the same where there are several; begins plain lines
    lines: list[str] | None = None  # where lines are kept instead of written; progress is not
    unseen: bool = False  # whether nobody sees progress, or when an input begins

    def log(self, event: str, message: str, **facts: object) -> None:
        """Write one message to stderr; with --quiet only errors are written.

        `event` is its kind: start, note, progress, finding, hint, warning, result, summary, log or
        error. `facts` stand in the JSON object besides; None is left out.
        """
        if (self.quiet and event != "error") or (self.unseen and event in {"progress", "start"}):
            return
        text = " ".join(message.split())
        if self.log_json:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            kind = {"time": now, "level": _LEVEL_OF.get(event, "info"), "event": event}
            entry = {**kind, "input": self.input, "message": text, **facts}
            text = json.dumps({name: value for name, value in entry.items() if value is not None})
        else:
            if self.label:  # a message may begin with the name, with or without folders
                for name in (self.label, Path(self.label).name):
                    text = text.removeprefix(f"{name}: ")
                text = f"{self.label}: {text}"
            text = _PREFIX.get(event, "") + text
        self.put(text, event)

    def put(self, line: str, event: str) -> None:
        """Write a line of a kind, or keep it."""
        if self.lines is None or event == "progress":
            write_line(line)
        else:
            self.lines.append(line)

    @contextlib.contextmanager
    def about(self, name: str, *, label: str | None = None) -> Iterator[None]:
        """Let all that is said inside be about one input, and after an error what is said of it."""
        before = self.input, self.label
        self.input, self.label = name, label
        yield
        self.input, self.label = before


def _columns() -> int:
    """Return how many characters fit into a line of stderr; stdout may be elsewhere."""
    with contextlib.suppress(OSError, ValueError):
        return (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - 1
    return 79


def _is_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def write_line(line: str, end: str = "\n") -> None:
    """Write to stderr, over the progress that stands there on a terminal; never fail."""
    # A message that cannot be shown (a closed pipe, a full disk) must not end a run.
    with contextlib.suppress(OSError, ValueError):
        cleared = f"\r{' ' * _columns()}\r" if _is_terminal() else ""
        sys.stderr.write(f"{cleared}{line}{end}")
        sys.stderr.flush()


class _SessionHandler(logging.Handler):
    """Hands log records to a session."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._said: set[tuple[str | None, str]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record: warnings and errors as such, a detail once of each input."""
        message = record.getMessage()
        if record.levelno < logging.WARNING and record.name != NOTES:
            if (self.session.input, message) in self._said:
                return
            self._said.add((self.session.input, message))
        if record.exc_info and record.exc_info[1]:
            message = f"{message} ({type(record.exc_info[1]).__name__}: {record.exc_info[1]})"
        event = "note" if record.name == NOTES else "log"
        if record.levelno >= logging.WARNING:
            event = "warning" if record.levelno < logging.ERROR else "error"
        self.session.log(event, message, level=record.levelname.lower(), logger=record.name)


@contextlib.contextmanager
def reporting(session: Session) -> Iterator[None]:
    """Send log records and Python's warnings to a session while inside."""
    handler = _SessionHandler(session)
    root, ours, notes = (logging.getLogger(name) for name in (None, "bgsub", NOTES))
    before = ours.level
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(session.verbose, 2)]
    level = logging.ERROR if session.quiet else logging.DEBUG if session.debug else level
    doubtful: set[str | None] = set()

    def show(
        message: object, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
    ) -> None:
        where = f" ({filename}:{lineno})" if session.debug else ""
        if issubclass(category, RuntimeWarning):  # NumPy's, of a division by 0 and the like
            if session.input in doubtful:
                return
            doubtful.add(session.input)
            what = "some numbers are not finite, and what is made of them may be wrong"
            message = f"{what} ({message})"
        session.log("warning", f"{message}{where}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for hidden in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", hidden)
        # The same warning about the next input of a batch is a new one.
        warnings.simplefilter("always", errors.BgsubWarning)
        warnings.showwarning = show
        root.addHandler(handler)
        # Folders for fonts are no matter of ours; what is wrong with a picture is said by us.
        for library in ("matplotlib", "tifffile", "PIL"):
            logging.getLogger(library).setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", module=r"(PIL|tifffile)\b")
        ours.setLevel(level)
        notes.setLevel(min(level, logging.INFO))
        try:
            yield
        finally:
            root.removeHandler(handler)
            ours.setLevel(before)
            notes.setLevel(logging.NOTSET)


class Progress(contextlib.AbstractContextManager["Progress"]):
    """A progress callback: a line now and then, or one that is written over, or nothing.

    Its context ends when the run does. It may be called from any thread. A stage that is done
    before the first interval has passed is not said, so that a short run is a short log; one that
    is written over (`in_place`) is, and stays where it ends. Nothing is said without an interval.
    """

    def __init__(
        self,
        session: Session,
        interval_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        in_place: bool = False,
    ) -> None:
        self.session = session
        self._interval, self._clock, self._in_place = interval_s, clock, in_place
        self._lock = threading.Lock()
        self._last_line = -math.inf if in_place else clock()
        self._begins: dict[str, tuple[float, str]] = {}
        self._stage, self._text = "", ""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Take note of the stage, how much of it is done, and how much there is if it is known.

        What stands behind a " · " in the stage, such as a residual, may change from call to call.
        """
        if self._interval is None:
            return
        stage, _, detail = stage.partition(" · ")
        with self._lock:
            now = self._clock()
            if stage != self._stage:
                self.close()
                self._stage = stage
            # What is prepared before the first frame says nothing of the frames to come. Further
            # segments are prepared as well: what is left is told from the second one on. And in a
            # batch, the time before its first input is done is what an input takes.
            head = detail.partition(",")[0]
            is_segment = head.startswith("segment")
            if not done and not is_segment and stage != "batch":
                self._begins[stage] = now, head
            began, first = self._begins.setdefault(stage, (now, head))
            rate = done / (now - began) if done and now > began else None
            is_told = not (is_segment and head == first)
            left = (total - done) / rate if is_told and rate and total and total >= done else None
            self._text = _in_words(stage, done, total, rate, left, detail)
            if now - self._last_line < self._interval:
                return
            self._last_line = now
            if self._in_place:
                self._write_over(self._text)
                return
            facts: dict[str, object] = {"stage": stage, "done": done, "total": total}
            facts["rate"] = None if rate is None else round(rate, 2)
            facts["seconds_left"] = None if left is None else round(left, 1)
            self.session.log("progress", self._text, **facts)

    def _write_over(self, text: str, end: str = "") -> None:
        label = f"{Path(self.session.label).name}: " if self.session.label and text else ""
        write_line(f"{label}{text}"[: _columns()], end)

    def close(self) -> None:
        """Leave the line of the last stage as it is, but not among those of a batch."""
        if self._in_place and self._text:
            self._write_over(*([""] if self.session.label else [self._text, "\n"]))
            self._text, self._last_line = "", -math.inf

    def __exit__(self, *_exception: object) -> None:
        with self._lock:
            self.close()


def _in_words(
    stage: str, done: int, total: int | None, rate: float | None, left: float | None, detail: str
) -> str:
    """Put progress into words.

    >>> _in_words("reading", 120, 480, 60.0, 6.0, "")
    'reading: 120 of 480 (25 %), 60/s, 6 s left'
    """
    parts = [f"{stage}: {done}"]
    if total:
        parts[0] += f" of {total} ({min(100, 100 * done // total)} %)"
    if rate is not None:
        parts.append(f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.3g}/s")
    if left is not None:
        parts.append(f"{duration(left)} left")
    return ", ".join([*parts, detail] if detail else parts)


def duration(seconds: float) -> str:
    """Return a length of time in words.

    >>> duration(6.4), duration(80), duration(7500)
    ('6 s', '1 min 20 s', '2 h 5 min')
    """
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minute} min"
    return f"{minute} min {second} s" if minute else f"{second} s"


def speed(frames: int, seconds: float) -> str:
    """Return how many frames were done in what time.

    >>> speed(1500, 26.2)
    '1500 frames in 26 s, 57 a second'
    """
    rate = frames / max(seconds, 1e-3)
    shown = f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"
    took = duration(seconds) if seconds >= 10 else f"{seconds:.1f} s"
    return f"{plural(frames, 'frame')} in {took}, {shown} a second"


def make_progress(session: Session) -> Progress:
    """Choose the display that fits the options and where stderr goes."""
    if session.quiet or session.unseen:
        return Progress(session)
    if _is_terminal() and not session.log_json:
        return Progress(session, 0.1 if session.lines is None else None, in_place=True)
    return Progress(session, 1.0 if session.log_json else 10.0)


def log_results(
    out: str | os.PathLike[str], session: Session, message: str = "results are in {}"
) -> None:
    """Log where results are; if they are all that was asked for, no signal makes them a failure."""
    if session.label is None:
        work_is_done()
    session.log("result", message.format(out), out=str(out))


INTERRUPTED = "interrupted; nothing unfinished was left under a final name"
# As click writes it behind the message: ". Did you mean '--k'?", "(Possible options: --a, --b)".
_SUGGESTION = re.compile(r"\.? \(?Did you mean (.*?)\?\)?$")
# No file has such a name; it is what a damaged file has in the place of a number.
_ENDLESS_WORD = re.compile(r"([^\s/]{60})[^\s/]{239,}?(?=[:;,]*(?:[\s/]|$))")

# What the system refused, where nobody who knew what it was for has said so.
_CANNOT_WRITE = "{name}: cannot be written ({reason})", errors.OutputError
_TOO_MANY = "too many files are open at once ({reason}); allow more with `ulimit -n`, or use fewer"
_OF_SYSTEM: dict[int | None, tuple[str, type[BgsubError]]] = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EROFS), _CANNOT_WRITE),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), (f"{_TOO_MANY} --jobs", UsageError)),
    errno.ENAMETOOLONG: ("{name:.60}…: cannot be opened ({reason})", InputError),
}
_NO_MEMORY = re.compile(
    r"(?i)failed to map segment|cannot allocate memory|start new thread|insufficient memory"
)


def describe(error: BaseException) -> tuple[str, int]:
    """Return the message of an error, and the exit code that goes with it."""
    reason = getattr(error, "strerror", None) or str(error)
    if _is_out_of_memory(error):
        advice = "take fewer frames with --every or smaller ones with --scale"
        what = f"out of memory ({reason})" if reason else "out of memory"
        return f"{what}; {advice}", MemoryLimitError.exit_code
    if isinstance(error, BgsubError):
        return str(error) or error.meaning, error.exit_code
    if isinstance(error, click.ClickException):
        return _describe_click(error)
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return str(error) or INTERRUPTED, Interrupted.exit_code
    if isinstance(error, OSError) and error.errno in _OF_SYSTEM:
        text, kind = _OF_SYSTEM[error.errno]
        name = str(error.filename or "an output")[:200]
        return text.format(name=name, reason=reason), kind.exit_code
    message = f"unexpected error: {type(error).__name__}: {error}"
    return f"{message} (run with --debug for the traceback)", BgsubError.exit_code


def _is_out_of_memory(error: BaseException) -> bool:
    """Return whether a lack of memory is at the root of an error.

    An input that cannot be read stays one: its header may ask for more than there is anywhere.
    """
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, (InputError, UsageError, MemoryLimitError)):
        origin, number = type(seen).__module__, getattr(seen, "errno", None)
        if isinstance(seen, MemoryError) or (isinstance(seen, OSError) and number == errno.ENOMEM):
            return True
        # A library that does not fit, a thread for whose stack there is no room, OpenCV's own.
        says_so = isinstance(seen, (ImportError, RuntimeError, OSError)) or origin == "cv2"
        if says_so and not isinstance(seen, BgsubError) and _NO_MEMORY.search(str(seen)):
            return True
        # FFmpeg's word for a thread that the system does not give it.
        if origin == "av.error" and number == errno.EAGAIN:
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
    """Write an error to stderr as the session wants it, and return its exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        for line in error.format_message().splitlines():
            write_line(line)
        return error.exit_code
    message, code = describe(error)
    message = _ENDLESS_WORD.sub(r"\1…", message)
    if isinstance(error, errors.OutliersFound) and session.quiet:
        return code  # that is no error; the code says it
    trace = "".join(traceback.format_exception(error)) if session.debug else None
    if trace and not session.log_json:
        session.put(trace.rstrip("\n"), "error")
    facts = {"traceback": trace} if session.log_json else {}
    session.log("error", message, exit_code=code, **facts)
    return code


_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_SIGNALS = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


def install() -> None:
    """Make these signals raise KeyboardInterrupt in the main thread.

    SIGHUP stays ignored under nohup. SIGINT does not: shells ignore it for what scripts start with
    ``&``, and a person who stops the script, or sends it by hand, means it.
    """
    for number in _SIGNALS:
        if number.name != "SIGHUP" or signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _first)


def work_is_done() -> None:
    """Ignore these signals from now on: what was asked for is there, and the exit code says so."""
    for number in _SIGNALS:
        if signal.getsignal(number) in {_first, _second}:
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Let the first of these signals set an event; the second ends the program, as everywhere."""
    stop = threading.Event()
    before: dict[signal.Signals, Any] = {}

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        for other in before:
            signal.signal(other, _second)

    for number in _SIGNALS:
        if signal.getsignal(number) in {_first, signal.SIG_DFL, signal.default_int_handler}:
            before[number] = signal.signal(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _first(_number: int, _frame: FrameType | None) -> None:
    for other in _SIGNALS:
        if signal.getsignal(other) is _first:
            signal.signal(other, _second)
    raise KeyboardInterrupt


def _second(_number: int, _frame: FrameType | None) -> None:
    os._exit(Interrupted.exit_code)


def prepare() -> None:
    """Open what is closed on nothing, and let stdout replace letters that its encoding lacks."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:  # or else the next file that is opened would get that number
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            # Names of files that are no valid text come out of UTF-8 as they are.
            is_utf8 = stream.encoding.lower().replace("-", "") == "utf8"
            stream.reconfigure(errors="surrogateescape" if is_utf8 else "replace")
