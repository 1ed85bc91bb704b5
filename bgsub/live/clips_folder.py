"""Name the clips of a folder, and remove the oldest where there are too many."""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bgsub.input_rules import SECONDS
from bgsub.rules import Rule

_NAME = re.compile(r"event-\d{8}T\d{6}Z-\d{4,}(-mask)?\.(mp4|mkv)")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTsmhd])B?", re.ASCII)
_BYTES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Keep:
    """How much is kept.

    Attributes
    ----------
    size : int or None
        Bytes of all clips together.
    age_s : float or None
        Seconds since a clip was written to.
    """

    size: int | None = None
    age_s: float | None = None


class KeepRule(Rule):
    """An amount of memory, or a time, kept as it is written."""

    metavar = "AMOUNT"

    def words(self) -> str:
        """Say it."""
        return "an amount such as 10G, or a time such as 7d"

    def read(self, name: str, value: Any) -> str:
        """Check the amount."""
        try:
            parse_keep(value)
        except (AttributeError, ValueError):
            self.refuse(name, value)
        return str(value)


def parse_keep(text: str) -> Keep:
    """Read ``10G`` or ``7d``: capital letters are bytes, small ones time.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> parse_keep("10G"), parse_keep("7d")
    (Keep(size=10000000000, age_s=None), Keep(size=None, age_s=604800.0))
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or float(match[1]) == 0:
        raise ValueError(text)
    amount, unit = float(match[1]), match[2]
    if unit in _BYTES:
        return Keep(size=int(amount * _BYTES[unit]))
    return Keep(age_s=amount * SECONDS[unit])


def clip_name(wall_s: float, number: int, suffix: str) -> str:
    """Name a clip by the time at which its event began, UTC, and the event's number.

    Examples
    --------
    >>> clip_name(0.0, 7, "mp4")
    'event-19700101T000000Z-0007.mp4'
    """
    return f"event-{datetime.fromtimestamp(wall_s, UTC):%Y%m%dT%H%M%SZ}-{number:04d}.{suffix}"


def remove_oldest(folder: Path, keep: Keep, writing: Path | None) -> int:
    """Remove clips that are too many, the oldest first; the one being written stays.

    Only files with the names of clips are looked at.

    Returns
    -------
    int
        How many were removed.
    """
    clips = []
    for path in folder.iterdir():
        if _NAME.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            with contextlib.suppress(OSError):
                facts = path.stat()
                clips.append((facts.st_mtime, path.name, facts.st_size, path))
    total, now, removed = sum(size for _, _, size, _ in clips), time.time(), 0
    for written, _, size, path in sorted(clips):
        is_too_much = keep.size is not None and total > keep.size
        is_too_old = keep.age_s is not None and now - written > keep.age_s
        if path == writing or not (is_too_much or is_too_old):
            continue
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size
            removed += 1
    return removed
