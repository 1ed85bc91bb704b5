"""Options of the masks, as decorators."""

from __future__ import annotations

import click

from bgsub.cli import values
from bgsub.cli.help import option, together
from bgsub.options import RunOptions

_DEFAULT = RunOptions()

model_option = option(
    "Masks",
    "--model",
    type=click.Choice(["local", "paper"]),
    help="Masks from local models of the background, which know shadows, changes of light and "
    "waving trees; or by the paper's formula.  [default: local, but the formula with --threshold "
    "or another --method]",
)
"""--model"""

mask_options = together(
    option(
        "Masks",
        "--shadows",
        type=click.Choice(["drop", "keep"]),
        default=_DEFAULT.shadows,
        show_default=True,
        help="Local models: whether cast shadows are background, or part of the mask.",
    ),
    option(
        "Masks",
        "--sensitivity",
        type=click.Choice(["low", "normal", "high"]),
        default=_DEFAULT.sensitivity,
        show_default=True,
        help="Local models: miss more and mark less that is none, or the other way round.",
    ),
    option(
        "Masks",
        "--fill-holes/--no-fill-holes",
        default=True,
        show_default=True,
        help="Local models: fill the holes of objects.",
    ),
    option(
        "Masks",
        "--ignore",
        type=values.PATH,
        metavar="IMAGE",
        help="Image of the input's size; where it is white (a clock, a monitor), pixels are fitted "
        "like all others but never foreground. --mask-image leaves pixels out of the fit as well.",
    ),
)
"""--shadows --sensitivity --fill-holes --ignore"""
