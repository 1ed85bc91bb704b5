"""Choose how frames are stored so that a run stays within its memory limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bgsub.errors import MemoryLimitError
from bgsub.fit.blocks import chunk_bytes
from bgsub.fit.memory_need import MemoryNeed, Storage
from bgsub.runtime.limits import amount, free_space, spill_folder

LEAST_SAMPLE = 50
"""A sample of fewer frames is no fit to speak of."""

# Threads for the Gram matrix where all of them need too much memory. On two, the work on it takes
# twice the memory that it takes on one, but a slower storage costs more than one thread does.
_FEW_WORKERS = (2, 1)

_COUNTLESS = 1 << 40


@dataclass(frozen=True)
class Plan:
    """How a run keeps to its memory limit: peak memory expected and allowed, in bytes.

    An input may have more frames than it says: `most_fitted` of them are fitted and `most_frames`
    read at most. The reason is empty where there was nothing to choose.
    """

    storage: Storage
    fit_frames: int
    most_fitted: int
    gram_threads: int
    bytes: int
    limit: int
    most_frames: int
    reason: str


def make_plan(
    need: MemoryNeed,
    limit: int,
    temp: str | Path | None = None,
    *,
    name: str = "input",
    jobs: int = 1,
) -> Plan:
    """Choose the first storage that fits: memory, a file, a smaller sample decoded again.

    Frames may be spilled to `temp`, or `spill_folder`. MemoryLimitError if no storage fits, with
    what is needed and what would help; that names the input, and the jobs that share the limit.
    """
    folder = spill_folder() if temp is None else Path(temp)
    spill = free_space(folder) > 1.1 * on_disk(need)
    plan = _first_that_fits(need, limit, folder, spill=spill)
    if plan is None:
        raise MemoryLimitError(_refusal(need, limit, folder, name, jobs, spill=spill))
    return plan


def on_disk(need: MemoryNeed) -> int:
    """Return the bytes of a file with all frames, which grows chunk by chunk."""
    chunk = chunk_bytes(need.size)
    return -(-(need.frames + need.borrowed) * need.size // chunk) * chunk


def _first_that_fits(need: MemoryNeed, limit: int, folder: Path, *, spill: bool) -> Plan | None:
    sample = need.sample
    for storage, what in _storages(folder, spill=spill):
        # Rather fewer threads for the Gram matrix than a slower storage.
        few = {workers for workers in _FEW_WORKERS if workers < need.threads}
        for workers in sorted({need.threads, *few}, reverse=True):
            needed = need.total(storage, sample, workers)
            if needed <= limit:
                return Plan(
                    storage=storage,
                    fit_frames=sample,
                    most_fitted=need.most_fitted,
                    gram_threads=workers,
                    bytes=needed,
                    limit=limit,
                    most_frames=_most_frames(need, storage, workers, limit),
                    reason=_reason(need, limit, what),
                )
    fewer = _largest_sample(need, limit)
    if fewer < _least_sample(need):
        return None
    what = f"{fewer} of {need.frames} are fitted, and the input is decoded again for the rest"
    return Plan(
        storage="sample",
        fit_frames=fewer,
        most_fitted=fewer,
        gram_threads=1,
        bytes=need.total("sample", fewer, 1),
        limit=limit,
        most_frames=_COUNTLESS,
        reason=_reason(need, limit, what),
    )


def _storages(folder: Path, *, spill: bool) -> Iterator[tuple[Storage, str]]:
    """Yield the storages with which no smaller sample is fitted, in order of cost, and in words."""
    yield "memory", ""
    if spill:
        yield "spill", f"they are kept in {folder}"


def _most_frames(need: MemoryNeed, storage: Storage, workers: int, limit: int) -> int:
    """Count the frames that fit where the input turns out to have more than it says."""
    low, high = need.frames, _COUNTLESS
    while low < high:
        middle = (low + high + 1) // 2
        more = replace(need, frames=middle)
        fits = more.total(storage, more.sample, workers) <= limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _least_sample(need: MemoryNeed) -> int:
    # Local models do not get by with less than what they ask for.
    return max(LEAST_SAMPLE, need.k + 1) if need.fit and not need.whole else need.sample


def _largest_sample(need: MemoryNeed, limit: int) -> int:
    """Fit the largest sample that a limit allows; 0 if there is none."""
    low, high = 0, min(need.sample, need.frames + need.borrowed - 1)
    while low < high:
        middle = (low + high + 1) // 2
        fits = need.total("sample", middle, 1) <= limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _reason(need: MemoryNeed, limit: int, what: str) -> str:
    parts = []
    if what:
        frames = amount(need.frames * need.size)
        parts.append(f"{frames} of frames do not fit into {amount(limit)} of memory: {what}")
    if need.fit_frames is None and need.sample < need.frames and "fitted" not in what:
        parts.append(f"{need.frames} frames: a sample of {need.sample} is fitted")
    return "; ".join(parts)


def _refusal(
    need: MemoryNeed, limit: int, folder: Path, name: str, jobs: int, *, spill: bool
) -> str:
    """Return what is needed, and which options would make it fit."""
    sample, workers, least = need.sample, 1, _least_sample(need)
    storages = _storages(folder, spill=spill)
    totals = [need.total(storage, sample, workers) for storage, _ in storages]
    if least <= min(sample, need.frames + need.borrowed - 1):
        totals.append(need.total("sample", least, workers))
    needed = amount(min(totals))
    advice = [f"--memory {amount(min(totals) * jobs)}"]
    if not spill and need.total("spill", sample, workers) <= limit:
        advice.append(f"--temp with a folder that has {amount(int(1.1 * on_disk(need)))} free")

    def would_fit(other: MemoryNeed) -> bool:
        return _first_that_fits(other, limit, folder, spill=spill) is not None

    factor = next((f for f in (0.5, 0.25, 0.125) if would_fit(need.scaled(f))), None)
    if factor is not None:
        advice.append(f"--scale {factor}")
    if need.whole:
        advice.append("--fit-frames auto")
    if need.k > 1 and would_fit(replace(need, k=1)):
        advice.append("--k 1")
    share = ""
    if jobs > 1:
        share = f" for each of {jobs} jobs"
        advice.append("fewer --jobs")
    return (
        f"{name}: needs at least {needed} of memory, but the limit is {amount(limit)}{share}; "
        f"use {' or '.join(advice)}"
    )
