"""Write how many there are of something, as messages say it."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """Write a number and what it counts.

    Examples
    --------
    >>> [plural(count, "frame") for count in (0, 1, 2)]
    ['0 frames', '1 frame', '2 frames']
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def is_or_are(count: int) -> str:
    """Give the verb that goes with a number."""
    return "is" if count == 1 else "are"


def was_or_were(count: int) -> str:
    """Give the verb of the past that goes with a number."""
    return "was" if count == 1 else "were"
