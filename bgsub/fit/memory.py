"""Keep a run within its memory limit: blocks of frames, peak memory, and how frames are stored."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from bgsub.errors import MemoryLimitError
from bgsub.robustpca.competitors import METHODS
from bgsub.runtime.limits import amount, free_space, spill_folder

# How many frames are worked on together follows from the size of a frame alone. Were it for the
# memory limit, the storage or the threads to say, sums would be rounded in another order and the
# results would differ in their last bits. Tests set the first three lower, so that clips have
# blocks: small frames that are reconstructed together, such blocks that are summed together, and
# bytes of a chunk of a frame matrix, about.
RENDER_ROWS, SUM_BLOCKS, CHUNK_BYTES = 16, 4, 64 * 2**20
_RENDER_BYTES, _SUM_BYTES = 64 * 2**20, 128 * 2**20
# Small frames come in blocks, faster than an encoder takes them: as many wait as these bytes hold.
_QUEUE_FRAMES, _QUEUE_BYTES, _MOST_QUEUED = 8, 2 * 2**20, 64


def render_rows(size: int) -> int:
    """Return how many frames of so many bytes are reconstructed together."""
    return max(1, min(RENDER_ROWS, _RENDER_BYTES // size))


def sum_rows(size: int) -> int:
    """Return how many fitted frames are summed together, a multiple of `render_rows`."""
    rows = render_rows(size)
    return rows * max(1, min(SUM_BLOCKS, _SUM_BYTES // (rows * size)))


def chunk_bytes(size: int) -> int:
    """Return the bytes of a chunk of a frame matrix, such that no block lies across two chunks."""
    block = sum_rows(size) * size
    return block * max(1, CHUNK_BYTES // block)


def queue_frames(size: int) -> int:
    """Return the most frames that wait for an encoder."""
    small = min(_MOST_QUEUED, _QUEUE_BYTES // size)
    return max(2, small, min(_QUEUE_FRAMES, _RENDER_BYTES // size))


# All frames in memory; all in a memory-mapped file; the fitted ones in memory, and all decoded
# again when they are written.
Storage = Literal["memory", "spill", "sample"]
# Longer inputs are fitted to a sample of so many frames, because the Gram matrix grows as n².
AUTO_FIT_FRAMES = 2000
ALL_FRAMES = 1 << 40  # more than any input has
DEFAULT_MEMORY = "50%"
# More bytes of frames go to a file, which the system keeps in what memory nobody asks for.
MOST_IN_MEMORY = 256 * 2**20
LEAST_SAMPLE = 50  # a sample of fewer frames is no fit to speak of
# Measured on runs of many sizes; `python -m benchmarks.memory` holds them against the truth.
_PROGRAM, _PLOT, _ENCODING = 104_000_000, 38_000_000, 20_000_000
_THREAD, _SCRATCH, _WORKER, _KEPT_MATRIX = 4_000_000, 8_000_000, 16_000_000, 32_000_000
_FIT_COPIES, _WORKER_COPIES = 3.1, 1.5
_DECODED_FRAMES, _PACKED_FRAMES, _ENCODER_FRAMES = 6, 5, 9
_PICTURE_FRAMES, _NOISE_FRAMES = 14, 32


@dataclass(frozen=True, kw_only=True)
class MemoryNeed:
    """How much memory a run takes, and what decides it.

    Besides the frames of the input, `borrowed` ones of other parts of a film may be fitted.
    `pixels` and `size` are h·w and bytes of a frame, `native_pixels` those of one of the input,
    before it is cut or resized. `pictures`: anything but the errors is written; videos of scores
    count twice, for two bytes a pixel. `fit_frames` is a sample that was asked for; `whole`: every
    frame is to be fitted, or none. Bytes are taken by learning masks (`local`, of which
    `local_sample` are pictures), by what is remembered from frame to frame (`kept`) and of the
    input while it is read (`buffer`).
    """

    frames: int
    pixels: int
    size: int
    native_pixels: int
    k: int
    threads: int
    pictures: bool
    videos: int
    plot: bool
    fit_frames: int | None = None
    local: int = 0
    local_sample: int = 0
    method: str = "trpca"
    kept: int = 0
    fit: bool = True
    buffer: int = 0
    whole: bool = False
    borrowed: int = 0

    @property
    def most_fitted(self) -> int:
        """Frames that are fitted at most."""
        return self.fit_frames or AUTO_FIT_FRAMES

    @property
    def sample(self) -> int:
        """Frames that are fitted when memory is no concern."""
        return min(self.frames + self.borrowed, self.most_fitted)

    @property
    def on_disk(self) -> int:
        """Bytes of a file with all frames, which grows chunk by chunk."""
        chunk = chunk_bytes(self.size)
        return -(-(self.frames + self.borrowed) * self.size // chunk) * chunk

    def scaled(self, factor: float) -> MemoryNeed:
        """Return the need of the same run with frames of another size."""
        pixels, size = (max(1, round(count * factor**2)) for count in (self.pixels, self.size))
        return replace(self, pixels=pixels, size=size)

    def total(self, storage: Storage, fit_frames: int, gram_threads: int | None = None) -> int:
        """Return the peak bytes of a run: the most that one of its stages takes."""
        workers = min(gram_threads or self.threads, self.threads)
        everything = self.frames + self.borrowed
        kept_frames = {
            "memory": everything,
            "spill": min(everything, sum_rows(self.size)),
            "sample": fit_frames,
        }
        frames = kept_frames[storage] * self.size
        # Between two passes no spilled frame is resident.
        between = 0 if storage == "spill" else frames
        stages = [frames + self.decoding()]
        kept = idle = passing = learning = 0
        if self.fit:
            kept = workers * _WORKER + self.threads * _SCRATCH
            # Of a matrix of the fit, which the C library keeps until somebody asks for as much.
            idle = min(8 * fit_frames**2, _KEPT_MATRIX) if workers > 1 else 0
            from bgsub.outliers.frame_scorer import scorer_bytes

            passing, learning = scorer_bytes(self.pixels, fit_frames, self.k, self.threads)
            stages += [frames + self._fit(fit_frames, workers), frames + kept + idle + passing]
        fits_some = self.borrowed > 0 or fit_frames < self.frames
        if self.pictures or fits_some:
            forming = self.local_sample
            gathered = 0
            if storage != "sample" and fits_some:
                gathered = min(sum_rows(self.size), fit_frames) * self.size
            if self.fit:
                # Centre, components and noise; and frames that the noise is of.
                kept += 4 * (self.k + 1) * self.size + 4 * self.pixels
                forming += min(_NOISE_FRAMES, fit_frames) * self.size
            forming += max(gathered, self._pictures())
            stages += [frames + kept + idle + forming + passing]
            stages += [frames + kept + idle + self._writing(storage) + self.kept]
        # Masks are learned beside the rest.
        stages += [between + kept + learning + self.local]
        return _PROGRAM + self.threads * _THREAD + self.plot * _PLOT + max(stages)

    def _fit(self, fit_frames: int, workers: int) -> int:
        """Bytes of the Gram matrix and the work on it, or of a method on the pixels."""
        from bgsub.robustpca.gram import TILE_ROWS

        method = METHODS[self.method]
        if method.needs_pixels:
            return method.memory_bytes(fit_frames, self.pixels, self.k)
        copies = _FIT_COPIES
        # Above so many rows, threads work on tiles of one matrix and make no copies.
        if workers > 1 and fit_frames <= TILE_ROWS:
            copies = 1.0 + _WORKER_COPIES * workers
        return int(copies * 8 * fit_frames**2) + workers * _WORKER

    def _pictures(self) -> int:
        """Bytes of a block of backgrounds, and of the pictures of frames at work."""
        own = min(self.frames, render_rows(self.size)) * self.size
        return own + (self.threads + 1) * _PICTURE_FRAMES * self.pixels

    def _writing(self, storage: Storage) -> int:
        """Bytes of the pictures at work, those that wait, and the encoders."""
        decoded = 0
        if storage == "sample":
            decoded = self.decoding() + 3 * render_rows(self.size) * self.size
        if not self.videos:
            return decoded + render_rows(self.size) * self.size
        waiting = min(self.frames, queue_frames(self.size) + 1) * self.size
        each = waiting + int(_ENCODER_FRAMES * 1.5 * self.pixels)
        return decoded + self._pictures() + self.videos * each + _ENCODING

    def decoding(self) -> int:
        """Return the bytes of frames on their way, in FFmpeg and behind it."""
        packed = self.threads + _PACKED_FRAMES
        decoded = self.threads + _DECODED_FRAMES
        return packed * self.size + int(decoded * 1.5 * self.native_pixels) + self.buffer


@dataclass(frozen=True)
class Plan:
    """How a run keeps to its memory limit: peak memory expected and allowed, in bytes.

    An input may have more frames than it says: `most_fitted` of them are fitted and `most_frames`
    read at most.
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
    """Choose the first storage that fits: memory, a file in `temp`, a smaller sample.

    Frames of more than `MOST_IN_MEMORY` bytes are rather kept in a file.
    """
    folder = spill_folder() if temp is None else Path(temp)
    storages: dict[Storage, str] = {"memory": ""}
    if free_space(folder) > 1.1 * need.on_disk:
        fit = need.total("memory", need.sample, 1) <= limit
        file: dict[Storage, str] = {"spill": "" if fit else f"they are kept in {folder}"}
        many = (need.frames + need.borrowed) * need.size > MOST_IN_MEMORY
        storages = file | storages if many else storages | file
    plan = _first_that_fits(need, limit, storages)
    if plan is None:
        raise MemoryLimitError(_refusal(need, limit, storages, name, jobs))
    return plan


