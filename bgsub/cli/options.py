"""Options that several commands share, as decorators, and the way from them to RunOptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import click

from bgsub.cli import values
from bgsub.cli.fit_options import fit_frames_option, fit_options, k_option
from bgsub.cli.help import option, together
from bgsub.cli.logs import log_options, session
from bgsub.errors import UsageError
from bgsub.options import DEFAULT_OUTPUTS, EXTRA_OUTPUTS, RunOptions, SourceOptions
from bgsub.video.selection import Selection

__all__ = [
    "as_defaults",
    "fit_frames_option",
    "fit_options",
    "k_option",
    "log_options",
    "memory_options",
    "option",
    "output_options",
    "run_options",
    "session",
    "source_options",
    "together",
]

_DEFAULT = RunOptions()


source_options = together(
    option(
        "Input",
        "--start",
        type=values.POSITION,
        metavar="POS",
        help='First frame: a number from 1, seconds ("12.5s") or HH:MM:SS.mmm.',
    ),
    option("Input", "--end", type=values.POSITION, metavar="POS", help="Last frame, included."),
    option(
        "Input",
        "--every",
        type=values.STEP,
        metavar="STEP",
        help='Take one frame in so many ("5"), or one every so often ("2s").',
    ),
    option(
        "Input",
        "--scale",
        type=values.POSITIVE,
        default=1.0,
        metavar="FACTOR",
        help="Resize the frames: 0.5 is half the width and height.",
    ),
    option(
        "Input",
        "--roi",
        type=values.REGION,
        metavar="X,Y,W,H",
        help="Keep this part of the picture, in pixels before --scale.",
    ),
    option(
        "Input",
        "--mask-image",
        type=values.PATH,
        metavar="FILE",
        help="Image of the input's size; where it is black, pixels are left out of the fit and of "
        "the masks.",
    ),
    option(
        "Input",
        "--color",
        type=click.Choice(["auto", "gray", "color"]),
        default="auto",
        show_default=True,
        help="Keep the input's colours, or write grey.",
    ),
    option(
        "Input",
        "--on-bad-frame",
        type=click.Choice(["skip", "repeat", "fail"]),
        default="skip",
        show_default=True,
        help="What to do about a frame that cannot be decoded.",
    ),
    option(
        "Input",
        "--threads",
        type=values.COUNT,
        metavar="N",
        help="Threads to use.  [default: the cores at hand]",
    ),
)
"""--start --end --every --scale --roi --mask-image --color --on-bad-frame --threads"""

memory_options = together(
    option(
        "Input",
        "--memory",
        type=values.MEMORY,
        metavar="AMOUNT",
        help="Memory to use: 600M, 4G, or 50% of what is available.  [default: 50%]",
    ),
    option(
        "Input",
        "--temp",
        type=values.FOLDER,
        metavar="DIR",
        help="Folder for frames that do not fit into memory; nothing is left there.",
    ),
)
"""--memory --temp"""

output_options = together(
    option(
        "Output",
        "--format",
        type=click.Choice(["mp4", "mkv", "png"]),
        default=_DEFAULT.format,
        show_default=True,
        help="H.264 for any player, lossless FFV1, or folders of PNG images.",
    ),
    option(
        "Output",
        "--foreground",
        type=click.Choice(["abs", "signed", "cutout"]),
        default=_DEFAULT.foreground,
        show_default=True,
        help="Show the difference to the background, the signed one around grey, or the objects.",
    ),
    option(
        "Output",
        "--only",
        type=values.OUTPUT_NAMES,
        metavar="LIST",
        help="Write only these, with commas: background, foreground, mask, errors, plot, model, "
        "preview, spectrum, scores.",
    ),
    option(
        "Output",
        "--preview/--no-preview",
        default=None,
        help="Write preview.mp4 too: everything side by side.",
    ),
    option(
        "Output",
        "--spectrum/--no-spectrum",
        default=None,
        help="Draw what --k auto chooses from into spectrum.png too.",
    ),
    option(
        "Output",
        "--save-scores/--no-save-scores",
        default=None,
        help="Write what the masks are cut from too, as 16-bit scores.mkv (or PNG images): how far "
        "each pixel is from the background. `bgsub evaluate --scores` finds the best threshold.",
    ),
    option(
        "Output",
        "--threshold",
        type=values.LEVEL,
        metavar="LEVEL",
        help="Grey levels of difference from which the mask is white.  [default: from the noise]",
    ),
    option(
        "Output",
        "--min-area",
        type=values.COUNT_OR_ZERO,
        metavar="PIXELS",
        help="Smallest blob that the mask keeps.  [default: from the frame size]",
    ),
    option(
        "Output",
        "--clean/--no-clean",
        default=True,
        show_default=True,
        help="Remove specks from the mask.",
    ),
    option(
        "Output",
        "--cutoff",
        type=values.POSITIVE,
        metavar="Z",
        help="Robust z-score above which a frame is an outlier.",
    ),
    option(
        "Output",
        "--plot-format",
        type=click.Choice(["png", "svg"]),
        default=_DEFAULT.plot_format,
        show_default=True,
        help="Format of the plot of the errors.",
    ),
    option(
        "Output",
        "--force",
        is_flag=True,
        help="Replace results of an earlier run; other files are never touched.",
    ),
)
"""--format --foreground --only --preview --spectrum --save-scores --threshold --min-area
--no-clean --cutoff --plot-format --force"""


def run_options(params: Mapping[str, Any]) -> RunOptions:
    """Put the values of the decorators' options together; what is missing has its default.

    Parameters
    ----------
    params : mapping
        Parameters of a command by name; others than those of the decorators are ignored.

    Returns
    -------
    RunOptions

    Raises
    ------
    UsageError
        If `end` lies before `start`, or no output is left.
    """
    given = {name: value for name, value in params.items() if value is not None}
    source = {f.name: given[f.name] for f in fields(SourceOptions) if f.name in given}
    Selection.parse(source.get("start"), source.get("end"), source.get("every"))
    plain = {f.name: given[f.name] for f in fields(RunOptions) if f.name in given}
    outputs = given.get("only", DEFAULT_OUTPUTS)
    for extra in EXTRA_OUTPUTS:
        wanted = given.get("save_scores" if extra == "scores" else extra)
        if wanted is not None:
            outputs = outputs | {extra} if wanted else outputs - {extra}
    if not outputs:
        message = "--only: no output is left; name one at least"
        raise UsageError(message)
    return RunOptions(**plain | {"source": SourceOptions(**source), "outputs": outputs})


def as_defaults(options: RunOptions) -> dict[str, Any]:
    """Give a run's options as defaults of the command's parameters, by name.

    `force` stays behind: that an earlier run replaced results is no leave to replace more; and so
    does `jobs`, which is about the batch that the run was in.
    """
    plain = options.to_json()
    defaults = {**plain.pop("source"), **plain, "only": plain.pop("outputs")}
    del defaults["force"], defaults["jobs"]
    return {name: value for name, value in defaults.items() if value is not None}
