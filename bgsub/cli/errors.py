"""``bgsub errors``: list which whole frames differ from the usual ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as shared
from bgsub.cli import values
from bgsub.cli.errors_input import Loaded, load
from bgsub.cli.files import make_folder
from bgsub.cli.help import Command, examples, option, together
from bgsub.cli.logs import current_session, log_options
from bgsub.errors import InputError, OutliersFound
from bgsub.outliers.event_options import EventOptions
from bgsub.runtime.temporary import write_file, write_in

if TYPE_CHECKING:
    from bgsub.outliers.events import Event


_result_options = together(
    shared.event_format_option,
    option(
        "Results",
        "--plot",
        type=values.PLOT,
        metavar="FILE",
        help="Draw the errors and the events to FILE (.png or .svg).",
    ),
    option(
        "Results",
        "--save-frames",
        type=values.PATH,
        metavar="DIR",
        help="Save the frame with the highest score of each event to DIR, as PNG.",
    ),
    option(
        "Results",
        "--fail-on-outliers",
        is_flag=True,
        help="Exit with 8 if an event is listed, or if the scene stays changed to the end.",
    ),
)
"""--format --plot --save-frames --fail-on-outliers"""


@click.command(
    "errors",
    cls=Command,
    epilog=examples(
        "bgsub errors results/",
        "bgsub errors results/ --merge-gap 5s --min-length 10 --save-frames visitors/",
        "bgsub errors door.mp4 --k 5 --every 5 --plot errors.png",
        "bgsub errors monday/model.npz tuesday.avi --format csv > tuesday.csv",
        "bgsub errors results/ --quiet --fail-on-outliers || mail-the-guard",
        'ffmpeg -i door.mp4 -vf "$(bgsub errors results/ --format ffmpeg)" -an visitors.mp4',
    ),
)
@click.argument("given", type=values.PATH, metavar="RESULTS|VIDEO|MODEL")
@click.argument("footage", type=values.PATH, metavar="[INPUT]", required=False)
@shared.section("Events", kind=EventOptions)
@_result_options
@shared.named("k")
@shared.source_options
@shared.resource_options
@log_options
def errors_command(
    given: str,
    footage: str | None,
    form: str,
    plot: str | None,
    save_frames: str | None,
    fail_on_outliers: bool,
    **params: Any,
) -> None:
    """List events whose frames as a whole differ from the usual ones: they fit no background.

    Where something is in sight most of the time, that is usual: `bgsub events` lists objects.

    RESULTS is a folder that `bgsub run` wrote, or its errors.csv. A VIDEO or folder of images is
    fitted now, and no results are written. MODEL is a model.npz, followed by the INPUT to apply it
    to. The events go to stdout, a line that sums them up to stderr.
    """
    from bgsub.outliers.events import find_events, with_cutoff
    from bgsub.report.tables import list_events, summary

    session = current_session()
    options = shared.chosen(EventOptions, params)
    with session.about(given):
        loaded = load(given, footage, params, session)
        if save_frames is not None:
            loaded.check_footage(session)
        table = with_cutoff(loaded.table, cutoff=options.chosen_cutoff, quantile=options.quantile)
        events = find_events(
            table,
            merge_gap=options.merge_gap,
            min_length=options.min_length,
            top=options.top,
        )
        if plot is not None:
            from bgsub.report.plots import render_errors

            kind: Any = Path(plot).suffix.lower()[1:]
            write_file(
                Path(plot), render_errors(table, events, title=loaded.name, plot_format=kind)
            )
        if save_frames is not None and events:
            _save_peaks(loaded, events, Path(save_frames))
        click.echo(list_events(form, events, table, loaded.name), nl=False)
        text = summary(events, table, loaded.name)
        session.log("summary", text, events=len(events), cutoff=table.cutoff)
    if fail_on_outliers and (events or table.scene_change is not None):
        raise OutliersFound(f"{loaded.name}: outlier frames were found")


def _save_peaks(loaded: Loaded, events: list[Event], folder: Path) -> None:
    """Save the frame of each event's highest score as a PNG file, in one pass over the footage."""
    from bgsub.video.images import encode_image
    from bgsub.video.source import open_source

    numbers = {event.peak_frame: event.number for event in events}
    source = open_source(
        str(loaded.footage),
        start=min(numbers),
        end=max(numbers),
        exact_color=True,
        threads=loaded.threads,
    )
    make_folder(folder)
    for frame in source:
        if frame.number in numbers:
            name = f"event{numbers.pop(frame.number):03d}_frame{frame.number:06d}.png"
            write_in(folder, name, encode_image(frame.layout.to_bgr(frame.data)))
    if numbers:
        message = (
            f"{loaded.footage}: has no frame {min(numbers)}; is it the footage of these errors?"
        )
        raise InputError(message)
