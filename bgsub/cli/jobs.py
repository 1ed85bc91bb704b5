"""Plan and do the inputs of a command: one, one after the other, or side by side.

Inputs and segments that are done side by side, or by workers of a cluster, are done by processes
that run this module: requests come on stdin, whose end stops the work, replies go to stdout.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from bgsub.cli import messages
from bgsub.cli.messages import Session, log_error, make_progress
from bgsub.errors import BatchError, BgsubError, InputError, Interrupted, OutputError, UsageError
from bgsub.options import WITHOUT_EFFECT, RunOptions, SourceOptions, declared_options
from bgsub.pipeline.results import (
    input_identity,
    is_complete,
    load_manifest,
    recorded_path,
    recover,
)
from bgsub.runtime.processes import Child, receive, send, tune
from bgsub.version import __version__

if TYPE_CHECKING:
    from bgsub.cluster.pool import Pool
    from bgsub.pipeline.outcome import RunResult
    from bgsub.segments.plan import SegmentPlan


T = TypeVar("T")


@dataclass(frozen=True)
class Job:
    """One input of a batch, as it was given, and where its results go."""

    input: str
    out: Path
    number: int = 1  # its place among the inputs, from 1
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


@dataclass(frozen=True)
class Work:
    """What is done with each input: plain values, so that it may go to another process."""

    options: RunOptions
    model: str | None = None  # of `bgsub apply`: a model.npz, or a folder of results with several
    skip: bool = False  # leaves inputs alone whose complete results are there, if they were made so
    digest: str | None = None  # SHA-256 that the input should have, of a run that is repeated
    processes: int = 1  # for the segments of an only input
    segment: tuple[str, int] | None = None  # footage and number; done instead of an input

    def do(self, job: Job, session: Session) -> None:
        """Do a job, and say what was found."""
        if self.segment is not None:
            from bgsub.segments.run import run_segment

            footage, number = self.segment
            run_segment(job.out, number, footage=footage, jobs=self.options.jobs)
            return
        began = time.monotonic()
        if self.model is None:
            result = self._run(job, session)
        else:
            from bgsub.pipeline import run as pipeline
            from bgsub.segments.run import choose_model, models_in

            model = Path(self.model)
            if model.is_dir():
                model = choose_model(models_in(model), job.input, self.options)
                session.log("note", f"{model} leaves the least of it unexplained and is used")
            with make_progress(session) as progress:
                result = pipeline.apply(model, job.input, job.out, self.options, progress=progress)
        found = result.manifest.get("input", {}).get("sha256")
        if self.digest and found and found != self.digest:
            message = f"{job.input} is not the same file as in the run that was repeated"
            session.log("warning", message)
        show_result(result, session, began)

    def _run(self, job: Job, session: Session) -> RunResult:
        from bgsub.segments.plan import FOLDER
        from bgsub.segments.run import run

        together = partial(segments_side_by_side, job=job, work=self, session=session)
        work = together if self.processes > 1 else None
        try:
            with make_progress(session) as progress:
                return run(job.input, job.out, self.options, progress=progress, work=work)
        except (KeyboardInterrupt, Interrupted) as error:
            if not (job.out / FOLDER).is_dir():
                raise
            more = "--resume goes on with the segments that are finished"
            raise Interrupted(f"{messages.INTERRUPTED}; {more}") from error

    def differences(self, folder: Path) -> list[str]:
        """List the options that whole results were made with instead, such as ``--k 2``."""
        manifest = load_manifest(folder)
        if manifest.get("command", "run") != ("run" if self.model is None else "apply"):
            return [f"bgsub {manifest['command']}"]
        found = []
        model = input_identity(self.model) if self.model and Path(self.model).is_file() else None
        if model is not None and manifest.get("model_sha256") != model["sha256"]:
            found.append(f"another model ({manifest.get('model')})")
        ours, theirs = self.options.to_json(), manifest["options"]
        ours, theirs = ours["source"] | ours, theirs.get("source", {}) | theirs
        for one in [*declared_options(SourceOptions), *declared_options(RunOptions)]:
            value = theirs.get(one.name, ours[one.name])
            if one.name not in WITHOUT_EFFECT and value != ours[one.name]:
                found.append(f"{one.flag} {'its default' if value is None else value}")
        return found


def belongs(folder: Path, given: str) -> bool:
    """Return whether results are of this input, by path or content, or do not say."""
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


def do_job(job: Job, work: Work, session: Session) -> bool:
    """Do one job; False if it was left alone because its complete results are there."""
    with session.about(job.input, label=job.label):
        if work.skip and is_done(job, work, session):
            return False
        work.do(job, session)
        return True


def is_done(job: Job, work: Work, session: Session) -> bool:
    """Return whether the complete results of a job are there, and say so."""
    recover(job.out)
    if not is_complete(job.out) or not belongs(job.out, job.input):
        return False
    others = work.differences(job.out)
    if not others:
        message = f"skipped: its complete results are in {job.out}"
        session.log("result", message, out=str(job.out), skipped=True)
    elif not work.options.force:
        message = f"{job.out}: its results were made with {', '.join(others)}"
        advice = "replace them with --force, or choose another --out"
        raise OutputError(f"{message}; {advice}")
    return not others


def guarded(job: Job, session: Session, do: Callable[[], T]) -> T | Outcome:
    """Do something for one of several jobs, and say it if it fails."""
    with session.about(job.input, label=job.label):
        try:
            return do()
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - one bad input must not stop a thousand others
            return Outcome(job, "failed", log_error(error, session))


def attempt(job: Job, work: Work, session: Session) -> Outcome:
    """Do one of several jobs."""

    def do() -> Outcome:
        session.log("start", f"{job.number} of {job.of}", out=str(job.out))
        return Outcome(job, "done" if do_job(job, work, session) else "skipped")

    return guarded(job, session, do)


def run_batch(
    jobs: Sequence[Job],
    work: Work,
    session: Session,
    *,
    processes: int = 1,
    outcomes: Iterable[Outcome] | None = None,
) -> None:
    """Do all jobs, or take the outcomes of who does; one that fails does not stop the others.

    With several `processes`, jobs are done side by side; what is said of them comes in their order.
    """
    if outcomes is None and len(jobs) == 1:
        do_job(jobs[0], work, session)
        return
    if outcomes is None and processes > 1:
        outcomes = side_by_side([(job, work) for job in jobs], session, processes)
    found: list[Outcome] = []
    try:
        found.extend(outcomes or (attempt(job, work, session) for job in jobs))
    except (KeyboardInterrupt, Interrupted, UsageError) as error:
        session.input = session.label = None
        done = sum(outcome.status != "failed" for outcome in found)
        is_divided = work.options.segment not in {"auto", "off"}
        again = "--skip-existing (--resume with --segment)" if is_divided else "--skip-existing"
        so_far = f"{done} of {len(jobs)} inputs were finished, {again} goes on from there"
        if isinstance(error, UsageError):  # nobody works any more
            raise (BatchError if done else type(error))(f"{error}; {so_far}") from error
        raise Interrupted(f"{messages.INTERRUPTED}; {so_far}") from error
    failed = [one for one in found if one.status == "failed"]
    if failed and len(jobs) == 1:
        raise click.exceptions.Exit(failed[0].exit_code)  # what is wrong was said
    if failed:
        from bgsub.pipeline.outcome import some

        names = some([one.job.input for one in sorted(failed, key=lambda one: one.job.number)])
        raise BatchError(f"{len(failed)} of {len(jobs)} inputs failed: {names}")
    if len(jobs) > 1:
        skipped = sum(outcome.status == "skipped" for outcome in found)
        left = f", {skipped} skipped" if skipped else ""
        session.log("summary", f"{len(found)} inputs: {len(found) - skipped} done{left}")


def segments_side_by_side(
    film: SegmentPlan, numbers: Sequence[int], job: Job, work: Work, session: Session
) -> None:
    """Run segments of a job's film in several processes; what is said comes in their order."""
    name, total, processes = film.identity["name"], len(numbers), min(work.processes, len(numbers))
    options = replace(work.options, jobs=processes)
    units = [
        (
            Job(f"{name}, segment {number}", job.out, place, total),
            Work(options, segment=(job.input, number)),
        )
        for place, number in enumerate(numbers, start=1)
    ]
    outcomes = zip(numbers, side_by_side(units, session, processes), strict=True)
    failed = {number: done.exit_code for number, done in outcomes if done.status == "failed"}
    if failed:
        error = BgsubError(segments_failed([*failed], total))
        error.exit_code = next(iter(failed.values()))
        raise error


