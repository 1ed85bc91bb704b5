"""Which road a run takes, so that it keeps to its memory limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bgsub.background.available import amount, free_space, spill_folder
from bgsub.background.blocks import chunk_bytes
from bgsub.background.demand import Demand, Road
from bgsub.errors import MemoryLimitError

LEAST_SAMPLE = 50
"""A sample of fewer frames is no fit to speak of."""


@dataclass(frozen=True)
class Plan:
    """How a run keeps to its memory limit.

    Attributes
    ----------
    road : Road
    fit_frames : int
        Frames that are fitted.
    gram_threads : int
        Threads for which the Gram matrix may be summed side by side.
    bytes : int
        Peak memory expected.
    limit : int
        Bytes that are allowed.
    most_frames : int or None
        Frames that fit, where the input has more of them than it says.
    reason : str
        The choice in one line; empty where there was none to make.
    """

    road: Road
    fit_frames: int
    gram_threads: int
    bytes: int
    limit: int
    most_frames: int | None
    reason: str


def make_plan(
    demand: Demand, limit: int, temp: Path | None = None, *, name: str = "input", jobs: int = 1
) -> Plan:
    """Choose the first road that fits: memory, spill, decode again, fewer fit frames.

    Parameters
    ----------
    demand : Demand
    limit : int
        Bytes.
    temp : Path, optional
        Where frames may be spilled to; None is `spill_folder`.
    name : str
        Of the input, for the message.
    jobs : int
        Runs that share what --memory says, for the message.

    Raises
    ------
    MemoryLimitError
        If no road fits, with what is needed and what would help.
    """
    folder = temp or spill_folder()
    has_room = free_space(folder) > 1.1 * _on_disk(demand)
    plan = _first_that_fits(demand, limit, folder, spill=has_room)
    if plan is None:
        raise MemoryLimitError(_refusal(demand, limit, folder, name, jobs))
    return plan


def _first_that_fits(demand: Demand, limit: int, folder: Path, *, spill: bool) -> Plan | None:
    sample, luma = demand.sample, demand.frames * demand.pixels
    roads: list[tuple[Road, str]] = [("memory", "")]
    if spill:
        roads.append(("spill", f"they are kept in {folder}"))
    if sample == demand.frames and demand.size > demand.pixels:
        what = f"their luma ({amount(luma)}) is kept, and the input is decoded again for the rest"
        roads.append(("again", what))
    for road, what in roads:
        # Lanes of the Gram matrix are given up first: that costs time where there are many cores.
        for lanes in sorted({demand.threads, min(demand.threads, 2)}, reverse=True):
            needed = demand.total(road, sample, lanes)
            if needed <= limit:
                reason = _reason(demand, limit, what)
                most = _most_frames(demand, road, limit - needed)
                return Plan(road, sample, lanes, needed, limit, most, reason)
    lanes = min(demand.threads, 2)
    fewer = _largest_sample(demand, limit, lanes)
    if fewer < _least_sample(demand):
        return None
    what = f"{fewer} of {demand.frames} are fitted, and the input is decoded again for the rest"
    needed = demand.total("sample", fewer, lanes)
    return Plan("sample", fewer, lanes, needed, limit, None, _reason(demand, limit, what))


def _most_frames(demand: Demand, road: Road, room: int) -> int | None:
    if road == "spill":
        return None
    return demand.frames + room // (demand.size if road == "memory" else demand.pixels)


def _least_sample(demand: Demand) -> int:
    return min(max(LEAST_SAMPLE, demand.k + 1), demand.sample)


def _largest_sample(demand: Demand, limit: int, lanes: int) -> int:
    """Fit the largest sample that a limit allows; 0 if there is none."""
    low, high = 0, demand.sample
    while low < high:
        middle = (low + high + 1) // 2
        fits = demand.total("sample", middle, lanes) <= limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _reason(demand: Demand, limit: int, what: str) -> str:
    parts = []
    if what:
        frames = amount(demand.frames * demand.size)
        parts.append(f"{frames} of frames do not fit into {amount(limit)} of memory: {what}")
    if demand.fit_frames is None and demand.sample < demand.frames and "fitted" not in what:
        parts.append(f"{demand.frames} frames: a sample of {demand.sample} is fitted")
    return "; ".join(parts)


def _refusal(demand: Demand, limit: int, folder: Path, name: str, jobs: int) -> str:
    """Say what is needed, and which options would make it fit."""
    lanes = min(demand.threads, 2)
    least = demand.total("sample", _least_sample(demand), lanes)
    spilled = demand.total("spill", demand.sample, lanes)
    needed = min(least, spilled)
    share = f" for each of {jobs} jobs" if jobs > 1 else ""
    advice = [f"--memory {amount(needed * jobs)}"]
    if spilled <= limit:
        advice.append(f"--temp with a folder that has {amount(int(1.1 * _on_disk(demand)))} free")
    for factor in (0.5, 0.25, 0.125):
        if _first_that_fits(demand.scaled(factor), limit, folder, spill=False):
            advice.append(f"--scale {factor}")
            break
    if demand.k > 1 and _first_that_fits(replace(demand, k=1), limit, folder, spill=False):
        advice.append("--k 1")
    if jobs > 1:
        advice.append("fewer --jobs")
    return (
        f"{name}: needs at least {amount(needed)} of memory, but the limit is {amount(limit)}"
        f"{share}; use {' or '.join(advice)}"
    )


def _on_disk(demand: Demand) -> int:
    """Bytes of a file with all frames, which grows by whole chunks."""
    chunk = chunk_bytes(demand.size)
    return -(-demand.frames * demand.size // chunk) * chunk
