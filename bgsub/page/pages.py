"""Make pages: one HTML file for a result, one that lists several, a piece for a notebook."""

from __future__ import annotations

import csv
import functools
import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from matplotlib import colormaps
from matplotlib.colors import to_hex
from numpy.typing import NDArray

from bgsub.errors import plural
from bgsub.options import ProgressCallback, no_progress
from bgsub.outliers.events import find_events, outlier_frames
from bgsub.page import films
from bgsub.page import result as words
from bgsub.page.films import Film, Shown, base64_of, pack_integers
from bgsub.page.result import Result, read_result
from bgsub.report.plots import render_errors
from bgsub.tracking.events import EventFilter, SceneEvent
from bgsub.tracking.tracker import Observation
from bgsub.version import __version__
from bgsub.video.selection import format_time

_ASSETS = files("bgsub.page") / "assets"
_MOST_FRAMES = 110_000  # frames up to which a page holds the values of all
_MOST_BOXES = 40_000  # boxes up to which a page draws those of all objects
_MOST_TRACKS = 300
_MOST_POINTS = 9000
_PIECES = 6  # pieces of a track that have a colour each, at most
_SCRIPTS = (
    "uplot/uPlot.iife.min.js",
    *("unpack.js", "films.js", "timeline.js", "tables.js", "report.js"),
)
_STYLES = ("uplot/uPlot.min.css", "page.css")
_MOST_EVENTS = 1_500
_MOST_BARS = 720
_NOTEBOOK_EVENTS = 10


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


def _fill(template: str, /, *, scripts: Sequence[str], styles: Sequence[str], **values: Any) -> str:
    """Return a template of ``assets/`` filled and escaped; a policy runs only these scripts."""
    codes, looks = [_asset(each) for each in scripts], [_asset(each) for each in styles]
    policy = (
        f"default-src 'none'; script-src {_hashes(codes)}; style-src {_hashes(looks)}; "
        "img-src data:; media-src 'self' file: data:; base-uri 'none'; form-action 'none'"
    )
    shown = {
        "policy": policy,
        "scripts": [Markup(code) for code in codes],  # noqa: S704 - files of this package
        "styles": [Markup(look) for look in looks],  # noqa: S704 - the same
        "version": __version__,
    }
    return _environment().get_template(template).render(**values, **shown)


def _hashes(texts: Sequence[str]) -> str:
    """Return the sources of a policy that allow some inline texts."""
    digests = (hashlib.sha256(text.encode("utf-8")).digest() for text in texts)
    return " ".join(f"'sha256-{base64_of(digest)}'" for digest in digests)


def encode_page(html: str) -> bytes:
    """Return the bytes of a page; bytes of file names that are no letters become question marks."""
    return html.encode("utf-8", "replace")


def pack_series(
    result: Result, mask: Film | None, events: Sequence[SceneEvent], progress: ProgressCallback
) -> dict[str, Any]:
    """Pack frame numbers, times in microseconds, and curves; all peaks of `events` are drawn."""
    table, n = result.table, result.numbers.size
    curves: dict[str, NDArray[np.float64]] = {}
    outliers = doubtful = np.zeros(n, dtype=bool)
    if table is not None:
        curves |= {"error": table.rmse, "whole": table.scores}
        curves |= {} if table.local is None else {"place": table.local}
        outliers, doubtful = outlier_frames(table), table.doubts
    if mask is not None:
        shares = np.full(n, np.nan)
        for place, share in enumerate(mask.shares()):
            shares[place : place + 1] = 100 * share
            progress("masks", place + 1, n)
        curves["foreground"] = shares
    always = outliers.copy()
    always[[result.place(event.peak_frame) for event in events]] = True
    shown = frames_shown(list(curves.values()), always, _MOST_FRAMES)
    change = None if table is None else table.scene_change
    return {
        "frames": pack_integers(result.numbers),
        "times": pack_integers(np.round(result.times * 1e6).astype(np.int64)),
        "shown": pack_integers(shown),
        "curves": {name: _floats(values[shown]) for name, values in curves.items()},
        "outliers": base64_of(np.packbits(outliers, bitorder="little")),
        "doubtful": base64_of(np.packbits(doubtful, bitorder="little")),
        "cutoff": None if table is None else table.cutoff,
        "change": None if change is None else result.place(change.first_frame),
    }


def _floats(values: NDArray[np.float64]) -> str:
    """Pack numbers as little-endian float32 in base64: seven digits."""
    return base64_of(np.asarray(values, dtype="<f4"))


