"""Fit methods to the same frames, one after another in a process of its own.

The frames lie in a temporary file without a name: no kill leaves it, and the child maps it.
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
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from multiprocessing import reduction
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import OutputError, UsageError
from bgsub.fit.frame_fit import FittedFrames, check_rank, truncated, with_residual
from bgsub.fit.memory import AUTO_FIT_FRAMES, DEFAULT_MEMORY
from bgsub.options import ProgressCallback, no_progress
from bgsub.outliers.false_alarms import DEFAULT_CUTOFF, frame_scores
from bgsub.paper.options import UNKNOWN, CompareOptions, Comparison, Entry, MethodRow
from bgsub.robustpca.competitors import COMPARED, MethodInfo
from bgsub.robustpca.conventions import support_size
from bgsub.robustpca.gram import ArrayColumns, Gram, gram_matrix
from bgsub.robustpca.online import OnlineTRPCA, stacked
from bgsub.robustpca.reweight import FOOTAGE_CUTOFF
from bgsub.robustpca.spaces import Floats, slices
from bgsub.robustpca.trpca import TRPCA
from bgsub.runtime.limits import amount, free_space, memory_bytes, spill_folder
from bgsub.runtime.processes import held_back_in_children
from bgsub.runtime.threads import Workers, one_blas_thread
from bgsub.video.selection import sample_rows

# The process that fits needs nothing of films: what reads them is imported where it is used.
if TYPE_CHECKING:
    from bgsub.robustpca.competitors import Estimator
    from bgsub.video.frames import Bytes
    from bgsub.video.source import FrameSource

_BLOCK_ELEMENTS = 1 << 21
_START_SECONDS = 120.0
# What a process takes before any frame: Python and its libraries; tests set it to 0.
PROGRAM_BYTES = 104_000_000
_SHARED_FIT = "one fit serves every k"


@dataclass(frozen=True, eq=False)
class FrameFile:
    """A matrix of frames in a file of n·p bytes, which processes that are given it map."""

    file: IO[bytes]
    numbers: NDArray[np.int64]
    times: Floats
    height: int
    width: int
    pixel_mask: NDArray[np.bool_] | None  # pixels that take part; only these are in the file
    total: int  # frames of the input, of which these may be a sample

    def __getstate__(self) -> dict[str, Any]:
        by_name = os.name == "nt"
        handed = self.file.name if by_name else reduction.DupFd(self.file.fileno())
        return {**vars(self), "file": handed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        handed = state["file"]
        file = open(handed if isinstance(handed, str) else handed.detach(), "rb")  # noqa: PTH123, SIM115 - for as long as the process lives
        vars(self).update(state, file=file)

    def close(self) -> None:
        """Let go of the file, and of its name where it has one."""
        self.file.close()
        if os.name == "nt":
            with contextlib.suppress(OSError):
                Path(self.file.name).unlink()

    @property
    def shape(self) -> tuple[int, int]:
        """n frames and p pixels."""
        whole = self.height * self.width
        return self.numbers.size, whole if self.pixel_mask is None else int(self.pixel_mask.sum())

    def map(self) -> Bytes:
        """Map the matrix, uint8 of shape (n, p); it is read from the file where it is used."""
        return np.memmap(self.file, dtype=np.uint8, mode="r", shape=self.shape)

    def picture(self, row: Floats, around: Floats | None = None) -> Floats:
        """Return a row of p values as a picture of shape (h, w), outside the mask another or 0."""
        if self.pixel_mask is None:
            return row.reshape(self.height, self.width)
        picture = np.zeros((self.height, self.width)) if around is None else around.copy()
        picture[self.pixel_mask] = row
        return picture


def write_frames(
    source: FrameSource,
    folder: Path,
    *,
    progress: ProgressCallback,
    most: int = AUTO_FIT_FRAMES,
    seed: int = 0,
) -> FrameFile:
    """Write the luma of frames, or of a sample of `most`, decoded twice, to a temporary file."""
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
    needed, free = (expected if wanted is None else len(wanted)) * pixels, free_space(folder)
    if free and needed > free:
        raise OutputError(
            f"{folder}: has {amount(free)} free, but the frames take {amount(needed)}; "
            "use --temp with another folder, or --every, --scale or --fit-frames"
        )
    numbers, times = [], []
    try:
        with contextlib.ExitStack() as on_failure:
            # On Windows a process opens another one's file by its name.
            new: Callable[..., Any] = tempfile.TemporaryFile
            if os.name == "nt":
                new = partial(tempfile.NamedTemporaryFile, prefix="bgsub-compare-", delete=False)
            file = on_failure.enter_context(new(dir=folder))
            for index, frame in enumerate(source):
                total = index + 1
                progress("decode", total, expected)
                if wanted is not None and index not in wanted:
                    continue
                luma = frame.data[: source.layout.pixels]
                file.write((luma if mask is None else luma[mask]).tobytes())
                numbers.append(frame.number)
                times.append(frame.time_s)
            file.flush()
            on_failure.pop_all()
    except OSError as error:
        message = f"{folder}: frames cannot be kept there ({error.strerror}); use --temp"
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


def fit_stream(
    estimator: OnlineTRPCA, X: NDArray[Any], rows: tuple[int, ...]
) -> tuple[FittedFrames, Floats, int, bool]:
    """Fit a stream that begins with a whole window; each frame as the fit saw that took it in.

    Returns also the backgrounds of some, all iterations, and whether every fit converged.
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
    joined: dict[str, Any] = {
        name: stacked([getattr(part, name) for part in parts])
        for name in ("errors", "outlier_scores", "coefficients")
    }
    return replace(parts[-1], **joined), backgrounds, iterations, converged


