"""Make the page of a result: one HTML file, with the videos of the result beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.page.command import command_line
from bgsub.page.copies import Progress
from bgsub.page.data import describe_event, describe_film, pack_boxes, pack_series
from bgsub.page.drawings import draw_tracks, region_boxes, time_color
from bgsub.page.excerpt import excerpt_places, expected_bytes
from bgsub.page.facts import cautions, fact_rows, headline, option_rows
from bgsub.page.result import Result, read_result
from bgsub.page.template import fill
from bgsub.page.thumbnails import make_thumbnails, picture_scene
from bgsub.page.views import Shown, find_views
from bgsub.tracking.events import SceneEvent

_SCRIPTS = (
    "uplot/uPlot.iife.min.js",
    *("unpack.js", "films.js", "timeline.js", "tables.js", "report.js"),
)
_STYLES = ("uplot/uPlot.min.css", "page.css")

_MOST_EVENTS = 1_500


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
    thumbnails = make_thumbnails(result, events, films)
    background = picture_scene(result, films)
    data = {
        **pack_series(result, films, events, progress),
        "events": [describe_event(result, event) for event in events],
        "films": [describe_film(result, shown, path, events, excerpt) for shown in views],
        "boxes": pack_boxes(result),
        "region": result.region,
    }
    values = {
        **_shown_values(result),
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
        "views": views,
        "is_preview": standalone,
        "background": background,
    }
    html = fill("report.html", scripts=_SCRIPTS, styles=_STYLES, values=values)
    first = max(events, key=lambda event: result.score(event) or event.area, default=None)
    picture = thumbnails.get(first.number, "") if first is not None else ""
    return Page(html, result, views, picture or background)


def _shown_values(result: Result) -> dict[str, Any]:
    """Collect what the template writes of a result and of its run.json."""
    manifest = result.manifest
    return {
        "name": result.name,
        "headline": headline(manifest),
        "cautions": cautions(manifest),
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
