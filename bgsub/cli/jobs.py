"""Plan and do the inputs of a command: one, one after the other, or side by side."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Literal

from bgsub.cli import messages
from bgsub.cli.messages import (
    INTERRUPTED,
    Event,
    Session,
    log_error,
    log_results,
    reporting,
    work_is_done,
    write_line,
)
from bgsub.cli.progress import make_progress, speed
from bgsub.errors import (
    BatchError,
    BgsubError,
    EmptySelectionError,
    InputError,
    Interrupted,
    OutputError,
)
from bgsub.options import RunOptions, SourceOptions, declared_fields, flag
from bgsub.runtime.files import check_plain
from bgsub.runtime.signals import held_back_in_children
from bgsub.runtime.tuning import tune

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.connection import Connection

    from bgsub.pipeline.outcome import RunResult
    from bgsub.segments.plan import SegmentPlan


@dataclass(frozen=True)
class Job:
    """One input of a batch; plain values, so that it may go to another process.

    Attributes
    ----------
    input : str
        As it was given.
    out : Path
        Where its results go.
    number, of : int
        Its place among the inputs, from 1, and their number.
    """

    input: str
    out: Path
    number: int = 1
    of: int = 1

    @property
    def label(self) -> str | None:
        """What lines about it begin with; None where it is the only one."""
        return self.input if self.of > 1 else None


@dataclass(frozen=True)
class Outcome:
    """What became of a job: its exit code is 0 unless it failed."""

    job: Job
    status: Literal["done", "skipped", "failed"]
    exit_code: int = 0


def plan(inputs: Sequence[str], out: Path, *, subfolders: bool, keep: bool) -> list[Job]:
    """Decide where the results of each input go.

    Parameters
    ----------
    subfolders : bool
        Give each a folder of its own in `out`, named after it: ``water``, and where a name is taken
        ``water-2``, ``water-3``, … in the order of the inputs.
    keep : bool
        Let inputs whose complete results are there keep the folder that these are in, also
        when the list of inputs has changed since.

    Returns
    -------
    list of Job
        In the order of the inputs.
    """
    if not subfolders:
        return [Job(given, out, i, len(inputs)) for i, given in enumerate(inputs, start=1)]
    taken: dict[str, int] = {}  # file systems may take Water for water
    if keep:
        for index, given in enumerate(inputs):
            for name in _names(given):
                if not _is_complete(out / name):
                    break
                if name.casefold() not in taken and belongs(out / name, given):
                    taken[name.casefold()] = index
                    break
    kept = {index: name for name, index in taken.items()}
    jobs = []
    for index, given in enumerate(inputs):
        for name in _names(given):
            is_own = kept.get(index) == name.casefold()
            is_foreign = keep and _is_complete(out / name) and not belongs(out / name, given)
            if is_own or (index not in kept and name.casefold() not in taken and not is_foreign):
                taken[name.casefold()] = index
                jobs.append(Job(given, out / name, index + 1, len(inputs)))
                break
    return jobs


def _names(given: str) -> Iterator[str]:
    """Yield names for the folder of an input: water, water-2, water-3, …."""
    stem = _stem(given)
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1


def _stem(given: str) -> str:
    path = Path(given)
    if path.is_dir():
        whole = path.resolve()
        return (whole.stem if whole.suffix == ".zarr" else whole.name) or "input"
    if not path.exists() and any(character in path.name for character in "*?[%"):
        return path.parent.resolve().name or "input"  # images are known by their folder
    return path.stem or "input"


def _is_complete(folder: Path) -> bool:
    from bgsub.pipeline.results import is_complete

    return is_complete(folder)


def _recover(folder: Path) -> None:
    from bgsub.pipeline.results import recover

    recover(folder)


def belongs(folder: Path, given: str) -> bool:
    """Return whether complete results are those of this input, by its path or else by its content.

    Results whose manifest does not say are taken to be.
    """
    from bgsub.pipeline.manifest import input_identity, load_manifest, recorded_path

    try:
        manifest = load_manifest(folder)
    except InputError:
        return True
    recorded = manifest.get("input", {})
    if recorded.get("path") is None:  # of another command, or frames of a program's array
        return "path" not in recorded
    paths = {recorded["path"], str(recorded_path(manifest, recorded["path"]))}
    if Path(given).absolute() in {Path(path).absolute() for path in paths}:
        return True
    # The working directory may be another than it was then.
    may_be_same = recorded["name"] == Path(given).name and Path(given).is_file()
    if not may_be_same or recorded["size_bytes"] != Path(given).stat().st_size:
        return False
    return bool(input_identity(given)["sha256"] == recorded["sha256"])


@dataclass(frozen=True)
class Recipe:
    """What results are made with: only those of the same are left alone by --skip-existing.

    Attributes
    ----------
    model : str, optional
        The model.npz of `bgsub apply`.
    """

    command: str
    options: RunOptions
    model: str | None = None

    def differences(self, folder: Path) -> list[str]:
        """List the options that whole results were made with instead, such as ``--k 2``."""
        from bgsub.pipeline.manifest import input_identity, load_manifest

        manifest = load_manifest(folder)
        if manifest.get("command", "run") != self.command:
            return [f"bgsub {manifest['command']}"]
        found = []
        if self.model is not None:
            sha256 = manifest.get("model_sha256")
            if sha256 != input_identity(self.model)["sha256"]:
                found.append(f"another model ({manifest.get('model')})")
        ours, theirs = self.options.to_json(), manifest["options"]
        for kind, now, then in (
            (SourceOptions, ours["source"], theirs.get("source", {})),
            (RunOptions, ours, theirs),
        ):
            for one in declared_fields(kind):
                value = then.get(one.name, now[one.name])
                if one.name not in _WITHOUT_EFFECT and value != now[one.name]:
                    shown = "its default" if value is None else value
                    found.append(f"{flag(one)} {shown}")
        return found


# Where and how fast a run is done; results are the same.
_WITHOUT_EFFECT = {"threads", "memory", "temp", "jobs", "force", "resume"}


def check_out(out: Path) -> None:
    """Raise OutputError if results can certainly not be written there, before any work."""
    try:
        present = next((p for p in (out, *out.absolute().parents) if p.exists()), out)
        os.stat(out)  # noqa: PTH116 - Path.exists hides names that are refused from Python 3.14 on
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"--out {str(out)[:60]}…: cannot be a folder ({reason}); choose another --out"
        raise OutputError(message) from error
    if not present.is_dir():
        what = "is a file" if present == out else f"{present} is a file"
        message = f"{out}: {what}, but results need a folder; choose another --out"
        raise OutputError(message)
    if not os.access(present, os.W_OK | os.X_OK):
        message = f"{out}: {present} may not be written to; choose another --out"
        raise OutputError(message)


Work = Callable[[Job, Session], None]
"""Does one job, and raises when it fails."""


def attempt(job: Job, work: Work, session: Session, *, skip: Recipe | None) -> Outcome:
    """Do one of several jobs, and say it if it fails."""
    with session.about(job.input, label=job.label):
        try:
            log_start(job, session)
            done = do_job(job, work, session, skip=skip)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - one bad input must not stop a thousand others
            return Outcome(job, "failed", messages.log_error(error, session))
    return Outcome(job, "done" if done else "skipped")


def log_start(job: Job, session: Session) -> None:
    """Say that a job begins, and its place among the others."""
    session.log("start", f"{job.number} of {job.of}", out=str(job.out))


def do_job(job: Job, work: Work, session: Session, *, skip: Recipe | None) -> bool:
    """Do one job; False if it was left alone because its complete results are there."""
    with session.about(job.input, label=job.label):
        if skip is not None and is_done(job, session, skip):
            return False
        work(job, session)
        return True


def is_done(job: Job, session: Session, skip: Recipe) -> bool:
    """Return whether the complete results of a job are there, and say so."""
    _recover(job.out)
    if not _is_complete(job.out) or not belongs(job.out, job.input):
        return False
    others = skip.differences(job.out)
    if not others:
        message = f"skipped: its complete results are in {job.out}"
        session.log("result", message, out=str(job.out), skipped=True)
        return True
    if not skip.options.force:
        message = f"{job.out}: its results were made with {', '.join(others)}"
        advice = "replace them with --force, or choose another --out"
        raise OutputError(f"{message}; {advice}")
    return False


_NAMED_FAILURES = 10


def read_list(name: str) -> list[str]:
    """Read inputs from a list, one path a line; blank lines and lines that begin with # are not.

    Parameters
    ----------
    name : str
        A text file, or ``-`` for stdin. Relative paths are relative to the working directory.
    """
    if name == "-":
        data = sys.stdin.buffer.read()
    else:
        check_plain(name)
        try:
            data = Path(name).read_bytes() if _is_text(Path(name)) else b"\0"
        except OSError as error:
            message = f"{name}: the list of inputs cannot be read ({error.strerror})"
            raise InputError(message) from error
    if b"\0" in data:
        message = f"{name}: is binary data and no list of inputs; give a video without --from-file"
        raise InputError(message)
    # As the system decodes file names, so that any name survives.
    lines = [os.fsdecode(line).strip() for line in data.removeprefix(b"\xef\xbb\xbf").splitlines()]
    paths = [line for line in lines if line and not line.startswith("#")]
    if not paths:
        where = "stdin" if name == "-" else name
        message = f"{where}: the list names no input; write one path a line"
        raise EmptySelectionError(message)
    return paths


def _is_text(path: Path) -> bool:
    """Return whether a file may be a list; a film given by mistake is not read to its end."""
    with path.open("rb") as file:
        return b"\0" not in file.read(1 << 16)


def run_batch(
    jobs: Sequence[Job], work: Work, session: Session, *, skip: Recipe | None, processes: int = 1
) -> None:
    """Do all jobs; where there are several, one that fails does not stop the others.

    Parameters
    ----------
    work : callable
        Does one job, and raises when it fails.
    skip : Recipe, optional
        Leave jobs alone whose complete results are there, if they were made so.
    processes : int
        Jobs that are done side by side; what is said of them comes in the order of the jobs.
    """
    if len(jobs) == 1:
        do_job(jobs[0], work, session, skip=skip)
        return
    outcomes: list[Outcome] = []
    try:
        if processes > 1:
            done = attempt_side_by_side(jobs, work, session, skip=skip, processes=processes)
        else:
            done = (attempt(job, work, session, skip=skip) for job in jobs)
        outcomes.extend(done)
    except (KeyboardInterrupt, Interrupted) as error:
        session.input = session.label = None
        message = f"{messages.INTERRUPTED}; {len(outcomes)} of {len(jobs)} inputs were finished"
        raise Interrupted(f"{message}, --skip-existing goes on from there") from error
    summarize(outcomes, session)


def summarize(outcomes: Sequence[Outcome], session: Session) -> None:
    """Say how a batch ended; raises BatchError if some of it failed."""
    failed = [outcome.job.input for outcome in outcomes if outcome.status == "failed"]
    skipped = sum(outcome.status == "skipped" for outcome in outcomes)
    done = len(outcomes) - len(failed) - skipped
    if not failed:
        left = f", {skipped} skipped" if skipped else ""
        session.log("summary", f"{len(outcomes)} inputs: {done} done{left}")
        return
    names = ", ".join(failed[:_NAMED_FAILURES])
    if len(failed) > _NAMED_FAILURES:
        names += f" and {len(failed) - _NAMED_FAILURES} more"
    message = f"{len(failed)} of {len(outcomes)} inputs failed: {names}"
    raise BatchError(message)


KILLED = (
    "the process that worked on it was killed, perhaps for lack of memory; "
    "use fewer --jobs or less --memory"
)

# Waiting without end cannot be interrupted on every system.
_PATIENCE_S = 1.0


@dataclass
class KeptSession(Session):
    """Keeps what is said until the input is done; only progress is said at once."""

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
    work : callable
        Goes to the processes, so it must be picklable.

    Yields
    ------
    Outcome
        In the order of the jobs, when all that was said of the job has been written.
    """
    from concurrent.futures import FIRST_COMPLETED, wait

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
        from concurrent.futures.process import BrokenProcessPool

        if self._pool is not None:
            try:
                return self._pool.submit(do, job, work, session, skip=skip)
            except BrokenProcessPool:  # killed while it had nothing to do
                self.close()
        return self._start(job, work, session, skip=skip)

    def _start(
        self, job: Job, work: Work, session: KeptSession, *, skip: Recipe | None
    ) -> Future[_Done]:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

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
        """Return what became of a job; replace a process that was killed."""
        from concurrent.futures.process import BrokenProcessPool

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


