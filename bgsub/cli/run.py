"""``bgsub run``, ``apply`` and ``join``: fit videos and write results, or use a saved model."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import jobs as work_of
from bgsub.cli import options as opts
from bgsub.cli.jobs import Job, Work, run_batch
from bgsub.cli.messages import Session, log_results, make_progress
from bgsub.errors import BgsubError, EmptySelectionError, InputError, OutputError, UsageError
from bgsub.options import RunOptions
from bgsub.pipeline.results import is_complete, load_manifest, recorded_path
from bgsub.runtime.files import check_plain

if TYPE_CHECKING:
    from bgsub.cluster.parts import Part

_IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pnm"}
_batch_options: Callable[[opts.F], opts.F] = opts.together(
    opts.out_option(
        "Folder for the results; each of several inputs gets a folder in it.", required=False
    ),
    opts.option(
        "Results",
        "--from-file LIST",
        "Read inputs from a file, one path a line, or from stdin (-).",
    ),
    opts.option(
        "Results",
        "--skip-existing",
        "Skip inputs whose results are complete: continues a batch that was stopped.",
    ),
    opts.named("jobs", section="Results"),
)
# Of an earlier run its run.json, its input and the input's SHA-256.
_Repeated = tuple[Path, str | None, str | None]


def _repeat(ctx: click.Context, _param: click.Parameter, value: str | None) -> _Repeated | None:
    """Make the options of an earlier run the defaults of this one."""
    if value is None or ctx.resilient_parsing:
        return None
    manifest = load_manifest(Path(value))
    if manifest.get("command", "run") != "run":
        message = f"{value}: was written by bgsub {manifest['command']}; only a run can be repeated"
        raise UsageError(message)
    recorded = manifest["input"]
    plain = {**manifest["options"], "source": dict(manifest["options"]["source"])}
    for options, name in ((plain["source"], "mask_image"), (plain, "ignore"), (plain, "temp")):
        options[name] = recorded_path(manifest, options.get(name))
    try:
        ctx.default_map = opts.as_defaults(RunOptions.from_json(plain))
    except BgsubError as error:
        raise type(error)(f"{value}: {error}") from error
    return Path(value), recorded_path(manifest, recorded["path"]), recorded["sha256"]


@opts.command(
    "run",
    "bgsub run water.avi --k 10 --out results/",
    "bgsub run 'shots/*.png' --every 2 --format mkv --out results/",
    "bgsub run door.mp4 --start 00:01:00 --end 00:05:00 --scale 0.5 --out results/",
    "bgsub run hall.mp4 --ignore clock.png --save-scores --out results/",
    "bgsub run *.mp4 --jobs 2 --memory 4G --out results/   a folder each",
    "find . -name '*.avi' | bgsub run --from-file - --only errors,plot --out results/",
    "bgsub run --from-json results/run.json --out again/   the same run again",
)
@opts.argument("inputs", "INPUT...", nargs=-1)
@_batch_options
@opts.option(
    "Results",
    "--part i/N",
    "Do only the i-th of N shares of the inputs, or of the segments of a single film, as one job "
    "of an array; `bgsub join` puts the results together.",
    type=str,
)
@opts.option(
    "Results",
    "--scheduler tcp://HOST:PORT|local[:N]",
    "Hand the inputs and segments to the workers of a Dask cluster, or to N workers on this "
    "machine (needs the extra cluster).",
    type=str,
)
@opts.option(
    "Results",
    "--from-json RUN.JSON",
    "Repeat the run that wrote this file; options that you give replace those of that run.",
    is_eager=True,
    callback=_repeat,
)
@opts.source_options
@opts.fit_options
@opts.section("Segments")
@opts.section("Masks")
@opts.section("Objects")
@opts.output_options
@opts.resource_options
def run_command(
    session: Session,
    inputs: tuple[str, ...],
    out: str | None,
    from_file: str | None,
    from_json: _Repeated | None,
    skip_existing: bool,
    jobs: int,
    part: str | None,
    scheduler: str | None,
    **params: Any,
) -> None:
    """Learn the background of INPUT; write background, foreground, mask and error of each frame.

    INPUT is a video, a folder of images, a glob in quotes ('shots/*.png'), a pattern (f%04d.png) or
    an array (.npy, .npz, .zarr). run.json is written last: where it is, the results are complete.
    """
    options = opts.run_options(params)
    opts.name_idle(options, session)
    if len(inputs) > 1 and all(Path(given).suffix.lower() in _IMAGES for given in inputs):
        raise UsageError(
            f"{len(inputs)} single images are given ({inputs[0]}, …), each would be a video of one "
            "frame; name their folder, or put the glob in quotes"
        )
    given, digest = [*inputs, *(read_list(from_file) if from_file else [])], None
    if from_json is not None:
        path, recorded, sha256 = from_json
        if not given and recorded is not None:
            given, digest = [recorded], sha256
        out = out or str(path if path.is_dir() else path.parent)
    folder = _checked_out(given, out)
    processes = min(jobs, len(given))
    work = Work(
        replace(options, jobs=processes),
        skip=skip_existing or options.resume,
        digest=digest,
        processes=jobs if len(given) == 1 else 1,
    )
    if part is not None:
        from bgsub.cluster.parts import Part

        if scheduler is not None:
            message = "--part contradicts --scheduler, whose workers share the work"
            raise UsageError(f"{message}; leave it out")
        _do_part(Part.parse(part), given, folder, replace(work, skip=True), jobs, session)
        return
    planned = plan(given, folder, subfolders=bool(from_file) or len(given) > 1, keep=work.skip)
    if scheduler is None:
        run_batch(planned, work, session, processes=processes)
        return
    if jobs > 1:
        message = "--jobs has no effect with --scheduler, whose workers share the work"
        session.log("warning", message)
    from bgsub.cluster.pool import connect

    work = replace(work, options=options, processes=1)
    with connect(scheduler) as pool:
        run_batch(planned, work, session, outcomes=work_of.on_cluster(pool, planned, work, session))


def plan(inputs: Sequence[str], out: Path, *, subfolders: bool, keep: bool) -> list[Job]:
    """Decide where the results of each input go, in the order of the inputs.

    With `subfolders`, each has a folder of its own in `out`, named after it: ``water``, and where
    a name is taken ``water-2``, …. With `keep`, complete results of other inputs count as taken.
    """
    jobs: list[Job] = []
    taken: set[str] = set()  # file systems may take Water for water
    for number, given in enumerate(inputs, start=1):
        path, place = Path(given), out
        stem = path.stem
        if path.is_dir():
            whole = path.resolve()
            stem = whole.stem if whole.suffix == ".zarr" else whole.name
        elif not path.exists() and any(character in path.name for character in "*?[%"):
            stem = path.parent.resolve().name  # images are known by their folder
        stem = stem or "input"
        for i in itertools.count(1) if subfolders else ():
            place = out / (f"{stem}-{i}" if i > 1 else stem)
            is_foreign = keep and is_complete(place) and not work_of.belongs(place, given)
            if place.name.casefold() not in taken and not is_foreign:
                break
        taken.add(place.name.casefold())
        jobs.append(Job(given, place, number, len(inputs)))
    return jobs


def check_out(out: Path) -> None:
    """Raise OutputError if results can certainly not be written there, before any work."""
    present = next((p for p in (out, *out.absolute().parents) if os.path.lexists(p)), out)
    wrong = ""
    if not present.is_dir():
        what = "is a file" if present == out else f"{present} is a file"
        wrong = f"{what}, but results need a folder"
    elif not os.access(present, os.W_OK | os.X_OK):
        wrong = f"{present} may not be written to"
    if wrong:
        raise OutputError(f"{out}: {wrong}; choose another --out")


def read_list(name: str) -> list[str]:
    """Read inputs from a text file or stdin (``-``): paths, one a line, blank lines, # comments."""
    if name == "-":
        data = sys.stdin.buffer.read()
    else:
        check_plain(name)
        try:
            with Path(name).open("rb") as file:
                data = file.read(1 << 16)  # a film given by mistake is not read to its end
                data += file.read() if b"\0" not in data else b""
        except OSError as error:
            reason = f"the list of inputs cannot be read ({error.strerror})"
            raise InputError(f"{name}: {reason}") from error
    if b"\0" in data:
        message = f"{name}: is binary data and no list of inputs; give a video without --from-file"
        raise InputError(message)
    # As the system decodes file names, so that any name survives.
    lines = [os.fsdecode(line).strip() for line in data.removeprefix(b"\xef\xbb\xbf").splitlines()]
    paths = [line for line in lines if line and not line.startswith("#")]
    if not paths:
        message = "the list names no input; write one path a line"
        raise EmptySelectionError(f"{'stdin' if name == '-' else name}: {message}")
    return paths