def segments_failed(failed: Sequence[int], total: int) -> str:
    """Return what is said of a film some of whose segments failed."""
    names = ", ".join(str(number) for number in failed[:5])
    advice = "those that are finished are kept, --resume goes on"
    return f"{len(failed)} of {total} segments failed ({names}); {advice}"


def side_by_side(
    units: Sequence[tuple[Job, Work]], session: Session, processes: int
) -> Iterator[Outcome]:
    """Do jobs in several processes; yield outcomes in order, when all that was said is written."""
    from concurrent.futures import ThreadPoolExecutor

    idle: queue.SimpleQueue[Child] = queue.SimpleQueue()
    children: list[Child] = []
    is_over = False

    def ask(job: Job, work: Work) -> dict[str, Any]:
        try:
            child = idle.get_nowait()
        except queue.Empty:
            child = Child(MODULE)
            children.append(child)
            if is_over:
                child.stop()
        reply: dict[str, Any] | None = child.ask(request_for(job, work, session))
        if reply is None:
            return child.join()
        idle.put(child)
        return reply

    threads = ThreadPoolExecutor(processes)
    try:
        replies = [threads.submit(ask, *unit) for unit in units]
        with make_progress(session) as progress:
            for (job, _), reply in zip(units, replies, strict=True):
                while not reply.done():  # waiting without end cannot be interrupted on every system
                    with contextlib.suppress(TimeoutError):
                        reply.result(timeout=1.0)
                    if sys.stderr.isatty():
                        progress("batch", sum(one.done() for one in replies), len(units))
                found = reply.result()
                if "died" in found:
                    with session.about(job.input, label=job.label):
                        session.log("start", f"{job.number} of {job.of}", out=str(job.out))
                yield outcome_of(job, found, session)
    finally:
        is_over = True
        threads.shutdown(wait=False, cancel_futures=True)
        for child in children:
            child.stop()
        for child in children:
            child.join()
        threads.shutdown()


