"""``bgsub background``: a picture of the empty scene."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgsub.cli import options as opts
from bgsub.cli.messages import Session
from bgsub.errors import UsageError
from bgsub.options import Declared, SourceOptions, documented, option
from bgsub.rules import FileOfKind, Switch
from bgsub.runtime.files import check_free, write_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bgsub.video.frames import Bytes

PICTURE = FileOfKind((".png", ".tif", ".tiff"))  # without loss, of 8 or 16 bits
_LEAST_TOLD = 0.001  # of the pixels: a few at an edge are no news
_HIDDEN = "are behind objects in nearly every frame, and are filled in"
_UNLIKE = (
    "have a colour that three of four frames do not share: what hardly leaves, or moves in the "
    "wind, may be left there"
)
_results = functools.partial(option, "Results")


@documented
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


@opts.command(
    "background",
    "bgsub background arena.mp4 -o average_arena.png    for EthoVision, trackR or TRex",
    "bgsub background hall.mp4 --per-state -o hall.tif  hall-1.tif, hall-2.tif, …",
    "bgsub background yard.mp4 --coverage seen.png -o yard.png",
)
@opts.argument("footage", "INPUT")
@opts.out_option("The picture, .png or .tif, without loss.", "-o --out FILE", rule=PICTURE)
@opts.section("Results", kind=PlateOptions)
@opts.named("force", "seed", section="Results")
@opts.source_options
@opts.named("threads")
def background_command(
    session: Session, footage: str, out: str, force: bool, **params: Any
) -> None:
    """Make one clean picture of the scene of INPUT without its objects, of the input's size.

    It is made from 24 to 300 frames, spread over the whole film; the film is not read through
    where its format allows seeking.
    """
    import numpy as np

    from bgsub.pipeline.still import empty_scene
    from bgsub.video.images import encode_image

    own = opts.chosen(PlateOptions, params)
    coverage = None if own.coverage is None else Path(own.coverage)
    asked = [Path(out)] if coverage is None else [Path(out), coverage]
    if len({name.resolve() for name in asked}) < len(asked):
        raise UsageError(f"--coverage {out}: that is the picture of the scene; choose another")
    for name in () if own.per_state else asked:  # how many there are is known in the end only
        check_free(name, force=force)
    with session.about(footage):
        options = opts.chosen(SourceOptions, params)
        seed, threads = params["seed"] or 0, params["threads"]
        plates = empty_scene(footage, options, seed=seed, threads=threads)

        def name_of(path: Path, number: int) -> Path:
            return path.with_stem(f"{path.stem}-{number}") if own.per_state else path

        scenes = [*enumerate(plates if own.per_state else plates[:1], start=1)]
        pictures: list[tuple[Path, Bytes | NDArray[np.uint16], str]] = [
            (name_of(Path(out), number), plate.picture, f"the scene of {plate.frames} frames")
            for number, plate in scenes
        ]
        if coverage is not None:
            counts = [(one.seen, one.frames) for one in plates]
            if not own.per_state:
                seen = np.stack([one.seen for one in plates]).sum(axis=0, dtype=np.uint16)
                counts = [(seen, sum(one.frames for one in plates))]
            for number, (seen, frames) in enumerate(counts, start=1):
                says = f"background seen in {seen.min()} to {seen.max()} of {frames} frames"
                pictures.append((name_of(coverage, number), seen, says))
        for target, *_ in pictures:
            check_free(target, force=force)
        for target, picture, says in pictures:
            write_file(target, encode_image(picture, target.suffix.lower()))
            session.log("result", f"{target}: {says}", out=str(target))
        for number, plate in scenes:
            doubts = (plate.hardly_seen, 0, _HIDDEN), (plate.doubtful, _LEAST_TOLD, _UNLIKE)
            for share, least, says in doubts:
                if share > least:
                    told = f"{100 * share:.2g} % of the pixels {says}: use more of the film"
                    session.log("warning", f"{name_of(Path(out), number)}: {told}")
        if len(scenes) < len(plates):
            more = f"{len(plates)} states of the scene were found; --per-state writes each"
            session.log("hint", more)
