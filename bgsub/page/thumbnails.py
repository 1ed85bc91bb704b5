"""Make the small pictures of a page: the peaks of events, and the scene without objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from bgsub.page.films import Film, View
from bgsub.page.pictures import data_uri, pictures_of, shrunk, webp
from bgsub.page.result import Result
from bgsub.tracking.events import SceneEvent
from bgsub.video.frames import Bytes
from bgsub.video.images import read_image

_THUMBNAILS = ((192, 60), (144, 50), (96, 40), (80, 30), (64, 20))
"""Width in pixels and quality of thumbnails: the first with which all have room."""

_THUMBNAIL_BYTES = 1_100_000
"""Room for all thumbnails, without the third that base64 adds."""

_THUMBNAILS_TRIED = 24

_BACKGROUND_WIDTH = 960

_STILL = "background.png"
"""The picture of the empty scene that a run writes."""


def make_thumbnails(
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


def picture_scene(result: Result, films: Mapping[View, Film | None]) -> str:
    """Make a picture of the empty scene: the run's own, or that of a frame that fits it."""
    still = result.folder / _STILL
    if still.is_file():
        empty = read_image(still)
        order = cv2.COLOR_GRAY2RGB if empty.ndim == 2 else cv2.COLOR_BGR2RGB
        shown = np.asarray(cv2.cvtColor(empty, order), dtype=np.uint8)
        return data_uri(webp(shrunk(shown, _BACKGROUND_WIDTH), 75))
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
