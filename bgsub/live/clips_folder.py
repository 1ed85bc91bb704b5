"""Name the clips of a folder, and remove the oldest where there are too many."""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bgsub.errors import UsageError

_NAME = re.compile(r"event-\d{8}T\d{6}Z-\d{4,}(-mask)?\.(mp4|mkv)")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTsmhd])B?", re.ASCII)
_BYTES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


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


def parse_keep(text: str) -> Keep:
    """Read ``10G`` or ``7d``: capital letters are bytes, small ones time.

    Raises
    ------
    UsageError
        If it is neither.

    Examples
    --------
    >>> parse_keep("10G"), parse_keep("7d")
    (Keep(size=10000000000, age_s=None), Keep(size=None, age_s=604800.0))
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or float(match[1]) == 0:
        raise UsageError(f"--keep {text}: must be an amount such as 10G, or a time such as 7d")
    amount, unit = float(match[1]), match[2]
    if unit in _BYTES:
        return Keep(size=int(amount * _BYTES[unit]))
    return Keep(age_s=amount * _SECONDS[unit])


def parse_seconds(name: str, text: str) -> float:
    """Read a time such as ``30s``, ``10m`` or ``90``, in seconds.

    Raises
    ------
    UsageError
        If it is none.

    Examples
    --------
    >>> parse_seconds("--window", "10m"), parse_seconds("--refresh", "2.5")
    (600.0, 2.5)
    """
    plain = text.strip()
    match = _AMOUNT.fullmatch(plain if plain[-1:].isalpha() else f"{plain}s")
    if match is None or match[2] not in _SECONDS or float(match[1]) == 0:
        raise UsageError(f"{name} {text}: must be a time above 0, such as 30s or 10m")
    return float(match[1]) * _SECONDS[match[2]]


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
