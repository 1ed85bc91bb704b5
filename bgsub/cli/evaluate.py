"""``bgsub evaluate``: compare masks with ground truth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as opts
from bgsub.cli.messages import Session, make_progress
from bgsub.errors import EmptySelectionError, InputError, UsageError
from bgsub.evaluation import EvaluationOptions
from bgsub.rules import Integer, Text
from bgsub.runtime.files import write_file, write_in

if TYPE_CHECKING:
    from bgsub.evaluation.evaluate import SequenceScore

FORMATS = ("table", "csv", "json", "markdown")


@opts.command(
    "evaluate",
    "bgsub evaluate results/ groundtruth/",
    "bgsub evaluate results/ highway/ --worst 5 --out pictures/ --per-frame frames.csv",
    "bgsub evaluate a/mask.mkv a/truth/ b/mask.mkv b/truth/ --format markdown",
    "bgsub evaluate results/ b00247.png --offset 1",
    "bgsub evaluate results/ truth.mkv --scores --plot curve.png   after run --save-scores",
)
@opts.argument("places", "MASKS TRUTH [MASKS TRUTH]...", nargs=-1, required=True)
@opts.option(
    "Matching",
    "--offset N",
    "Frame = number of the truth + N: 1 where the truth counts from 0. Once for all sequences, or "
    "once for each.  [default: found and printed]",
    Integer(-(10**9), 10**9),
    multiple=True,
)
@opts.option(
    "Matching",
    "--input INPUT footage",
    "What the masks were made from: the names of its images number the frames, and --worst shows "
    "them. Once for each sequence.  [default: what run.json says]",
    multiple=True,
)
@opts.option(
    "Matching",
    "--name NAME names",
    "Name of the sequence, once for each.  [default: the folder of the truth]",
    Text(),
    multiple=True,
)
@opts.named("common", kind=EvaluationOptions)
@opts.section("Scoring", kind=EvaluationOptions)
@opts.format_option(FORMATS, "How the measures are printed; an undefined one is –, empty or null.")
@opts.option("Results", "--per-frame FILE", "Write the measures of every frame to FILE, as CSV.")
@opts.out_option(
    "Folder for the pictures of --worst; pictures of the same name are replaced.", required=False
)
@opts.plot_option("With --scores: draw precision against recall to FILE (.png or .svg).")
def evaluate_command(
    session: Session,
    places: tuple[str, ...],
    form: str,
    per_frame: str | None,
    plot: str | None,
    out: str | None,
    **params: Any,
) -> None:
    """Print precision, recall, F-measure and other measures of masks against ground truth.

    MASKS is a folder that `bgsub run` wrote, a video of masks or a folder of images. TRUTH is a
    folder of images, a CDnet sequence (groundtruth/, ROI.bmp, temporalROI.txt), a video, a single
    image whose name gives the number of its frame, or a folder that another run wrote. Each pair is
    a sequence with a line of its own; the total of all pixels and the mean of the measures follow.

    Frames and truth are matched by number. Runs and videos count from 1, unless the names of the
    input's images number them. Names of truth such as b00247.png count from 0, and so do names of
    which one has the number 0. --offset overrides this. Where the truth has no foreground, recall
    is undefined; F is 0 if a pixel is marked, and undefined if none is.
    """
    options = opts.chosen(EvaluationOptions, params)
    for given, name, there, needed in (
        (plot, "--plot", options.scores, "--scores"),
        (options.worst, "--worst", out, "--out DIR"),
        (out, "--out", options.worst, "--worst N"),
    ):
        if given and not there:
            session.log("warning", f"{name} has no effect without {needed}")
    n, offsets = len(places) // 2, params["offset"]
    if len(places) % 2:
        raise UsageError(f"masks and truth come in pairs, but no truth follows {places[-1]}")
    offsets = offsets * n if len(offsets) == 1 else offsets
    more = {"--offset": offsets, "--input": params["footage"], "--name": params["names"]}
    for name, several in more.items():
        if several and len(several) != n:
            many = f"{name} is given {len(several)} times for {n} sequences"
            raise UsageError(f"{many}; give one for each")
    from bgsub.evaluation import report as texts
    from bgsub.evaluation.evaluate import Pair, evaluate

    columns = (several or (None,) * n for several in more.values())
    pairs = [Pair(*each) for each in zip(places[::2], places[1::2], *columns, strict=True)]
    with make_progress(session) as progress:
        found = evaluate(pairs, options, progress=progress)
    if per_frame is not None:
        write_file(Path(per_frame), texts.frames_csv(found).encode())
    if plot is not None and options.scores:
        kind: Any = Path(plot).suffix.lower()[1:]
        write_file(Path(plot), texts.render_curves(found.sequences, found.curve, kind))
    for one in found.sequences:
        if out is not None and options.worst:
            _save_worst(one, Path(out), session)
        for note in one.notes:
            session.log("warning", f"{one.name}: {note}")
    click.echo(texts.list_evaluation(form, found), nl=False)
    for one in found.sequences:
        session.log("summary", texts.summary(one), **one.counts.measures())


def _save_worst(one: SequenceScore, folder: Path, session: Session) -> None:
    """Save a picture of each of the worst frames of a sequence, with the frame if it is known."""
    from bgsub.evaluation.evaluate import footage_frames
    from bgsub.evaluation.report import draw_verdicts
    from bgsub.video.images import encode_image

    frames = {}
    try:
        frames = footage_frames(one)
    except (InputError, EmptySelectionError) as error:  # the verdicts can be drawn without it
        session.log("warning", str(error))
    if one.worst and one.footage is None:
        message = "the footage is not known, so its frames are not shown; name it with --input"
        session.log("hint", f"{one.name}: {message}")
    stem = re.sub(r"[^\w.-]+", "_", one.name)
    for rank, bad in enumerate(one.worst, 1):
        title, name = f"frame {bad.frame}", f"{stem}_worst{rank:02d}_frame{bad.frame:06d}.png"
        picture = draw_verdicts(bad.verdicts, frames.get(bad.frame), bad.counts, title)
        write_in(folder, name, encode_image(picture))
