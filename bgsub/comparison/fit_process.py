"""Run fits in a child process that can be killed at any time.

A thread cannot be stopped while it is inside LAPACK, and a fit that runs out of memory takes its
process along. Here that costs one fit: the process is killed, and another one makes the next.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from multiprocessing.connection import Connection
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bgsub.comparison.fit_task import FitOutcome, FitTask, fit_task
from bgsub.comparison.frame_file import FrameFile
from bgsub.comparison.shared_file import SharedFile
from bgsub.errors import OutputError
from bgsub.fit.method_fit import with_residual
from bgsub.robustpca.gram import Gram
from bgsub.runtime.libraries import one_blas_thread
from bgsub.runtime.signals import held_back_in_children

if TYPE_CHECKING:
    from bgsub.options import ProgressCallback

_START_SECONDS = 120.0


class FitError(Exception):
    """A fit that gave no result; the message says why."""


class FitProcess:
    """A process that makes one fit after another.

    A context manager; leaving it ends the process at once. The matrix library has one thread there.

    Parameters
    ----------
    frames : FrameFile
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
        task : FitTask
        timeout : float, optional
            Seconds; starting the process does not count.
        progress : callable

        Raises
        ------
        FitError
            If the fit failed, took too long, or its process died.
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
        """Give the connection to a process that waits for tasks."""
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
    """Write a Gram matrix for a `FitProcess`.

    Raises
    ------
    OutputError
        If the disk is too small.
    """
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
