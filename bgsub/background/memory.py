"""How much memory a run may take, and which road keeps to it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bgsub.errors import MemoryLimitError, UsageError

Road = Literal["memory", "spill", "again", "sample"]

AUTO_FIT_FRAMES = 2000
"""Longer inputs are fitted to a sample of so many frames, because the Gram matrix grows as n²."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def parse_memory(text: str) -> int:
    """Bytes meant by ``600M``, ``4G`` or ``50%`` (of what is available).

    Raises
    ------
    UsageError
        For anything else.
    """
    cleaned = text.strip()
    if cleaned.endswith("%"):
        try:
            share = float(cleaned[:-1]) / 100.0
        except ValueError:
            share = 0.0
        if 0.0 < share <= 1.0:
            return int(share * available_memory())
    elif (match := _AMOUNT.fullmatch(cleaned)) is not None:
        amount = int(float(match[1]) * _UNITS[match[2].upper()])
        if amount > 0:
            return amount
    message = f"--memory {text}: an amount such as 600M or 4G, or a share such as 50%, is needed"
    raise UsageError(message)


def available_memory() -> int:
    """Bytes that can be had without swapping, limits of control groups respected."""
    found = list(_cgroup_rooms())
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        pass
    if not found:
        try:
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
        except (AttributeError, ValueError, OSError):
            found.append(4 * 10**9)
    return max(min(found), 1)


def _cgroup_rooms() -> Iterator[int]:
    """Limit minus use of the control groups of this process, both versions."""
    root = Path("/sys/fs/cgroup")
    for limit, use in (
        (root / "memory.max", root / "memory.current"),
        (root / "memory/memory.limit_in_bytes", root / "memory/memory.usage_in_bytes"),
    ):
        try:
            yield int(limit.read_text()) - int(use.read_text())
        except (OSError, ValueError):  # no such group, or "max": no limit
            continue


@dataclass(frozen=True)
class Demand:
    """What decides how much memory a run takes.

    Attributes
    ----------
    frames : int
        n, as far as is known.
    pixels, size : int
        Of a frame: h·w, and the bytes of its vector.
    k : int
    pictures : bool
        Whether anything but the errors is written.
    videos : int
        Videos that are written.
    plot : bool
    fit_frames : int or None
        A sample that was asked for.
    """

    frames: int
    pixels: int
    size: int
    k: int
    pictures: bool
    videos: int
    plot: bool
    fit_frames: int | None = None

    @property
    def sample(self) -> int:
        """Frames that are fitted when memory is no concern."""
        return min(self.frames, self.fit_frames or AUTO_FIT_FRAMES)

    def fixed(self) -> int:
        """Bytes that do not depend on where the frames are."""
        total = _PROGRAM + (_PLOT if self.plot else 0) + _DECODER_FRAMES * self.size
        if self.pictures:
            # Centre, components, their sums as they grow, and the noise.
            total += 4 * (self.k + 1) * self.size + 8 * self.pixels
            total += _NOISE_FRAMES * self.size + _BLOCK_FRAMES * self.size
        return total + self.videos * int(_ENCODER_FRAMES * 1.5 * self.pixels)

    def gram(self, fit_frames: int) -> int:
        """Bytes of the Gram matrix and of the work on it."""
        return int(_GRAM_COPIES * 8 * fit_frames**2)

    def held(self, road: Road, fit_frames: int) -> int:
        """Bytes of frames that are resident on a road."""
        if road == "memory":
            return self.frames * self.size
        if road == "spill":
            return _SPILL_WINDOW
        if road == "again":
            return fit_frames * self.pixels
        return fit_frames * self.size

    def total(self, road: Road, fit_frames: int) -> int:
        """Peak bytes of the whole process on a road."""
        return self.fixed() + self.gram(fit_frames) + self.held(road, fit_frames)


# Measured on runs of five sizes; `make bench-memory` holds them against the truth.
_PROGRAM = 150_000_000
_PLOT = 30_000_000
_DECODER_FRAMES = 12
_ENCODER_FRAMES = 14
_BLOCK_FRAMES = 48
_NOISE_FRAMES = 32
_GRAM_COPIES = 4.0
_SPILL_WINDOW = 140_000_000

_LEAST_SAMPLE = 50


@dataclass(frozen=True)
class Plan:
    """How a run keeps to its memory limit.

    Attributes
    ----------
    road : {"memory", "spill", "again", "sample"}
        Frames in memory; in a memory-mapped file; luma in memory and the rest decoded again; a
        sample in memory and all decoded again.
    fit_frames : int
        Frames that are fitted.
    bytes : int
        Peak memory expected.
    limit : int
        Bytes that are allowed.
    reason : str
        The choice in one line; empty where there was none to make.
    """

    road: Road
    fit_frames: int
    bytes: int
    limit: int
    reason: str


def make_plan(demand: Demand, limit: int, temp: Path | None = None, name: str = "") -> Plan:
    """Choose the first road that fits: memory, spill, decode again, fewer fit frames.

    Parameters
    ----------
    demand : Demand
    limit : int
        Bytes.
    temp : Path, optional
        Where frames may be spilled to; None is the system's folder for temporary files.
    name : str
        Of the input, for the message.

    Raises
    ------
    MemoryLimitError
        If no road fits, with what is needed and what would help.
    """
    folder = temp or Path(tempfile.gettempdir())
    sample = demand.sample
    on_disk = demand.frames * demand.size
    roads: list[Road] = ["memory"]
    if _free_space(folder) > on_disk + on_disk // 10:
        roads.append("spill")
    if demand.pictures:
        roads.append("again")
    for road in roads:
        needed = demand.total(road, sample)
        if needed <= limit:
            return Plan(road, sample, needed, limit, _reason(road, demand, limit, folder))
    room = limit - demand.fixed()
    fewer = _largest_sample(demand, room, sample)
    if fewer >= min(_LEAST_SAMPLE, demand.frames) and fewer > demand.k:
        needed = demand.total("sample", fewer)
        reason = (
            f"the frames do not fit into {_amount(limit)}: {fewer} of {demand.frames} frames are "
            "fitted, and the input is decoded again for the rest"
        )
        return Plan("sample", fewer, needed, limit, reason)
    least = demand.total("sample", min(max(_LEAST_SAMPLE, demand.k + 1), demand.frames))
    message = (
        f"{name}: needs at least {_amount(least)}, but the limit is {_amount(limit)}; "
        f"use --memory {_amount(least)} or more, or smaller frames with --scale 0.5 or --roi"
    )
    raise MemoryLimitError(message)


def _reason(road: Road, demand: Demand, limit: int, folder: Path) -> str:
    if road == "memory":
        return ""
    frames = _amount(demand.frames * demand.size)
    if road == "spill":
        return f"{frames} of frames do not fit into {_amount(limit)}: they are kept in {folder}"
    return (
        f"{frames} of frames do not fit into {_amount(limit)}: their luma is kept "
        "and the input is decoded again for the colours"
    )


def _largest_sample(demand: Demand, room: int, at_most: int) -> int:
    """Largest n with n·size + gram(n) within the room."""
    low, high = 0, at_most
    while low < high:
        middle = (low + high + 1) // 2
        fits = demand.held("sample", middle) + demand.gram(middle) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _free_space(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def _amount(count: int) -> str:
    """Bytes in M or G, rounded up, in the form that --memory takes."""
    if count < 10**10:
        return f"{-(-count // 10**6)}M"
    return f"{-(-count // 10**9)}G"
