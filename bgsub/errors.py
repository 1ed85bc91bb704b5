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

    def __init_subclass__(cls, *, exit_code: int | None = None) -> None:
        """Take the first line of a class for the meaning of its exit code."""
        cls.exit_code = cls.exit_code if exit_code is None else exit_code
        first = (cls.__doc__ or "").partition("\n")[0].rstrip(".")
        cls.meaning = first[:1].lower() + first[1:]


class UsageError(BgsubError, exit_code=2):
    """Wrong usage: an unknown option, or a value that makes no sense."""


class InputError(BgsubError, exit_code=3):
    """An input cannot be read."""


class EmptySelectionError(BgsubError, exit_code=4):
    """Nothing is selected: no frame or no pixel is left."""


class OutputError(BgsubError, exit_code=5):
    """An output cannot be written, or exists already."""


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


class BatchError(BgsubError, exit_code=6):
    """Some inputs of a batch failed; the others are done."""


class MemoryLimitError(BgsubError, exit_code=7):
    """The memory limit is too small for this input."""


class OutliersFound(BgsubError, exit_code=8):  # noqa: N818 - a finding, not a failure
    """Outlier frames or events were found (only with --fail-on-outliers and --fail-on-events)."""


class Interrupted(BgsubError, exit_code=130):  # noqa: N818 - an event, not a failure
    """Interrupted by Ctrl-C or SIGTERM."""


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
