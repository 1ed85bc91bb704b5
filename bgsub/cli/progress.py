"""Show how far a run is: a bar on a terminal, now and then a line in a log file."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bgsub.cli.messages import Session
from bgsub.errors import plural
from bgsub.robustpca.competitors import COMPARED

_LINE_INTERVAL_S = 10.0
_JSON_INTERVAL_S = 1.0
COLUMNS, ROWS = 79, 24

_UNITS = {"fit": " pixels", "batch": " inputs", "data sets": "", "draws": ""}


class Progress:
    """A progress callback that says nothing, and what the others have in common.

    A context manager: it is over when the run is, also where that was cut short. It may be called
    from any thread.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._lock = threading.Lock()
        self._detail = ""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Take note of the stage, how much of it is done, and how much there is if it is known.

        What stands behind a " · " in the stage, such as a residual, may change from call to call.
        """
        with self._lock:
            stage, _, self._detail = stage.partition(" · ")
            self._update(stage, done, total)

    def _detail_behind(self) -> str:
        return f", {self._detail}" if self._detail else ""

    def _update(self, stage: str, done: int, total: int | None) -> None:
        """Say it, if it is to be said."""

    def close(self) -> None:
        """End the display."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self.close()


class LineProgress(Progress):
    """Lines of text (or JSON), at most one in `interval_s` seconds.

    Nothing is said before the first interval has passed, so that a short run is a short log.
    """

    def __init__(
        self,
        session: Session,
        interval_s: float = _LINE_INTERVAL_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(session)
        self._interval = interval_s
        self._clock = clock
        self._last_line = clock()
        self._stages: dict[str, float] = {}

    def _update(self, stage: str, done: int, total: int | None) -> None:
        now = self._clock()
        began = self._stages.setdefault(stage, now)
        if now - self._last_line < self._interval:
            return
        self._last_line = now
        elapsed = now - began
        rate = done / elapsed if done and elapsed > 0 else None
        left = (total - done) / rate if rate and total and total >= done else None
        self.session.log(
            "progress",
            describe(stage, done, total, rate, left) + self._detail_behind(),
            stage=stage,
            done=done,
            total=total,
            rate=None if rate is None else round(rate, 2),
            seconds_left=None if left is None else round(left, 1),
        )


class BarProgress(Progress):
    """One bar a stage, with its rate and the time left."""

    def __init__(self, session: Session) -> None:
        from tqdm import tqdm

        super().__init__(session)
        tqdm.monitor_interval = 0  # no thread of tqdm's own
        self._make = tqdm
        self._has_size = _terminal_says_its_size()
        self._stage: str | None = None
        self._bar: Any = None

    def _update(self, stage: str, done: int, total: int | None) -> None:
        # A terminal that is gone must not end the run.
        with contextlib.suppress(OSError, ValueError):
            if stage != self._stage:
                self.close()
                label = f"{Path(self.session.label).name}: " if self.session.label else ""
                self._stage = stage
                self._bar = self._make(
                    total=total,
                    desc=f"{label}{stage}",
                    unit=_unit(stage),
                    unit_scale=stage == "fit",
                    smoothing=0,  # segments begin with stages in which no frame is written
                    dynamic_ncols=self._has_size,
                    ncols=None if self._has_size else COLUMNS,
                    nrows=None if self._has_size else ROWS,
                    leave=not self.session.label,
                    file=sys.stderr,
                )
            if total is not None and self._bar.total != total:
                self._bar.total = total
            if self._detail:
                self._bar.set_postfix_str(self._detail, refresh=False)
            self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Leave the last bar as it is."""
        if self._bar is not None:
            with contextlib.suppress(OSError, ValueError):
                self._bar.close()
        self._bar = self._stage = None


def _unit(stage: str) -> str:
    """Return what a bar counts; a stage named after a method counts its iterations."""
    if stage.split(" k=", maxsplit=1)[0] in COMPARED:
        return " iterations"
    return _UNITS.get(stage, " frames")


def _terminal_says_its_size() -> bool:
    """Check that the size of the terminal is known; tqdm shows nothing where it is 0."""
    try:
        return min(os.get_terminal_size(sys.stderr.fileno())) > 0
    except (OSError, ValueError):
        return False


def describe(
    stage: str, done: int, total: int | None, rate: float | None, left: float | None
) -> str:
    """Put progress into words.

    Examples
    --------
    >>> describe("reading", 120, 480, 60.0, 6.0)
    'reading: 120 of 480 (25 %), 60/s, 6 s left'
    >>> describe("reading", 7, None, None, None)
    'reading: 7'
    """
    text = f"{stage}: {done}"
    if total:
        text += f" of {total} ({min(100, 100 * done // total)} %)"
    if rate is not None:
        text += f", {rate:,.0f}/s" if rate >= 100 else f", {rate:.3g}/s"
    if left is not None:
        text += f", {duration(left)} left"
    return text


def duration(seconds: float) -> str:
    """Return a length of time in words.

    Examples
    --------
    >>> duration(6.4), duration(80), duration(7500)
    ('6 s', '1 min 20 s', '2 h 5 min')
    """
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    minutes, second = divmod(rounded, 60)
    if minutes < 60:
        return f"{minutes} min {second} s"
    hours, minute = divmod(minutes, 60)
    return f"{hours} h {minute} min"


def speed(frames: int, seconds: float) -> str:
    """Return how many frames were done in what time.

    Examples
    --------
    >>> speed(1500, 26.2)
    '1500 frames in 26 s, 57 a second'
    """
    rate = frames / max(seconds, 1e-3)
    shown = f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"
    took = duration(seconds) if seconds >= 10 else f"{seconds:.1f} s"
    return f"{plural(frames, 'frame')} in {took}, {shown} a second"


def make_progress(session: Session) -> Progress:
    """Choose the display that fits the options and where stderr goes."""
    if session.quiet:
        return Progress(session)
    if session.log_json:
        return LineProgress(session, _JSON_INTERVAL_S)
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return BarProgress(session) if session.bars else Progress(session)
    return LineProgress(session)
