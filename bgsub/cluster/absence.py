"""Say that a cluster has no worker, and give up after a while."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from bgsub.errors import UsageError

notes = logging.getLogger("bgsub.notes")

_SAID_EVERY_S = 60.0


class NoWorkersError(UsageError):
    """A cluster in which nobody works: none of its workers is left, or its scheduler is gone."""


class Absence:
    """How long a cluster has had no worker.

    Parameters
    ----------
    address : str
        Of the scheduler, for messages.
    most_s : float
        Seconds after which nobody is waited for any more.
    clock : callable, optional
        Gives seconds.
    """

    def __init__(
        self, address: str, most_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._address, self._most_s, self._clock = address, most_s, clock
        self._since: float | None = None
        self._said_s = 0.0

    def look(self, workers: int, tasks: int) -> None:
        """Take notice of how many workers there are while so many tasks wait.

        Raises
        ------
        NoWorkersError
            If there has been none for too long.
        """
        now = self._clock()
        if workers:
            if self._since is not None and self._said_s:
                notes.info("%s has workers again", self._address)
            self._since, self._said_s = None, 0.0
            return
        if self._since is None:
            self._since = now
        away_s = now - self._since
        if away_s >= self._most_s:
            raise self.ended()
        if away_s - self._said_s >= _SAID_EVERY_S:
            self._said_s = away_s
            text = "%s has had no worker for %s, and %d %s; start some, or stop with Ctrl-C"
            waits = "task waits" if tasks == 1 else "tasks wait"
            notes.warning(text, self._address, _in_words(away_s), tasks, waits)

    def ended(self) -> NoWorkersError:
        """Make the error that ends the wait."""
        message = f"--scheduler {self._address}: had no worker for {_in_words(self._most_s)}"
        return NoWorkersError(f"{message}; start some with `dask worker {self._address}`")


def _in_words(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return "1 minute" if minutes == 1 else f"{minutes} minutes"
