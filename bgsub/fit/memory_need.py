"""Estimate how much memory a run takes, from what it reads, fits and writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from bgsub.fit.blocks import queue_frames, render_rows, sum_rows
from bgsub.outliers.frame_scorer import scorer_bytes
from bgsub.robustpca.competitors.methods import METHODS
from bgsub.robustpca.gram import TILE_ROWS

Storage = Literal["memory", "spill", "sample"]
"""All frames in memory; all in a memory-mapped file; the fitted ones in memory, and all decoded
again when they are written."""

AUTO_FIT_FRAMES = 2000
"""Longer inputs are fitted to a sample of so many frames, because the Gram matrix grows as n²."""

ALL_FRAMES = 1 << 40
"""More than any input has."""

# Measured on runs of many sizes; `python -m benchmarks.memory` holds them against the truth.
_PROGRAM = 104_000_000
_PLOT = 38_000_000
_ENCODING = 20_000_000
_THREAD = 4_000_000
_SCRATCH = 8_000_000
_WORKER = 16_000_000
_KEPT_MATRIX = 32_000_000
_FIT_COPIES, _FIT_COPIES_OF_SEVERAL = 3.1, 6.0
_WORKER_COPIES = 1.5
_DECODED_FRAMES = 6
_PACKED_FRAMES = 5
_ENCODER_FRAMES = 9
_PICTURE_FRAMES = 14
_NOISE_FRAMES = 32


@dataclass(frozen=True, kw_only=True)
class MemoryNeed:
    """How much memory a run takes, and what decides it.

    Attributes
    ----------
    frames : int
        n, as far as is known.
    pixels, size : int
        Of a frame: h·w, and the bytes of its vector.
    native_pixels : int
        Of a frame of the input, before it is cut or resized.
    k : int
    threads : int
    pictures : bool
        Whether anything but the errors is written.
    videos : int
        Videos that are written; those of scores count twice, as they have two bytes a pixel.
    plot : bool
    local, local_sample : int
        Bytes for fitting a local model, and those of its pictures, 0 where there is none.
    fit_frames : int or None
        A sample that was asked for.
    method : str
        What is fitted, a name in `bgsub.robustpca.competitors.methods.METHODS`.
    kept : int
        Bytes that are remembered from frame to frame while they are written.
    fit : bool
        Whether frames are fitted at all; masks of local models alone need no fit.
    whole : bool
        Whether every frame is to be fitted, or else nothing.
    buffer : int
        Bytes that are kept of the input while it is read, besides frames.
    borrowed : int
        Frames of other parts of a film that may be fitted with those of this one.
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
    def sample(self) -> int:
        """Frames that are fitted when memory is no concern."""
        return min(self.frames + self.borrowed, self.most_fitted)

    @property
    def most_fitted(self) -> int:
        """Frames that are fitted at most."""
        return self.fit_frames or AUTO_FIT_FRAMES

    def scaled(self, factor: float) -> MemoryNeed:
        """Return the need of the same run with frames of another size."""
        pixels, size = (max(1, round(count * factor**2)) for count in (self.pixels, self.size))
        return replace(self, pixels=pixels, size=size)

    def resident(self, storage: Storage, fit_frames: int) -> int:
        """Return the bytes of frames that are in memory with a storage."""
        counts = {
            "memory": self.frames + self.borrowed,
            "spill": min(self.frames + self.borrowed, sum_rows(self.size)),
            "sample": fit_frames,
        }
        return counts[storage] * self.size

    def _fits_some(self, fit_frames: int) -> bool:
        """Return whether what is fitted is not just all the frames."""
        return self.borrowed > 0 or fit_frames < self.frames

    def total(self, storage: Storage, fit_frames: int, gram_threads: int | None = None) -> int:
        """Return the peak bytes of a run: the most that one of its stages takes."""
        workers = min(gram_threads or self.threads, self.threads)
        frames = self.resident(storage, fit_frames)
        # While frames are fitted, a helper fits the local model to a copy of its pictures.
        peaks = [frames + self.decoding(), frames + self._fit(fit_frames, workers)]
        passing = 0
        if self.fit:
            residue = self._fit_residue(fit_frames, workers)
            passing, learning = scorer_bytes(self.pixels, fit_frames, self.k, self.threads)
            peaks += [frames + residue + passing]
            # No spilled frame is resident once all have passed, and the C library gives the scorer
            # what it has kept.
            between = 0 if storage == "spill" else frames
            peaks += [between + residue - self._kept_matrix(fit_frames, workers) + learning]
        if self.pictures or self._fits_some(fit_frames):
            kept = self._fit_residue(fit_frames, workers) + self._model() if self.fit else 0
            peaks += [frames + kept + self._forming(storage, fit_frames) + passing]
            # Local models are fitted between the passes, when no spilled frame is resident and the
            # C library keeps nothing.
            between = 0 if storage == "spill" else frames
            peaks += [between + kept - self._kept_matrix(fit_frames, workers) + self.local]
            peaks += [frames + kept + self._writing(storage) + self.kept]
        program = _PROGRAM + self.threads * _THREAD
        if self.plot:
            program += _PLOT
        return program + max(peaks)

    def _fit(self, fit_frames: int, workers: int) -> int:
        """Count the bytes of the Gram matrix and the work on it, or of a method on the pixels."""
        if not self.fit:
            return 0
        method = METHODS[self.method]
        if method.needs_pixels:
            return method.memory_bytes(fit_frames, self.pixels, self.k)
        copies = _FIT_COPIES
        if workers > 1:
            copies = max(_FIT_COPIES_OF_SEVERAL, 1.0 + _WORKER_COPIES * workers)
        if fit_frames > TILE_ROWS:
            copies = _FIT_COPIES
        return int(copies * 8 * fit_frames**2) + workers * _WORKER

    def _fit_residue(self, fit_frames: int, workers: int) -> int:
        """Count the bytes of the Gram matrix, and of what the C library keeps for later."""
        kept = self._kept_matrix(fit_frames, workers)
        return 8 * fit_frames**2 + kept + workers * _WORKER + self.threads * _SCRATCH

    def _kept_matrix(self, fit_frames: int, workers: int) -> int:
        """Count the bytes of one of the matrices of `_fit` that the C library keeps."""
        return min(8 * fit_frames**2, _KEPT_MATRIX) if workers > 1 and self.fit else 0

    def _model(self) -> int:
        """Count the bytes of centre, components and noise."""
        return 4 * (self.k + 1) * self.size + 4 * self.pixels

    def _forming(self, storage: Storage, fit_frames: int) -> int:
        """Count the bytes of blocks of frames that are summed, and of frames for the noise."""
        gathered = 0
        if storage != "sample" and self._fits_some(fit_frames):
            gathered = min(sum_rows(self.size), fit_frames) * self.size
        forming = max(gathered, self._pictures())
        if self.fit:
            forming += min(_NOISE_FRAMES, fit_frames) * self.size
        return forming + self.local_sample

    def _pictures(self) -> int:
        """Count the bytes of a block of backgrounds, and of the pictures of frames at work."""
        own = min(self.frames, render_rows(self.size)) * self.size
        return own + (self.threads + 1) * _PICTURE_FRAMES * self.pixels

    def _writing(self, storage: Storage) -> int:
        """Count the bytes of the pictures at work, those that wait, and the encoders."""
        decoded = 0
        if storage == "sample":
            decoded = self.decoding() + 3 * render_rows(self.size) * self.size
        if not self.videos:
            return decoded + render_rows(self.size) * self.size
        waiting = min(self.frames, queue_frames(self.size) + 1) * self.size
        each = waiting + int(_ENCODER_FRAMES * 1.5 * self.pixels)
        return decoded + self._pictures() + self.videos * each + _ENCODING

    def decoding(self) -> int:
        """Count the bytes of frames on their way, in FFmpeg and behind it."""
        packed = self.threads + _PACKED_FRAMES
        decoded = self.threads + _DECODED_FRAMES
        return packed * self.size + int(decoded * 1.5 * self.native_pixels) + self.buffer
