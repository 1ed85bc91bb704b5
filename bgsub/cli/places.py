"""Read the files that say in which places objects count."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bgsub.errors import UsageError
from bgsub.tracking.place_options import PlaceOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bgsub.tracking.regions import Region


def find_region(places: PlaceOptions) -> Region | None:
    """Read the region that ``--region`` names; None where it names none.

    Raises
    ------
    UsageError
        If there is no such region.
    InputError
        If the file cannot be read.
    """
    from bgsub.tracking.regions import read_regions

    name, file = places.region, places.regions
    if name is None or file is None:
        return None
    found = [region for region in read_regions(Path(file)) if region.name == name]
    if not found:
        raise UsageError(f"--region {name}: {file} has no region of that name")
    return found[0]


def read_ignored(
    places: PlaceOptions, size: tuple[int, int] | None = None
) -> NDArray[np.bool_] | None:
    """Read where objects do not count, shape (h, w); None for no image.

    Parameters
    ----------
    places : PlaceOptions
    size : tuple of int, optional
        Width and height that the image must have, those of the input.

    Raises
    ------
    InputError
        If it cannot be read.
    UsageError
        If it has another size.
    """
    from bgsub.video.images import read_image

    if places.ignore is None:
        return None
    image = read_image(Path(places.ignore))
    height, width = image.shape[:2]
    if size is not None and size != (width, height):
        sizes = f"{width}×{height} pixels, the input {size[0]}×{size[1]}"
        message = f"{Path(places.ignore).name}: the ignore image has {sizes}"
        raise UsageError(f"{message}; they must be the same")
    grey = image if image.ndim == 2 else image.max(axis=2)
    ignored: NDArray[np.bool_] = grey >= 128
    return ignored
