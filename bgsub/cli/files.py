"""Write the files that commands are asked for, and read what they are given."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgsub.cli import options as shared
from bgsub.cli.help import F, together
from bgsub.cli.messages import Session
from bgsub.cli.progress import make_progress
from bgsub.errors import OutputError, UsageError, cannot_write
from bgsub.options import check_areas
from bgsub.tracking.place_options import ListingOptions, PlaceOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bgsub.export.run_data import RunData
    from bgsub.pipeline.results import ResultsDirectory
    from bgsub.tracking.regions import Region


def make_folder(folder: Path) -> None:
    """Make a folder that somebody named, unless it is there; raises OutputError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{folder}: the folder cannot be made ({error.strerror}); choose another"
        raise OutputError(message) from error


def write(results: ResultsDirectory, name: str, data: str | bytes) -> None:
    """Write a file of the results; raises OutputError if it cannot be written."""
    raw = data.encode() if isinstance(data, str) else data
    try:
        results.stage(name).write_bytes(raw)
    except OSError as error:
        advice = "free some space or choose another folder with --out"
        raise cannot_write(results.path / name, error, advice) from error


def preamble(command: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what run.json begins with, whatever the command."""
    from bgsub.pipeline import manifest as manifests
    from bgsub.pipeline.manifest import SCHEMA_VERSION
    from bgsub.version import __version__

    return {
        "schema_version": SCHEMA_VERSION,
        "bgsub_version": __version__,
        "command": command,
        "options": options,
        "seed": options.get("seed"),
        "versions": manifests.versions(),
    }


def check_free(path: Path, *, force: bool) -> None:
    """Raise OutputError if a file is there that may not be replaced."""
    # Path.is_file raises for names that are too long; whoever writes the file says so.
    if os.path.isfile(path) and not path.is_symlink() and not force:  # noqa: PTH113 - see above
        raise OutputError(f"{path}: exists; replace it with --force or choose another name")


selection_options: Callable[[F], F] = together(
    shared.section("Events", kind=ListingOptions), shared.section("Events", kind=PlaceOptions)
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

    options = replace(shared.run_options(params), outputs=outputs)
    with tempfile.TemporaryDirectory(prefix="bgsub-") as place:
        out = Path(place) / "results"
        with make_progress(session) as progress:
            result = pipeline.run(given, out, options, progress=progress)
        for warning in result.warnings:
            session.log("warning", warning)
        yield out
