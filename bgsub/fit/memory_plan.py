"""Which road a run takes, so that it keeps to its memory limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bgsub.errors import MemoryLimitError
from bgsub.fit.blocks import chunk_bytes
from bgsub.fit.demand import Demand, Road
from bgsub.runtime.limits import amount, free_space, spill_folder

LEAST_SAMPLE = 50
"""A sample of fewer frames is no fit to speak of."""

# The work on a Gram matrix takes as much as forming it on so many threads.
_LANES_FOR_NOTHING = 2

_COUNTLESS = 1 << 40


@dataclass(frozen=True)
class Plan:
    """How a run keeps to its memory limit.

    Attributes
    ----------
    road : Road
    fit_frames : int
        Frames that are fitted, if the input has as many as it says.
    most_fitted : int
        Frames that are fitted at most, if it has more.
    gram_threads : int
        Threads for which the Gram matrix may be summed side by side.
    bytes : int
        Peak memory expected.
    limit : int
        Bytes that are allowed.
    most_frames : int
        Frames that may be read; an input may have more of them than it says.
    reason : str
        The choice in one line; empty where there was none to make.
    """

    road: Road
    fit_frames: int
    most_fitted: int
    gram_threads: int
    bytes: int
    limit: int
    most_frames: int
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
    spill = free_space(folder) > 1.1 * on_disk(demand)
    plan = _first_that_fits(demand, limit, folder, spill=spill)
    if plan is None:
        raise MemoryLimitError(_refusal(demand, limit, folder, name, jobs, spill=spill))
    return plan


def on_disk(demand: Demand) -> int:
    """Bytes of a file with all frames, which grows by whole chunks."""
    chunk = chunk_bytes(demand.size)
    return -(-demand.frames * demand.size // chunk) * chunk


def _first_that_fits(demand: Demand, limit: int, folder: Path, *, spill: bool) -> Plan | None:
    sample = demand.sample
    for road, what in _roads(demand, folder, spill=spill):
        # Threads for the Gram matrix are given up before the road is.
        for lanes in sorted({demand.threads, _few_lanes(demand)}, reverse=True):
            needed = demand.total(road, sample, lanes)
            if needed <= limit:
                return Plan(
                    road=road,
                    fit_frames=sample,
                    most_fitted=demand.most_fitted,
                    gram_threads=lanes,
                    bytes=needed,
                    limit=limit,
                    most_frames=_most_frames(demand, road, lanes, limit),
                    reason=_reason(demand, limit, what),
                )
    fewer = _largest_sample(demand, limit)
    if fewer < _least_sample(demand):
        return None
    what = f"{fewer} of {demand.frames} are fitted, and the input is decoded again for the rest"
    return Plan(
        road="sample",
        fit_frames=fewer,
        most_fitted=fewer,
        gram_threads=_few_lanes(demand),
        bytes=demand.total("sample", fewer, _few_lanes(demand)),
        limit=limit,
        most_frames=_COUNTLESS,
        reason=_reason(demand, limit, what),
    )


def _roads(demand: Demand, folder: Path, *, spill: bool) -> Iterator[tuple[Road, str]]:
    """Give the roads on which the whole sample is fitted, in order of cost, and in words."""
    yield "memory", ""
    if spill:
        yield "spill", f"they are kept in {folder}"
    if demand.fit and demand.sample == demand.frames and demand.size > demand.pixels:
        luma = amount(demand.frames * demand.pixels)
        yield "again", f"their luma ({luma}) is kept, and the input is decoded again for the rest"


def _few_lanes(demand: Demand) -> int:
    return min(demand.threads, _LANES_FOR_NOTHING)


def _most_frames(demand: Demand, road: Road, lanes: int, limit: int) -> int:
    """Frames that fit where the input turns out to have more than it says."""
    low, high = demand.frames, _COUNTLESS
    while low < high:
        middle = (low + high + 1) // 2
        more = replace(demand, frames=middle)
        fits = more.total(road, more.sample, lanes) <= limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _least_sample(demand: Demand) -> int:
    # Local models do not get by with less than what they ask for.
    return max(LEAST_SAMPLE, demand.k + 1) if demand.fit else demand.sample


def _largest_sample(demand: Demand, limit: int) -> int:
    """Fit the largest sample that a limit allows; 0 if there is none."""
    low, high = 0, min(demand.sample, demand.frames - 1)
    while low < high:
        middle = (low + high + 1) // 2
        fits = demand.total("sample", middle, _few_lanes(demand)) <= limit
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


def _refusal(demand: Demand, limit: int, folder: Path, name: str, jobs: int, *, spill: bool) -> str:
    """Say what is needed, and which options would make it fit."""
    sample, lanes, least = demand.sample, _few_lanes(demand), _least_sample(demand)
    roads = _roads(demand, folder, spill=spill)
    totals = [demand.total(road, sample, lanes) for road, _ in roads]
    if least <= min(sample, demand.frames - 1):
        totals.append(demand.total("sample", least, lanes))
    needed = amount(min(totals))
    advice = [f"--memory {amount(min(totals) * jobs)}"]
    if not spill and demand.total("spill", sample, lanes) <= limit:
        advice.append(f"--temp with a folder that has {amount(int(1.1 * on_disk(demand)))} free")

    def would_fit(other: Demand) -> bool:
        return _first_that_fits(other, limit, folder, spill=spill) is not None

    factor = next((f for f in (0.5, 0.25, 0.125) if would_fit(demand.scaled(f))), None)
    if factor is not None:
        advice.append(f"--scale {factor}")
    if demand.k > 1 and would_fit(replace(demand, k=1)):
        advice.append("--k 1")
    share = ""
    if jobs > 1:
        share = f" for each of {jobs} jobs"
        advice.append("fewer --jobs")
    return (
        f"{name}: needs at least {needed} of memory, but the limit is {amount(limit)}{share}; "
        f"use {' or '.join(advice)}"
    )
