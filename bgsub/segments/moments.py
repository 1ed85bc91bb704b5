"""Find number and time of every frame that is selected of a film, without its pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import EmptySelectionError, InputError
from bgsub.video.entry import Entry
from bgsub.video.film_index import FilmIndex
from bgsub.video.frames import Frame
from bgsub.video.indexed import IndexedSource
from bgsub.video.seeking import frames_at, index_film
from bgsub.video.source import FrameSource
from bgsub.video.video_file import VideoFileSource


@dataclass(frozen=True, eq=False)
class Moments:
    """Numbers and seconds of frames, in order.

    Attributes
    ----------
    numbers : ndarray of int64, shape (n,)
        From 1 in the film.
    times : ndarray of float64, shape (n,)
    """

    numbers: NDArray[np.int64]
    times: NDArray[np.float64]


class Film:
    """A film whose frames are looked up: by seeking where that is exact, or else in one pass.

    Parameters
    ----------
    source : FrameSource

    Attributes
    ----------
    moments : Moments
        Of the frames that are selected.
    from_the_start : str
        Why every stretch is decoded from the beginning; empty if frames can be sought.

    Raises
    ------
    EmptySelectionError
        If no frame is selected.
    """

    def __init__(self, source: FrameSource) -> None:
        self.source = source
        self._index: FilmIndex | None = None
        self.from_the_start = ""
        if isinstance(source, VideoFileSource):
            found = index_film(source)
            if isinstance(found, str):
                self.from_the_start = found
            else:
                self._index = found
        self.moments = self._moments()

    def _moments(self) -> Moments:
        source, index = self.source, self._index
        if index is None:
            if isinstance(source, IndexedSource):
                pairs = source.moments()
            else:
                pairs = [(frame.number, frame.time_s) for frame in source]
            numbers = np.array([number for number, _ in pairs], dtype=np.int64)
            times = np.array([time_s for _, time_s in pairs])
        else:
            times = index.times
            numbers = np.arange(1, times.size + 1)
            if isinstance(source, VideoFileSource) and not source.options.selection.is_everything:
                wants = source.options.selection.picker().wants
                chosen = [wants(place + 1, float(time_s)) for place, time_s in enumerate(times)]
                numbers, times = numbers[chosen], times[chosen]
        if numbers.size == 0:
            raise EmptySelectionError(f"{source.name}: no frame is selected")
        return Moments(numbers, times)

    @property
    def can_seek(self) -> bool:
        """Say whether single frames are had without those before them."""
        return self._index is not None or isinstance(self.source, IndexedSource)

    def spread(self, least_s: float, most: int) -> list[int]:
        """Choose frames that lie apart by `least_s` seconds or more, at most so many.

        They are key frames, which are decoded alone, where the film has enough of these.
        """
        numbers, times = self.moments.numbers, self.moments.times
        step_s = max(least_s, float(times[-1] - times[0]) / most)
        targets = np.arange(times[0], times[-1] + 1e-6, step_s)
        places = np.unique(np.searchsorted(times, targets - 1e-6))
        chosen = numbers[places[places < times.size]]
        if self._index is not None:
            keys = np.intersect1d(self._index.keys + 1, numbers)
            following = np.searchsorted(keys, chosen)
            near = np.unique(keys[following[following < keys.size]])
            if 2 * near.size >= chosen.size:
                chosen = near
        return [int(number) for number in chosen]

    def entry(self, number: int) -> Entry | None:
        """Give where decoding of a stretch may begin; None is the start of the film."""
        return None if self._index is None else self._index.entry(number)

    def frames(self, numbers: Sequence[int]) -> Iterator[Frame]:
        """Give frames by their numbers, which increase; those that are damaged are left out."""
        source = self.source
        if self._index is not None and isinstance(source, VideoFileSource):
            yield from frames_at(source, self._index, numbers)
        elif isinstance(source, IndexedSource):
            for place in np.searchsorted(self.moments.numbers, numbers).tolist():
                try:
                    yield source[place]
                except InputError:
                    continue
        else:
            wanted = set(numbers)
            for frame in source:
                if frame.number in wanted:
                    yield frame