def _first_that_fits(need: MemoryNeed, limit: int, storages: Mapping[Storage, str]) -> Plan | None:
    """Try storages, in order of cost, and then smaller samples."""
    for storage, what in storages.items():
        # Rather fewer threads for the Gram matrix, which then takes half of the memory, than a
        # slower storage.
        for workers in sorted({need.threads, *range(1, min(need.threads, 3))}, reverse=True):
            needed = need.total(storage, need.sample, workers)
            if needed > limit:
                continue

            def exceeds(frames: int, storage: Storage = storage, workers: int = workers) -> bool:
                more = replace(need, frames=frames)
                return more.total(storage, more.sample, workers) > limit

            beyond = bisect_left(range(need.frames + 1, ALL_FRAMES + 1), 1, key=exceeds)
            return Plan(
                storage=storage,
                fit_frames=need.sample,
                most_fitted=need.most_fitted,
                gram_threads=workers,
                bytes=needed,
                limit=limit,
                most_frames=need.frames + beyond,
                reason=_reason(need, limit, what),
            )
    most = min(need.sample, need.frames + need.borrowed - 1)
    sampled = partial(need.total, "sample", gram_threads=1)
    fewer = bisect_left(range(1, most + 1), limit + 1, key=sampled)
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
        most_frames=ALL_FRAMES,
        reason=_reason(need, limit, what),
    )