class FitTask(NamedTuple):
    """A fit that is wanted: of a method with k components, and fewer that the same fit serves."""

    entry: Entry
    k: int
    also: tuple[int, ...] = ()
    seed: int = 0
    rows: tuple[int, ...] = ()  # frames whose backgrounds are wanted


class FitOutcome(NamedTuple):
    """What a fit has found."""

    seconds: float  # of the fit alone: from the Gram matrix, or the frames, to scores and errors
    iterations: int
    converged: bool
    notes: list[str]  # warnings
    fitted: dict[int, FittedFrames]  # by number of components
    # Of the frames that were asked for, with k components, in grey levels, shape (rows, p).
    backgrounds: Floats


def fit_task(
    task: FitTask, X: Any, gram: Gram, progress: Callable[[int, float], None] | None = None
) -> FitOutcome:
    """Make a fit; methods that need the pixels report iterations and residuals."""
    entry, method = task.entry, COMPARED[task.entry.method]
    estimator = method.make(replace(entry, k=task.k, random_state=task.seed, progress=progress))
    if isinstance(estimator, TRPCA):
        estimator.reweight_cutoff = FOOTAGE_CUTOFF
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        streamed = None
        if isinstance(estimator, OnlineTRPCA):
            streamed = fit_stream(estimator, X, task.rows)
        elif method.needs_pixels:
            estimator.fit(X)
        else:
            estimator.fit_gram(gram)
        seconds = time.perf_counter() - began
    if streamed is not None:
        own, backgrounds, iterations, converged = streamed
    else:
        own = FittedFrames.of(estimator)
        backgrounds = _backgrounds(estimator, own, X, np.array(task.rows, dtype=int))
        iterations, converged = int(estimator.n_iter_), bool(estimator.converged_)
    notes = [" ".join(str(warning.message).split()) for warning in caught]
    return FitOutcome(
        seconds=seconds,
        iterations=iterations,
        converged=converged,
        notes=list(dict.fromkeys(notes)),
        fitted={task.k: own, **{k: truncated(estimator, k) for k in task.also}},
        backgrounds=backgrounds,
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
    for part in slices(p if rows.size else 0, max(1, _BLOCK_ELEMENTS // n)):
        result[:, part] = weights @ X[:, part].astype(np.float64)
    return result


class FitError(Exception):
    """A fit that gave no result; the message says why."""


class FitProcess:
    """A process that makes one fit after another, with one thread for the matrix library."""

    def __init__(self, frames: FrameFile, gram: Gram) -> None:
        self._frames, self._gram = frames, gram
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._connection: Connection | None = None

    def close(self) -> None:
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
        """Make a fit within some seconds, those of starting the process not counted."""
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
                    self.close()
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
            self.close()
            message = f"its process died (exit code {code}), perhaps for lack of memory"
            raise FitError(message) from error

    def _started(self) -> Connection:
        """Return the connection to a process that waits for tasks."""
        if self._connection is None:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(
                target=_serve, args=(theirs, self._frames), name="bgsub-fit", daemon=True
            )
            with held_back_in_children("SIGINT", "SIGHUP"):
                process.start()
            theirs.close()
            self._process, self._connection = process, ours
            try:
                ready = ours.poll(_START_SECONDS) and ours.recv()
                if ready:
                    for row in self._gram.values:  # at once there would be a second copy
                        ours.send_bytes(row.data)
            except (EOFError, ConnectionError):
                ready = False
            if not ready:
                self.close()
                raise FitError("the process for the fit could not be started")
        return self._connection


def _serve(connection: Connection, frames: FrameFile) -> None:
    """Make the fits that are asked for, until the parent is gone."""
    # Ctrl-C goes to all processes of a terminal, and where signals cannot be blocked also here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # SciPy has a matrix library of its own: loaded now, it knows of the limit, and no clock runs.
    import scipy.linalg

    # As everywhere in bgsub: more would gain little on matrices of this size, lose much when the
    # cores are busy, and change the last bits.
    one_blas_thread()
    X = frames.map()
    values = np.empty((len(X), len(X)))
    # LAPACK is loaded and its threads are started before the first clock is.
    np.linalg.eigh(np.eye(64))
    scipy.linalg.eigh(np.eye(64))
    with contextlib.suppress(EOFError, ConnectionError):
        connection.send(True)
        for row in values:
            connection.recv_bytes_into(row)
        gram = Gram(values, np.zeros(0), X.shape[1])
        while True:
            connection.send(_attempt(connection.recv(), X, gram, connection))


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def _attempt(task: FitTask, X: Any, gram: Gram, connection: Connection) -> FitOutcome | str:
    """Make a fit; what fails is told in a line."""
    try:
        return fit_task(task, X, gram, lambda done, left: connection.send((done, float(left))))
    except MemoryError:
        return "out of memory"
    except Exception as error:  # noqa: BLE001 - the row says it, and the others go on
        text = " ".join(str(error).split())
        return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"


def compare(
    path: str, options: CompareOptions, *, progress: ProgressCallback = no_progress
) -> Comparison:
    """Fit every method, with every number of components, to the luma of the same frames.

    Frames are decoded once, into a file that all fits share, and so is their Gram matrix. Fits run
    one after another in a process of their own, on one thread, so that their seconds compare; one
    that needs more than ``options.run.memory`` is not begun. A method that failed or took too long
    has a row that says why.
    """
    from bgsub.pipeline.inputs import fitted_at_most
    from bgsub.pipeline.results import Stopwatch
    from bgsub.video.source import open_source

    run = options.run
    watch = Stopwatch()
    place = spill_folder() if run.temp is None else Path(run.temp)
    source = open_source(path, **vars(run.source) | {"color": "gray"}, threads=run.threads)
    with watch.stage("decode"):
        frames = write_frames(
            source, place, most=fitted_at_most(run), seed=run.seed, progress=progress
        )
    with contextlib.closing(frames):
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
        with contextlib.closing(FitProcess(frames, gram)) as process:
            bench = _Bench(process, options, frames.shape, labels, rows, progress)
            found = [row for entry in entries for row in bench.rows_of(entry)]
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
        backgrounds={
            row.name: list(map(frames.picture, row.backgrounds, pictures))
            for row in found
            if row.backgrounds is not None
        },
        stages=watch.seconds,
        facts={
            "frame_size": [frames.width, frames.height],
            "frames": {"decoded": frames.total, "compared": int(frames.numbers.size)},
            "pixels": frames.shape[1],
        },
        warnings=warnings,
    )


def _chosen_rows(options: CompareOptions, frames: FrameFile, gram: Gram) -> tuple[int, ...]:
    """Choose the frames whose decomposition is drawn, by index."""
    if options.frames:
        index = {int(number): row for row, number in enumerate(frames.numbers)}
        missing = [number for number in options.frames if number not in index]
        if missing:
            first, last = int(frames.numbers[0]), int(frames.numbers[-1])
            raise UsageError(
                f"--frames {missing[0]}: is not among the {len(index)} frames compared, "
                f"which are from {first} to {last}"
            )
        return tuple(index[number] for number in options.frames)
    quick = TRPCA(min(options.ks), n_init=1, random_state=options.run.seed)
    order = np.argsort(quick.fit_gram(gram).errors_, kind="stable")
    return tuple(dict.fromkeys([int(order[order.size // 2]), int(order[-1])]))


class _Bench(NamedTuple):
    """Makes fits one after another, and measures them against the truth where there is one."""

    process: FitProcess
    options: CompareOptions
    shape: tuple[int, int]
    labels: NDArray[np.int8] | None
    rows: tuple[int, ...]
    progress: ProgressCallback

    def rows_of(self, entry: Entry) -> Iterator[MethodRow]:
        """Fit a method with every k."""
        ks, method = tuple(dict.fromkeys(self.options.ks)), COMPARED[entry.method]
        # A fit from the Gram matrix is quick, and then its own time says more.
        shared = method.nested and method.needs_pixels
        for group in [ks] if shared else [(k,) for k in ks]:
            most, t = max(group), support_size(self.shape[0], entry.support_fraction)
            task = FitTask(
                entry=entry,
                k=most,
                also=tuple(k for k in group if k != most),
                seed=self.options.run.seed,
                rows=self.rows if most == max(ks) else (),
            )
            empty = MethodRow(method=entry.method, variant=entry.variant, k=most, t=t)
            try:
                self._check_memory(method, most)
                outcome = self.process.run(
                    task, timeout=self.options.timeout, progress=self.progress
                )
            except FitError as failure:
                yield from (replace(empty, k=k, reason=str(failure)) for k in group)
            else:
                note = [_SHARED_FIT] if len(group) > 1 else []
                for k in group:
                    backgrounds = outcome.backgrounds if k == most and task.rows else None
                    row = self._measured(replace(empty, k=k, backgrounds=backgrounds), outcome)
                    yield replace(row, reason="; ".join([*outcome.notes, *note]))

    def _check_memory(self, method: MethodInfo, k: int) -> None:
        needed = PROGRAM_BYTES + method.memory_bytes(*self.shape, k)
        limit = memory_bytes(self.options.run.memory or DEFAULT_MEMORY)
        if needed > limit:
            raise FitError(
                f"needs about {amount(needed)} of memory, but the limit is {amount(limit)}; "
                "use --memory, --scale or --every"
            )

    def _measured(self, row: MethodRow, outcome: FitOutcome) -> MethodRow:
        fitted = outcome.fitted[row.k]
        row = replace(
            row,
            seconds=outcome.seconds,
            iterations=outcome.iterations,
            converged=outcome.converged,
            objective=float(np.sort(fitted.errors)[: row.t].mean()),
            errors=fitted.errors,
        )
        if self.labels is None:
            return row
        from bgsub.paper.curves import auc, average_precision

        known = self.labels != UNKNOWN
        marked = self.labels[known] == 1
        root = fitted.location + fitted.scale * fitted.outlier_scores
        scores = frame_scores(root, fitted.location, fitted.scale, self.shape[1])[known]
        cutoff = self.options.run.cutoff
        flagged = scores[marked] > (DEFAULT_CUTOFF if cutoff is None else cutoff)
        return replace(
            row,
            auc=auc(fitted.errors[known], marked),
            average_precision=average_precision(fitted.errors[known], marked),
            true_outliers_flagged=float(flagged.mean()),
        )