def outcome_of(job: Job, reply: dict[str, Any], session: Session, tries: str = "") -> Outcome:
    """Log what the process of a job reported, or what became of the process."""
    if "died" not in reply:
        for line in reply["lines"]:
            messages.write_line(line)
        return Outcome(job, reply["status"], reply["exit_code"])
    tail = f" ({reply['last_line'][:200]})" if reply.get("last_line") else ""
    message = f"the process that was to work on it failed to start or broke{tail}"
    advice = "check the Python and the bgsub of the workers"
    if reply["died"] <= 0:
        killed = "the process that worked on it was killed, perhaps for lack of memory"
        message, advice = f"{killed}{tries}{tail}", "use fewer --jobs or less --memory"
    with session.about(job.input, label=job.label):
        return Outcome(job, "failed", log_error(BgsubError(f"{message}; {advice}"), session))


# Exit codes of what may succeed on another machine, or a moment later.
_PASSING = {BgsubError.exit_code, OutputError.exit_code}
_PATIENCE_S = 10.0  # network file systems show the files of other machines after some seconds


@dataclass
class _Film:
    """A job, and what of it is left."""

    job: Job
    plan: SegmentPlan | None  # None where it is one piece
    waiting: set[int]  # segments that are not done, 0 for a film in one piece
    failed: dict[int, int] = field(default_factory=dict)  # segments and their exit codes


def _part_of(film: _Film, number: int) -> Job:
    """Return the job of a film (0), or of a segment, under the name that messages call it."""
    if not number or film.plan is None:
        return film.job
    name = f"{film.job.input}, segment {number}"
    return Job(name, film.job.out, number, len(film.plan.segments))


def on_cluster(pool: Pool, jobs: Sequence[Job], work: Work, session: Session) -> Iterator[Outcome]:
    """Let workers do jobs, some again, and join segments; UsageError if nobody works any more."""
    from bgsub.cluster.pool import TRIES, do_in_child

    films: list[_Film] = []
    for job in jobs:
        found = guarded(job, session, partial(_prepared, job, work, session))
        if isinstance(found, Outcome):
            yield found
        elif found.waiting:
            films.append(found)
        else:
            yield guarded(job, session, partial(_finished, found, session))

    def task(film: _Film, number: int) -> tuple[Any, ...]:
        own = replace(work, skip=False, segment=(film.job.input, number) if number else None)
        request = request_for(_part_of(film, number), own, session, unseen=True)
        return do_in_child, MODULE, request, pool.slots()

    units = [(film, number) for film in films for number in sorted(film.waiting)]
    tries = 0
    while units:
        tries, again = tries + 1, []
        for place, reply in pool.do([task(*unit) for unit in units]):
            film, number = units[place]
            facts: dict[str, Any] = reply if isinstance(reply, dict) else {"exit_code": None}
            # What ended by itself would again.
            passes = facts["died"] <= 0 if "died" in facts else facts["exit_code"] in _PASSING
            if passes and tries < TRIES:
                again.append(units[place])
                continue
            film.waiting.discard(number)
            if code := _say(film, number, tries, reply, session):
                film.failed[number] = code
            if not film.waiting:
                yield guarded(film.job, session, partial(_finished, film, session))
        units = again


def _prepared(job: Job, work: Work, session: Session) -> _Film | Outcome:
    """Look for results that are there, and divide the film."""
    from bgsub.segments.run import prepare

    if work.skip and is_done(job, work, session):
        return Outcome(job, "skipped")
    plan = prepare(job.input, job.out, work.options)
    return _Film(job, plan, {0} if plan is None else set(plan.missing(job.out)))


