"""Every error that bgsub raises on purpose, with its exit code, and the words of messages.

::

    BgsubError                1   unexpected
    ├── UsageError            2   the options contradict each other or make no sense
    ├── InputError            3   the input cannot be read
    ├── EmptySelectionError   4   nothing is selected
    ├── OutputError           5   the output cannot be written
    ├── BatchError            6   some inputs of a batch failed
    ├── MemoryLimitError      7   the memory limit cannot be kept
    ├── OutliersFound         8   outliers found, and asked to fail on them
    └── Interrupted         130   stopped by Ctrl-C or SIGTERM

The message of each says what the thing is, what is wrong with it and what to do, in one line.
"""

from __future__ import annotations


class BgsubError(Exception):
    """Base of all errors that bgsub raises on purpose."""

    exit_code = 1
    meaning = "an unexpected error (please report it, with the output of --debug)"


class UsageError(BgsubError):
    """Options that contradict each other or make no sense for this input."""

    exit_code = 2
    meaning = "wrong usage: an unknown option, or a value that makes no sense"


class InputError(BgsubError):
    """An input that is missing, unreadable, damaged or not what it should be."""

    exit_code = 3
    meaning = "an input cannot be read"


class EmptySelectionError(BgsubError):
    """A selection of frames or pixels in which nothing is left."""

    exit_code = 4
    meaning = "nothing is selected: no frame or no pixel is left"


class OutputError(BgsubError):
    """A result that cannot be written, or would replace what must be kept."""

    exit_code = 5
    meaning = "an output cannot be written, or exists already"


def cannot_write(
    path: object, error: Exception, advice: str = "check space and permissions"
) -> OutputError:
    """Return the error that says that a file cannot be written, why, and what to do."""
    reason = getattr(error, "strerror", None) or error
    return OutputError(f"{path}: cannot be written ({reason}); {advice}")


class BatchError(BgsubError):
    """Some inputs of a batch failed; the others are done."""

    exit_code = 6
    meaning = "some inputs of a batch failed; the others are done"


class MemoryLimitError(BgsubError):
    """A memory limit that is too small, however the frames are stored."""

    exit_code = 7
    meaning = "the memory limit is too small for this input"


class OutliersFound(BgsubError):  # noqa: N818 - a finding, not a failure
    """Outlier frames were found and the caller asked for that to be a failure."""

    exit_code = 8
    meaning = (
        "outlier frames or events were found (only with --fail-on-outliers and --fail-on-events)"
    )


class Interrupted(BgsubError):  # noqa: N818 - an event, not a failure
    """The run was stopped by Ctrl-C or SIGTERM."""

    exit_code = 130
    meaning = "interrupted by Ctrl-C or SIGTERM"


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

    Examples
    --------
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