def _checked_out(given: list[str], out: str | None) -> Path:
    """Return the folder for results, if there are inputs and it can be one."""
    if not given:
        message = "no INPUT is given; name a video or a folder of images, or use --from-file"
        raise UsageError(message)
    if out is None:
        raise UsageError("--out is missing; name the folder for the results")
    check_out(Path(out))
    return Path(out)


def _do_part(
    part: Part, given: Sequence[str], out: Path, work: Work, processes: int, session: Session
) -> None:
    """Do one of N parts: every N-th of several inputs, or of the segments of one film."""
    from bgsub.cluster.parts import PartsList, Unit, load_parts

    if work.options.force:
        message = f"--part {part}: --force would remove what other parts have made"
        raise UsageError(f"{message}; remove {out} yourself, and leave --force out")
    if len(given) == 1:
        job = Job(given[0], out)
        with session.about(job.input):
            if work_of.is_done(job, work, session):
                return
            idle = _do_segments(part, job, work, processes, session)
    else:
        earlier = load_parts(out)
        jobs = plan(given, out, subfolders=True, keep=True)
        if earlier is not None and [unit.input for unit in earlier.units] == list(given):
            folders = (out / unit.folder for unit in earlier.units)
            jobs = [replace(job, out=own) for job, own in zip(jobs, folders, strict=True)]
        PartsList(tuple(Unit(job.input, job.out.name) for job in jobs), part.of).save(out)
        mine = part.pick(jobs)
        idle = None if mine else f"there are only {len(jobs)} inputs"
        if mine:
            run_batch(mine, work, session, processes=processes)
    if idle is not None:
        session.log("note", f"part {part} has nothing to do: {idle}")
    advice = f"when all are, `bgsub join {out}` checks and joins them"
    session.log("summary", f"part {part} is done; {advice}")


