"""``bgsub background``: a picture of the empty scene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bgsub.cli import options as shared
from bgsub.cli import values
from bgsub.cli.files import check_free
from bgsub.cli.help import Command, examples
from bgsub.cli.logs import current_session, log_options
from bgsub.pipeline.plate_options import PICTURE, PlateOptions


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
@shared.out_option(
    "The picture, .png or .tif, without loss.", metavar="FILE", kind=values.ByRule(PICTURE)
)
@shared.section("Results", kind=PlateOptions)
@shared.named("force", "seed", section="Results")
@shared.source_options
@shared.named("threads")
@log_options
def background_command(footage: str, out: str, force: bool, **params: Any) -> None:
    """Make one clean picture of the scene of INPUT without its objects, of the input's size.

    It is made from 24 to 300 frames, spread over the whole film; the film is not read through
    where its format allows seeking.
    """
    from bgsub.pipeline.plate import empty_scene
    from bgsub.runtime.temporary import write_file
    from bgsub.source_options import SourceOptions
    from bgsub.video.images import encode_image

    session = current_session()
    path, own = Path(out), shared.chosen(PlateOptions, params)
    with session.about(footage):
        options = shared.chosen(SourceOptions, params)
        seed, threads = params["seed"] or 0, params["threads"]
        plates = empty_scene(footage, options, seed=seed, threads=threads)
        shown = plates if own.per_state else plates[:1]
        for number, plate in enumerate(shown, start=1):
            target = path.with_stem(f"{path.stem}-{number}") if own.per_state else path
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
        if len(plates) > 1 and not own.per_state:
            more = f"{len(plates)} states of the scene were found; --per-state writes each"
            session.log("hint", more)
        if own.coverage is not None:
            coverage = Path(own.coverage)
            check_free(coverage, force=force)
            write_file(coverage, encode_image(plates[0].seen, coverage.suffix.lower()))
