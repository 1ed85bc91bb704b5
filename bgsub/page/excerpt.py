"""Embed a short, small preview of a film into a page, and stills of what browsers do not play."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.page.films import Film, open_film
from bgsub.page.packing import pack_integers
from bgsub.page.pictures import data_uri, pictures_of, shrunk, webp
from bgsub.page.result import Result
from bgsub.tracking.events import SceneEvent
from bgsub.video.frames import Layout
from bgsub.video.sink import open_sink

_MOST_FRAMES = 400
_WIDTH = 240
_STILLS, _STILL_WIDTH = 40, 320


def excerpt_places(result: Result, events: Sequence[SceneEvent]) -> NDArray[np.int64]:
    """Choose the frames of a preview: those around the peaks of events, or evenly spaced ones.

    Parameters
    ----------
    result : Result
    events : sequence of SceneEvent
        Where they are many, those that come first.

    Returns
    -------
    ndarray of int64
        Their places, increasing, 400 at most.
    """
    n = result.numbers.size
    peaks = [result.place(event.peak_frame) for event in events][:_MOST_FRAMES]
    if not peaks:
        return np.unique(np.linspace(0, n - 1, min(n, _MOST_FRAMES // 4)).astype(np.int64))
    half = max(0, (_MOST_FRAMES // len(peaks) - 1) // 2)
    chosen = [np.arange(max(0, peak - half), min(n, peak + half + 1)) for peak in peaks]
    return np.unique(np.concatenate(chosen))


def expected_bytes(films: Sequence[Film], places: NDArray[np.int64]) -> int:
    """Estimate by how much previews of films make a page larger, from the films' own sizes."""
    return round(sum(_bytes_per_frame(film) for film in films) * places.size * 4 / 3)


def _bytes_per_frame(film: Film) -> float:
    scale = min(1.0, _WIDTH / film.width) ** 2
    return film.path.stat().st_size / film.stamps.size * scale


def embed(film: Film, places: NDArray[np.int64]) -> dict[str, Any]:
    """Encode a preview of a film.

    Parameters
    ----------
    film : Film
    places : ndarray of int64
        Its pictures, increasing.

    Returns
    -------
    dict
        As `Film.describe` gives it, with the ``places`` of its pictures; the video is in ``src``.
    """
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "preview.mp4"
        sink = None
        try:
            for place, picture in pictures_of(film, places.tolist()):
                small = cv2.cvtColor(shrunk(picture, _WIDTH), cv2.COLOR_RGB2BGR).astype(np.uint8)
                if sink is None:
                    layout = Layout("bgr", *small.shape[:2])
                    sink = open_sink(path, "preview", layout=layout, kind="mp4", rate=_rate(film))
                sink.write(small)
                kept.append(place)
            if sink is not None:
                sink.close()
        except BaseException:
            if sink is not None:
                sink.abort()
            raise
        made = open_film(path)
        if made is None:
            return {"reason": "none of its pictures can be decoded"}
        src = data_uri(path.read_bytes(), "video/mp4")
        return made.describe(src) | {"places": pack_integers(kept)}


def _rate(film: Film) -> Fraction:
    steps = np.diff(film.stamps)
    return 1 / (int(np.median(steps)) * film.base) if steps.size else Fraction(25)


def stills(film: Film, result: Result, events: Sequence[SceneEvent]) -> Mapping[str, Any]:
    """Make pictures of the peaks of events, of a film that browsers do not play.

    Returns
    -------
    dict
        ``places`` and, for each, the address of its picture.
    """
    wanted = sorted({result.place(event.peak_frame) for event in events[:_STILLS]})
    made = list(pictures_of(film, wanted or [0]))
    return {
        "places": [place for place, _ in made],
        "pictures": [data_uri(webp(shrunk(picture, _STILL_WIDTH), 55)) for _, picture in made],
    }
