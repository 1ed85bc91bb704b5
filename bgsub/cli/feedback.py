"""``bgsub feedback``: remember what is no object."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import click

from bgsub.cli.messages import Session
from bgsub.cli.options import PATH, command, option, out_option
from bgsub.errors import UsageError, plural


@command(
    "feedback",
    "bgsub feedback results/ --not 12 15                      events, as `bgsub events` lists",
    "bgsub feedback results/ --by track --not 3",
    "bgsub feedback results/ --from not-objects.json          what a page has saved",
    "bgsub run tomorrow.mp4 --feedback feedback.json --out tomorrow/",
)
@click.argument("results", type=PATH, metavar="RESULTS")
@click.argument("numbers", nargs=-1, type=click.IntRange(1), metavar="[NUMBER...]")
@option("Feedback", "--not", "says_not", is_flag=True, help="The numbers are no objects.")
@option(
    "Feedback",
    "--by",
    type=click.Choice(["event", "track"]),
    default="event",
    show_default=True,
    help="What the numbers are those of; of an event, all tracks are meant.",
)
@option(
    "Feedback",
    "--from",
    "saved",
    type=PATH,
    metavar="FILE",
    help="Take the numbers of events that the page of RESULTS has saved.",
)
@out_option(
    "File that remembers; what it holds already stays.  [default: feedback.json]",
    metavar="FILE",
    required=False,
)
def feedback_command(
    session: Session,
    results: str,
    numbers: tuple[int, ...],
    says_not: bool,
    by: Literal["event", "track"],
    saved: str | None,
    out: str | None,
) -> None:
    """Remember events or tracks of RESULTS that are no objects.

    Their place, size, path and look go to a small file. `bgsub run --feedback FILE` and `bgsub
    watch --feedback FILE` drop what is like them, and say so. An example that is removed from the
    file drops nothing any more.
    """
    from bgsub.export.run_data import load_run
    from bgsub.tracking import feedback

    with session.about(results):
        if saved is not None:
            if numbers or by == "track":
                raise UsageError("--from names events; leave out --not and --by track")
            numbers = tuple(feedback.read_choice(Path(saved)))
        elif not says_not or not numbers:
            raise UsageError("nothing is named; say which events are none: --not 12 15")
        run = load_run(Path(results))
        tracks = set(numbers)
        if by == "event":
            events = {event.number: event for event in run.events()}
            for number in numbers:
                if number not in events or not events[number].tracks:
                    raise UsageError(f"{results}: has no event {number} of objects")
            tracks = {track for number in numbers for track in events[number].tracks}
        path = Path(out or "feedback.json")
        known = feedback.read_feedback(path) if os.path.lexists(path) else []
        more = feedback.examples_of(
            run.name, Path(results) / "objects.csv", (run.width, run.height), sorted(tracks)
        )
        feedback.write_feedback(path, [*known, *more])
        session.log("summary", f"{path}: remembers {plural(len(more), 'track')} more as no object")
