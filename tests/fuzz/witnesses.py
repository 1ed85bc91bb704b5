"""Hold what is read of a damaged film against the film before it was damaged."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray

from tests.fuzz.judging import Crew
from tests.fuzz.mutations import Rng
from tests.video.damaged_films import (
    CONTAINERS,
    DAMAGES,
    FRAMES,
    RATE,
    encoders,
    film,
    shown_picture,
)

# Beyond this share of strange pixels a picture is torn, and beyond the second it may be any.
_TORN, _UNKNOWN = 0.02, 0.1

_SILENT_LOSS = "frames are missing without a word"

_UNCOUNTED = {"nut", "asf", "yuv4mpegpipe"}
"""Containers whose end says neither how many frames there are nor that it is missing."""


@dataclass(frozen=True)
class Reading:
    """What a tree reads of a film.

    Attributes
    ----------
    frames : dict of int to (float, ndarray)
        Time and grey levels by number.
    bad, doubtful : frozenset of int
    said : str
        All warnings.
    is_blind : bool
        Whether it is known that damage to single pictures may not be noticed.
    """

    frames: dict[int, tuple[float, NDArray[np.uint8]]]
    bad: frozenset[int]
    doubtful: frozenset[int]
    said: str
    is_blind: bool


@functools.cache
def pairs() -> list[tuple[str, str]]:
    """Every codec with every container; most do not go together."""
    return [(codec, container) for codec in encoders() for container in CONTAINERS]


@functools.cache
def _readable(codec: str, container: str) -> bytes | None:
    """Give a film if all of its pictures come out again; many containers take anything."""
    data = film(codec, container)
    if data is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"film.{CONTAINERS[container]}"  # which says of some what they are
        path.write_bytes(data)
        try:
            with av.open(path) as opened:
                shown = sum(1 for _ in opened.decode(video=0)) if opened.streams.video else 0
        except (FFmpegError, ValueError):
            return None
    return data if shown == FRAMES else None


def damaged_film(rng: Rng) -> tuple[str, bytes, bytes]:
    """Give what a film is and what was done to it, and its bytes before and after."""
    kind = sorted(DAMAGES)[int(rng.integers(len(DAMAGES)))]
    while True:
        codec, container = pairs()[int(rng.integers(len(pairs())))]
        data = _readable(codec, container)
        if data is not None:
            return f"{codec} {container} {kind}", data, DAMAGES[kind](data, rng)


def witnessed(crew: Crew, work: Path, rng: Rng) -> tuple[str, list[str]]:
    """Damage a film, read it, and say which rules were broken: its name and theirs."""
    name, data, damaged = damaged_film(rng)
    path = work / f"film.{CONTAINERS[name.split()[1]]}"
    whole = read(crew, path, data)
    if isinstance(whole, str):
        return name, [f"undamaged: {whole}"]
    if not whole.frames:
        return name, []  # nothing that bgsub takes for a film
    found = read(crew, path, damaged)
    if isinstance(found, str):
        return name, [] if found == "refused" else [found]
    alone = read(crew, path, damaged, threads=1)
    broken = compare(whole, found)
    _, container, kind = name.split()
    if kind == "cut" and container in _UNCOUNTED:
        broken = [rule for rule in broken if rule != _SILENT_LOSS]
    if isinstance(alone, str) or _state(alone) != _state(found):
        broken.append("one thread and several differ")
    return name, broken


def read(crew: Crew, path: Path, data: bytes, threads: int | None = None) -> Reading | str:
    """Read a film; give what broke a rule, or "refused", where that cannot be done."""
    path.write_bytes(data)
    target = path.with_name("frames.npz")
    ending = crew.ask({"film": str(path), "threads": threads, "target": str(target)})
    if ending.hung or ending.failure or ending.code not in {0, 3}:
        return ending.failure or ("it hangs" if ending.hung else f"ends with {ending.code}")
    if ending.code == 3:
        return "refused"
    with np.load(target) as notes:
        frames = dict(
            zip(
                notes["numbers"].tolist(),
                zip(notes["times"], notes["luma"], strict=True),
                strict=True,
            )
        )
        bad, doubtful = (frozenset(notes[name].tolist()) for name in ("bad", "doubtful"))
        is_blind = bool(str(notes["unseen"])) or "cannot be seen" in ending.stderr
    return Reading(frames, bad, doubtful, ending.stderr, is_blind)


def _in_threes(values: list[int]) -> Iterator[tuple[int, int, int]]:
    """Give what follows each other in threes: a stale picture has another shift each time."""
    return zip(values, values[1:], values[2:], strict=False)


def _state(reading: Reading) -> object:
    times = {number: time_s for number, (time_s, _) in reading.frames.items()}
    return times, reading.bad, reading.doubtful, reading.said


def compare(whole: Reading, found: Reading) -> list[str]:
    """Name the rules that the reading of a damaged film breaks."""
    broken = []
    said = found.said.replace(whole.said, "", 1) if whole.said else found.said
    unsure = "unsure" in found.said
    named = {*found.frames, *found.bad}
    lost = set(range(1, len(whole.frames) + 1)) - named
    if lost and not said and not unsure:
        broken.append(_SILENT_LOSS)
    originals = np.stack([luma for _, luma in whole.frames.values()])
    shows_other = shows_torn = has_wrong_time = False
    shifts = []
    for number, (time_s, luma) in found.frames.items():
        if number in found.doubtful:
            continue
        shown, share = shown_picture(luma, originals)
        if share < _UNKNOWN and not unsure:
            shows_other |= shown != number
            shifts.append(shown - number)
        if share > _TORN and not found.is_blind:
            shows_torn = True
        right = whole.frames.get(number)
        if right is not None and abs(right[0] - time_s) > 0.5 / RATE and not unsure:
            has_wrong_time = True
    if shows_other and not found.is_blind:
        broken.append("a trusted frame shows another picture")
    if any(0 != shift == other == third for shift, other, third in _in_threes(shifts)):
        broken.append("trusted frames have the numbers of others")
    if has_wrong_time:
        broken.append("a trusted frame has a wrong time")
    if shows_torn:
        broken.append("a torn picture counts as good")
    return broken
