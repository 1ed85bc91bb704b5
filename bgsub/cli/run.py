"""``bgsub run``: fit videos and write their results, or one part of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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
from bgsub.cli.messages import Session, make_progress
from bgsub.cli.options import (
    PATH,
    F,
    as_defaults,
    command,
    fit_options,
    name_idle,
    named,
    option,
    out_option,
    output_options,
    resource_options,
    run_options,
    section,
    source_options,
    together,
)
from bgsub.errors import BgsubError, UsageError
from bgsub.options import RunOptions

if TYPE_CHECKING:
    from bgsub.cluster.parts import Part

_IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pnm"}

batch_options: Callable[[F], F] = together(
    out_option(
        "Folder for the results; each of several inputs gets a folder in it.", required=False
    ),
    option(
        "Results",
        "--from-file",
        type=PATH,
        metavar="LIST",
        help="Read inputs from a file, one path a line, or from stdin (-).",
    ),
    option(
        "Results",
        "--skip-existing",
        is_flag=True,
        help="Skip inputs whose results are complete: continues a batch that was stopped.",
    ),
    named("jobs", section="Results"),
)
"""--out --from-file --skip-existing --jobs"""


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
        ctx.default_map = as_defaults(RunOptions.from_json(plain))
    except BgsubError as error:
        raise type(error)(f"{value}: {error}") from error
    given = recorded_path(manifest, recorded["path"])
    return _Repeated(Path(value), given, recorded["sha256"])


@command(
    "run",
    "bgsub run water.avi --k 10 --out results/",
    "bgsub run 'shots/*.png' --every 2 --format mkv --out results/",
    "bgsub run door.mp4 --start 00:01:00 --end 00:05:00 --scale 0.5 --out results/",
    "bgsub run hall.mp4 --ignore clock.png --save-scores --out results/",
    "bgsub run *.mp4 --jobs 2 --memory 4G --out results/   a folder each",
    "find . -name '*.avi' | bgsub run --from-file - --only errors,plot --out results/",
    "bgsub run --from-json results/run.json --out again/   the same run again",
)
@click.argument("inputs", nargs=-1, type=PATH, metavar="INPUT...")
@batch_options
@option(
    "Results",
    "--part",
    metavar="i/N",
    help="Do only the i-th of N shares of the inputs, or of the segments of a single film, as "
    "one job of an array; `bgsub join` puts the results together.",
)
@option(
    "Results",
    "--scheduler",
    metavar="tcp://HOST:PORT|local[:N]",
    help="Hand the inputs and segments to the workers of a Dask cluster, or to N workers on "
    "this machine (needs the extra cluster).",
)
@option(
    "Results",
    "--from-json",
    type=PATH,
    metavar="RUN.JSON",
    is_eager=True,
    callback=_repeat,
    help="Repeat the run that wrote this file; options that you give replace those of that run.",
)
@source_options
@fit_options
@section("Segments")
@section("Masks")
@section("Objects")
@output_options
@resource_options
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
    options = run_options(params)
    name_idle(options, session)
    if len(inputs) > 1 and all(Path(given).suffix.lower() in _IMAGES for given in inputs):
        raise UsageError(
            f"{len(inputs)} single images are given ({inputs[0]}, …), each would be a video of one "
            "frame; name their folder, or put the glob in quotes"
        )
    given, digest = [*inputs, *(read_list(from_file) if from_file else [])], None
    if not given and from_json is not None and from_json.input is not None:
        given, digest = [from_json.input], from_json.sha256
    if out is None and from_json is not None:
        out = str(from_json.path if from_json.path.is_dir() else from_json.path.parent)
    folder, processes = checked_out(given, out), processes_for(jobs, given)
    work = Work(
        "run",
        replace(options, jobs=processes),
        skip=skip_existing or options.resume,
        digest=digest,
        processes=jobs if len(given) == 1 else 1,
    )
    if scheduler is not None:
        if part is not None:
            message = "--part contradicts --scheduler, whose workers share the work"
            raise UsageError(f"{message}; leave it out")
        if jobs > 1:
            message = "--jobs has no effect with --scheduler, whose workers share the work"
            session.log("warning", message)
        from bgsub.cli.cluster import ClusterRun
        from bgsub.cluster.pool import connect

        several = from_file is not None or len(given) > 1
        planned = plan(given, folder, subfolders=several, keep=work.skip)
        with connect(scheduler) as pool:
            ClusterRun(pool, replace(work, options=options, processes=1), session).do(planned)
    elif part is not None:
        from bgsub.cluster.parts import parse_part

        _PartOfRun(parse_part(part), replace(work, skip=True), jobs, session).do(given, folder)
    else:
        planned = plan(given, folder, subfolders=bool(from_file) or len(given) > 1, keep=work.skip)
        run_batch(planned, work, session, processes=processes)


def processes_for(jobs: int, given: list[str]) -> int:
    """Return the number of processes that --jobs asks for: no more than there are inputs."""
    return max(1, min(jobs, len(given)))


def checked_out(given: list[str], out: str | None) -> Path:
    """Return the folder for results, if there are inputs and it can be one."""
    if not given:
        message = "no INPUT is given; name a video or a folder of images, or use --from-file"
        raise UsageError(message)
    if out is None:
        raise UsageError("--out is missing; name the folder for the results")
    check_out(Path(out))
    return Path(out)


@dataclass(frozen=True)
class _PartOfRun:
    """One of N parts: every N-th of several inputs, or of the segments of one film.

    Attributes
    ----------
    processes : int
        That work on this part.
    """

    part: Part
    work: Work
    processes: int
    session: Session

    def do(self, given: Sequence[str], out: Path) -> None:
        """Do this part, given the inputs of all."""
        if self.work.options.force:
            message = f"--part {self.part}: --force would remove what other parts have made"
            raise UsageError(f"{message}; remove {out} yourself, and leave --force out")
        if len(given) == 1:
            job = Job(given[0], out)
            with self.session.about(job.input):
                if is_done(job, self.work, self.session):
                    return
                self._do_film(job)
        else:
            jobs = self._jobs(given, out)
            mine = self.part.pick(jobs)
            if mine:
                run_batch(mine, self.work, self.session, processes=self.processes)
            else:
                self._say_idle(f"there are only {len(jobs)} inputs")
        advice = f"when all are, `bgsub join {out}` checks and joins them"
        self.session.log("summary", f"part {self.part} is done; {advice}")

    def _jobs(self, given: Sequence[str], out: Path) -> list[Job]:
        """Decide where the results of each input go, as the first part did that came."""
        from bgsub.cluster.parts import PartsList, Unit, load_parts

        jobs = plan(given, out, subfolders=True, keep=True)
        earlier = load_parts(out)
        units = tuple(Unit(job.input, job.out.name) for job in jobs)
        if earlier is not None and [unit.input for unit in earlier.units] == list(given):
            units = earlier.units
        PartsList(units, self.part.of).save(out)
        return [
            Job(unit.input, out / unit.folder, number, len(units))
            for number, unit in enumerate(units, start=1)
        ]

    def _do_film(self, job: Job) -> None:
        """Do some segments of a film; a film that is one piece belongs to the first part."""
        from bgsub.cluster.parts import PartsList, Unit, common_plan
        from bgsub.segments.plan import load_plan
        from bgsub.segments.run import announce, is_one_piece, run_segments

        options = self.work.options
        PartsList((Unit(job.input, "."),), self.part.of).save(job.out)
        film = None
        if not is_one_piece(job.input, options):
            film = common_plan(job.input, job.out, options)
        if film is None or len(film.segments) == 1:
            if self.part.number == 1:
                do_job(job, replace(self.work, skip=False), self.session)
            else:
                self._say_idle("the film is one piece, which part 1 does")
            return
        announce(film, job.out)
        mine = self.part.pick([segment.number for segment in film.segments])
        numbers = sorted(set(mine) & set(film.missing(job.out)))
        film = load_plan(job.out)
        if self.processes > 1 and len(numbers) > 1:
            segments_side_by_side(film, numbers, job, self.work, self.session)
        else:
            with make_progress(self.session) as progress:
                run_segments(job.input, job.out, film, numbers, progress)
        if not mine:
            self._say_idle(f"there are only {len(film.segments)} segments")

    def _say_idle(self, what: str) -> None:
        self.session.log("note", f"part {self.part} has nothing to do: {what}")