def _say(film: _Film, number: int, tries: int, reply: Any, session: Session) -> int:
    """Log what a film (0) or a segment of it reported, and return its exit code."""
    from bgsub.segments.plan import segment_folder

    job = _part_of(film, number)
    if isinstance(reply, dict):
        outcome = outcome_of(job, reply, session, f", {tries} times")
        folder = segment_folder(job.out, number) if number else job.out
        until = time.monotonic() + _PATIENCE_S
        while outcome.status != "failed" and not is_complete(folder) and time.monotonic() < until:
            time.sleep(0.1)
        if outcome.status == "failed" or is_complete(folder):
            return outcome.exit_code
        message = f"{job.out}: a worker has put its results elsewhere"
        reply = OutputError(f"{message}; give an --out that all workers see")
    elif isinstance(reply, (ImportError, AttributeError)):
        message = f"a worker cannot import bgsub, or has another one ({reply})"
        reply = BgsubError(f"{message}; install the same bgsub on all workers")
    with session.about(film.job.input, label=job.input):
        return log_error(reply, session)


def _finished(film: _Film, session: Session) -> Outcome:
    """Join the segments of a film, and return what became of it."""
    from bgsub.segments.run import finish

    job, code = film.job, next(iter(film.failed.values()), 0)
    if film.plan is not None and film.failed:
        session.log("error", segments_failed([*film.failed], len(film.plan.segments)))
    elif film.plan is not None:
        show_result(finish(job.out, film.plan), session)
    return Outcome(job, "failed" if code else "done", code)


def show_result(result: RunResult, session: Session, began: float | None = None) -> None:
    """Log what a run found, and its speed, where the monotonic time of its beginning is known."""
    if session.label is None:
        messages.work_is_done()
    for event in ("warning", "finding", "hint"):
        for text in getattr(result, f"{event}s"):
            session.log(event, text)
    messages.log_results(result.out, session)
    frames = result.manifest.get("frames", {}).get("used")
    if began is not None and frames:
        session.log("summary", messages.speed(frames, time.monotonic() - began))


MODULE = "bgsub.cli.jobs"  # what processes run
_AGAIN_S = 10.0  # which is enough to clear up


def request_for(job: Job, work: Work, session: Session, *, unseen: bool = False) -> dict[str, Any]:
    """Return the request that a process does the work of a job, for `answer`."""
    return {
        "version": __version__,
        "directory": os.getcwd(),  # noqa: PTH109 - text
        "job": job,
        "work": replace(work, processes=1),
        "session": replace(session, input=None, label=None, lines=[], unseen=unseen),
    }


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Do a request, one of ``jobs`` on this machine; return what became of it, and what it said."""
    job, work, session = (request[name] for name in ("job", "work", "session"))
    if "jobs" in request:
        work = replace(work, options=replace(work.options, jobs=request["jobs"]))
    if Path(request["directory"]).is_dir():
        os.chdir(request["directory"])  # for all that was given by a relative path
    else:
        job = replace(job, out=Path(request["directory"], job.out))
    with messages.reporting(session), session.about(job.input, label=job.label):
        if request["version"] == __version__:
            outcome = attempt(job, work, session)
        else:
            message = f"bgsub {__version__} is on this worker, and {request['version']} asks it"
            error = UsageError(f"{message}; install the same everywhere")
            outcome = Outcome(job, "failed", log_error(error, session))
    return {"status": outcome.status, "exit_code": outcome.exit_code, "lines": session.lines}


def serve() -> None:
    """Answer the requests on stdin until it ends, which stops the work on one."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no reply
    tune()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    code = 0
    try:
        threading.Thread(target=_listen, args=(requests,), daemon=True).start()
        while request := requests.get():
            send(replies, answer(request))
    except (KeyboardInterrupt, Interrupted, BrokenPipeError):  # all is cleared up, nobody waits
        code = Interrupted.exit_code
    except Exception:  # noqa: BLE001 - Python's own end would stumble over the thread
        traceback.print_exc()
        code = BgsubError.exit_code
    sys.stderr.flush()
    os._exit(code)  # a thread waits for stdin


def _listen(requests: queue.SimpleQueue[Any]) -> None:
    """Take requests, so that the end of stdin is noticed amid the work, and tell the main one."""
    try:
        while request := receive(sys.stdin.buffer):
            requests.put(request)
    except Exception:  # noqa: BLE001 - a request of another bgsub
        traceback.print_exc()
    while True:  # Python drops what is raised amid some callbacks, such as those of an import
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        else:
            import _thread

            _thread.interrupt_main(signal.SIGTERM)
        requests.put(None)  # where a signal does not wake who waits for a request
        time.sleep(_AGAIN_S)


if __name__ == "__main__":
    serve()