def _least_sample(need: MemoryNeed) -> int:
    # Local models do not get by with less than what they ask for.
    return max(LEAST_SAMPLE, need.k + 1) if need.fit and not need.whole else need.sample


def _reason(need: MemoryNeed, limit: int, what: str) -> str:
    parts = []
    if what:
        frames = amount(need.frames * need.size)
        parts.append(f"{frames} of frames do not fit into {amount(limit)} of memory: {what}")
    if need.fit_frames is None and need.sample < need.frames and "fitted" not in what:
        parts.append(f"{need.frames} frames: a sample of {need.sample} is fitted")
    return "; ".join(parts)


def _refusal(
    need: MemoryNeed, limit: int, storages: Mapping[Storage, str], name: str, jobs: int
) -> str:
    """Return what is needed, and which options would make it fit."""
    sample, least = need.sample, _least_sample(need)
    totals = [need.total(storage, sample, 1) for storage in storages]
    if least <= min(sample, need.frames + need.borrowed - 1):
        totals.append(need.total("sample", least, 1))
    advice = [f"--memory {amount(min(totals) * jobs)}"]
    if "spill" not in storages and need.total("spill", sample, 1) <= limit:
        advice.append(f"--temp with a folder that has {amount(int(1.1 * need.on_disk))} free")

    def would_fit(other: MemoryNeed) -> bool:
        return _first_that_fits(other, limit, storages) is not None

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
        f"{name}: needs at least {amount(min(totals))} of memory, but the limit is "
        f"{amount(limit)}{share}; use {' or '.join(advice)}"
    )


# Processor seconds on one core, as seen on a server; the decoder is measured, not assumed. Chosen
# on runs with all outputs: 633 frames of 160x128, 287 of 160x120, 300 of 320x240, 60 of 1280x720.
_ENCODE_S_PER_PIXEL, _PICTURE_S_PER_PIXEL = 3.5e-9, 6e-8
_LEARN_S_PER_PIXEL, _MASK_S_PER_PIXEL, _FRAME_S = 1.3e-7, 7e-8, 2e-3
_MATRIX_OPERATIONS_PER_S = 3e10
# Until the libraries are imported; and of work that threads share, such as the random starts.
_START_S, _SHARED_S = 1.5, 2.0


def run_seconds(need: MemoryNeed, storage: Storage, fit_frames: int, decode_s: float) -> float:
    """Estimate the wall-clock seconds of a run, to a factor of two; decoding took `decode_s`."""
    frames, pixels = need.frames, need.pixels
    products = float(fit_frames**2 * pixels)
    work = _SHARED_S + frames * _FRAME_S
    if need.pictures or fit_frames < frames:
        products += 4.0 * frames * (need.k + 1) * need.size
    if need.videos:
        each = need.videos * _ENCODE_S_PER_PIXEL + _PICTURE_S_PER_PIXEL
        work += frames * pixels * each
    if need.local:
        work += need.local_sample / 3 * _LEARN_S_PER_PIXEL + frames * pixels * _MASK_S_PER_PIXEL
    work += products / _MATRIX_OPERATIONS_PER_S
    return _START_S + (3 if storage == "sample" else 1) * decode_s + work / need.threads
