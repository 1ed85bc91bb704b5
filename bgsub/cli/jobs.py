"""Plan where the results of each input go, and do one job after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bgsub.cli import failures
from bgsub.cli.logs import Session
from bgsub.declared import declared_fields, flag
from bgsub.errors import InputError, Interrupted, OutputError
from bgsub.options import RunOptions
from bgsub.source_options import SourceOptions


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
    inputs : sequence of str
    out : Path
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
    from bgsub.pipeline.directory import is_complete

    return is_complete(folder)


def _recover(folder: Path) -> None:
    from bgsub.pipeline.directory import recover

    recover(folder)


def belongs(folder: Path, given: str) -> bool:
    """Check whether complete results are those of this input, by its path or else by its content.

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
    command : str
    options : RunOptions
    model : str, optional
        The model.npz of `bgsub apply`.
    """

    command: str
    options: RunOptions
    model: str | None = None

    def differences(self, folder: Path) -> list[str]:
        """Say in which options whole results were made otherwise, such as ``--k 2``.

        Raises
        ------
        InputError
            If their run.json is damaged.
        """
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
        os.stat(out)
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
        except Exception as error:
            return Outcome(job, "failed", failures.log_error(error, session))
    return Outcome(job, "done" if done else "skipped")


def log_start(job: Job, session: Session) -> None:
    """Say that a job begins, and its place among the others."""
    session.log("start", f"{job.number} of {job.of}", out=str(job.out))


def do_job(job: Job, work: Work, session: Session, *, skip: Recipe | None) -> bool:
    """Do one job; False if it was left alone because its complete results are there.

    Raises
    ------
    OutputError
        If results are there that were made with other options and may not be replaced.
    """
    with session.about(job.input, label=job.label):
        if skip is not None and is_done(job, session, skip):
            return False
        work(job, session)
        return True


def is_done(job: Job, session: Session, skip: Recipe) -> bool:
    """Check whether the complete results of a job are there, and say so.

    Raises
    ------
    OutputError
        If they were made with other options and may not be replaced.
    """
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