def frames_shown(
    series: list[NDArray[np.float64]], always: NDArray[np.bool_], most: int
) -> NDArray[np.int64]:
    """Return the places, about `most`, whose values a page holds: no peak and no dip is lost.

    All, or of stretches of equal length those of the lowest and the highest value of every curve,
    and of `always` at least the first and last of each stretch of them.
    """
    n = always.size
    if n <= most:
        return np.arange(n)
    kept = np.zeros(n, dtype=bool)
    kept[[0, n - 1]] = True
    places, room = np.flatnonzero(always), most // 2
    if places.size > room:  # the first and last of each stretch
        ends = np.flatnonzero(always & ~(np.roll(always, 1) & np.roll(always, -1)))
        places = ends[:: -(-ends.size // max(room, 1)) or 1]
    kept[places] = True
    bins = max(1, (most - int(kept.sum())) // max(2 * len(series), 1))
    edges = np.linspace(0, n, bins + 1).astype(np.int64)
    for values in series:
        finite = np.nan_to_num(values, nan=0.0)
        for begin, end in pairwise(edges.tolist()):
            if end > begin:
                part = finite[begin:end]
                kept[[begin + int(part.argmin()), begin + int(part.argmax())]] = True
    return np.flatnonzero(kept)


def describe_film(
    result: Result,
    shown: Shown,
    path: Path,
    events: Sequence[SceneEvent],
    excerpt: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """Return what a page needs to show a view: an excerpt inside it, or else a link."""
    view = {"view": shown.view}
    if shown.film is None:
        pictures = films.stills(shown.unplayed, result, events) if shown.unplayed else {}
        return {**view, "reason": shown.reason, **pictures}
    if excerpt is not None:
        return {**view, **films.embed(shown.film, excerpt)}
    return {**view, **shown.film.describe(films.link(shown.film.path, path))}


def pack_boxes(result: Result) -> dict[str, Any] | None:
    """Pack the boxes of objects in pixels; None where they are too many for a page."""
    objects = result.objects
    if not objects or len(objects) > _MOST_BOXES:
        return None
    places = np.searchsorted(result.numbers, [seen.frame for seen in objects])
    return {
        "places": pack_integers(places),
        "tracks": pack_integers([seen.track for seen in objects]),
        "sides": _floats(np.array([seen.box for seen in objects]).ravel()),
    }


class DrawnTrack(NamedTuple):
    """A track from its first frame on: colours and points of polylines, in pixels of the input."""

    number: int
    frame: int
    label: str
    pieces: list[tuple[str, str]]
    start: tuple[float, float]


def time_color(share: float) -> str:
    """Return viridis, read in one order by anybody, for a time from 0, the first frame, to 1."""
    return str(to_hex(colormaps["viridis"](share)))


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
        path = by_track[number]
        if len(path) > room:  # evenly spaced places, the first and the last among them
            path = [path[round(i * (len(path) - 1) / (room - 1))] for i in range(room)]
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


@dataclass(frozen=True, eq=False)
class Page:
    """A page, and the address of a small picture for an index, empty where there is none."""

    html: str
    result: Result
    views: list[Shown]
    thumbnail: str


def make_page(
    folder: Path,
    manifest: Mapping[str, Any],
    path: Path,
    *,
    footage: str | None = None,
    copies: Path | None = None,
    standalone: bool = False,
    selection: EventFilter | None = None,
    announce: Callable[[int, int], None] | None = None,
    progress: ProgressCallback = no_progress,
) -> Page:
    """Make the page of a folder of results; nothing is written but copies of videos.

    The page will be at `path`, with links to videos relative to it. The `footage` is what the run
    was made of, shown where browsers play it; `copies` a folder for copies of what they do not
    play. A `standalone` page holds a small preview of a few hundred frames and links to no video;
    `announce` is called with its frames and expected bytes before it is made.
    """
    result = read_result(folder, manifest, selection)
    views = [films.find_view(result, view, footage, copies, progress) for view in films.VIEWS]
    by_view = {shown.view: shown.film for shown in views}
    there = [shown for shown in views if not shown.is_absent]
    events, excerpt = _largest(result), None
    if standalone:
        strongest = sorted(result.events, key=lambda event: -(result.score(event) or event.area))
        excerpt = films.excerpt_places(result, strongest)
        if announce is not None:
            shown_films = [film for film in by_view.values() if film is not None]
            announce(int(excerpt.size), films.expected_bytes(shown_films, excerpt))
    thumbnails = films.make_thumbnails(result, events, by_view)
    scene = films.picture_scene(result, by_view)
    notes = words.cautions(manifest)
    if selection is not None:
        found = f"{plural(len(result.events), 'event')} and {plural(len(result.tracks), 'track')}"
        notes.append(f"this page shows a selection of what the run found: {found}")
    data = {
        **pack_series(result, by_view["mask"], events, progress),
        "events": [
            {
                "number": event.number,
                "kind": event.kind,
                "first": result.place(event.first_frame),
                "last": result.place(event.last_frame),
                "peak": result.place(event.peak_frame),
            }
            for event in events
        ],
        "films": [describe_film(result, shown, path, events, excerpt) for shown in there],
        "boxes": pack_boxes(result),
        "region": result.region,
    }
    heat = folder / "heatmap.png"
    html = _fill(
        "report.html",
        scripts=_SCRIPTS,
        styles=_STYLES,
        name=result.name,
        headline=words.headline(manifest),
        cautions=notes,
        data=data,
        events=[
            {
                "event": event,
                "score": result.score(event),
                "trust": result.trust(event),
                "thumbnail": thumbnails.get(event.number, ""),
            }
            for event in events
        ],
        left_out=len(result.events) - len(events),
        views=there,
        is_preview=standalone,
        scene=scene,
        heat=films.webp_uri(films.read_rgb(heat), 960, 85) if heat.is_file() else "",
        activity=_activity(folder / "activity.csv"),
        region=result.region,
        tracks=draw_tracks(result),
        track_rows=result.tracks[:_MOST_EVENTS],
        n_tracks=len(result.tracks),
        times=(float(result.times[0]), float(result.times[-1])),
        colors=[time_color(share / 8) for share in range(9)],
        states=manifest.get("mask_states") or [],
        scene_notes=[str(each) for each in manifest.get("mask_notes") or []],
        options=words.option_rows(manifest),
        facts=words.fact_rows(manifest),
        stages=manifest.get("stages_s") or {},
        versions=manifest.get("versions") or {},
        command=words.command_line(manifest),
        n_frames=int(result.numbers.size),
    )
    first = max(events, key=lambda event: result.score(event) or event.area, default=None)
    picture = thumbnails.get(first.number, "") if first is not None else ""
    return Page(html, result, views, picture or scene.picture)


def _activity(path: Path) -> list[dict[str, Any]]:
    """Return charts of activity.csv by region; of long films the minutes of most foreground."""
    if not path.is_file():
        return []
    charts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            share = float(row["foreground"])
            charts[row["region"]].append({**row, "minute": int(row["minute"]), "share": share})
    minutes = [row["minute"] for rows in charts.values() for row in rows]
    first, last = min(minutes), max(minutes)
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


def _largest(result: Result) -> list[SceneEvent]:
    """Keep the events with the largest objects, or the highest scores, where they are too many."""
    if len(result.events) <= _MOST_EVENTS:
        return result.events
    weights = [(-(result.score(event) or 0.0), -event.area) for event in result.events]
    kept = sorted(range(len(weights)), key=weights.__getitem__)[:_MOST_EVENTS]
    return [result.events[place] for place in sorted(kept)]


Row = dict[str, Any]  # an input in the list of results


def make_row(page: Page, path: Path) -> Row:
    """Sum up a result for the list; `path` is where its page is."""
    manifest = page.result.manifest
    frames, outliers = int(manifest["frames"]["used"]), manifest["frames"].get("outliers")
    return {
        "name": page.result.name,
        "folder": page.result.folder,
        "page": path,
        "thumbnail": page.thumbnail,
        "headline": words.headline(manifest),
        "events": len(page.result.events),
        "frames": frames,
        "share": None if outliers is None else 100 * outliers / max(frames, 1),
        "cautions": words.cautions(manifest),
    }


def make_index(rows: Sequence[Row], path: Path) -> str:
    """Return the HTML of a list of results that will be at `path`."""
    return _fill(
        "index.html",
        scripts=("tables.js", "index.js"),
        styles=("page.css",),
        rows=[{"row": row, "href": films.link(row["page"], path)} for row in rows],
        events=sum(row["events"] for row in rows),
        frames=sum(row["frames"] for row in rows),
    )


def as_html(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Return a piece of HTML about a result, with all that it shows inside."""
    result = read_result(folder, manifest)
    plot = ""
    if result.table is not None:
        events = find_events(result.table)
        plot = films.data_uri(render_errors(result.table, events, title=result.name), "image/png")
    return _fill(
        "notebook.html",
        scripts=(),
        styles=(),
        name=result.name,
        headline=words.headline(manifest),
        cautions=words.cautions(manifest),
        plot=plot,
        events=[(event, result.score(event)) for event in result.events[:_NOTEBOOK_EVENTS]],
        left_out=max(0, len(result.events) - _NOTEBOOK_EVENTS),
    )
