"""``bgsub run``, ``apply`` and ``join``: fit videos and write results, or use a saved model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as opts
from bgsub.cli.jobs import (
    Job,
    Work,
    check_out,
    do_job,
    is_done,
    plan,
    read_list,
    run_batch,
    segments_side_by_side,
)
from bgsub.cli.messages import Session, log_results, make_progress
from bgsub.errors import BgsubError, InputError, UsageError
from bgsub.options import RunOptions

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


@dataclass(frozen=True)
class _Repeated:
    """An earlier run: its run.json, input and the input's SHA-256."""

    path: Path
    input: str | None
    sha256: str | None


def _repeat(ctx: click.Context, _param: click.Parameter, value: str | None) -> _Repeated | None:
    """Make the options of an earlier run the defaults of this one."""
    if value is None or ctx.resilient_parsing:
        return None
    from bgsub.pipeline.manifest import load_manifest, recorded_path

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
    given = recorded_path(manifest, recorded["path"])
    return _Repeated(Path(value), given, recorded["sha256"])


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
        if not given and from_json.input is not None:
            given, digest = [from_json.input], from_json.sha256
        out = out or str(from_json.path if from_json.path.is_dir() else from_json.path.parent)
    folder = _checked_out(given, out)
    processes = min(jobs, len(given))
    work = Work(
        replace(options, jobs=processes),
        skip=skip_existing or options.resume,
        digest=digest,
        processes=jobs if len(given) == 1 else 1,
    )
    if part is not None:
        from bgsub.cluster.parts import parse_part

        if scheduler is not None:
            message = "--part contradicts --scheduler, whose workers share the work"
            raise UsageError(f"{message}; leave it out")
        _do_part(parse_part(part), given, folder, replace(work, skip=True), jobs, session)
        return
    planned = plan(given, folder, subfolders=bool(from_file) or len(given) > 1, keep=work.skip)
    if scheduler is None:
        run_batch(planned, work, session, processes=processes)
        return
    if jobs > 1:
        message = "--jobs has no effect with --scheduler, whose workers share the work"
        session.log("warning", message)
    from bgsub.cli.cluster import on_cluster
    from bgsub.cluster.pool import connect

    work = replace(work, options=options, processes=1)
    with connect(scheduler) as pool:
        run_batch(planned, work, session, outcomes=on_cluster(pool, planned, work, session))


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
    if work.options.force:
        message = f"--part {part}: --force would remove what other parts have made"
        raise UsageError(f"{message}; remove {out} yourself, and leave --force out")
    if len(given) == 1:
        job = Job(given[0], out)
        with session.about(job.input):
            if is_done(job, work, session):
                return
            idle = _do_segments(part, job, work, processes, session)
    else:
        jobs = _jobs_of_all(part, given, out)
        mine = part.pick(jobs)
        idle = None if mine else f"there are only {len(jobs)} inputs"
        if mine:
            run_batch(mine, work, session, processes=processes)
    if idle is not None:
        session.log("note", f"part {part} has nothing to do: {idle}")
    advice = f"when all are, `bgsub join {out}` checks and joins them"
    session.log("summary", f"part {part} is done; {advice}")


def _jobs_of_all(part: Part, given: Sequence[str], out: Path) -> list[Job]:
    """Decide where the results of each input go, as the first part did that came."""
    from bgsub.cluster.parts import PartsList, Unit, load_parts

    earlier = load_parts(out)
    jobs = plan(given, out, subfolders=True, keep=True)
    units = tuple(Unit(job.input, job.out.name) for job in jobs)
    if earlier is not None and [unit.input for unit in earlier.units] == list(given):
        units = earlier.units
    PartsList(units, part.of).save(out)
    return [
        Job(unit.input, out / unit.folder, number, len(units))
        for number, unit in enumerate(units, start=1)
    ]


def _do_segments(part: Part, job: Job, work: Work, processes: int, session: Session) -> str | None:
    """Do some segments of a film, and say why if there are none; part 1 does one in one piece."""
    from bgsub.cluster.parts import PartsList, Unit, common_plan
    from bgsub.segments.plan import load_plan
    from bgsub.segments.run import announce, is_one_piece, run_segments

    PartsList((Unit(job.input, "."),), part.of).save(job.out)
    film = None
    if not is_one_piece(job.input, work.options):
        film = common_plan(job.input, job.out, work.options)
    if film is None or len(film.segments) == 1:
        if part.number > 1:
            return "the film is one piece, which part 1 does"
        do_job(job, replace(work, skip=False), session)
        return None
    announce(film, job.out)
    mine = part.pick([segment.number for segment in film.segments])
    numbers = sorted(set(mine) & set(film.missing(job.out)))
    film = load_plan(job.out)
    if processes > 1 and len(numbers) > 1:
        segments_side_by_side(film, numbers, job, work, session)
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
    if joined.what == "segments":
        session.log("summary", f"{joined.units} segments are joined")
    elif joined.what == "inputs":
        session.log("summary", f"the results of {joined.units} inputs are complete")
    log_results(joined.out, session)
