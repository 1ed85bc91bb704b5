"""Pack what the scripts of a page work with: curves, events, films and boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import EmptySelectionError, InputError, UsageError
from bgsub.options import SourceOptions
from bgsub.outliers.events import outlier_frames
from bgsub.page.media import (
    VIEWS,
    Film,
    Progress,
    View,
    copy_footage,
    embed,
    frames_shown,
    link,
    of_results,
    open_film,
    pack_flags,
    pack_floats,
    pack_integers,
    select,
    shares_of,
    stills,
)
from bgsub.page.result import Result
from bgsub.tracking.events import SceneEvent
from bgsub.video.source import is_there


@dataclass(frozen=True, eq=False)
class Shown:
    """A view of a page.

    Attributes
    ----------
    film : Film or None
        Its pictures are those of the frames that the run used, in their order.
    reason : str
        Why there is no film.
    unplayed : Film, optional
        What stills are made of where browsers do not play it.
    is_absent : bool
        Whether the run did not write it: then the page does without.
    """

    view: View
    film: Film | None
    reason: str = ""
    unplayed: Film | None = None
    is_absent: bool = False


def find_views(
    result: Result, footage: str | None, copies: Path | None, progress: Progress
) -> list[Shown]:
    """Find the film of each view: the run's own file, the footage itself, or a copy.

    Parameters
    ----------
    footage : str or None
        What the run was made of, where it is still known.
    copies : Path or None
        The folder in which copies are made of what browsers do not play; None makes none.

    Returns
    -------
    list of Shown
        One for each of `VIEWS`.
    """
    return [_find(result, view, footage, copies, progress) for view in VIEWS]


def _find(
    result: Result, view: View, footage: str | None, copies: Path | None, progress: Progress
) -> Shown:
    own = of_results(result.folder, view)
    film = None if own is None else open_film(own)
    try:
        if film is None and view == "input" and own is None:
            own = _existing(footage)
            film = _played_footage(result, own)
        if film is not None:
            return Shown(view, _checked(film, result))
        if own is None:
            if view != "input":
                return Shown(view, None, f"the run wrote no {view}", is_absent=True)
            gone = "its film is not here" if footage is None else "the film of this run is gone"
            return Shown(view, None, gone)
        if copies is None:
            reason = f"browsers do not play {own.name}"
            return Shown(view, None, reason, _unplayed(own, result))
        return Shown(view, _checked(_copy(result, view, own, copies, progress), result))
    except (InputError, UsageError, EmptySelectionError) as error:
        return Shown(view, None, str(error))


def _existing(footage: str | None) -> Path | None:
    """Return footage that is still there."""
    return None if footage is None or not is_there(footage) else Path(footage)


def _played_footage(result: Result, path: Path | None) -> Film | None:
    """Return the footage itself where browsers show it as the run saw it."""
    facts = result.manifest
    is_cut = facts["options"]["source"].get("roi") is not None or bool(facts["bad_frames"])
    film = None if path is None or is_cut else open_film(path)
    return None if film is None else select(film, result.numbers)


def _unplayed(path: Path, result: Result) -> Film | None:
    """Open what stills are made of: a video whose pictures are those of the run."""
    film = open_film(path, any_kind=True)
    return film if film is not None and film.stamps.size == result.numbers.size else None


def _copy(result: Result, view: View, own: Path, copies: Path, progress: Progress) -> Film | None:
    manifest = result.manifest
    options = source_options(manifest) if view == "input" else {}
    rate = Fraction(manifest["input"].get("rate") or 25) or None
    target = copies / f"{view}.mp4"
    copy_footage(own, target, options, rate=rate, progress=progress)
    return open_film(target)


def source_options(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options by which a run read its input; masks do not change what is shown."""
    plain = {**manifest["options"]["source"], "mask_image": None}
    options = SourceOptions.from_json(plain).to_json()
    return {name: value for name, value in options.items() if value is not None}


def _checked(film: Film | None, result: Result) -> Film:
    if film is None:
        raise InputError("the copy cannot be read back")
    if film.stamps.size != result.numbers.size:
        message = f"{film.path.name}: holds {film.stamps.size} pictures"
        raise InputError(f"{message}, but the run used {result.numbers.size} frames")
    if not bool((np.diff(film.stamps) > 0).all()):
        raise InputError(f"{film.path.name}: has times that do not increase")
    return film


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
    films : mapping
        The film of each view, None where there is none; the mask is decoded once.
    events : sequence of SceneEvent
        Those that are listed: their peaks are drawn however many frames there are.

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
    """Return an event with the places of its frames."""
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
    """Return what a page needs to show a view."""
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
