"""``bgsub errors``: list which whole frames differ from the usual ones."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as shared
from bgsub.cli.files import make_folder
from bgsub.cli.help import Command, examples, option, together
from bgsub.cli.messages import Session, current_session, log_options
from bgsub.cli.progress import make_progress
from bgsub.declared import declared_fields
from bgsub.errors import InputError, OutliersFound, UsageError
from bgsub.files import check_plain
from bgsub.outliers.events import EventOptions
from bgsub.runtime.temporary import write_file, write_in
from bgsub.source_options import SourceOptions

if TYPE_CHECKING:
    from bgsub.outliers.errors_table import ErrorTable
    from bgsub.outliers.events import Event


_OF_SOURCES = tuple(one.name for one in declared_fields(SourceOptions))


@dataclass(frozen=True, eq=False)
class Loaded:
    """Errors, and what they are of.

    Attributes
    ----------
    name : str
        Of the footage, for people.
    footage : str, optional
        Path of the footage, as it was given when the errors were made.
    size_bytes : int, optional
        Of the footage when the errors were made.
    origin : str
        Where the errors were read.
    threads : int, optional
        For decoding.
    """

    table: ErrorTable
    name: str
    footage: str | None
    size_bytes: int | None
    origin: str
    threads: int | None

    def check_footage(self, session: Session) -> None:
        """Raise unless pictures of the footage can be had; warn if it is another file by now."""
        if self.footage is None:
            message = (
                f"--save-frames: {self.origin} does not say which video it is of; "
                "give the results folder, or the video itself"
            )
            raise UsageError(message)
        path = Path(self.footage)
        if self.size_bytes is None or any(sign in self.footage for sign in "*?[%"):
            return
        if not path.exists():
            message = (
                f"{self.footage}: the video of these results is gone, and --save-frames needs it; "
                "put it back, or run bgsub from the folder it was run from"
            )
            raise InputError(message)
        if path.is_file() and path.stat().st_size != self.size_bytes:
            session.log("warning", f"{path} has changed since these errors were made")


def load(given: str, footage: str | None, params: Mapping[str, Any], session: Session) -> Loaded:
    """Find out what is given, and get the errors of its frames.

    Parameters
    ----------
    given : str
        The first argument.
    footage : str, optional
        The second one, which goes with a model.
    params : mapping
        The command's parameters.
    """
    check_plain(given)
    path = Path(given)
    if footage is not None:
        if path.suffix.lower() != ".npz":
            message = f"{given} is no model.npz, but {footage} follows it; give one input at a time"
            raise UsageError(message)
        _refuse({"k"}, f"the model {given} has its own")
        return _computed(given, footage, params, session)
    from bgsub.pipeline.directory import has_results

    folder = path.parent if path.name == "run.json" else path
    if folder.is_dir() and (has_results(folder) or (folder / "errors.csv").exists()):
        return _from_csv(folder / "errors.csv", given, params)
    if path.suffix.lower() == ".csv":
        return _from_csv(path, given, params)
    if _is_model(path):
        message = f"{given} is a model; name the footage after it that it is to be applied to"
        raise UsageError(message)
    if path.is_dir():
        _check_images(path)
    return _computed(None, given, params, session)


def _computed(
    model: str | None, footage: str, params: Mapping[str, Any], session: Session
) -> Loaded:
    """Compute the errors, by a fit or with a saved model."""
    options = shared.run_options(params)
    from bgsub.pipeline.frame_errors import fit_errors, model_errors

    with make_progress(session) as progress:
        if model is None:
            found = fit_errors(footage, options, progress=progress)
        else:
            found = model_errors(Path(model), footage, options, progress=progress)
    for note in found.notes:
        session.log("warning", note)
    name = Path(footage).resolve().name
    return Loaded(found.table, name, footage, None, footage, options.threads)


def _from_csv(path: Path, given: str, params: Mapping[str, Any]) -> Loaded:
    """Read the errors that a run has written, and what its run.json says of them."""
    from bgsub.outliers.errors_table import read_csv
    from bgsub.outliers.scene_change import SceneChange
    from bgsub.pipeline.directory import has_results
    from bgsub.pipeline.manifest import load_manifest, recorded_path

    _refuse(
        {"k", "memory", "temp", *_OF_SOURCES},
        f"{given} holds errors that are known already; give the video",
    )
    manifest = None
    if has_results(path.parent):
        manifest = load_manifest(path.parent)
        if not path.exists():
            message = f"{path.parent}: its run wrote no errors.csv; run it again with --only errors"
            raise InputError(message)
    table = read_csv(path)
    threads = params["threads"]
    if manifest is None or manifest.get("frames", {}).get("used") != table.frames.size:
        return Loaded(table, path.name, None, None, given, threads)
    cutoff, change = manifest["cutoff"], manifest["scene_change"]
    agrees = cutoff is not None and ((table.highest > cutoff) == table.outliers).all()
    if agrees and table.marked is None:
        table = replace(table, cutoff=cutoff)
    if change is not None:
        found = SceneChange(change["first_frame"], change["first_time_s"])
        table = replace(table, scene_change=found)
    footage = manifest["input"]
    where = recorded_path(manifest, footage["path"])
    return Loaded(table, footage["name"], where, footage["size_bytes"], given, threads)


def _refuse(names: set[str], reason: str) -> None:
    """Refuse options that would have no effect."""
    context = click.get_current_context()
    for param in context.command.params:
        source = context.get_parameter_source(param.name or "")
        if param.name in names and source is click.core.ParameterSource.COMMANDLINE:
            message = f"{max(param.opts, key=len)} has no effect here: {reason}"
            raise UsageError(message)


def _is_model(path: Path) -> bool:
    """Return whether a file is a saved model rather than frames in an .npz file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "bgsub_model.npy" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _check_images(folder: Path) -> None:
    """Raise InputError for a folder that holds neither images nor results."""
    from bgsub.video.images import is_image_name

    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        message = f"{folder}: cannot be read ({error.strerror}); check its permissions"
        raise InputError(message) from error
    if any(is_image_name(entry) for entry in entries):
        return
    inside = [str(entry) for entry in entries if (entry / "run.json").is_file()]
    if inside:
        more = f" or another of the {len(inside)} in it" if len(inside) > 1 else ""
        message = f"{folder}: holds the results of a batch; give {inside[0]}{more}"
    else:
        message = f"{folder}: holds neither results of bgsub nor images; run `bgsub run` first"
    raise InputError(message)


_result_options = together(
    shared.event_format_option,
    option(
        "Results",
        "--plot",
        type=shared.PLOT,
        metavar="FILE",
        help="Draw the errors and the events to FILE (.png or .svg).",
    ),
    option(
        "Results",
        "--save-frames",
        type=shared.PATH,
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
@click.argument("given", type=shared.PATH, metavar="RESULTS|VIDEO|MODEL")
@click.argument("footage", type=shared.PATH, metavar="[INPUT]", required=False)
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
