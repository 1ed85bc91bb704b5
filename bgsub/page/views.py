"""Choose the video behind each of the four views of a page, and say where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from bgsub.errors import EmptySelectionError, InputError, UsageError
from bgsub.page.copies import Progress, copy_footage
from bgsub.page.films import VIEWS, Film, View, of_results, open_film, select
from bgsub.page.result import Result
from bgsub.source_options import SourceOptions
from bgsub.video.source import is_there


@dataclass(frozen=True, eq=False)
class Shown:
    """A view of a page.

    Attributes
    ----------
    view : str
    film : Film or None
        Its pictures are those of the frames that the run used, in their order.
    reason : str
        Why there is no film.
    unplayed : Film, optional
        What stills are made of where browsers do not play it.
    """

    view: View
    film: Film | None
    reason: str = ""
    unplayed: Film | None = None


def find_views(
    result: Result, footage: str | None, copies: Path | None, progress: Progress
) -> list[Shown]:
    """Find the film of each view: the run's own file, the footage itself, or a copy.

    Parameters
    ----------
    result : Result
    footage : str or None
        What the run was made of, where it is still known.
    copies : Path or None
        The folder in which copies are made of what browsers do not play; None makes none.
    progress : callable

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
            gone = f"the run wrote no {view}"
            if view == "input":
                gone = "its film is not here" if footage is None else "the film of this run is gone"
            return Shown(view, None, gone)
        if copies is None:
            reason = f"browsers do not play {own.name}"
            return Shown(view, None, reason, _unplayed(own, result))
        return Shown(view, _checked(_copy(result, view, own, copies, progress), result))
    except (InputError, UsageError, EmptySelectionError) as error:
        return Shown(view, None, str(error))


def _existing(footage: str | None) -> Path | None:
    """Give footage that is still there."""
    return None if footage is None or not is_there(footage) else Path(footage)


def _played_footage(result: Result, path: Path | None) -> Film | None:
    """Give the footage itself where browsers show it as the run saw it."""
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
    """Give the options by which a run read its input; masks do not change what is shown."""
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
