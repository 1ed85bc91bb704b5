"""Work on several inputs at the same time, in processes that each take one after the other.

Each process has a pool of its own, so that one that is killed takes no other input with it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from types import FrameType

from bgsub.cli.failures import log_error
from bgsub.cli.jobs import Job, Outcome, Recipe, Work, attempt, log_start
from bgsub.cli.logs import Event, Session, reporting, write_line
from bgsub.cli.progress import make_progress
from bgsub.errors import BgsubError, Interrupted
from bgsub.runtime.signals import held_back_in_children
from bgsub.runtime.tuning import tune

KILLED = (
    "the process that worked on it was killed, perhaps for lack of memory; "
    "use fewer --jobs or less --memory"
)

# Waiting without end cannot be interrupted on every system.
_PATIENCE_S = 1.0


@dataclass
class KeptSession(Session):
    """Keeps what is said until the input is done; only progress is said at once.

    Attributes
    ----------
    lines : list of str
    """

    lines: list[str] = field(default_factory=list)

    def put(self, line: str, event: Event) -> None:
        """Keep a line, or write it if it is of progress."""
        if event == "progress":
            write_line(line)
        else:
            self.lines.append(line)


_Done = tuple[Outcome, list[str]]


def attempt_side_by_side(
    jobs: Sequence[Job], work: Work, session: Session, *, skip: Recipe | None, processes: int
) -> Iterator[Outcome]:
    """Do jobs in several processes; see `bgsub.cli.jobs.attempt`.

    Parameters
    ----------
    jobs : sequence of Job
    work : callable
        Goes to the processes, so it must be picklable.
    session : Session
    skip : Recipe, optional
    processes : int

    Yields
    ------
    Outcome
        In the order of the jobs, when all that was said of the job has been written.

    Raises
    ------
    KeyboardInterrupt
        When it comes, after all processes have cleared up and ended.
    """
    workers = [_Worker() for _ in range(min(processes, len(jobs)))]
    idle, ahead = list(workers), iter(enumerate(jobs))
    running: dict[Future[_Done], tuple[int, _Worker]] = {}
    done: dict[int, _Done] = {}
    written = 0
    try:
        with make_progress(session) as progress:
            while written < len(jobs):
                for worker, (index, job) in zip(idle[:], ahead, strict=False):
                    idle.remove(worker)
                    running[worker.submit(job, work, _kept(session), skip=skip)] = (index, worker)
                ready, _ = wait(running, timeout=_PATIENCE_S, return_when=FIRST_COMPLETED)
                for future in ready:
                    index, worker = running.pop(future)
                    done[index] = worker.result(future, jobs[index], session)
                    idle.append(worker)
                if sys.stderr.isatty():
                    progress("batch", len(done), len(jobs))
                while written in done:
                    outcome, lines = done[written]
                    for line in lines:
                        write_line(line)
                    written += 1
                    yield outcome
    except BaseException:
        for worker in workers:
            worker.interrupt()
        raise
    finally:
        for worker in workers:
            worker.close()


def _kept(session: Session) -> KeptSession:
    return KeptSession(**asdict(session) | {"bars": False})


class _Worker:
    """One process, started when there is work, and started anew when it was killed."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._line: Connection | None = None

    def submit(
        self, job: Job, work: Work, session: KeptSession, *, skip: Recipe | None
    ) -> Future[_Done]:
        """Hand a job to the process."""
        if self._pool is not None:
            try:
                return self._pool.submit(do, job, work, session, skip=skip)
            except BrokenProcessPool:  # killed while it had nothing to do
                self.close()
        return self._start(job, work, session, skip=skip)

    def _start(
        self, job: Job, work: Work, session: KeptSession, *, skip: Recipe | None
    ) -> Future[_Done]:
        # Forked copies of a process with threads (BLAS has some) may hang.
        context = multiprocessing.get_context("spawn")
        # When this end of the line is closed, or this process ends whatever the way, so does the
        # other one.
        theirs, self._line = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(1, context, initializer=begin, initargs=(theirs,))
        try:
            # A terminal sends Ctrl-C to all processes: this one decides what it means.
            with held_back_in_children("SIGINT", "SIGHUP"):
                return self._pool.submit(do, job, work, session, skip=skip)
        finally:
            theirs.close()

    def result(self, future: Future[_Done], job: Job, session: Session) -> _Done:
        """Give what became of a job; replace a process that was killed."""
        try:
            return future.result()
        except BrokenProcessPool:
            self.close()
            kept = _kept(session)
            with kept.about(job.input, label=job.label):
                log_start(job, kept)
                code = log_error(BgsubError(KILLED), kept)
            return Outcome(job, "failed", code), kept.lines

    def interrupt(self) -> None:
        """Let the process stop its work and clear up."""
        if self._line is not None:
            self._line.close()

    def close(self) -> None:
        """Wait until the process has ended."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self.interrupt()
        self._pool = self._line = None


class _Child:
    """What this process is doing, if it is one of several."""

    is_working = False


def begin(line: Connection) -> None:
    """Prepare a process: it stops when asked to, or when its parent is gone."""
    tune()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_watch, args=(line,), name="bgsub-line", daemon=True).start()


def _watch(line: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        line.recv_bytes()
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
    else:
        import _thread

        _thread.interrupt_main(signal.SIGTERM)


def _stop(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if not _Child.is_working:
        os._exit(Interrupted.exit_code)
    raise KeyboardInterrupt


def do(job: Job, work: Work, session: KeptSession, *, skip: Recipe | None) -> _Done:
    """Do a job in a process of its own."""
    try:
        _Child.is_working = True
        with reporting(session):
            outcome = attempt(job, work, session, skip=skip)
        _Child.is_working = False
    except (KeyboardInterrupt, Interrupted):
        # All is cleared up; nobody waits for a result.
        os._exit(Interrupted.exit_code)
    return outcome, session.lines
