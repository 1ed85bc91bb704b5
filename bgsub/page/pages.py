"""Fill the templates of pages, with everything in the one file and a policy against the rest."""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from numpy.typing import NDArray

from bgsub.errors import plural
from bgsub.outliers.events import find_events
from bgsub.page.data import (
    Shown,
    describe_event,
    describe_film,
    find_views,
    pack_boxes,
    pack_series,
)
from bgsub.page.media import (
    Progress,
    data_uri,
    excerpt_places,
    expected_bytes,
    link,
    make_thumbnails,
    picture_heat,
    picture_scene,
)
from bgsub.page.result import (
    Result,
    cautions,
    command_line,
    fact_rows,
    headline,
    option_rows,
    read_result,
)
from bgsub.report.plots import render_errors
from bgsub.tracking.events import SceneEvent, Selection
from bgsub.tracking.tracker import Observation
from bgsub.version import __version__
from bgsub.video.selection import format_time

_ASSETS = files("bgsub.page") / "assets"


def _asset(name: str) -> str:
    return _ASSETS.joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_asset),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["clock"] = format_time
    return made


def fill(
    name: str, *, scripts: Sequence[str], styles: Sequence[str], values: Mapping[str, Any]
) -> str:
    """Fill a template.

    Parameters
    ----------
    name : str
        A file of ``assets/``, as those in `scripts` and `styles` are, which it includes.
    scripts, styles : sequence of str
        JavaScript and CSS; nothing else may run on the page.
    values : mapping
        What the template shows. All of it is escaped.

    Returns
    -------
    str
        The page: HTML without any address but those of videos beside it.
    """
    codes, looks = [_asset(each) for each in scripts], [_asset(each) for each in styles]
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(codes)}",
            f"style-src {_hashes(looks)}",
            "img-src data:",
            "media-src 'self' file: data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return (
        _environment()
        .get_template(name)
        .render(
            **values,
            policy=policy,
            scripts=[Markup(code) for code in codes],  # noqa: S704 - files of this package
            styles=[Markup(look) for look in looks],  # noqa: S704 - the same
            version=__version__,
        )
    )


def _hashes(texts: Sequence[str]) -> str:
    """Write the sources of a policy that allow some inline texts."""
    digests = (hashlib.sha256(text.encode("utf-8")).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)


_STOPS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
"""Viridis, which people with any colour vision read in the same order, from first to last."""

_MOST_TRACKS = 300
_MOST_POINTS = 9000
_PIECES = 6
"""Pieces of a track that have a colour each, at most."""


@dataclass(frozen=True)
class DrawnTrack:
    """A track as lines.

    Attributes
    ----------
    frame : int
        Its first frame.
    pieces : list of (str, str)
        Colour and the points of a polyline.
    start : (float, float)
        Where it begins, in pixels of the input.
    """

    number: int
    frame: int
    label: str
    pieces: list[tuple[str, str]]
    start: tuple[float, float]


