"""Fit methods to the same frames, one after another in a process of its own.

The frames lie in a temporary file without a name: no kill leaves it, and the child process maps it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from multiprocessing import reduction
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import OutputError, UsageError
from bgsub.fit.frame_fit import FittedFrames, check_rank, truncated, with_residual
from bgsub.fit.memory import AUTO_FIT_FRAMES
from bgsub.options import ProgressCallback
from bgsub.outliers.false_alarms import DEFAULT_CUTOFF, frame_scores
from bgsub.paper.curves import auc, average_precision
from bgsub.paper.labels import UNKNOWN
from bgsub.paper.options import CompareOptions, Comparison, Entry, MethodRow
from bgsub.pipeline import manifest as manifests
from bgsub.pipeline.inputs import DEFAULT_MEMORY, fitted_at_most
from bgsub.robustpca.competitors import COMPARED, MethodInfo, Settings
from bgsub.robustpca.conventions import support_size
from bgsub.robustpca.gram import ArrayColumns, Gram, gram_matrix
from bgsub.robustpca.online import OnlineTRPCA
from bgsub.robustpca.reweight import FOOTAGE_CUTOFF
from bgsub.robustpca.trpca import TRPCA
from bgsub.runtime.limits import amount, free_space, memory_bytes, spill_folder
from bgsub.runtime.processes import held_back_in_children
from bgsub.runtime.threads import Workers, one_blas_thread
from bgsub.video.frames import Bytes
from bgsub.video.selection import sample_rows
from bgsub.video.source import FrameSource, open_source

if TYPE_CHECKING:
    from bgsub.robustpca.competitors import Estimator


class SharedFile:
    """A file that its process can hand to the processes that it starts, by pickling.

    A context manager, which frees the disk. Where files without a name cannot be handed on
    (Windows), it has one that only this user can read.

    Attributes
    ----------
    file : binary file
        Positions are shared with the processes that have it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            if os.name == "nt":
                self.file: IO[bytes] = tempfile.NamedTemporaryFile(  # noqa: SIM115 - see close
                    prefix="bgsub-compare-", dir=folder, delete=False
                )
            else:
                self.file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - see close
        except OSError as error:
            message = f"{folder}: frames cannot be kept there ({error.strerror}); use --temp"
            raise OutputError(message) from error

    def __getstate__(self) -> dict[str, Any]:
        self.file.flush()
        if os.name == "nt":
            return {"folder": self.folder, "handed": self.file.name}
        return {"folder": self.folder, "handed": reduction.DupFd(self.file.fileno())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        handed = state["handed"]
        self.folder = state["folder"]
        self.file = open(handed if os.name == "nt" else handed.detach(), "rb")  # noqa: PTH123, SIM115 - a name or a descriptor, see close

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.file.close()
        if os.name == "nt":
            with contextlib.suppress(OSError):
                Path(self.file.name).unlink()


@dataclass(frozen=True, eq=False)
class FrameFile:
    """A matrix of frames in a file.

    Attributes
    ----------
    file : SharedFile
        n·p bytes, row by row.
    numbers, times : ndarray of shape (n,)
        Frame numbers from 1, and seconds.
    pixel_mask : ndarray of shape (h, w), bool, or None
        Pixels that take part; only these are in the file.
    total : int
        Frames of the input, of which these may be a sample.
    """

    file: SharedFile
    numbers: NDArray[np.int64]
    times: NDArray[np.float64]
    height: int
    width: int
    pixel_mask: NDArray[np.bool_] | None
    total: int

    @property
    def shape(self) -> tuple[int, int]:
        """n frames and p pixels."""
        whole = self.height * self.width
        return self.numbers.size, whole if self.pixel_mask is None else int(self.pixel_mask.sum())

    def map(self) -> Bytes:
        """Map the matrix, uint8 of shape (n, p); it is read from the file where it is used."""
        return np.memmap(self.file.file, dtype=np.uint8, mode="r", shape=self.shape)

    def picture(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a row of p values as a picture of shape (h, w), 0 outside the mask."""
        if self.pixel_mask is None:
            return row.reshape(self.height, self.width)
        picture = np.zeros((self.height, self.width))
        picture[self.pixel_mask] = row
        return picture


def write_frames(
    source: FrameSource,
    file: SharedFile,
    *,
    progress: ProgressCallback,
    most: int | None = None,
    seed: int = 0,
) -> FrameFile:
    """Write the luma of an input's frames, or of a sample of them, to a file.

    Parameters
    ----------
    file : SharedFile
        Empty.
    most : int, optional
        Longer inputs are sampled; None is `AUTO_FIT_FRAMES`.
    seed : int
        Of the sample.

    Notes
    -----
    Memory: single frames. An input that may be longer than `most`, or does not know its length, is
    decoded twice.
    """
    most = most or AUTO_FIT_FRAMES
    expected = source.frames_estimate
    wanted: set[int] | None = None
    total = 0
    if expected is None or expected > most:
        for _ in source:
            total += 1
            progress("count", total, expected)
        wanted = set(sample_rows(total, most, seed).tolist())
        expected = total
    mask = None if source.pixel_mask is None else source.pixel_mask.ravel()
    pixels = source.layout.pixels if mask is None else int(mask.sum())
    _check_room(file.folder, (len(wanted) if wanted is not None else expected) * pixels)
    numbers, times = [], []
    try:
        for index, frame in enumerate(source):
            total = index + 1
            progress("decode", total, expected)
            if wanted is not None and index not in wanted:
                continue
            luma = frame.data[: source.layout.pixels]
            file.file.write((luma if mask is None else luma[mask]).tobytes())
            numbers.append(frame.number)
            times.append(frame.time_s)
        file.file.flush()
    except OSError as error:
        message = f"{file.folder}: frames cannot be kept there ({error.strerror}); use --temp"
        raise OutputError(message) from error
    return FrameFile(
        file=file,
        numbers=np.array(numbers, dtype=np.int64),
        times=np.array(times),
        height=source.layout.height,
        width=source.layout.width,
        pixel_mask=source.pixel_mask,
        total=total,
    )


def _check_room(folder: Path, needed: int) -> None:
    free = free_space(folder)
    if free and needed > free:
        message = (
            f"{folder}: has {amount(free)} free, but the frames take {amount(needed)}; "
            "use --temp with another folder, or --every, --scale or --fit-frames"
        )
        raise OutputError(message)


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Streamed:
    """What the fits of a stream say, each of the frames that it took in.

    Attributes
    ----------
    fitted : FittedFrames
        Location and scale are those of the last fit.
    backgrounds : ndarray of shape (rows, p)
        Of the frames that were asked for, by the fit that took them in.
    iterations : int
        Of all fits.
    converged : bool
        Whether every fit did.
    """

    fitted: FittedFrames
    backgrounds: Floats
    iterations: int
    converged: bool


def fit_stream(estimator: OnlineTRPCA, X: NDArray[Any], rows: tuple[int, ...]) -> Streamed:
    """Fit a stream that begins with a whole window.

    Parameters
    ----------
    rows : tuple of int
        Frames whose backgrounds are wanted.
    """
    edges = [0, *range(min(estimator.window, len(X)), len(X), estimator.refresh), len(X)]
    parts: list[FittedFrames] = []
    backgrounds = np.empty((len(rows), X.shape[1]))
    iterations, converged = 0, True
    for start, stop in pairwise(edges):
        # Sizes of the pieces are those of the estimator's own, so each is one fit.
        (estimator.partial_fit if start else estimator.fit)(np.asarray(X[start:stop]))
        parts.append(FittedFrames.of(estimator))
        iterations += estimator.n_iter_
        converged &= estimator.converged_
        for place, row in enumerate(rows):
            if start <= row < stop:
                backgrounds[place] = estimator.reconstruct(X[row : row + 1])[0]
    return Streamed(_joined(parts), backgrounds, iterations, converged)


def _joined(parts: list[FittedFrames]) -> FittedFrames:
    last = parts[-1]
    width = max(part.coefficients.shape[1] for part in parts)
    padded = [
        np.pad(part.coefficients, ((0, 0), (0, width - part.coefficients.shape[1])))
        for part in parts
    ]
    return FittedFrames(
        np.concatenate([part.errors for part in parts]),
        last.location,
        last.scale,
        np.concatenate([part.outlier_scores for part in parts]),
        np.concatenate(padded),
    )


_BLOCK_ELEMENTS = 1 << 21


@dataclass(frozen=True, kw_only=True)
class FitTask:
    """A fit that is wanted.

    Attributes
    ----------
    entry : Entry
        The method, and what it is told.
    k : int
        Components.
    also : tuple of int
        Fewer components that the same fit serves, for nested methods.
    rows : tuple of int
        Frames whose backgrounds are wanted.
    """

    entry: Entry
    k: int
    also: tuple[int, ...] = ()
    seed: int = 0
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class FitOutcome:
    """What a fit has found.

    Attributes
    ----------
    seconds : float
        Of the fit alone: from the Gram matrix, or the frames, to scores and errors.
    notes : list of str
        Warnings.
    fitted : dict of int to FittedFrames
        By number of components.
    backgrounds : ndarray of shape (rows, p)
        Of the frames that were asked for, with k components, in grey levels.
    """

    seconds: float
    iterations: int
    converged: bool
    notes: list[str]
    fitted: dict[int, FittedFrames]
    backgrounds: Floats = field(repr=False)


def fit_task(
    task: FitTask, X: Any, gram: Gram, progress: Callable[[int, float], None] | None = None
) -> FitOutcome:
    """Make a fit.

    Parameters
    ----------
    gram : Gram
        Of X.
    progress : callable, optional
        Called with the iterations done and the residual by the methods that need the pixels.
    """
    entry = task.entry
    method = COMPARED[entry.method]
    settings = Settings(
        k=task.k,
        support_fraction=entry.support_fraction,
        random_state=task.seed,
        lam=entry.lam,
        max_removals=entry.max_removals,
        progress=progress,
    )
    estimator = method.make(settings)
    if isinstance(estimator, TRPCA):
        estimator.reweight_cutoff = FOOTAGE_CUTOFF
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        streamed: Streamed | None = None
        if isinstance(estimator, OnlineTRPCA):
            streamed = fit_stream(estimator, X, task.rows)
        elif method.needs_pixels:
            estimator.fit(X)
        else:
            estimator.fit_gram(gram)
        seconds = time.perf_counter() - began
    notes = [" ".join(str(warning.message).split()) for warning in caught]
    if streamed is not None:
        return FitOutcome(
            seconds=seconds,
            iterations=streamed.iterations,
            converged=streamed.converged,
            notes=list(dict.fromkeys(notes)),
            fitted={task.k: streamed.fitted},
            backgrounds=streamed.backgrounds,
        )
    fitted = {task.k: FittedFrames.of(estimator)}
    fitted |= {k: truncated(estimator, k) for k in task.also}
    return FitOutcome(
        seconds=seconds,
        iterations=int(estimator.n_iter_),
        converged=bool(estimator.converged_),
        notes=notes,
        fitted=fitted,
        backgrounds=_backgrounds(estimator, fitted[task.k], X, np.array(task.rows, dtype=int)),
    )


def _backgrounds(
    estimator: Estimator, fitted: FittedFrames, X: Any, rows: NDArray[np.int64]
) -> Floats:
    """Compute the backgrounds of some frames, shape (rows, p)."""
    coefficients = fitted.coefficients[rows]
    if hasattr(estimator, "components_"):
        return np.asarray(estimator.center_ + coefficients @ estimator.components_)
    # Affine combinations of the frames: no centre and no component is formed.
    weights = estimator.center_weights_ + coefficients @ estimator.component_weights_.T
    n, p = X.shape
    result = np.empty((rows.size, p))
    step = max(1, _BLOCK_ELEMENTS // n)
    for start in range(0, p if rows.size else 0, step):
        result[:, start : start + step] = weights @ X[:, start : start + step].astype(np.float64)
    return result


_START_SECONDS = 120.0


class FitError(Exception):
    """A fit that gave no result; the message says why."""


class FitProcess:
    """A process that makes one fit after another.

    A context manager; leaving it ends the process at once. The matrix library has one thread there.

    Parameters
    ----------
    gram_file : SharedFile
        What `save_gram` wrote.
    """

    def __init__(self, frames: FrameFile, gram_file: SharedFile) -> None:
        self._arguments = (frames, gram_file)
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._connection: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process, in the middle of a fit if need be."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        self._process = self._connection = None

    def run(
        self, task: FitTask, *, timeout: float | None, progress: ProgressCallback
    ) -> FitOutcome:
        """Make a fit.

        Parameters
        ----------
        timeout : float, optional
            Seconds; starting the process does not count.
        """
        connection = self._started()
        stage = f"{task.entry.name} k={task.k}"
        progress(stage, 0, None)
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            connection.send(task)
            while True:
                left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
                # Past its time it is stopped, be its answer there or not.
                if left == 0 or not connection.poll(left):
                    self.stop()
                    raise FitError(f"took longer than {timeout:g} s and was stopped")
                answer = connection.recv()
                if isinstance(answer, FitOutcome):
                    return answer
                if isinstance(answer, str):
                    raise FitError(answer)
                done, residual = answer
                progress(with_residual(stage, residual), done, None)
        except (EOFError, ConnectionError) as error:
            self._process.join()
            code = self._process.exitcode
            self.stop()
            message = f"its process died (exit code {code}), perhaps for lack of memory"
            raise FitError(message) from error

    def _started(self) -> Connection:
        """Return the connection to a process that waits for tasks."""
        if self._connection is None:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(
                target=_serve, args=(theirs, *self._arguments), name="bgsub-fit", daemon=True
            )
            with held_back_in_children("SIGINT", "SIGHUP"):
                process.start()
            theirs.close()
            self._process, self._connection = process, ours
            try:
                ready = ours.poll(_START_SECONDS) and ours.recv()
            except (EOFError, ConnectionError):
                ready = False
            if not ready:
                self.stop()
                raise FitError("the process for the fit could not be started")
        return self._connection


def save_gram(gram: Gram, file: SharedFile) -> None:
    """Write a Gram matrix for a `FitProcess`."""
    try:
        np.savez(file.file, values=gram.values, offset=gram.offset, n_features=gram.n_features)
        file.file.flush()
    except OSError as error:
        message = f"{file.folder}: has no room for the Gram matrix ({error.strerror}); use --temp"
        raise OutputError(message) from error


def _serve(connection: Connection, frames: FrameFile, gram_file: SharedFile) -> None:
    """Make the fits that are asked for, until the parent is gone."""
    # Ctrl-C goes to all processes of a terminal, and where signals cannot be blocked also here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # SciPy has a matrix library of its own: loaded now, it knows of the limit, and no clock runs.
    import scipy.linalg

    # As everywhere in bgsub: more would gain little on matrices of this size, lose much when the
    # cores are busy, and change the last bits.
    one_blas_thread()
    gram_file.file.seek(0)
    with np.load(gram_file.file) as saved:
        gram = Gram(saved["values"], saved["offset"], int(saved["n_features"]), 0, 0)
    X = frames.map()
    # LAPACK is loaded and its threads are started before the first clock is.
    np.linalg.eigh(np.eye(64))
    scipy.linalg.eigh(np.eye(64))
    with contextlib.suppress(EOFError, ConnectionError):
        connection.send(True)
        while True:
            task = connection.recv()
            connection.send(_attempt(task, X, gram, connection))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _attempt(task: FitTask, X: Any, gram: Gram, connection: Connection) -> FitOutcome | str:
    """Make a fit; what fails is told in a line."""
    try:
        return fit_task(
            task, X, gram, lambda done, residual: connection.send((done, float(residual)))
        )
    except MemoryError:
        return "out of memory"
    except Exception as error:  # noqa: BLE001 - the row says it, and the others go on
        text = " ".join(str(error).split())
        return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"


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

    Returns
    -------
    Comparison
        A method that failed or took too long has a row that says why.

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
        source = open_source(path, **vars(run.source) | {"color": "gray"}, threads=run.threads)
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
        backgrounds=_pictured(frames, found, pictures),
        stages=watch.seconds,
        facts={
            "frame_size": [frames.width, frames.height],
            "frames": {"decoded": frames.total, "compared": int(frames.numbers.size)},
            "pixels": frames.shape[1],
        },
        warnings=warnings,
    )


def _pictured(
    frames: FrameFile, found: list[MethodRow], pictures: list[Floats]
) -> dict[str, list[Floats]]:
    """Return the backgrounds that each method found for the chosen frames, as pictures."""
    return {
        row.name: [_filled(frames, *pair) for pair in zip(row.backgrounds, pictures, strict=True)]
        for row in found
        if row.backgrounds is not None
    }


def _filled(frames: FrameFile, background: Floats, picture: Floats) -> Floats:
    """Return a background as a picture, with the frame's own pixels outside the mask."""
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
        """Return why a fit is not begun, if it is not."""
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
