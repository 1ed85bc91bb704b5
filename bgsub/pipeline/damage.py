"""Say which frames of a run were damaged or may be wrong, and what became of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, overload

import numpy as np

from bgsub.errors import plural
from bgsub.fit.store import trusted_rows
from bgsub.outliers.errors_table import ErrorTable
from bgsub.video.base import BadFrame, OnBadFrame
from bgsub.video.source import FrameSource

_NUMBERS_SHOWN = 8
_SPANS_SHOWN = 5


@overload
def mark_doubtful(table: ErrorTable, source: FrameSource) -> ErrorTable: ...
@overload
def mark_doubtful(table: None, source: FrameSource) -> None: ...
@overload
def mark_doubtful(table: ErrorTable | None, source: FrameSource) -> ErrorTable | None: ...
def mark_doubtful(table: ErrorTable | None, source: FrameSource) -> ErrorTable | None:
    """Flag the frames of a table that may be wrong, once all of the source has been read."""
    if table is None or not source.doubtful_frames:
        return table
    return replace(table, doubtful=np.isin(table.frames, source.doubtful_frames))


class Damage(Protocol):
    """What is known of the damage of a film that has been read; see `FrameSource`."""

    codec: str
    bad_frames: list[BadFrame]
    doubtful_frames: list[int]
    unseen_damage: str
    decoded: int


def damage_findings(source: Damage, on_bad_frame: OnBadFrame, *, is_fitted: bool) -> list[str]:
    """Say how many frames were damaged, and how many may be wrong; a line each if any.

    Parameters
    ----------
    source : Damage
        A source of which all has been read.
    on_bad_frame : {"skip", "repeat", "fail"}
        What was done about the damaged ones.
    is_fitted : bool
        Whether a background was fitted to the frames, and not known from before.
    """
    lines = []
    damaged = [bad.number for bad in source.bad_frames]
    if damaged:
        action = {"skip": "left out", "repeat": "replaced by the one before"}
        what = action.get(on_bad_frame, "met")
        shown = ", ".join(map(str, damaged[:_NUMBERS_SHOWN]))
        more = len(damaged) - _NUMBERS_SHOWN
        shown += f" and {more} more" if more > 0 else ""
        lines.append(f"{plural(len(damaged), 'damaged frame')} {what}: {shown}")
    doubtful = sorted(set(source.doubtful_frames).difference(damaged))
    if doubtful:
        line = f"{plural(len(doubtful), 'frame')} may be wrong, next to damage or depending on it"
        lines.append(f"{line}: {_in_words(doubtful)}{_part_in_fit(source) if is_fitted else ''}")
    if lines and source.unseen_damage == "may go unseen":
        lines.append(f"{source.codec} has no checksums: more pictures may be damaged unseen")
    return lines


def _part_in_fit(source: Damage) -> str:
    doubtful = source.doubtful_frames
    read = max(source.decoded, len(doubtful))
    everything = np.arange(read)
    if trusted_rows(everything, list(range(len(doubtful)))).size < read:
        return " (left out of the fit)"
    return " (part of the fit, since they are most of the frames)"


def spans(numbers: list[int]) -> list[list[int]]:
    """Write increasing numbers as first and last of those that follow each other.

    Examples
    --------
    >>> spans([3, 4, 5, 9])
    [[3, 5], [9, 9]]
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def _in_words(numbers: list[int]) -> str:
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in spans(numbers)]
    more = len(texts) - _SPANS_SHOWN
    return ", ".join(texts[:_SPANS_SHOWN]) + (
        f" and {plural(more, 'more span')}" if more > 0 else ""
    )