def run_side_by_side(
    session: Session, job: Job, processes: int, plan: SegmentPlan, numbers: Sequence[int]
) -> None:
    """Run segments in so many processes; what is said of them comes in their order."""
    from bgsub.segments.plan import segment_folder

    label, total = f"{plan.identity['name']}, segment", len(numbers)
    jobs = [
        Job(f"{label} {number}", segment_folder(job.out, number), place, total)
        for place, number in enumerate(numbers, start=1)
    ]
    work = functools.partial(_run_one, job.input, job.out, min(processes, total))
    done = attempt_side_by_side(jobs, work, session, skip=None, processes=processes)
    failed = [outcome for outcome in done if outcome.status == "failed"]
    if failed:
        names = ", ".join(outcome.job.out.name.lstrip("0") for outcome in failed[:5])
        message = f"{len(failed)} of {total} segments failed ({names})"
        error = BgsubError(f"{message}; those that are finished are kept, --resume goes on")
        error.exit_code = failed[0].exit_code
        raise error


def _run_one(footage: str, out: Path, jobs: int, job: Job, session: Session) -> None:  # noqa: ARG001 - a `Work`
    from bgsub.segments.run import run_segment

    run_segment(out, int(job.out.name), footage=footage, jobs=jobs)


def run_one(
    options: RunOptions, digest: str | None, processes: int, job: Job, session: Session
) -> None:
    """Run one input; `digest` is the SHA-256 that a repeated input should have.

    Segments of the only input are run in so many processes.
    """
    from bgsub.segments.plan import FOLDER
    from bgsub.segments.run import run

    work, began = functools.partial(run_side_by_side, session, job, processes), time.monotonic()
    try:
        with make_progress(session) as progress:
            result = run(
                job.input,
                job.out,
                options,
                progress=progress,
                work=work if processes > 1 else None,
            )
    except (KeyboardInterrupt, Interrupted) as error:
        if not (job.out / FOLDER).is_dir():
            raise
        message = f"{INTERRUPTED}; --resume goes on with the segments that are finished"
        raise Interrupted(message) from error
    found = result.manifest.get("input", {}).get("sha256")
    if digest and found and found != digest:
        session.log("warning", f"{job.input} is not the same file as in the run that was repeated")
    show_result(result, session, began)


def show_result(result: RunResult, session: Session, began: float | None = None) -> None:
    """Log what a run found, and its speed, where the monotonic time of its beginning is known."""
    if session.label is None:
        work_is_done()
    for warning in result.warnings:
        session.log("warning", warning)
    for finding in result.findings:
        session.log("finding", finding)
    for hint in result.hints:
        session.log("hint", hint)
    log_results(result.out, session)
    frames = result.manifest.get("frames", {}).get("used")
    if began is not None and frames:
        session.log("summary", speed(frames, time.monotonic() - began))
