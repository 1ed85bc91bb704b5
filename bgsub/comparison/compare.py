"""Fit every method to the same frames: time, objective and errors of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgsub.comparison.entry import Entry
from bgsub.comparison.fit_process import FitError, FitProcess, save_gram
from bgsub.comparison.fit_task import FitOutcome, FitTask
from bgsub.comparison.frame_file import FrameFile, write_frames
from bgsub.comparison.labels import UNKNOWN
from bgsub.comparison.result import CompareOptions, Comparison, MethodRow
from bgsub.comparison.shared_file import SharedFile
from bgsub.errors import UsageError
from bgsub.fit.frame_fit import check_rank
from bgsub.fit.method_fit import FittedFrames
from bgsub.metrics import auc, average_precision
from bgsub.options import ProgressCallback
from bgsub.outliers.false_alarms import DEFAULT_CUTOFF
from bgsub.outliers.frame_scores import frame_scores
from bgsub.pipeline import manifest as manifests
from bgsub.pipeline.inputs import DEFAULT_MEMORY, open_frames
from bgsub.pipeline.needs import fitted_at_most
from bgsub.robustpca.checks import support_size
from bgsub.robustpca.competitors.methods import COMPARED, MethodInfo
from bgsub.robustpca.gram import ArrayColumns, Gram, gram_matrix
from bgsub.robustpca.trpca import TRPCA
from bgsub.runtime.limits import amount, memory_bytes, spill_folder
from bgsub.runtime.threads import Workers

Floats = NDArray[np.float64]

PROGRAM_BYTES = 104_000_000
"""What a process takes before any frame: Python and its libraries; tests set it to 0."""

_SHARED_FIT = "one fit serves every k"


def compare(
    path: str, options: CompareOptions, *, progress: ProgressCallback | None = None
) -> Comparison:
    """Fit every method, with every number of components, to the same frames.

    Parameters
    ----------
    path : str
        A video file, image directory, glob, printf pattern or .npy/.npz file; its luma is fitted.
    options : CompareOptions
    progress : callable, optional

    Returns
    -------
    Comparison
        A method that failed or took too long has a row that says why.

    Raises
    ------
    BgsubError
        If the frames or the truth cannot be read, or k is not below the number of frames.

    Notes
    -----
    The frames are decoded once, into a file that all fits share, and their Gram matrix is computed
    once. Fits run one after another in a process of their own, on one thread, so that their seconds
    compare; a fit that needs more than ``options.run.memory`` is not begun. Disk: n·p bytes.
    """
    progress = progress or (lambda _stage, _done, _total: None)
    run = options.run
    watch = manifests.Stopwatch()
    place = spill_folder() if run.temp is None else Path(run.temp)
    with SharedFile(place) as frame_file, SharedFile(place) as gram_file:
        source = open_frames(path, run.source, threads=run.threads, color="gray")
        with watch.stage("decode"):
            frames = write_frames(
                source, frame_file, most=fitted_at_most(run), seed=run.seed, progress=progress
            )
        # A comparison may go to where robust fits end: all frames count.
        check_rank(max(options.ks), frames.numbers.size, 1.0, name=source.name)
        labels = options.labels(frames.numbers)
        entries = options.entries(labels)
        with Workers(run.threads) as workers, watch.stage("gram"):
            gram = gram_matrix(
                ArrayColumns(frames.map()),
                threads=workers.threads,
                progress=lambda done, total: progress("fit", done, total),
            )
        rows = _chosen_rows(options, frames, gram)
        save_gram(gram, gram_file)
        with FitProcess(frames, gram_file) as process:
            judge = _Judge(options, frames, labels)
            found = list(_fit_all(process, judge, options, entries, rows, progress))
        pictures = [frames.picture(frames.map()[row].astype(np.float64)) for row in rows]
    warnings = list(source.warnings)
    if frames.total > frames.numbers.size:
        warnings.append(
            f"{frames.total} frames: a sample of {frames.numbers.size} is compared (--fit-frames)"
        )
    return Comparison(
        name=source.name,
        rows=found,
        numbers=frames.numbers,
        times=frames.times,
        pixels=frames.shape[1],
        labels=labels,
        chosen=[int(frames.numbers[row]) for row in rows],
        pictures=pictures,
        backgrounds=_backgrounds(frames, found, pictures),
        stages=watch.seconds,
        facts={
            "frame_size": [frames.width, frames.height],
            "frames": {"decoded": frames.total, "compared": int(frames.numbers.size)},
            "pixels": frames.shape[1],
        },
        warnings=warnings,
    )


def _backgrounds(
    frames: FrameFile, found: list[MethodRow], pictures: list[Floats]
) -> dict[str, list[Floats]]:
    """Give the backgrounds that each method found for the chosen frames, as pictures."""
    return {
        row.name: [_filled(frames, *pair) for pair in zip(row.backgrounds, pictures, strict=True)]
        for row in found
        if row.backgrounds is not None
    }


def _filled(frames: FrameFile, background: Floats, picture: Floats) -> Floats:
    """Give a background as a picture, with the frame's own pixels outside the mask."""
    whole = frames.picture(background)
    return whole if frames.pixel_mask is None else np.where(frames.pixel_mask, whole, picture)


