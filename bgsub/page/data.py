"""Pack what the scripts of a page work with: curves, events, films and boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.events import outlier_frames
from bgsub.page.copies import Progress
from bgsub.page.excerpt import embed, stills
from bgsub.page.films import Film, View, link
from bgsub.page.packing import frames_shown, pack_flags, pack_floats, pack_integers
from bgsub.page.pictures import shares_of
from bgsub.page.result import Result
from bgsub.page.views import Shown
from bgsub.tracking.events import SceneEvent

_MOST_FRAMES = 110_000
"""Frames up to which a page holds the values of all."""

_MOST_BOXES = 40_000
"""Boxes up to which a page draws those of all objects."""


def pack_series(
    result: Result,
    films: Mapping[View, Film | None],
    events: Sequence[SceneEvent],
    progress: Progress,
) -> dict[str, Any]:
    """Pack the curves of the timeline.

    Parameters
    ----------
    result : Result
    films : mapping
        The film of each view, None where there is none; the mask is decoded once.
    events : sequence of SceneEvent
        Those that are listed: their peaks are drawn however many frames there are.
    progress : callable

    Returns
    -------
    dict
        Frame numbers, times in microseconds, and the values of the frames that are drawn.
    """
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


def describe_event(result: Result, event: SceneEvent) -> dict[str, Any]:
    """Give an event with the places of its frames."""
    return {
        "number": event.number,
        "kind": event.kind,
        "first": result.place(event.first_frame),
        "last": result.place(event.last_frame),
        "peak": result.place(event.peak_frame),
    }


def describe_film(
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


def pack_boxes(result: Result) -> dict[str, Any] | None:
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
