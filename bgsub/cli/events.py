"""``bgsub events``: list when objects were in sight, or whole frames stood out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bgsub.cli import options as shared
from bgsub.cli.files import load_selected, results_of, selection_options
from bgsub.cli.help import Command, examples, option
from bgsub.cli.messages import current_session, log_options
from bgsub.errors import OutliersFound

_OUTPUTS = frozenset({"objects", "tracks", "events", "errors"})


@click.command(
    "events",
    cls=Command,
    epilog=examples(
        "bgsub events results/",
        "bgsub events results/ --min-area 200 --min-length 10 --format csv > events.csv",
        "bgsub events door.mp4 --every 5",
        "bgsub events results/ --regions yard.json --region gate",
        "bgsub events street/ --by track --format csv > objects.csv   a line for each object",
    ),
)
@click.argument("given", type=shared.PATH, metavar="RESULTS|INPUT")
@shared.event_format_option
@option(
    "Results",
    "--fail-on-events",
    is_flag=True,
    help="Exit with 8 if an event is listed.",
)
@selection_options
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
    # All objects are followed, wherever they are: which of them count is decided afterwards.
    run = {**params, "regions": None, "ignore": None}
    with session.about(given):
        with results_of(given, _OUTPUTS, run, session) as folder:
            events = load_selected(folder, params, always=True).events()
        click.echo(list_sightings(form, events, Path(given).resolve().name), nl=False)
        noun = "event" if len(events) == 1 else "events"
        session.log("summary", f"{given}: {len(events) or 'no'} {noun}", events=len(events))
    if fail_on_events and events:
        raise OutliersFound(f"{given}: events were found")
