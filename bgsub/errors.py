"""Every error that bgsub raises on purpose, with its exit code, and the words of messages.

The message of each says what the thing is, what is wrong with it and what to do, in one line.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class BgsubError(Exception):
    """Base of all errors that bgsub raises on purpose."""

    exit_code = 1
    meaning = "an unexpected error (please report it, with the output of --debug)"

    def __init_subclass__(cls) -> None:
        """Take the first line of a class for the meaning of its exit code."""
        first = (cls.__doc__ or "").partition("\n")[0].rstrip(".")
        cls.meaning = first[:1].lower() + first[1:]


class UsageError(BgsubError):
    """Wrong usage: an unknown option, or a value that makes no sense."""

    exit_code = 2


class InputError(BgsubError):
    """An input cannot be read."""

    exit_code = 3


class EmptySelectionError(BgsubError):
    """Nothing is selected: no frame or no pixel is left."""

    exit_code = 4


class OutputError(BgsubError):
    """An output cannot be written, or exists already."""

    exit_code = 5


def cannot_write(
    path: object, error: Exception, advice: str = "check space and permissions"
) -> OutputError:
    """Return the error that says that a file cannot be written, why, and what to do."""
    reason = getattr(error, "strerror", None) or error
    return OutputError(f"{path}: cannot be written ({reason}); {advice}")


@contextmanager
def writing(
    path: object,
    advice: str = "check space and permissions",
    *,
    kinds: tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """Turn errors of the system, and of some kinds, into that of a file that is not written."""
    caught: tuple[type[Exception], ...] = (OSError, *kinds)
    try:
        yield
    except caught as error:
        raise cannot_write(path, error, advice) from error


class BatchError(BgsubError):
    """Some inputs of a batch failed; the others are done."""

    exit_code = 6


class MemoryLimitError(BgsubError):
    """The memory limit is too small for this input."""

    exit_code = 7


class OutliersFound(BgsubError):  # noqa: N818 - a finding, not a failure
    """Outlier frames or events were found (only with --fail-on-outliers and --fail-on-events)."""

    exit_code = 8


class Interrupted(BgsubError):  # noqa: N818 - an event, not a failure
    """Interrupted by Ctrl-C or SIGTERM."""

    exit_code = 130


class BgsubWarning(UserWarning):
    """Base of all warnings that bgsub emits."""


class RankWarning(BgsubWarning):
    """The data have a lower rank than the number of components asked for."""


class ConvergenceWarning(BgsubWarning):
    """An iteration stopped at its limit before it converged."""


class PrecisionWarning(BgsubWarning):
    """Float64 does not hold the digits that a result would need."""


class NotFittedError(ValueError, AttributeError):
    """An estimator is used before `fit`; scikit-learn's error of this name if that is in use."""


def plural(count: int, noun: str) -> str:
    """Write a number and what it counts.

    >>> [plural(count, "frame") for count in (0, 1, 2)]
    ['0 frames', '1 frame', '2 frames']
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def is_or_are(count: int) -> str:
    """Return the verb that goes with a number."""
    return "is" if count == 1 else "are"


def was_or_were(count: int) -> str:
    """Return the verb of the past that goes with a number."""
    return "was" if count == 1 else "were"
