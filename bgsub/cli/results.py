"""What is made of the objects and events of a run: list them, cut clips, export, remember.

``bgsub events``, ``objects``, ``clips``, ``export`` and ``feedback``.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from bgsub.cli import options as opts
from bgsub.cli.messages import Session, log_results, make_progress
from bgsub.errors import OutliersFound, UsageError, plural
from bgsub.export import ClipOptions
from bgsub.options import check_areas
from bgsub.pipeline.results import ResultsDirectory, has_results, preamble
from bgsub.rules import Choice, Integer, Rate
from bgsub.runtime.files import check_free, staged, write_file
from bgsub.tracking.place_options import ListingOptions, PlaceOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bgsub.export.clips import Span
    from bgsub.export.run_data import RunData
    from bgsub.tracking.regions import Region

# --min-area --min-length --merge-gap --by --max-area --regions --region --ignore
selection_options: Callable[[opts.F], opts.F] = opts.together(
    opts.section("Events", kind=ListingOptions), opts.section("Events", kind=PlaceOptions)
)


def load_selected(folder: Path, params: Mapping[str, Any], *, always: bool = False) -> RunData:
    """Load a run with the selection of the parameters; `always` forms events anew too."""
    from bgsub.export.run_data import load_run
    from bgsub.tracking.events import EventFilter
    from bgsub.tracking.regions import check_inside

    listing, places = opts.chosen(ListingOptions, params), opts.chosen(PlaceOptions, params)
    check_areas(listing.min_area, places.max_area)
    if listing.by == "region" and places.regions is None:
        raise UsageError("--by region needs --regions, the file that says where they are")
    run = load_run(folder)
    if not (always or listing.changed() or places.changed()):
        return run
    size = run.width, run.height
    regions, region = read_places(places)
    regions = regions if region is None else (region,)
    check_inside(run.name, size, regions)
    selection = EventFilter(
        min_area=listing.min_area,
        min_length=listing.min_length,
        by=listing.by,
        max_area=places.max_area,
        merge_gap_s=listing.merge_gap,
        region=region,
        ignored=read_ignored(places, size),
        regions=regions,
    )
    return replace(run, selection=selection)


def read_places(places: PlaceOptions) -> tuple[tuple[Region, ...], Region | None]:
    """Read all regions, and the one that ``--region`` names."""
    from bgsub.tracking.regions import read_regions

    regions = () if places.regions is None else tuple(read_regions(Path(places.regions)))
    named = next((region for region in regions if region.name == places.region), None)
    if named is None and places.region is not None:
        raise UsageError(f"--region {places.region}: {places.regions} has no region of that name")
    return regions, named


def read_ignored(
    places: PlaceOptions, size: tuple[int, int] | None = None
) -> NDArray[np.bool_] | None:
    """Read where objects do not count, as a run does; its width and height must be `size`."""
    if places.ignore is None:
        return None
    from bgsub.video.geometry import LEVEL, MaskImage

    image = MaskImage.read(places.ignore, "ignore image")
    height, width = image.levels.shape
    if size is not None and size != (width, height):
        sizes = f"{width}×{height} pixels, the input {size[0]}×{size[1]}"
        raise UsageError(f"{image.name}: the ignore image has {sizes}; they must be the same")
    ignored: NDArray[np.bool_] = image.levels >= LEVEL
    return ignored


@contextmanager
def _results_of(
    given: str, outputs: frozenset[str], params: Mapping[str, Any], session: Session
) -> Iterator[Path]:
    """Yield the folder that was named if a run wrote it, else that of a run, gone afterwards."""
    from bgsub.pipeline import run as pipeline

    if has_results(Path(given)):
        yield Path(given)
        return
    # All objects are followed, wherever they are: which of them count is decided afterwards.
    everywhere = {**params, "regions": None, "ignore": None}
    options = replace(opts.run_options(everywhere), outputs=outputs)
    with tempfile.TemporaryDirectory(prefix="bgsub-") as place:
        out = Path(place) / "results"
        with make_progress(session) as progress:
            result = pipeline.run(given, out, options, progress=progress)
        for warning in result.warnings:
            session.log("warning", warning)
        yield out


@opts.command(
    "events",
    "bgsub events results/",
    "bgsub events results/ --min-area 200 --min-length 10 --format csv > events.csv",
    "bgsub events door.mp4 --every 5",
    "bgsub events results/ --regions yard.json --region gate",
    "bgsub events street/ --by track --format csv > objects.csv   a line for each object",
)
@opts.argument("given", "RESULTS|INPUT")
@opts.event_format_option
@opts.option("Results", "--fail-on-events", "Exit with 8 if an event is listed.")
@selection_options
@opts.source_options
@opts.resource_options
def events_command(
    session: Session, given: str, form: str, fail_on_events: bool, **params: Any
) -> None:
    """List when objects were in sight, or when whole frames stood out.

    RESULTS is a folder that `bgsub run` or `bgsub objects` wrote. INPUT, a video or a folder of
    images, is analysed now, and no results are written. The events go to stdout, a line that sums
    them up to stderr.
    """
    from bgsub.report.tables import list_sightings

    outputs = frozenset({"objects", "tracks", "events", "errors"})
    with session.about(given):
        with _results_of(given, outputs, params, session) as folder:
            events = load_selected(folder, params, always=True).events()
        click.echo(list_sightings(form, events, Path(given).resolve().name), nl=False)
        noun = "event" if len(events) == 1 else "events"
        session.log("summary", f"{given}: {len(events) or 'no'} {noun}", events=len(events))
    if fail_on_events and events:
        raise OutliersFound(f"{given}: events were found")


@opts.command(
    "objects",
    "bgsub objects results/",
    "bgsub objects results/ --regions arenas.json --out arenas/",
    "bgsub objects masks.mkv --min-area 40 --out objects/",
    "bgsub objects masks/ --fps 30 --out objects/   a folder of images",
)
@opts.argument("given", "RESULTS|MASKS")
@opts.out_option("Folder for the tables.  [default: RESULTS/objects]", required=False)
@opts.option("Results", "--fps RATE", "Frames a second, where the masks do not say it.", Rate())
@opts.named("force", section="Results")
@opts.named("min_area", section="Objects")
@opts.section("Objects")
def objects_command(
    session: Session, given: str, out: str | None, fps: str | None, force: bool, **params: Any
) -> None:
    """Write objects.csv, tracks.csv, events.csv and events.json of masks.

    RESULTS is a folder that bgsub run wrote with masks. MASKS is any mask video, or a folder of
    mask images whose names are numbered.
    """
    from bgsub.export.from_masks import follow_masks
    from bgsub.pipeline.objects import object_options
    from bgsub.tracking.recorder import describe

    with session.about(given):
        options = opts.run_options(params)
        if out is None:
            if not (Path(given) / "run.json").is_file():
                raise UsageError("--out is missing; name the folder for the tables")
            out = str(Path(given) / "objects")
        with make_progress(session) as progress:
            found, notes = follow_masks(
                given,
                Path(out),
                object_options(options),
                rate=None if fps is None else Fraction(fps),
                still_objects=options.still_objects,
                force=force,
                progress=progress,
            )
        for note in notes:
            session.log("warning", note)
        session.log("finding", describe(found))
        log_results(out, session)


# What run.json says of the results that clips were cut from.
_FACTS = ("folder", "name", "path", "width", "height", "frames", "rate", "region")


@opts.command(
    "clips",
    "bgsub clips results/ --out clips/",
    "bgsub clips night.mp4 --out clips/                       analysed now",
    "bgsub clips results/ --mode copy --out clips/            at once, from key frames",
    "bgsub clips results/ --overlay boxes --sheet sheet.jpg --out clips/",
    "bgsub clips results/ --reel reel.mp4 --caption --clock 2026-05-01T22:00 --out clips/",
    "bgsub clips results/ --min-area 200 --regions yard.json --region gate --out clips/",
    "bgsub clips results/ --before 5 --after 5 --max-events 20 --out clips/",
)
@opts.argument("given", "RESULTS|INPUT")
@opts.out_option("Folder for the clips.")
@opts.section("Results", kind=ClipOptions)
@opts.named("force", section="Results")
@opts.section("Events", kind=ClipOptions)
@selection_options
@opts.source_options
@opts.resource_options
def clips_command(session: Session, given: str, out: str, **params: Any) -> None:
    """Cut a film into a clip for each event, with its sound.

    RESULTS is a folder that bgsub run wrote; its film is cut. INPUT, a video or a folder of
    images, is analysed first. clips.csv says which events each clip shows; the names of clips sort
    by time.
    """
    from bgsub.export.clips import Painter, clip_names, join_clips, plan_spans, write_clips

    force, own = params.pop("force"), opts.chosen(ClipOptions, params)
    for unused in own.unused:
        session.log("warning", unused)
    for name in filter(None, (own.reel, own.sheet)):
        check_free(Path(name), force=force)
    masks = {"mask", "errors"} if own.overlay in {"mask", "side-by-side"} else set()
    outputs = frozenset({"objects", "tracks", "events", *masks})
    with session.about(given), _results_of(given, outputs, params, session) as folder:
        run = load_selected(folder, params)
        spans = plan_spans(run.events(), own)
        painter = None
        if own.mode != "copy" and (own.overlay != "none" or own.caption):
            painter = Painter(run, own)
        names = clip_names(spans)
        with ResultsDirectory(Path(out), [*names, "clips.csv"], force=force) as results:
            stage = results.stage("")
            with make_progress(session) as progress:
                write_clips(run, stage, spans, mode=own.mode, painter=painter, progress=progress)
            if own.reel is not None and names:
                with staged(Path(own.reel)) as reel:
                    join_clips([stage / name for name in names], reel)
            if own.sheet is not None:
                _write_sheet(run, spans, own, Path(own.sheet))
            facts = {name: str(getattr(run, name)) for name in _FACTS}
            results.commit(preamble("clips", own.to_json()) | {"of": facts, "clips": len(spans)})
        if not spans:
            session.log("finding", "no event was found: clips.csv has no rows")
        if not spans and own.reel is not None:
            session.log("warning", f"{own.reel}: is not written, for there is nothing to join")
        session.log("result", f"{plural(len(spans), 'clip')} in {out}", out=out)


def _write_sheet(run: RunData, spans: list[Span], options: ClipOptions, sheet: Path) -> None:
    """Draw the peak frame of each event on one picture, with the overlay of the clips."""
    from bgsub.export.clips import Painter, contact_sheet, open_film
    from bgsub.video.images import encode_image

    # Masks beside the pictures would make them half as large.
    overlay = "boxes" if options.overlay == "side-by-side" else options.overlay
    painter = None if overlay == "none" else Painter(run, ClipOptions(overlay=overlay))
    events = [event for span in spans for event in span.events]
    picture = contact_sheet(open_film(run), events, painter=painter)
    write_file(sheet, encode_image(picture, sheet.suffix.lower()))


FORMATS = (  # of exports, so that --help need not import what writes them
    *("via", "mot", "coco", "cvat", "yolo", "megadetector", "labels"),
    *(_OF_EVENTS := ("edl", "ffconcat", "csv-seconds", "lossless-cut")),
)


@opts.command(
    "export",
    "bgsub export results/ --to via -o tracks.csv        movement, VIA",
    "bgsub export results/ --to mot -o gt.txt            MOT Challenge",
    "bgsub export results/ --to coco -o instances.json   boxes, pixels and track numbers",
    "bgsub export results/ --to cvat -o annotations.xml  CVAT, for videos",
    "bgsub export results/ --to labels -o labels.tif     TrackMate, napari",
    "bgsub export results/ --to csv-seconds -o cuts.csv  start and end of each event",
    "bgsub export results/ --to lossless-cut             beside the film, where it is found",
)
@opts.argument("results", "RESULTS")
@opts.option(
    "Results",
    "--to form",
    "Boxes: via, mot, cvat, yolo (a folder), megadetector. Pixels: coco, labels. Events: edl, "
    "ffconcat, csv-seconds, lossless-cut.",
    Choice(FORMATS),
    required=True,
)
@opts.out_option(
    "The file to write, or for yolo the folder. A project of LosslessCut is named after its film: "
    "the folder to write it into.  [default for lossless-cut: beside the film]",
    "-o --out PATH",
    required=False,
)
@opts.named("force", section="Results")
@selection_options
def export_command(
    session: Session, results: str, form: str, out: str | None, force: bool, **params: Any
) -> None:
    """Write the objects or events of RESULTS in a format that other programs open.

    RESULTS is a folder that bgsub run or bgsub objects wrote. Frames are counted as each format
    counts them, from 0 or from 1; boxes are in pixels of the input.
    """
    from bgsub.export.formats import export

    with session.about(results):
        run = load_selected(Path(results), params)
        if form == "lossless-cut" and (out is None or Path(out).is_dir()):
            folder = Path(run.path).parent if out is None else Path(out)
            path = folder / f"{Path(run.name).stem}-proj.llc"  # so LosslessCut finds it
        elif out is None:
            raise UsageError("--out is missing; name the file to write")
        else:
            path = Path(out)
        export(run, form, path, force=force)
        if not (run.events() if form in _OF_EVENTS else run.objects()):
            session.log("finding", f"nothing was found in {run.name}: {path} holds none")
        log_results(path, session, "{} is written")


@opts.command(
    "feedback",
    "bgsub feedback results/ --not 12 15                      events, as `bgsub events` lists",
    "bgsub feedback results/ --by track --not 3",
    "bgsub feedback results/ --from not-objects.json          what a page has saved",
    "bgsub run tomorrow.mp4 --feedback feedback.json --out tomorrow/",
)
@opts.argument("results", "RESULTS")
@opts.argument("numbers", "[NUMBER...]", nargs=-1, type=opts.click_type(Integer(1)))
@opts.option("Feedback", "--not says_not", "The numbers are no objects.")
@opts.option(
    "Feedback",
    "--by",
    "What the numbers are those of; of an event, all tracks are meant.",
    Choice(("event", "track")),
    default="event",
)
@opts.option(
    "Feedback",
    "--from FILE saved",
    "Take the numbers of events that the page of RESULTS has saved.",
)
@opts.out_option(
    "File that remembers; what it holds already stays.  [default: feedback.json]",
    "-o --out FILE",
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
