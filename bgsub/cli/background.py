"""``bgsub background``: a picture of the empty scene."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli.messages import Session
from bgsub.cli.options import (
    PATH,
    ByRule,
    chosen,
    command,
    named,
    out_option,
    section,
    source_options,
)
from bgsub.errors import UsageError
from bgsub.options import Declared, documented, option
from bgsub.rules import FileOfKind, Switch
from bgsub.runtime.files import check_free

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bgsub.background.composite import Plate
    from bgsub.video.frames import Bytes

PICTURE = FileOfKind((".png", ".tif", ".tiff"))
"""Files of pictures without loss, of 8 or 16 bits."""

_results = functools.partial(option, "Results")


@documented
@dataclass(frozen=True, kw_only=True)
class PlateOptions(Declared):
    """What is made of the empty scene besides its picture."""

    per_state: bool = _results(
        False,
        Switch(),
        "Make a picture for each state of the scene (lights on, lights off): FILE-1, FILE-2, …",
    )
    coverage: str | None = _results(
        None,
        PICTURE,
        "Write a 16-bit picture too: in how many of the frames that are looked at the background "
        "of each pixel is seen; with --per-state, a picture of those of each state. Pixels with 0 "
        "are filled in from around them.",
    )


@command(
    "background",
    "bgsub background arena.mp4 -o average_arena.png    for EthoVision, trackR or TRex",
    "bgsub background hall.mp4 --per-state -o hall.tif  hall-1.tif, hall-2.tif, …",
    "bgsub background yard.mp4 --coverage seen.png -o yard.png",
)
@click.argument("footage", type=PATH, metavar="INPUT")
@out_option("The picture, .png or .tif, without loss.", metavar="FILE", kind=ByRule(PICTURE))
@section("Results", kind=PlateOptions)
@named("force", "seed", section="Results")
@source_options
@named("threads")
def background_command(
    session: Session, footage: str, out: str, force: bool, **params: Any
) -> None:
    """Make one clean picture of the scene of INPUT without its objects, of the input's size.

    It is made from 24 to 300 frames, spread over the whole film; the film is not read through
    where its format allows seeking.
    """
    from bgsub.options import SourceOptions
    from bgsub.pipeline.still import empty_scene
    from bgsub.runtime.files import write_file
    from bgsub.video.images import encode_image

    path, own = Path(out), chosen(PlateOptions, params)
    asked = [path] if own.coverage is None else [path, Path(own.coverage)]
    _check_names(asked, own, force=force)
    with session.about(footage):
        options = chosen(SourceOptions, params)
        seed, threads = params["seed"] or 0, params["threads"]
        plates = empty_scene(footage, options, seed=seed, threads=threads)
        scenes = [*zip(_names(path, plates, own), plates, strict=False)]
        pictures: list[tuple[Path, Bytes | NDArray[np.uint16], str]] = [
            (target, plate.picture, f"the scene of {plate.frames} frames")
            for target, plate in scenes
        ]
        if own.coverage is not None:
            pictures += _coverages(Path(own.coverage), plates, own)
        for target, *_ in pictures:
            check_free(target, force=force)
        for target, picture, says in pictures:
            write_file(target, encode_image(picture, target.suffix.lower()))
            session.log("result", f"{target}: {says}", out=str(target))
        for target, plate in scenes:
            if plate.hardly_seen:
                session.log(
                    "warning",
                    f"{target}: {100 * plate.hardly_seen:.2g} % of the pixels are behind objects "
                    "in nearly every frame, and are filled in: use more of the film",
                )
        if len(scenes) < len(plates):
            more = f"{len(plates)} states of the scene were found; --per-state writes each"
            session.log("hint", more)


def _check_names(asked: list[Path], own: PlateOptions, *, force: bool) -> None:
    """Raise UsageError or OutputError where the pictures that are asked for cannot be written."""
    if len({name.resolve() for name in asked}) < len(asked):
        raise UsageError(f"--coverage {asked[0]}: that is the picture of the scene; choose another")
    if not own.per_state:  # how many there are is known in the end only
        for name in asked:
            check_free(name, force=force)


def _names(path: Path, plates: list[Plate], own: PlateOptions) -> list[Path]:
    """Return the path of a picture of the scene, or a numbered one for each of its states."""
    if not own.per_state:
        return [path]
    return [path.with_stem(f"{path.stem}-{number}") for number in range(1, len(plates) + 1)]


def _coverages(
    path: Path, plates: list[Plate], own: PlateOptions
) -> list[tuple[Path, NDArray[np.uint16], str]]:
    """Return the pictures of how often the scene is seen: where, what, and what to say of each."""
    import numpy as np

    counts = [(one.seen, one.frames) for one in plates]
    if not own.per_state:
        seen = np.stack([one.seen for one in plates]).sum(axis=0, dtype=np.uint16)
        counts = [(seen, sum(one.frames for one in plates))]
    return [
        (target, seen, f"background seen in {seen.min()} to {seen.max()} of {frames} frames")
        for target, (seen, frames) in zip(_names(path, plates, own), counts, strict=True)
    ]
