"""Made scenes of people and things that come, stay and leave, or stay to the end.

Two halves tell the same stories with other people in other rooms: rules are chosen on one and
judged on the other. The truth holds whoever and whatever came in from outside, for as long as it is
there; a chair that is moved within the room is the room's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import cv2
import numpy as np

from benchmarks.compositing import (
    Box,
    Cut,
    Drawn,
    Place,
    Singles,
    back_and_forth,
    composed,
    cuts,
    emptied,
    film,
)

_ROOM = 160, 120
_ROAD = 320, 160
_FRAMES = 300
_GRAIN = 2.0
"""Noise in grey levels of what is shown by one frame of its film again and again."""


def _slid(cut: Cut, right: float, down: float = 0.0) -> Cut:
    """Move what was cut out by some pixels."""
    height, width = cut.share.shape
    move = np.array([[1, 0, right], [0, 1, down]], np.float32)
    colors, share = (cv2.warpAffine(one, move, (width, height)) for one in cut)
    return Cut(np.asarray(colors, np.float32), np.asarray(share, np.float32))


def _nobody(count: int, size: tuple[int, int] = _ROOM) -> list[Cut]:
    none = np.zeros(size[::-1], np.float32)
    return [Cut(np.stack([none] * 3, axis=2), none)] * count


def _grained(cuts: Sequence[Cut]) -> Iterator[Cut]:
    random = np.random.default_rng(5)
    for cut in cuts:
        noise = random.normal(0, _GRAIN, cut.colors.shape).astype(np.float32)
        yield Cut(cut.colors + noise, cut.share)


def _before(behind: Sequence[Cut], front: Sequence[Cut]) -> list[Cut]:
    """Draw what was cut out before other things."""
    both = []
    for far, near in zip(behind, front, strict=True):
        over = near.share[..., None]
        # Colours of what shows nothing there do not count.
        colors = far.colors + np.where(far.share[..., None] > 0, over, over > 0) * (
            near.colors - far.colors
        )
        both.append(Cut(colors, np.maximum(far.share, near.share)))
    return both


def _centred(visit: list[Cut], size: tuple[int, int] = _ROOM) -> list[Cut]:
    """Let as much of the film pass before a visit as after it."""
    rest = _FRAMES - len(visit)
    return [*_nobody(rest // 2, size), *visit, *_nobody(rest - rest // 2, size)]


def _meeting(data: Path, start: int = 200) -> list[Singles]:
    """Return a meeting room."""
    path = data / "moved_object" / "moved_object.mp4"
    return film(path, range(start, start + _FRAMES), _ROOM)


def _office(data: Path) -> list[Singles]:
    """Return a small office."""
    path = data / "light_switch" / "light_switch.mp4"
    return film(path, range(100, 100 + _FRAMES), _ROOM)


def _desk(data: Path) -> list[Singles]:
    """Return a desk before a pin board."""
    return film(data / "sleeper" / "sleeper.mp4", range(560, 560 + _FRAMES), _ROOM)


_SITTER = Place(0.5, -8.0, 0.0)
_BAG, _MAN = Box(120, 140, 172, 200), Box(172, 0, 352, 288)


def _sitter(data: Path, frames: Sequence[int], within: Box | None = None) -> list[Cut]:
    """Cut out a man: comes in with a bag (0–21), puts it down, sits (22–70), gets up (71–79)."""
    return cuts(data, "sits_down", frames, _ROOM, _SITTER, within)


_COMES, _SITS = range(22), range(24, 70)


def _sits(data: Path, share: float) -> list[Cut]:
    """Let the man sit there, all in all for a share of the film."""
    long = round(share * _FRAMES) - 2 * len(_COMES)
    come, sit = (_sitter(data, frames) for frames in (_COMES, _SITS))
    return _centred([*come, *back_and_forth(sit, long), *come[::-1]])


def _sits_first(data: Path) -> list[Cut]:
    """Let the man sit there from the beginning, and leave after half of the film."""
    come, sit = (_sitter(data, frames) for frames in (_COMES, _SITS))
    seen = [*back_and_forth(sit, _FRAMES // 2), *come[::-1]]
    return [*seen, *_nobody(_FRAMES - len(seen))]


def _break(data: Path, who: Callable[[Path], list[Cut]]) -> list[Cut]:
    """Let somebody who is there first leave for a quarter of the film, and come back."""
    half = who(data)[_FRAMES // 5 : 7 * _FRAMES // 10]
    return [*half, *half[::-1]]


def _bag_put(data: Path) -> tuple[list[Cut], list[Cut]]:
    """Let the man come, put his bag down and leave without it; and give the bag alone."""
    shown = _sitter(data, [*range(30), *range(60, 80)])
    (up,) = _sitter(data, [79], _MAN)
    bags = _sitter(data, range(70, 80), _BAG)
    away = [_slid(up, 8.0 * step) for step in range(1, 13)]
    return [*shown, *_before(back_and_forth(bags, len(away)), away)], bags


def _bag_left(data: Path) -> list[Cut]:
    """Let the bag lie there for the second half of the film."""
    put, bags = _bag_put(data)
    seen = [*_nobody(_FRAMES // 2 - len(put)), *put]
    return [*seen, *back_and_forth(bags, _FRAMES - len(seen))]


def _bag_taken(data: Path) -> list[Cut]:
    """Let the bag lie there for 40 % of the film until the man comes back for it."""
    put, bags = _bag_put(data)
    return _centred([*put, *back_and_forth(bags, round(0.4 * _FRAMES)), *put[::-1]])


def _bag_fetched(data: Path) -> list[Cut]:
    """Let the bag lie there for the first half of the film, until the man fetches it."""
    return _bag_left(data)[::-1]


def _meeting_chair(data: Path) -> Iterator[Drawn]:
    """Let the man of the bag come in; meanwhile a chair of the room is turned, in its own film."""
    half = _FRAMES // 2
    rooms = [*_meeting(data, 300)[:half], *_meeting(data, 900)[:half]]
    return composed(rooms, _sits(data, 0.3))


_WALKER = Place(0.7, -55.0, -20.0)
_LEFT = Box(0, 0, 175, 240)


def _walker(data: Path, frames: Sequence[int]) -> list[Cut]:
    """Cut out a man who walks in from the left (14–60), stands (64–84), bends down (91–133)."""
    return cuts(data, "hall_and_monitor", frames, _ROOM, _WALKER, _LEFT)


_WALKS, _STANDS = range(14, 62), range(62, 84)


def _stands(data: Path, share: float) -> list[Cut]:
    """Let the walker stand there, all in all for a share of the film."""
    walk, stand = _walker(data, _WALKS[::2]), _walker(data, _STANDS)
    long = round(share * _FRAMES) - 2 * len(walk)
    return _centred([*walk, *back_and_forth(stand, long), *walk[::-1]])


def _stands_first(data: Path) -> list[Cut]:
    """Let the walker stand there from the beginning, and leave after half of the film."""
    walk, stand = _walker(data, _WALKS[::2]), _walker(data, _STANDS)
    seen = [*back_and_forth(stand, _FRAMES // 2), *walk[::-1]]
    return [*seen, *_nobody(_FRAMES - len(seen))]


def _case_put(data: Path) -> tuple[list[Cut], list[Cut]]:
    """Let the walker come, put something down and leave; and give the thing alone."""
    bags = cuts(data, "sits_down", range(44, 72), _ROOM, Place(0.45, -43.0, 10.0), _BAG)
    walk, bend = _walker(data, _WALKS[::2]), _walker(data, range(91, 133, 2))
    rise = bend[len(bend) // 2 :]
    leave = [*rise, *walk[::-1]]
    put = _before(back_and_forth(bags, len(leave)), leave)
    return [*walk, *bend[: len(bend) // 2], *put], bags


def _case_left(data: Path) -> list[Cut]:
    """Let the thing stand there for the second half of the film."""
    put, bags = _case_put(data)
    seen = [*_nobody(_FRAMES // 2 - len(put)), *put]
    return [*seen, *back_and_forth(bags, _FRAMES - len(seen))]


def _case_taken(data: Path) -> list[Cut]:
    """Let the thing stand there for 40 % of the film until the walker comes back for it."""
    put, bags = _case_put(data)
    return _centred([*put, *back_and_forth(bags, round(0.4 * _FRAMES)), *put[::-1]])


def _case_fetched(data: Path) -> list[Cut]:
    """Let the thing stand there for the first half of the film, until the walker fetches it."""
    return _case_left(data)[::-1]


def _office_chair(data: Path) -> Iterator[Drawn]:
    """Let the walker stand for a while; meanwhile a chair of the room comes to another place."""
    path = data / "moved_object" / "moved_object.mp4"
    (shown,) = film(path, range(1000, 1001), _ROOM)
    red = (shown[..., 2] > shown[..., :2].max(axis=2) + 30).astype(np.float32)
    alone = np.zeros_like(red)
    alone[66:106, 81:114] = red[66:106, 81:114]
    chair = Cut(shown, np.asarray(cv2.GaussianBlur(alone, (0, 0), 0.7), np.float32))
    here, there = _slid(chair, -48, 0), _slid(chair, -10, 8)
    half = _FRAMES // 2
    chairs = _grained([*[here] * half, *[there] * (_FRAMES - half)])
    rooms = [one.picture for one in composed(_office(data), list(chairs))]
    return composed(rooms, _stands(data, 0.3))


def _someone_stays(data: Path) -> Iterator[Drawn]:
    """Let a man sit in the meeting room from the first frame to the last."""
    return composed(_meeting(data), back_and_forth(_sitter(data, _SITS), _FRAMES))


def _someone_at_desk(data: Path) -> Iterator[Drawn]:
    """Let a man stand before a desk from the first frame to the last."""
    place = Place(0.45, 20.0, 48.0)
    man = cuts(data, "board", range(148, 166), _ROOM, place, Box(0, 0, 160, 164))
    return composed(_desk(data), back_and_forth(man, _FRAMES))


def _parks(car: Cut, count: int, way: tuple[float, float]) -> list[Cut]:
    """Let a car come from outside by a way in pixels, and stand for the second half of a film."""
    size = car.share.shape[1], car.share.shape[0]
    slow = [(1 - step / 30) ** 2 for step in range(31)]
    comes = [_slid(car, part * way[0], part * way[1]) for part in slow]
    before = count // 2 - len(comes)
    return list(_grained([*_nobody(before, size), *comes, *[car] * (count - count // 2)]))


def _road_parks(data: Path) -> Iterator[Drawn]:
    empty = emptied(data, "highway", range(700, 900), top=80)
    place = Place(0.6, 30, 10)
    (car,) = cuts(data, "highway_shadows", [50], _ROAD, place)
    return composed(empty, _parks(car, len(empty), (20.0, 120.0)))


def _street_parks(data: Path) -> Iterator[Drawn]:
    size = 320, 240
    once = film(data / "robustness" / "brightness_change.avi", range(59), size, top=1.0)
    place = Place(0.8, 0.0, 90.0)
    (car,) = cuts(data, "highway", [886], size, place, Box(170, 80, 265, 175))
    count = 240
    return composed(back_and_forth(once, count), _parks(car, count, (170.0, 40.0)))


def _in(
    room: Callable[[Path], list[Singles]], who: Callable[[Path], list[Cut]]
) -> Callable[[Path], Iterable[Drawn]]:
    return lambda data: composed(room(data), who(data))


CHOOSING: dict[str, Callable[[Path], Iterable[Drawn]]] = {
    "sits_20": _in(_meeting, partial(_sits, share=0.2)),
    "sits_50": _in(_meeting, partial(_sits, share=0.5)),
    "sits_80": _in(_meeting, partial(_sits, share=0.8)),
    "sits_first": _in(_meeting, _sits_first),
    "sits_break": _in(_meeting, partial(_break, who=_sits_first)),
    "sits_always": _someone_stays,
    "bag_left": _in(_meeting, _bag_left),
    "bag_taken": _in(_meeting, _bag_taken),
    "bag_fetched": _in(_meeting, _bag_fetched),
    "chair_turned": _meeting_chair,
    "road_parks": _road_parks,
}
"""How scenes on which rules are chosen are drawn from the recordings of a folder."""

JUDGING: dict[str, Callable[[Path], Iterable[Drawn]]] = {
    "stands_20": _in(_office, partial(_stands, share=0.2)),
    "stands_50": _in(_office, partial(_stands, share=0.5)),
    "stands_80": _in(_office, partial(_stands, share=0.8)),
    "stands_first": _in(_office, _stands_first),
    "stands_break": _in(_office, partial(_break, who=_stands_first)),
    "stands_always": _someone_at_desk,
    "case_left": _in(_office, _case_left),
    "case_taken": _in(_office, _case_taken),
    "case_fetched": _in(_office, _case_fetched),
    "chair_moved": _office_chair,
    "street_parks": _street_parks,
}
"""The same for scenes on which they are judged."""
