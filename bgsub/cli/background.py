"""``bgsub background``: a picture of the empty scene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bgsub.cli import options as shared
from bgsub.cli import values
from bgsub.cli.files import check_free
from bgsub.cli.help import Command, examples, option
from bgsub.cli.logs import current_session, log_options
from bgsub.errors import UsageError

_SUFFIXES = (".png", ".tif", ".tiff")


@click.command(
    "background",
    cls=Command,
    epilog=examples(
        "bgsub background arena.mp4 -o average_arena.png    for EthoVision, trackR or TRex",
        "bgsub background hall.mp4 --per-state -o hall.tif  hall-1.tif, hall-2.tif, …",
        "bgsub background yard.mp4 --coverage seen.png -o yard.png",
    ),
)
@click.argument("footage", type=values.PATH, metavar="INPUT")
@option(
    "Results",
    "-o",
    "--out",
    type=values.PATH,
    required=True,
    metavar="FILE",
    help="The picture, .png or .tif, without loss.",
)
@option(
    "Results",
    "--per-state",
    is_flag=True,
    help="Make a picture for each state of the scene (lights on, lights off): FILE-1, FILE-2, …",
)
@option(
    "Results",
    "--coverage",
    type=values.PATH,
    metavar="FILE",
    help="Write in how many of the frames the background of each pixel is seen, as a picture of 16 "
    "bits; pixels with 0 are filled in from around them.",
)
@shared.named("force", "seed", section="Results")
@shared.source_options
@shared.named("threads")
@log_options
def background_command(
    footage: str, out: str, per_state: bool, coverage: str | None, force: bool, **params: Any
) -> None:
    """Make one clean picture of the scene of INPUT without its objects, of the input's size.

    It is made from 24 to 150 frames, spread over the whole film; the film is not read through
    where its format allows seeking.
    """
    from bgsub.pipeline.plate import empty_scene
    from bgsub.runtime.temporary import write_file
    from bgsub.source_options import SourceOptions
    from bgsub.video.images import encode_image

    session = current_session()
    path = Path(out)
    for name in (out, *([coverage] if coverage else [])):
        if Path(name).suffix.lower() not in _SUFFIXES:
            raise UsageError(f"{name}: the name must end with .png, .tif or .tiff")
    with session.about(footage):
        options = shared.chosen(SourceOptions, params)
        seed, threads = params["seed"] or 0, params["threads"]
        plates = empty_scene(footage, options, seed=seed, threads=threads)
        shown = plates if per_state else plates[:1]
        for number, plate in enumerate(shown, start=1):
            target = path.with_stem(f"{path.stem}-{number}") if per_state else path
            check_free(target, force=force)
            write_file(target, encode_image(plate.picture, target.suffix.lower()))
            session.log("result", f"{target}: the scene of {plate.frames} frames", out=str(target))
            if plate.never_seen:
                share = 100 * plate.never_seen / plate.seen.size
                session.log(
                    "warning",
                    f"{target}: {share:.2g} % of the pixels are behind objects in every frame, and "
                    "are filled in",
                )
        if len(plates) > 1 and not per_state:
            more = f"{len(plates)} states of the scene were found; --per-state writes each"
            session.log("hint", more)
        if coverage is not None:
            check_free(Path(coverage), force=force)
            data = encode_image(plates[0].seen, Path(coverage).suffix.lower())
            write_file(Path(coverage), data)
