"""``bgsub errors``: list which whole frames differ from the usual ones."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from bgsub.cli import options as opts
from bgsub.cli.messages import Session, make_progress
from bgsub.errors import InputError, OutliersFound, UsageError
from bgsub.options import SourceOptions, declared_options
from bgsub.outliers.errors_table import ErrorTable, read_csv
from bgsub.outliers.events import Event, EventOptions, find_events, with_cutoff
from bgsub.outliers.scene_change import SceneChange
from bgsub.pipeline.results import has_results, load_manifest, recorded_path
from bgsub.runtime.files import check_plain, write_file, write_in


class _Errors(NamedTuple):
    """Errors, and name, path and size of the footage when they were made."""

    table: ErrorTable
    name: str
    footage: str | None = None
    size_bytes: int | None = None


def _load(given: str, footage: str | None, params: Mapping[str, Any], session: Session) -> _Errors:
    """Find out what is given, and return the errors of its frames."""
    check_plain(given)
    path = Path(given)
    folder = path.parent if path.name == "run.json" else path
    if footage is not None:
        if path.suffix.lower() != ".npz":
            both = f"{given} is no model.npz, but {footage} follows it"
            raise UsageError(f"{both}; give one input at a time")
        _name_idle({"k"}, f"the model {given} has its own", session)
    else:
        if folder.is_dir() and (has_results(folder) or (folder / "errors.csv").exists()):
            path = folder / "errors.csv"
        if path.suffix.lower() == ".csv":
            reason = f"{given} holds errors that are known already; give the video"
            names = {one.name for one in declared_options(SourceOptions)} | {"k", "memory", "temp"}
            _name_idle(names, reason, session)
            return _recorded(path)
        with contextlib.suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
            if "bgsub_model.npy" in archive.namelist():  # or else there are frames in an .npz file
                advice = "name the footage after it that it is to be applied to"
                raise UsageError(f"{given} is a model; {advice}")
        if path.is_dir() and (inside := sorted(path.glob("*/run.json"))):
            from bgsub.video.source import image_files

            if not image_files(given):
                several = "holds several results; give one of them, such as"
                raise InputError(f"{given}: {several} {inside[0].parent}")
    options = opts.run_options(params)
    from bgsub.pipeline.run import fit_errors, model_errors

    with make_progress(session) as progress:
        if footage is None:
            found = fit_errors(given, options, progress=progress)
        else:
            found = model_errors(path, footage, options, progress=progress)
    for note in found.notes:
        session.log("warning", note)
    return _Errors(found.table, Path(footage or given).resolve().name, footage or given)


def _recorded(path: Path) -> _Errors:
    """Read the errors that a run has written, and what its run.json says of them."""
    manifest = load_manifest(path.parent) if has_results(path.parent) else {}
    if manifest and not path.exists():
        message = f"{path.parent}: its run wrote no errors.csv; run it again with --only errors"
        raise InputError(message)
    table = read_csv(path)
    is_run = manifest and manifest.get("command", "run") in {"run", "apply"}
    if not is_run or manifest["frames"]["used"] != table.frames.size:
        return _Errors(table, path.name)
    cutoff, change, footage = manifest["cutoff"], manifest["scene_change"], manifest["input"]
    agrees = cutoff is not None and ((table.highest > cutoff) == table.outliers).all()
    if agrees and table.marked is None:
        table = replace(table, cutoff=cutoff)
    if change is not None:
        found = SceneChange(change["first_frame"], change["first_time_s"])
        table = replace(table, scene_change=found)
    where = recorded_path(manifest, footage["path"])
    return _Errors(table, footage["name"], where, footage["size_bytes"])


def _name_idle(names: set[str], reason: str, session: Session) -> None:
    """Log a warning that names the typed options that have no effect."""
    for param in click.get_current_context().command.params:
        if param.name in names & opts.typed_options():
            session.log("warning", f"{max(param.opts, key=len)} has no effect here: {reason}")


def _check_footage(errors: _Errors, given: str, session: Session) -> None:
    """Raise unless pictures of the footage can be had; warn if it is another file by now."""
    from bgsub.video.source import is_there

    if errors.footage is None:
        message = f"--save-frames: {given} does not say which video it is of; give the results"
        raise UsageError(f"{message} folder, or the video itself")
    path = Path(errors.footage)
    if not is_there(errors.footage):
        message = f"{path}: the video of these results is gone, and --save-frames needs it"
        raise InputError(f"{message}; put it back, or run bgsub from the folder it was run from")
    if errors.size_bytes and path.is_file() and path.stat().st_size != errors.size_bytes:
        session.log("warning", f"{path} has changed since these errors were made")


@opts.command(
    "errors",
    "bgsub errors results/",
    "bgsub errors results/ --merge-gap 5s --min-length 10 --save-frames visitors/",
    "bgsub errors door.mp4 --k 5 --every 5 --plot errors.png",
    "bgsub errors monday/model.npz tuesday.avi --format csv > tuesday.csv",
    "bgsub errors results/ --quiet --fail-on-outliers || mail-the-guard",
    'ffmpeg -i door.mp4 -vf "$(bgsub errors results/ --format ffmpeg)" -an visitors.mp4',
)
@opts.argument("given", "RESULTS|VIDEO|MODEL")
@opts.argument("footage", "[INPUT]", required=False)
@opts.section("Events", kind=EventOptions)
@opts.event_format_option
@opts.plot_option("Draw the errors and the events to FILE (.png or .svg).")
@opts.option(
    "Results",
    "--save-frames DIR",
    "Save the frame with the highest score of each event to DIR, as PNG.",
)
@opts.option(
    "Results",
    "--fail-on-outliers",
    "Exit with 8 if an event is listed, or if the scene stays changed to the end.",
)
@opts.named("k")
@opts.source_options
@opts.resource_options
def errors_command(
    session: Session,
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
    from bgsub.report.tables import list_events, summary

    options = opts.chosen(EventOptions, params)
    with session.about(given):
        loaded = _load(given, footage, params, session)
        if save_frames is not None:
            _check_footage(loaded, given, session)
        table = with_cutoff(loaded.table, cutoff=options.chosen_cutoff, quantile=options.quantile)
        gap, least = options.merge_gap, options.min_length
        events = find_events(table, merge_gap=gap, min_length=least, top=options.top)
        if plot is not None:
            from bgsub.report.plots import render_errors

            kind: Any = Path(plot).suffix.lower()[1:]
            drawn = render_errors(table, events, title=loaded.name, plot_format=kind)
            write_file(Path(plot), drawn)
        if save_frames is not None and events:
            _save_peaks(str(loaded.footage), events, Path(save_frames), params["threads"])
        click.echo(list_events(form, events, table, loaded.name), nl=False)
        text = summary(events, table, loaded.name)
        session.log("summary", text, events=len(events), cutoff=table.cutoff)
    if fail_on_outliers and (events or table.scene_change is not None):
        raise OutliersFound(f"{loaded.name}: outlier frames were found")


def _save_peaks(footage: str, events: list[Event], folder: Path, threads: int | None) -> None:
    """Save the frame of each event's highest score as a PNG file, in one pass over the footage."""
    from bgsub.video.images import encode_image
    from bgsub.video.source import open_source

    numbers = {event.peak_frame: event.number for event in events}
    first, last = min(numbers), max(numbers)
    for frame in open_source(footage, start=first, end=last, exact_color=True, threads=threads):
        if frame.number in numbers:
            name = f"event{numbers.pop(frame.number):03d}_frame{frame.number:06d}.png"
            write_in(folder, name, encode_image(frame.layout.to_bgr(frame.data)))
    if numbers:
        message = f"{footage}: has no frame {min(numbers)}; is it the footage of these errors?"
        raise InputError(message)