def _chosen_rows(options: CompareOptions, frames: FrameFile, gram: Gram) -> tuple[int, ...]:
    """Choose the frames whose decomposition is drawn, by index."""
    if options.frames:
        index = {int(number): row for row, number in enumerate(frames.numbers)}
        missing = [number for number in options.frames if number not in index]
        if missing:
            first, last = int(frames.numbers[0]), int(frames.numbers[-1])
            message = (
                f"--frames {missing[0]}: is not among the {len(index)} frames compared, "
                f"which are from {first} to {last}"
            )
            raise UsageError(message)
        return tuple(index[number] for number in options.frames)
    quick = TRPCA(min(options.ks), n_init=1, random_state=options.run.seed)
    errors = quick.fit_gram(gram).errors_
    order = np.argsort(errors, kind="stable")
    return tuple(dict.fromkeys([int(order[order.size // 2]), int(order[-1])]))


class _Judge:
    """Measures what fits found, against the truth where there is one."""

    def __init__(
        self, options: CompareOptions, frames: FrameFile, labels: NDArray[np.int8] | None
    ) -> None:
        run = options.run
        self.shape = frames.shape
        self.limit = memory_bytes(run.memory or DEFAULT_MEMORY)
        self._cutoff = DEFAULT_CUTOFF if run.cutoff is None else run.cutoff
        self._labels = labels

    def refusal(self, method: MethodInfo, k: int) -> str | None:
        """Say why a fit is not begun, if it is not."""
        needed = PROGRAM_BYTES + method.memory_bytes(*self.shape, k)
        if needed <= self.limit:
            return None
        return (
            f"needs about {amount(needed)} of memory, but the limit is {amount(self.limit)}; "
            "use --memory, --scale or --every"
        )

    def support(self, entry: Entry) -> int:
        """Count the frames that an entry's objective is the mean of, t."""
        return support_size(self.shape[0], entry.support_fraction)

    def row(self, entry: Entry, k: int, outcome: FitOutcome, *, note: str = "") -> MethodRow:
        """Measure a fit with k components."""
        fitted, t = outcome.fitted[k], self.support(entry)
        ordered = np.sort(fitted.errors)
        area, precision, flagged = self._against_truth(fitted)
        return MethodRow(
            method=entry.method,
            variant=entry.variant,
            k=k,
            t=t,
            auc=area,
            average_precision=precision,
            true_outliers_flagged=flagged,
            seconds=outcome.seconds,
            iterations=outcome.iterations,
            converged=outcome.converged,
            objective=float(ordered[:t].mean()),
            reason="; ".join([*outcome.notes, *([note] if note else [])]),
            errors=fitted.errors,
        )

    def _against_truth(
        self, fitted: FittedFrames
    ) -> tuple[float | None, float | None, float | None]:
        """Measure AUC, average precision and the share of true outliers that is flagged."""
        if self._labels is None:
            return None, None, None
        known = self._labels != UNKNOWN
        marked = self._labels[known] == 1
        errors = fitted.errors[known]
        root = fitted.location + fitted.scale * fitted.outlier_scores
        scores = frame_scores(root, fitted.location, fitted.scale, self.shape[1])[known]
        flagged = float((scores[marked] > self._cutoff).mean())
        return auc(errors, marked), average_precision(errors, marked), flagged


def _fit_all(
    process: FitProcess,
    judge: _Judge,
    options: CompareOptions,
    entries: tuple[Entry, ...],
    rows: tuple[int, ...],
    progress: ProgressCallback,
) -> Iterator[MethodRow]:
    """Make all fits, one after another; a row for each entry and k."""
    largest = max(options.ks)
    for entry in entries:
        method = COMPARED[entry.method]
        ks = tuple(dict.fromkeys(options.ks))
        # A fit from the Gram matrix is quick, and then its own time says more.
        shared = method.nested and method.needs_pixels
        for group in [ks] if shared else [(k,) for k in ks]:
            most = max(group)
            task = FitTask(
                entry=entry,
                k=most,
                also=tuple(k for k in group if k != most),
                seed=options.run.seed,
                rows=rows if most == largest else (),
            )
            yield from _fit_group(process, judge, task, group, options.timeout, progress)


def _fit_group(
    process: FitProcess,
    judge: _Judge,
    task: FitTask,
    ks: tuple[int, ...],
    timeout: float | None,
    progress: ProgressCallback,
) -> Iterator[MethodRow]:
    """Make one fit; a row for every k that it serves."""
    entry = task.entry
    reason = judge.refusal(COMPARED[entry.method], task.k)
    if reason is None:
        try:
            outcome = process.run(task, timeout=timeout, progress=progress)
        except FitError as failure:
            reason = str(failure)
    if reason is not None:
        t = judge.support(entry)
        name, variant = entry.method, entry.variant
        yield from (MethodRow(method=name, variant=variant, k=k, t=t, reason=reason) for k in ks)
        return
    note = _SHARED_FIT if len(ks) > 1 else ""
    for k in ks:
        row = judge.row(entry, k, outcome, note=note)
        yield replace(row, backgrounds=outcome.backgrounds) if k == task.k and task.rows else row
