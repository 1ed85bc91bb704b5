"""``bgsub events``: list when objects were in sight, or whole frames stood out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bgsub.cli import options as shared
from bgsub.cli import values
from bgsub.cli.analysed import results_of
from bgsub.cli.help import Command, examples, option
from bgsub.cli.logs import current_session, log_options
from bgsub.cli.places import find_region, read_ignored
from bgsub.errors import OutliersFound
from bgsub.rules import check_areas
from bgsub.tracking.place_options import ListingOptions, PlaceOptions

_OUTPUTS = frozenset({"objects", "tracks", "events", "errors"})


@click.command(
    "events",
    cls=Command,
    epilog=examples(
        "bgsub events results/",
        "bgsub events results/ --min-area 200 --min-length 10 --format csv > events.csv",
        "bgsub events door.mp4 --every 5",
        "bgsub events results/ --regions yard.json --region gate",
    ),
)
@click.argument("given", type=values.PATH, metavar="RESULTS|INPUT")
@shared.event_format_option
@option(
    "Results",
    "--fail-on-events",
    is_flag=True,
    help="Exit with 8 if an event is listed.",
)
@shared.section("Events", kind=ListingOptions)
@shared.section("Events", kind=PlaceOptions)
@shared.source_options
@shared.resource_options
@log_options
def events_command(given: str, form: str, fail_on_events: bool, **params: Any) -> None:
    """List when objects were in sight, or when whole frames stood out.

    RESULTS is a folder that `bgsub run` or `bgsub objects` wrote. INPUT, a video or a folder of
    images, is analysed now, and no results are written. The events go to stdout, a line that sums
    them up to stderr.
    """
    from bgsub.report.tables import list_sightings

    session = current_session()
    listing, places = shared.chosen(ListingOptions, params), shared.chosen(PlaceOptions, params)
    check_areas(listing.min_area, places.max_area)
    # All objects are followed, wherever they are: which of them count is decided afterwards.
    run = {**params, "regions": None, "ignore": None}
    with session.about(given):
        with results_of(given, _OUTPUTS, run, session) as folder:
            events = _of_results(folder, listing, places)
        click.echo(list_sightings(form, events, Path(given).resolve().name), nl=False)
        noun = "event" if len(events) == 1 else "events"
        session.log("summary", f"{given}: {len(events) or 'no'} {noun}", events=len(events))
    if fail_on_events and events:
        raise OutliersFound(f"{given}: events were found")


def _of_results(folder: Path, listing: ListingOptions, places: PlaceOptions) -> list[Any]:
    """Form events of what a run has written."""
    from bgsub.export.run_data import load_run, table_is_missing
    from bgsub.outliers.errors_table import read_csv
    from bgsub.outliers.events import find_events
    from bgsub.tracking.events import EventFilter, choose_events
    from bgsub.tracking.regions import check_inside
    from bgsub.tracking.tables import read_objects

    table = folder / "objects.csv"
    if not table.is_file():
        raise table_is_missing(folder, "objects.csv")
    errors = folder / "errors.csv"
    frames = find_events(read_csv(errors)) if errors.is_file() else []
    run = load_run(folder)
    size = run.width, run.height
    region = find_region(places)
    check_inside(run.name, size, [] if region is None else [region])
    chosen = EventFilter(
        min_area=listing.min_area,
        max_area=places.max_area,
        min_length=listing.min_length,
        merge_gap_s=listing.merge_gap,
        region=region,
        ignored=read_ignored(places, size),
    )
    return choose_events(read_objects(table), frames, chosen)
