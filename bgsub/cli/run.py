"""``bgsub run``: fit videos and write their results, or one part of them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as shared
from bgsub.cli.help import Command, examples, option, together
from bgsub.cli.jobs import Job, Recipe, Work, check_out, do_job, plan, read_list, run_batch, run_one
from bgsub.cli.messages import Session, current_session, log_options
from bgsub.cli.progress import make_progress
from bgsub.errors import BgsubError, UsageError
from bgsub.options import RunOptions

if TYPE_CHECKING:
    from bgsub.cluster.parts import Part


@dataclass(frozen=True)
class PartOfRun:
    """What all parts have in common, and which one this is.

    Attributes
    ----------
    processes : int
        That work on this part.
    """

    part: Part
    options: RunOptions
    processes: int

    def do(self, given: Sequence[str], out: Path, work: Work, session: Session) -> None:
        """Do every N-th of several inputs, or of the segments of one film.

        Parameters
        ----------
        given : sequence of str
            All inputs, of all parts.
        work : callable
            Does an input.
        """
        if self.options.force:
            message = f"--part {self.part}: --force would remove what other parts have made"
            raise UsageError(f"{message}; remove {out} yourself, and leave --force out")
        recipe = Recipe("run", self.options)
        if len(given) == 1:
            (job,) = plan(given, out, subfolders=False, keep=True)
            own = functools.partial(self._do_film, work)
            if not do_job(job, own, session, skip=recipe):
                return
        else:
            jobs = self._jobs(given, out)
            mine = self.part.pick(jobs)
            if len(mine) == 1:
                do_job(mine[0], work, session, skip=recipe)
            elif mine:
                run_batch(mine, work, session, skip=recipe, processes=self.processes)
            if not mine:
                self._say_idle(session, f"there are only {len(jobs)} inputs")
        advice = f"when all are, `bgsub join {out}` checks and joins them"
        session.log("summary", f"part {self.part} is done; {advice}")

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

    def _do_film(self, work: Work, job: Job, session: Session) -> None:
        """Do some segments of a film; a film that is one piece belongs to the first part."""
        from bgsub.cluster.parts import PartsList, Unit, common_plan
        from bgsub.segments.run import announce, is_one_piece

        PartsList((Unit(job.input, "."),), self.part.of).save(job.out)
        if not is_one_piece(job.input, self.options):
            film = common_plan(job.input, job.out, self.options)
            if len(film.segments) > 1:
                announce(film, job.out)
                missing = set(film.missing(job.out))
                mine = self.part.pick([segment.number for segment in film.segments])
                self._do_segments(job, [one for one in mine if one in missing], session)
                if not mine:
                    self._say_idle(session, f"there are only {len(film.segments)} segments")
                return
        if self.part.number == 1:
            work(job, session)
        else:
            self._say_idle(session, "the film is one piece, which part 1 does")

    def _do_segments(self, job: Job, numbers: Sequence[int], session: Session) -> None:
        from bgsub.cli.jobs import run_side_by_side
        from bgsub.segments.plan import load_plan
        from bgsub.segments.run import run_segments

        film = load_plan(job.out)
        if self.processes > 1 and len(numbers) > 1:
            run_side_by_side(session, job, self.processes, film, numbers)
            return
        with make_progress(session) as progress:
            run_segments(job.input, job.out, film, numbers, progress)

    def _say_idle(self, session: Session, what: str) -> None:
        session.log("note", f"part {self.part} has nothing to do: {what}")


_IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pnm"}

batch_options = together(
    shared.out_option(
        "Folder for the results; each of several inputs gets a folder in it.", required=False
    ),
    option(
        "Results",
        "--from-file",
        type=shared.PATH,
        metavar="LIST",
        help="Read inputs from a file, one path a line, or from stdin (-).",
    ),
    option(
        "Results",
        "--skip-existing",
        is_flag=True,
        help="Skip inputs whose results are complete: continues a batch that was stopped.",
    ),
    shared.named("jobs", section="Results"),
)
"""--out --from-file --skip-existing --jobs"""

_cluster_options = together(
    option(
        "Results",
        "--part",
        metavar="i/N",
        help="Do only the i-th of N shares of the inputs, or of the segments of a single film, as "
        "one job of an array; `bgsub join` puts the results together.",
    ),
    option(
        "Results",
        "--scheduler",
        metavar="tcp://HOST:PORT|local[:N]",
        help="Hand the inputs and segments to the workers of a Dask cluster, or to N workers on "
        "this machine (needs the extra cluster).",
    ),
)
"""--part --scheduler"""


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
        ctx.default_map = shared.as_defaults(RunOptions.from_json(plain))
    except BgsubError as error:
        raise type(error)(f"{value}: {error}") from error
    given = recorded_path(manifest, recorded["path"])
    return _Repeated(Path(value), given, recorded["sha256"])


@click.command(
    "run",
    cls=Command,
    epilog=examples(
        "bgsub run water.avi --k 10 --out results/",
        "bgsub run 'shots/*.png' --every 2 --format mkv --out results/",
        "bgsub run door.mp4 --start 00:01:00 --end 00:05:00 --scale 0.5 --out results/",
        "bgsub run hall.mp4 --ignore clock.png --save-scores --out results/",
        "bgsub run *.mp4 --jobs 2 --memory 4G --out results/   a folder each",
        "find . -name '*.avi' | bgsub run --from-file - --only errors,plot --out results/",
        "bgsub run --from-json results/run.json --out again/   the same run again",
    ),
)
@click.argument("inputs", nargs=-1, type=shared.PATH, metavar="INPUT...")
@batch_options
@_cluster_options
@option(
    "Results",
    "--from-json",
    type=shared.PATH,
    metavar="RUN.JSON",
    is_eager=True,
    callback=_repeat,
    help="Repeat the run that wrote this file; options that you give replace those of that run.",
)
@shared.source_options
@shared.fit_options
@shared.section("Segments")
@shared.section("Masks")
@shared.section("Objects")
@shared.output_options
@shared.resource_options
@log_options
def run_command(
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
    options = shared.run_options(params)
    from bgsub.cli.effects import name_idle

    name_idle(options, shared.typed_options(), current_session())
    given = [*inputs, *(read_list(from_file) if from_file else [])]
    _refuse_loose_images(inputs)
    digest = None
    if not given and from_json is not None and from_json.input is not None:
        given, digest = [from_json.input], from_json.sha256
    if out is None and from_json is not None:
        out = str(from_json.path if from_json.path.is_dir() else from_json.path.parent)
    options = replace(options, jobs=processes_for(jobs, given))
    work = functools.partial(run_one, options, digest, jobs if len(given) == 1 else 1)
    skip = Recipe("run", options) if skip_existing or options.resume else None
    if scheduler is not None:
        if part is not None or jobs > 1:
            other = "--part" if part is not None else "--jobs"
            message = f"{other} has no effect with --scheduler, whose workers share the work"
            raise UsageError(f"{message}; leave it out")
        from bgsub.cli.cluster import ClusterRun
        from bgsub.cluster.pool import connect

        folder = _checked_out(given, out)
        several = from_file is not None or len(given) > 1
        planned = plan(given, folder, subfolders=several, keep=skip is not None)
        with connect(scheduler) as pool:
            ClusterRun(pool, options, current_session()).do(planned, skip)
        return
    if part is not None:
        from bgsub.cluster.parts import parse_part

        mine = PartOfRun(parse_part(part), options, jobs)
        mine.do(given, _checked_out(given, out), work, current_session())
        return
    do_all(given, out, work, from_list=from_file is not None, skip=skip, jobs=jobs)


def processes_for(jobs: int, given: list[str]) -> int:
    """Count the processes that --jobs asks for: no more than there are inputs."""
    return max(1, min(jobs, len(given)))


def do_all(
    given: list[str],
    out: str | None,
    work: Work,
    *,
    from_list: bool,
    skip: Recipe | None,
    jobs: int,
) -> None:
    """Plan and do the jobs of a command that takes inputs and --out."""
    folder = _checked_out(given, out)
    planned = plan(given, folder, subfolders=from_list or len(given) > 1, keep=skip is not None)
    processes = processes_for(jobs, given)
    run_batch(planned, work, current_session(), skip=skip, processes=processes)


def _checked_out(given: list[str], out: str | None) -> Path:
    """Return the folder for results, if there are inputs and it can be one."""
    if not given:
        message = "no INPUT is given; name a video or a folder of images, or use --from-file"
        raise UsageError(message)
    if out is None:
        message = "--out is missing; name the folder for the results"
        raise UsageError(message)
    folder = Path(out)
    check_out(folder)
    return folder


def _refuse_loose_images(inputs: tuple[str, ...]) -> None:
    """Refuse a glob that the shell has expanded: a run on a single image is never meant."""
    if len(inputs) > 1 and all(Path(given).suffix.lower() in _IMAGES for given in inputs):
        message = (
            f"{len(inputs)} single images are given ({inputs[0]}, …), each would be a video of one "
            "frame; name their folder, or put the glob in quotes"
        )
        raise UsageError(message)
