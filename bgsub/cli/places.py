"""Options that say in which places objects count, and what they name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bgsub.cli import values
from bgsub.cli.help import option, together
from bgsub.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bgsub.tracking.regions import Region

place_options = together(
    option(
        "Events",
        "--max-area",
        type=click.IntRange(min=1),
        metavar="PIXELS",
        help="Leave out objects of more pixels of the input.",
    ),
    option(
        "Events",
        "--regions",
        type=values.PATH,
        metavar="JSON",
        help="File of named regions, as for bgsub run.",
    ),
    option(
        "Events",
        "--region",
        metavar="NAME",
        help="Count only objects in the region of this name in --regions.",
    ),
    option(
        "Events",
        "--ignore",
        type=values.PATH,
        metavar="IMAGE",
        help="Image of the input's size: objects do not count where it is white.",
    ),
)
"""--max-area --regions --region --ignore"""


def find_region(file: str | None, name: str | None) -> Region | None:
    """Read the region that ``--region`` names; None where it names none.

    Raises
    ------
    UsageError
        If there is no such region.
    InputError
        If the file cannot be read.
    """
    from bgsub.tracking.regions import read_regions

    if name is None:
        return None
    if file is None:
        raise UsageError("--region needs --regions, the file that says where it is")
    found = [region for region in read_regions(Path(file)) if region.name == name]
    if not found:
        raise UsageError(f"--region {name}: {file} has no region of that name")
    return found[0]


def read_ignored(path: str | None) -> NDArray[np.bool_] | None:
    """Read where objects do not count, shape (h, w); None for no image.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    from bgsub.video.images import read_image

    if path is None:
        return None
    image = read_image(Path(path))
    grey = image if image.ndim == 2 else image.max(axis=2)
    ignored: NDArray[np.bool_] = grey >= 128
    return ignored