def _do_segments(part: Part, job: Job, work: Work, processes: int, session: Session) -> str | None:
    """Do some segments of a film, and say why if there are none; part 1 does one in one piece."""
    from bgsub.cluster.parts import PartsList, Unit
    from bgsub.segments.plan import load_plan
    from bgsub.segments.run import announce, common_plan, is_one_piece, run_segments

    PartsList((Unit(job.input, "."),), part.of).save(job.out)
    film = None
    if not is_one_piece(job.input, work.options):
        film = common_plan(job.input, job.out, work.options)
    if film is None or len(film.segments) == 1:
        if part.number > 1:
            return "the film is one piece, which part 1 does"
        work_of.do_job(job, replace(work, skip=False), session)
        return None
    announce(film, job.out)
    mine = part.pick([segment.number for segment in film.segments])
    numbers = sorted(set(mine) & set(film.missing(job.out)))
    film = load_plan(job.out)
    if processes > 1 and len(numbers) > 1:
        work_of.segments_side_by_side(film, numbers, job, work, session)
    else:
        with make_progress(session) as progress:
            run_segments(job.input, job.out, film, numbers, progress)
    return None if mine else f"there are only {len(film.segments)} segments"


@opts.command(
    "apply",
    "bgsub apply monday/model.npz tuesday.avi --out tuesday/",
    "bgsub apply monday/model.npz *.avi --only mask,errors --out week/",
)
@opts.argument("model", "MODEL")
@opts.argument("inputs", "INPUT...", nargs=-1)
@_batch_options
@opts.source_options
@opts.section("Masks", without=["model"])
@opts.section("Objects")
@opts.output_options
@opts.named("threads")
def apply_command(
    session: Session,
    model: str,
    inputs: tuple[str, ...],
    out: str | None,
    from_file: str | None,
    skip_existing: bool,
    jobs: int,
    **params: Any,
) -> None:
    """Write the results of INPUT with the background in MODEL.

    MODEL is the results folder of an earlier run, or its model.npz. Of a film in segments, which
    has several, the one is used that leaves the least of INPUT unexplained.

    Nothing is fitted, and the memory needed does not depend on the length of INPUT. Its frames must
    have the size of those that MODEL was fitted to; --roi and --scale of that run apply again
    unless you give your own.
    """
    options = opts.run_options(params)
    opts.name_idle(options, session)
    if Path(model).is_dir():
        from bgsub.segments.run import models_in

        if (Path(model) / "model.npz").is_file():
            model = str(Path(model) / "model.npz")
        elif not models_in(Path(model)):
            message = f"{model}: holds no model.npz; write one with `bgsub run --only model`, or"
            raise InputError(f"{message} without --only")
    given = [*inputs, *(read_list(from_file) if from_file else [])]
    folder, processes = _checked_out(given, out), min(jobs, len(given))
    planned = plan(given, folder, subfolders=bool(from_file) or len(given) > 1, keep=skip_existing)
    work = Work(replace(options, jobs=processes), model=model, skip=skip_existing)
    run_batch(planned, work, session, processes=processes)


@opts.command(
    "join",
    "bgsub run day.mp4 --segment 10m --part 1/8 --out day/   and 2/8 … 8/8 elsewhere",
    "bgsub join day/                                         when all are done",
)
@opts.argument("out", "DIR")
def join_command(session: Session, out: str) -> None:
    """Put together what `bgsub run --part` wrote to DIR, or say what is missing and how to make it.

    Segments of a film become one folder of results; the results of a batch are checked against
    their run.json. The exit code is 6 while something is missing.
    """
    from bgsub.cluster.parts import join

    with make_progress(session) as progress:
        joined = join(Path(out), progress=lambda done, total: progress("check", done, total))
    if joined:
        session.log("summary", joined)
    log_results(out, session)
