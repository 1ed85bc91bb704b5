"""``bgsub run``: fit videos and write their results."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from bgsub.cli import options as shared
from bgsub.cli import values
from bgsub.cli.batch import read_list, run_batch
from bgsub.cli.help import Command, examples, option, together
from bgsub.cli.jobs import Recipe, Work, check_out, plan
from bgsub.cli.logs import current_session, log_options
from bgsub.cli.run_input import run_one
from bgsub.errors import BgsubError, UsageError
from bgsub.options import RunOptions

_IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pnm"}

batch_options = together(
    shared.out_option(
        "Folder for the results; each of several inputs gets a folder in it.", required=False
    ),
    option(
        "Results",
        "--from-file",
        type=values.PATH,
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
@click.argument("inputs", nargs=-1, type=values.PATH, metavar="INPUT...")
@batch_options
@_cluster_options
@option(
    "Results",
    "--from-json",
    type=values.PATH,
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
        from bgsub.cli.parts import PartOfRun
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
    """Give the folder for results, if there are inputs and it can be one.

    Raises
    ------
    UsageError
        If there is no input, or no folder.
    OutputError
        If nothing can be written there.
    """
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