def time_color(share: float) -> str:
    """Return the colour of a time, from 0 for the first frame to 1 for the last.

    Examples
    --------
    >>> time_color(0.0), time_color(1.0)
    ('#440154', '#fde725')
    """
    place = min(max(share, 0.0), 1.0) * (len(_STOPS) - 1)
    left = min(int(place), len(_STOPS) - 2)
    part = place - left
    ends = zip(_STOPS[left], _STOPS[left + 1], strict=True)
    mixed = (round((1 - part) * low + part * high) for low, high in ends)
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def draw_tracks(result: Result) -> list[DrawnTrack]:
    """Draw the longest tracks in order of their numbers, thinned where there are many points."""
    by_track: dict[int, list[Observation]] = defaultdict(list)
    for seen in result.objects:
        by_track[seen.track].append(seen)
    longest = sorted(by_track, key=lambda number: -len(by_track[number]))[:_MOST_TRACKS]
    room = max(8, _MOST_POINTS // max(1, len(longest)))
    begin, end = float(result.times[0]), float(result.times[-1])
    span = max(end - begin, 1e-9)
    drawn = []
    for number in sorted(longest):
        path = _thin(by_track[number], room)
        size = max(2, -(-len(path) // _PIECES) + 1)
        pieces = []
        for first in range(0, max(len(path) - 1, 1), size - 1):
            part = path[first : first + size]
            middle = part[len(part) // 2]
            points = " ".join(f"{seen.cx:.1f},{seen.cy:.1f}" for seen in part)
            pieces.append((time_color((middle.time_s - begin) / span), points))
        label = f"Track {number}: frames {path[0].frame} to {path[-1].frame}"
        drawn.append(DrawnTrack(number, path[0].frame, label, pieces, (path[0].cx, path[0].cy)))
    return drawn


def _thin(path: list[Observation], most: int) -> list[Observation]:
    """Keep at most so many places, evenly spaced, the first and the last among them."""
    if len(path) <= most:
        return path
    return [path[round(i * (len(path) - 1) / (most - 1))] for i in range(most)]


def region_boxes(manifest: Any, result: Result) -> list[dict[str, Any]]:
    """List the regions that were decided, with their boxes in pixels of the input."""
    left, top, wide, high = result.region
    width, height = manifest.get("frame_size") or (wide, high)
    across, down = wide / max(width, 1), high / max(height, 1)
    return [
        {
            **region,
            "number": number,
            "box": [
                round(left + across * region["x"], 1),
                round(top + down * region["y"], 1),
                round(across * region["width"], 1),
                round(down * region["height"], 1),
            ],
        }
        for number, region in enumerate(manifest.get("mask_regions") or [], start=1)
    ]


_INDEX_SCRIPTS = ("tables.js", "index.js")
_INDEX_STYLES = ("page.css",)


@dataclass(frozen=True)
class Row:
    """An input in the list.

    Attributes
    ----------
    page : Path
        Its own page.
    thumbnail : str
        Address of a small picture, empty where there is none.
    outliers : int or None
        Outlier frames; None where no frame was fitted.
    cautions : list of str
        Warnings and hints.
    """

    name: str
    folder: Path
    page: Path
    thumbnail: str
    headline: str
    events: int
    frames: int
    outliers: int | None
    cautions: list[str]

    @property
    def share(self) -> float | None:
        """Share of the frames that are outliers, in per cent."""
        return None if self.outliers is None else 100 * self.outliers / max(self.frames, 1)


def make_row(
    folder: Path, manifest: Mapping[str, Any], page: Path, events: int, thumbnail: str
) -> Row:
    """Sum up a result for the list."""
    frames = manifest["frames"]
    return Row(
        str(manifest["input"]["name"]),
        folder,
        page,
        thumbnail,
        headline(manifest),
        events,
        int(frames["used"]),
        frames.get("outliers"),
        cautions(manifest),
    )


def make_index(rows: Sequence[Row], path: Path) -> str:
    """Make the page that lists results.

    Parameters
    ----------
    path : Path
        Where it will be: its links are relative to it.

    Returns
    -------
    str
        HTML.
    """
    values = {
        "rows": [{"row": row, "href": link(row.page, path)} for row in rows],
        "events": sum(row.events for row in rows),
        "frames": sum(row.frames for row in rows),
    }
    return fill("index.html", scripts=_INDEX_SCRIPTS, styles=_INDEX_STYLES, values=values)


_NOTEBOOK_EVENTS = 10


def as_html(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Return a piece of HTML about a result, with all that it shows inside.

    Parameters
    ----------
    manifest : mapping
        Its run.json.
    """
    result = read_result(folder, manifest)
    plot = ""
    if result.table is not None:
        events = find_events(result.table)
        plot = data_uri(render_errors(result.table, events, title=result.name), "image/png")
    values = {
        "name": result.name,
        "headline": headline(manifest),
        "cautions": cautions(manifest),
        "plot": plot,
        "events": [(event, result.score(event)) for event in result.events[:_NOTEBOOK_EVENTS]],
        "left_out": max(0, len(result.events) - _NOTEBOOK_EVENTS),
    }
    return fill("notebook.html", scripts=(), styles=(), values=values)


_SCRIPTS = (
    "uplot/uPlot.iife.min.js",
    *("unpack.js", "films.js", "timeline.js", "tables.js", "report.js"),
)
_STYLES = ("uplot/uPlot.min.css", "page.css")

_MOST_EVENTS = 1_500
_MOST_BARS = 720


@dataclass(frozen=True, eq=False)
class Page:
    """A page and what an index says of it.

    Attributes
    ----------
    thumbnail : str
        Address of a small picture, empty where there is none.
    """

    html: str
    result: Result
    views: list[Shown]
    thumbnail: str


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Take no notice."""


def make_page(
    folder: Path,
    manifest: Mapping[str, Any],
    path: Path,
    *,
    footage: str | None = None,
    copies: Path | None = None,
    standalone: bool = False,
    selection: Selection | None = None,
    announce: Callable[[int, int], None] | None = None,
    progress: Progress = no_progress,
) -> Page:
    """Make the page of a folder of results; nothing is written but copies of videos.

    Parameters
    ----------
    folder : Path
        With what `bgsub.run` or `bgsub.apply` wrote.
    manifest : mapping
        Its run.json.
    path : Path
        Where the page will be: its links to videos are relative to it.
    footage : str, optional
        What the run was made of, shown where browsers play it.
    copies : Path, optional
        A folder for copies of videos that browsers do not play; None makes none.
    standalone : bool
        Embed a small preview of a few hundred frames, and link to no video.
    selection : Selection, optional
        Which events and objects are shown; all of them without it.
    announce : callable, optional
        Called with the preview's number of frames and expected bytes before it is made.

    Notes
    -----
    Decodes the mask once, and of the film the pictures of events. With 1,000 events and 100,000
    frames the page has less than 5 MB.
    """
    result = read_result(folder, manifest, selection)
    views = find_views(result, footage, copies, progress)
    films = {shown.view: shown.film for shown in views}
    there = [shown for shown in views if not shown.is_absent]
    events = _largest(result)
    excerpt = _excerpt(result, views, announce) if standalone else None
    thumbnails = make_thumbnails(result, events, films)
    background = picture_scene(result, films)
    data = {
        **pack_series(result, films, events, progress),
        "events": [describe_event(result, event) for event in events],
        "films": [describe_film(result, shown, path, events, excerpt) for shown in there],
        "boxes": pack_boxes(result),
        "region": result.region,
    }
    values = {
        **_shown_values(result),
        "cautions": cautions(manifest) + _selected(result, selection),
        "data": data,
        "events": [
            {
                "event": event,
                "score": result.score(event),
                "trust": result.trust(event),
                "thumbnail": thumbnails.get(event.number, ""),
            }
            for event in events
        ],
        "left_out": len(result.events) - len(events),
        "views": there,
        "is_preview": standalone,
        "background": background,
        "heat": picture_heat(folder),
        "activity": _activity(folder),
    }
    html = fill("report.html", scripts=_SCRIPTS, styles=_STYLES, values=values)
    first = max(events, key=lambda event: result.score(event) or event.area, default=None)
    picture = thumbnails.get(first.number, "") if first is not None else ""
    return Page(html, result, views, picture or background)


def _activity(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of activity.csv as charts: the minutes of the picture, then of each region.

    The minutes of a film that is long for a page are thinned out to those of most foreground.
    """
    path = folder / "activity.csv"
    if not path.is_file():
        return []
    charts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            share = float(row["foreground"])
            charts[row["region"]].append({**row, "minute": int(row["minute"]), "share": share})
    first = min(row["minute"] for rows in charts.values() for row in rows)
    last = max(row["minute"] for rows in charts.values() for row in rows)
    every = -(-(last - first + 1) // _MOST_BARS)
    made = []
    for region, rows in charts.items():
        bars: dict[int, dict[str, Any]] = {}
        for row in rows:
            place = (row["minute"] - first) // every
            bars[place] = max(bars.get(place, row), row, key=lambda each: float(each["share"]))
        top = max(row["share"] for row in rows)
        places = (last - first) // every + 1
        made.append({"region": region, "bars": bars, "top": top, "places": places})
    return made


def _shown_values(result: Result) -> dict[str, Any]:
    """Collect what the template writes of a result and of its run.json."""
    manifest = result.manifest
    return {
        "name": result.name,
        "headline": headline(manifest),
        "table": result.table,
        "region": result.region,
        "tracks": draw_tracks(result),
        "track_rows": result.tracks[:_MOST_EVENTS],
        "n_tracks": len(result.tracks),
        "times": (float(result.times[0]), float(result.times[-1])),
        "colors": [time_color(share / 8) for share in range(9)],
        "states": manifest.get("mask_states") or [],
        "scene_notes": [str(each) for each in manifest.get("mask_notes") or []],
        "regions": region_boxes(manifest, result),
        "regions_left_out": manifest.get("mask_regions_left_out") or 0,
        "options": option_rows(manifest),
        "facts": fact_rows(manifest),
        "stages": manifest.get("stages_s") or {},
        "versions": manifest.get("versions") or {},
        "command": command_line(manifest),
        "n_frames": int(result.numbers.size),
    }


def _selected(result: Result, selection: Selection | None) -> list[str]:
    if selection is None:
        return []
    shown = f"{plural(len(result.events), 'event')} and {plural(len(result.tracks), 'track')}"
    return [f"this page shows a selection of what the run found: {shown}"]


def encode_page(html: str) -> bytes:
    """Return the bytes of a page; bytes of file names that are no letters become question marks."""
    return html.encode("utf-8", "replace")


def _largest(result: Result) -> list[SceneEvent]:
    """Keep the events with the largest objects, or the highest scores, where they are too many."""
    if len(result.events) <= _MOST_EVENTS:
        return result.events

    def weight(event: SceneEvent) -> tuple[float, float]:
        return (result.score(event) or 0.0, event.area)

    kept = sorted(result.events, key=weight, reverse=True)[:_MOST_EVENTS]
    return sorted(kept, key=lambda event: event.number)


def _excerpt(
    result: Result, views: Sequence[Shown], announce: Callable[[int, int], None] | None
) -> NDArray[np.int64]:
    """Choose the frames of a preview, and say beforehand how large it will be."""
    strongest = sorted(result.events, key=lambda event: -(result.score(event) or event.area))
    places = excerpt_places(result, strongest)
    if announce is not None:
        films = [shown.film for shown in views if shown.film is not None]
        announce(int(places.size), expected_bytes(films, places))
    return places
