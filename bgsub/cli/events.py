"""``bgsub events``: list when objects were in sight, and select among events for any command."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli.messages import Session, make_progress
from bgsub.cli.options import (
    PATH,
    F,
    chosen,
    command,
    event_format_option,
    option,
    resource_options,
    run_options,
    section,
    source_options,
    together,
)
from bgsub.errors import OutliersFound, UsageError
from bgsub.options import check_areas
from bgsub.tracking.place_options import ListingOptions, PlaceOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bgsub.export.run_data import RunData
    from bgsub.tracking.regions import Region

selection_options: Callable[[F], F] = together(
    section("Events", kind=ListingOptions), section("Events", kind=PlaceOptions)
)
"""--min-area --min-length --merge-gap --by --max-area --regions --region --ignore"""


def load_selected(folder: Path, params: Mapping[str, Any], *, always: bool = False) -> RunData:
    """Load a run with the selection that the options make; without any, all that it found.

    Parameters
    ----------
    params : mapping
        Of a command with `selection_options`.
    always : bool
        Form events anew where no option was given, too.
    """
    from bgsub.export.run_data import load_run
    from bgsub.tracking.events import EventFilter, Selection
    from bgsub.tracking.regions import check_inside, read_regions

    listing, places = chosen(ListingOptions, params), chosen(PlaceOptions, params)
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
    counted = EventFilter(
        min_area=listing.min_area,
        max_area=places.max_area,
        min_length=listing.min_length,
        merge_gap_s=listing.merge_gap,
        region=region,
        ignored=read_ignored(places, size),
    )
    return replace(run, selection=Selection(counted=counted, by=listing.by, regions=regions))


def find_region(places: PlaceOptions) -> Region | None:
    """Read the region that ``--region`` names; None where it names none."""
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
    size : tuple of int, optional
        Width and height that the image must have, those of the input.
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


@contextmanager
def results_of(
    given: str, outputs: frozenset[str], params: Mapping[str, Any], session: Session
) -> Iterator[Path]:
    """Yield the folder that was named if a run wrote it, else one that is gone afterwards.

    Parameters
    ----------
    given : str
        A folder of results, or an input.
    outputs : frozenset of str
        What is made of an input.
    params : mapping
        Options of a run.
    """
    from bgsub.pipeline import run as pipeline
    from bgsub.pipeline.results import has_results

    if has_results(Path(given)):
        yield Path(given)
        return

    # All objects are followed, wherever they are: which of them count is decided afterwards.
    everywhere = {**params, "regions": None, "ignore": None}
    options = replace(run_options(everywhere), outputs=outputs)
    with tempfile.TemporaryDirectory(prefix="bgsub-") as place:
        out = Path(place) / "results"
        with make_progress(session) as progress:
            result = pipeline.run(given, out, options, progress=progress)
        for warning in result.warnings:
            session.log("warning", warning)
        yield out


_OUTPUTS = frozenset({"objects", "tracks", "events", "errors"})


@command(
    "events",
    "bgsub events results/",
    "bgsub events results/ --min-area 200 --min-length 10 --format csv > events.csv",
    "bgsub events door.mp4 --every 5",
    "bgsub events results/ --regions yard.json --region gate",
    "bgsub events street/ --by track --format csv > objects.csv   a line for each object",
)
@click.argument("given", type=PATH, metavar="RESULTS|INPUT")
@event_format_option
@option(
    "Results",
    "--fail-on-events",
    is_flag=True,
    help="Exit with 8 if an event is listed.",
)
@selection_options
@source_options
@resource_options
def events_command(
    session: Session, given: str, form: str, fail_on_events: bool, **params: Any
) -> None:
    """List when objects were in sight, or when whole frames stood out.

    RESULTS is a folder that `bgsub run` or `bgsub objects` wrote. INPUT, a video or a folder of
    images, is analysed now, and no results are written. The events go to stdout, a line that sums
    them up to stderr.
    """
    from bgsub.report.tables import list_sightings

    with session.about(given):
        with results_of(given, _OUTPUTS, params, session) as folder:
            events = load_selected(folder, params, always=True).events()
        click.echo(list_sightings(form, events, Path(given).resolve().name), nl=False)
        noun = "event" if len(events) == 1 else "events"
        session.log("summary", f"{given}: {len(events) or 'no'} {noun}", events=len(events))
    if fail_on_events and events:
        raise OutliersFound(f"{given}: events were found")
