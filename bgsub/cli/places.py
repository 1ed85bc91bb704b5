"""Read which events and objects of a run are wanted: the same options for every command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgsub.cli import options as shared
from bgsub.cli.help import F, together
from bgsub.errors import UsageError
from bgsub.rules import check_areas
from bgsub.tracking.place_options import ListingOptions, PlaceOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bgsub.export.run_data import RunData
    from bgsub.tracking.regions import Region

selection_options: Callable[[F], F] = together(
    shared.section("Events", kind=ListingOptions), shared.section("Events", kind=PlaceOptions)
)
"""--min-area --min-length --merge-gap --by --max-area --regions --region --ignore"""


def load_selected(folder: Path, params: Mapping[str, Any], *, always: bool = False) -> RunData:
    """Load a run with the selection that the options make; without any, all that it found.

    Parameters
    ----------
    folder : Path
    params : mapping
        Of a command with `selection_options`.
    always : bool
        Form events anew where no option was given, too.

    Raises
    ------
    UsageError, InputError
        For options that contradict each other, and files that cannot be read.
    """
    from bgsub.export.run_data import load_run
    from bgsub.tracking.events import EventFilter, Selection
    from bgsub.tracking.flicker import small_area
    from bgsub.tracking.regions import check_inside, read_regions

    listing, places = shared.chosen(ListingOptions, params), shared.chosen(PlaceOptions, params)
    check_areas(listing.min_area, places.max_area)
    if listing.by == "region" and places.regions is None:
        raise UsageError("--by region needs --regions, the file that says where they are")
    run = load_run(folder)
    if not (always or listing.changed() or places.changed()):
        return run
    size = run.width, run.height
    region = find_region(places)
    named = () if places.regions is None else tuple(read_regions(Path(places.regions)))
    regions = named if region is None else (region,)
    check_inside(run.name, size, regions)
    is_given = listing.min_area is not None or run.min_area is not None
    counted = EventFilter(
        min_area=listing.min_area,
        max_area=places.max_area,
        small_area=0.0 if is_given else small_area(run.region),
        min_length=listing.min_length,
        merge_gap_s=listing.merge_gap,
        region=region,
        ignored=read_ignored(places, size),
    )
    return replace(run, selection=Selection(counted=counted, by=listing.by, regions=regions))


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
