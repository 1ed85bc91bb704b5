"""Give the frames of images and arrays by their place, without reading those before."""

from __future__ import annotations

from functools import cached_property
from typing import overload

from bgsub.errors import InputError
from bgsub.video.base import ASSUMED_RATE, BadPicture, BaseSource, Item, Options
from bgsub.video.frames import Frame


class IndexedSource(BaseSource):
    """A source whose frames can be read in any order: ``len(source)``, ``source[3]``, ``[2:9]``.

    Places count from 0 among the frames that are selected, those that cannot be decoded included;
    one of these raises InputError. ``Frame.number`` counts from 1 in the input, as always.
    """

    def __init__(self, name: str, path: str, options: Options) -> None:
        super().__init__(name, path, options)
        self.rate = options.fps
        self._assumed_rate = self._per_second = options.fps or ASSUMED_RATE

    @cached_property
    def _selected(self) -> list[Item]:
        picker = self.options.selection.picker()
        return [item for item in self._items([]) if picker.wants(item.number, item.time_s)]

    def __len__(self) -> int:
        return len(self._selected)

    def moments(self) -> list[tuple[int, float]]:
        """Give number and seconds of every frame that is selected, without reading any."""
        return [(item.number, item.time_s) for item in self._selected]

    @overload
    def __getitem__(self, place: int) -> Frame: ...
    @overload
    def __getitem__(self, place: slice) -> list[Frame]: ...
    def __getitem__(self, place: int | slice) -> Frame | list[Frame]:
        if isinstance(place, slice):
            return [self._frame(item) for item in self._selected[place]]
        return self._frame(self._selected[place])

    def _frame(self, item: Item) -> Frame:
        reason = item.reason
        if item.load is not None:
            try:
                data = self.geometry.pack(item.load(), self.layout, None)
                return Frame(item.number, item.time_s, data, self.layout)
            except BadPicture as error:
                reason = str(error)
        raise InputError(f"{self.name}: frame {item.number} cannot be decoded ({reason})")
