"""Find number and time of every frame that is selected of a film, without its pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import EmptySelectionError
from bgsub.video.base import IndexedSource
from bgsub.video.film import VideoFileSource
from bgsub.video.film_index import Entry, FilmIndex, Place
from bgsub.video.frames import Frame
from bgsub.video.seek import frames_at, index_film
from bgsub.video.source import FrameSource

_ENOUGH_KEYS = 60
"""Key frames that show what lasts in a film, whatever their distance."""

_BEHIND = 12
"""Frames behind a key frame that are decoded for a sample."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Numbers and seconds of frames, in order.

    Attributes
    ----------
    numbers : ndarray of int64, shape (n,)
        From 1 in the film.
    """

    numbers: NDArray[np.int64]
    times: NDArray[np.float64]


class Film:
    """A film whose frames are looked up: by seeking where that is exact, or else in one pass.

    Attributes
    ----------
    moments : Moments
        Of the frames that are selected.
    from_the_start : str
        Why every stretch is decoded from the beginning; empty if frames can be sought.
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
        """Return whether single frames are had without those before them."""
        return self._index is not None or isinstance(self.source, IndexedSource)

    @cached_property
    def _keys_stand_alone(self) -> bool:
        """Whether a key frame is decoded without what is before it, as far as one of them shows."""
        if self._index is None:
            return False
        number = int(self._index.keys[self._index.keys.size // 2]) + 1
        places = [self._index.place(number, from_its_key=True), self._index.place(number)]
        found = [frame.data for place in places for frame in frames_at(self.source, [place])]
        return len(found) == len(places) and np.array_equal(found[0], found[1])

    def places(self, numbers: Iterable[int], *, cheaply: bool = False) -> list[Place]:
        """Say where frames are found; `cheaply` decodes none before the key frame of each."""
        moments, index = self.moments, self._index
        if index is not None:
            alone = cheaply and self._keys_stand_alone
            return [index.place(int(number), from_its_key=alone) for number in numbers]
        chosen = np.fromiter(numbers, dtype=np.int64)
        times = moments.times[np.searchsorted(moments.numbers, chosen)]
        return [Place(*pair) for pair in zip(chosen.tolist(), times.tolist(), strict=True)]

    def spread(self, least_s: float, most: int) -> list[Place]:
        """Choose frames that lie apart by `least_s` seconds or more, at most so many.

        They are key frames, which are decoded alone, where the film has enough of these.
        """
        numbers, times = self.moments.numbers, self.moments.times
        step_s = max(least_s, float(times[-1] - times[0]) / most)
        targets = np.arange(times[0], times[-1] + 1e-6, step_s)
        places = np.unique(np.searchsorted(times, targets - 1e-6))
        chosen = numbers[places[places < times.size]]
        if self._index is not None and self._keys_stand_alone:
            keys = np.intersect1d(self._index.keys + 1, numbers)
            following = np.searchsorted(keys, chosen)
            near = np.unique(keys[following[following < keys.size]])
            if near.size >= _ENOUGH_KEYS or 2 * near.size >= chosen.size:
                chosen = near
        return self.places(chosen.tolist(), cheaply=True)

    def samples(self, first: int, last: int, count: int) -> list[Place]:
        """Choose frames spread over those from `first` to `last`, at most `count`.

        They are near behind key frames, where the film has enough of these.
        """
        numbers = self.moments.numbers
        numbers = numbers[(numbers >= first) & (numbers <= last)]
        if self._index is not None and self._keys_stand_alone:
            keys = self._index.keys + 1
            before = np.searchsorted(keys, numbers, side="right") - 1
            near = numbers[(before >= 0) & (numbers - keys[np.maximum(before, 0)] <= _BEHIND)]
            if near.size >= count:
                numbers = near
        if numbers.size > count:
            edges = (np.arange(count) + 0.5) * numbers.size / count
            numbers = numbers[edges.astype(np.int64)]
        return self.places(numbers.tolist(), cheaply=True)

    def entry(self, number: int) -> Entry | None:
        """Return where decoding of a stretch may begin; None is the start of the film."""
        return None if self._index is None else self._index.entry(number)

    def frames(self, places: Sequence[Place]) -> Iterator[Frame]:
        """Return the frames of some places, in order; those that are damaged are left out."""
        return frames_at(self.source, places)
