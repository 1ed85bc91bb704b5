"""Make the page of a result: one HTML file, with the videos of the result beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.events import outlier_frames
from bgsub.page.command import command_line
from bgsub.page.copies import Progress
from bgsub.page.drawings import draw_tracks, region_boxes, time_color
from bgsub.page.excerpt import embed, excerpt_places, expected_bytes, stills
from bgsub.page.facts import cautions, fact_rows, headline, option_rows
from bgsub.page.films import Film, View, link
from bgsub.page.packing import frames_shown, pack_flags, pack_floats, pack_integers
from bgsub.page.pictures import data_uri, pictures_of, shares_of, shrunk, webp
from bgsub.page.result import Result, read_result
from bgsub.page.template import fill
from bgsub.page.views import Shown, find_views
from bgsub.tracking.events import SceneEvent
from bgsub.video.frames import Bytes

SCRIPTS = (
    "uplot/uPlot.iife.min.js",
    *("unpack.js", "films.js", "timeline.js", "tables.js", "report.js"),
)
STYLES = ("uplot/uPlot.min.css", "page.css")

_MOST_FRAMES = 110_000
"""Frames up to which a page holds the values of all."""

_MOST_EVENTS = 1_500
_MOST_BOXES = 40_000

_THUMBNAILS = ((192, 60), (144, 50), (96, 40), (80, 30), (64, 20))
"""Width in pixels and quality of thumbnails: the first with which all have room."""

_THUMBNAIL_BYTES = 1_100_000
"""Room for all thumbnails, without the third that base64 adds."""

_THUMBNAILS_TRIED = 24

_BACKGROUND_WIDTH = 960


@dataclass(frozen=True, eq=False)
class Page:
    """A page and what an index says of it.

    Attributes
    ----------
    html : str
    result : Result
    views : list of Shown
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
    announce : callable, optional
        Called with the preview's number of frames and expected bytes before it is made.
    progress : callable, optional

    Returns
    -------
    Page

    Raises
    ------
    InputError
        If the folder holds no run, or what it holds is damaged.

    Notes
    -----
    Decodes the mask once, and of the film the pictures of events. With 1,000 events and 100,000
    frames the page has less than 5 MB.
    """
    result = read_result(folder, manifest)
    views = find_views(result, footage, copies, progress)
    films = {shown.view: shown.film for shown in views}
    events = _largest(result)
    excerpt = _excerpt(result, views, announce) if standalone else None
    thumbnails = _thumbnails(result, events, films)
    background = _background(result, films)
    data = {
        **_series(result, films, events, progress),
        "events": [_event_data(result, event) for event in events],
        "films": [_film_data(result, shown, path, events, excerpt) for shown in views],
        "boxes": _boxes(result),
        "region": result.region,
    }
    values = {
        "data": data,
        "name": result.name,
        "headline": headline(manifest),
        "cautions": cautions(manifest),
        "events": [
            {
                "event": event,
                "score": result.score(event),
                "thumbnail": thumbnails.get(event.number, ""),
            }
            for event in events
        ],
        "left_out": len(result.events) - len(events),
        "views": views,
        "is_preview": standalone,
        "table": result.table,
        "background": background,
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
    html = fill("report.html", scripts=SCRIPTS, styles=STYLES, values=values)
    first = max(events, key=lambda event: result.score(event) or event.area, default=None)
    picture = thumbnails.get(first.number, "") if first is not None else ""
    return Page(html, result, views, picture or background)


def encode_page(html: str) -> bytes:
    """Give the bytes of a page; bytes of file names that are no letters become question marks."""
    return html.encode("utf-8", "replace")


def _largest(result: Result) -> list[SceneEvent]:
    """Keep the events with the largest objects, or the highest scores, where they are too many."""
    if len(result.events) <= _MOST_EVENTS:
        return result.events

    def weight(event: SceneEvent) -> tuple[float, float]:
        return (result.score(event) or 0.0, event.area)

    kept = sorted(result.events, key=weight, reverse=True)[:_MOST_EVENTS]
    return sorted(kept, key=lambda event: event.number)


def _series(
    result: Result,
    films: Mapping[View, Film | None],
    events: Sequence[SceneEvent],
    progress: Progress,
) -> dict[str, Any]:
    """Pack the curves of the timeline."""
    table, n = result.table, result.numbers.size
    curves: dict[str, NDArray[np.float64]] = {}
    outliers = doubtful = np.zeros(n, dtype=bool)
    if table is not None:
        curves |= {"error": table.rmse, "whole": table.scores}
        curves |= {} if table.local is None else {"place": table.local}
        outliers, doubtful = outlier_frames(table), table.doubts
    if films["mask"] is not None:
        shares = np.full(n, np.nan)
        for place, share in enumerate(shares_of(films["mask"])):
            shares[place : place + 1] = 100 * share
            progress("masks", place + 1, n)
        curves["foreground"] = shares
    always = outliers.copy()
    always[[result.place(event.peak_frame) for event in events]] = True
    shown = frames_shown(list(curves.values()), always, _MOST_FRAMES)
    return {
        "frames": pack_integers(result.numbers),
        "times": pack_integers(np.round(result.times * 1e6).astype(np.int64)),
        "shown": pack_integers(shown),
        "curves": {name: pack_floats(values[shown]) for name, values in curves.items()},
        "outliers": pack_flags(outliers),
        "doubtful": pack_flags(doubtful),
        "cutoff": None if table is None else table.cutoff,
        "change": None
        if table is None or table.scene_change is None
        else result.place(table.scene_change.first_frame),
    }


def _event_data(result: Result, event: SceneEvent) -> dict[str, Any]:
    """Give an event with the places of its frames."""
    return {
        "number": event.number,
        "kind": event.kind,
        "first": result.place(event.first_frame),
        "last": result.place(event.last_frame),
        "peak": result.place(event.peak_frame),
    }


def _film_data(
    result: Result,
    shown: Shown,
    path: Path,
    events: Sequence[SceneEvent],
    excerpt: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """Give what a page needs to show a view."""
    view = {"view": shown.view}
    if shown.film is None:
        pictures = stills(shown.unplayed, result, events) if shown.unplayed is not None else {}
        return {**view, "reason": shown.reason, **pictures}
    if excerpt is not None:
        return {**view, **embed(shown.film, excerpt)}
    return {**view, **shown.film.describe(link(shown.film.path, path))}


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


def _boxes(result: Result) -> dict[str, Any] | None:
    """Pack the boxes of objects, in tenths of a pixel; None where they are too many for a page."""
    objects = result.objects
    if not objects or len(objects) > _MOST_BOXES:
        return None
    places = np.searchsorted(result.numbers, [seen.frame for seen in objects])
    return {
        "places": pack_integers(places),
        "tracks": pack_integers([seen.track for seen in objects]),
        "sides": pack_floats(np.array([seen.box for seen in objects]).ravel()),
    }


def _thumbnails(
    result: Result, events: Sequence[SceneEvent], films: Mapping[View, Film | None]
) -> dict[int, str]:
    """Make small pictures of the peaks of events, by their numbers."""
    film = films["input"] or films["foreground"] or films["mask"]
    if film is None or not events:
        return {}
    places = sorted({result.place(event.peak_frame) for event in events})
    widest = _THUMBNAILS[0][0]
    pictures = {place: shrunk(picture, widest) for place, picture in pictures_of(film, places)}
    width, quality = _thumbnail_size(list(pictures.values()))
    made = {
        place: data_uri(webp(shrunk(picture, width), quality))
        for place, picture in pictures.items()
    }
    return {event.number: made.get(result.place(event.peak_frame), "") for event in events}


def _thumbnail_size(pictures: Sequence[Bytes]) -> tuple[int, int]:
    """Choose width and quality of thumbnails, by the size that some of them would have."""
    some = pictures[:: -(-len(pictures) // _THUMBNAILS_TRIED) or 1]
    for width, quality in _THUMBNAILS:
        mean = sum(len(webp(shrunk(each, width), quality)) for each in some) / max(len(some), 1)
        if mean * len(pictures) <= _THUMBNAIL_BYTES:
            return width, quality
    return _THUMBNAILS[-1]


def _background(result: Result, films: Mapping[View, Film | None]) -> str:
    """Make a picture of the scene: its background in the middle of the frames that fit it."""
    film = films["background"] or films["input"]
    if film is None:
        return ""
    usual = np.arange(result.numbers.size)
    if result.table is not None and not result.table.outliers.all():
        usual = np.flatnonzero(~result.table.outliers)
    middle = int(usual[usual.size // 2])
    for _, picture in pictures_of(film, [middle]):
        return data_uri(webp(shrunk(picture, _BACKGROUND_WIDTH), 75))
    return ""
