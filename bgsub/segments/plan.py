"""Plan the segments of a video: they begin where its scene changes for good, and by length."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import platform
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import BgsubError, InputError, writing
from bgsub.fit.memory import AUTO_FIT_FRAMES
from bgsub.options import WITHOUT_EFFECT, RunOptions
from bgsub.pipeline.inputs import needs_fit, needs_still, open_input
from bgsub.pipeline.results import is_complete
from bgsub.runtime.files import read_json, sync
from bgsub.segments.changes import Film, find_changes
from bgsub.version import __version__
from bgsub.video.film_index import Entry, Place
from bgsub.video.selection import Position, parse_step
from bgsub.video.source import Footage

notes = logging.getLogger("bgsub.notes")

# Frames up to which ``auto`` leaves a video as it is, and that it makes segments of at most.
AUTO_FRAMES = 15_000
_LEAST = 50  # frames of a segment: fewer are no fit to speak of
_LEAST_FITTED = 500  # frames that are fitted of every segment, if it has so many
_BORROWED = 0.6  # share of them that are the neighbours': what stays for all of it is the smaller

# Where segments wait to be joined, within the folder of results, and the plan among them.
FOLDER, PLAN = ".segments", "plan.json"
_VERSION = 2
_SEGMENT = re.compile("[0-9]{4,}")
_OF_OBJECTS = frozenset({"objects", "tracks", "events"})


@dataclass(frozen=True)
class Segment:
    """A part of a video that is run by itself; those of one state of the scene follow each other.

    `fit_frames` counts those that are fitted where no option says how many, and `before` and
    `after` are frames of the neighbours that are fitted with its own.
    """

    number: int  # from 1
    first: int
    last: int | None  # included; None is the end of what is selected
    reason: str
    state: int = 1
    entry: Entry | None = None  # where decoding may begin; None is the start of the video
    fit_frames: int | None = None
    before: tuple[Place, ...] = ()
    after: tuple[Place, ...] = ()

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Make one of the fields that a plan was saved with."""
        before, after = (tuple(Place(*at) for at in plain[name]) for name in ("before", "after"))
        entry = None if plain["entry"] is None else Entry(*plain["entry"])
        return cls(**{**plain, "entry": entry, "before": before, "after": after})


def segments_of(footage: Footage, options: RunOptions) -> tuple[Segment, ...]:
    """Divide a video into segments; it is one where the video is too short for two.

    Their fits share the frames of one fit by length, but each has 500 frames, or as many as
    ``--fit-frames`` says; of these, some are the neighbours' in the same state of the scene. With
    ``--fit-frames all`` a fit is that of the frames of the segment, and of no others.
    """
    film = Film(open_input(footage, options))
    begins = _begins(film, options)
    if film.from_the_start and len(begins) > 1:
        text = "%s: each segment is decoded from the start of the film (%s)"
        notes.info(text, film.source.name, film.from_the_start)
    edges, total = [*(place for place, _, _ in begins), film.numbers.size], film.numbers.size
    segments = []
    for i, (place, reason, state) in enumerate(begins):
        size = edges[i + 1] - place
        fitted = max(_LEAST_FITTED, round(AUTO_FIT_FRAMES * size / total))
        if isinstance(options.fit_frames, int):
            fitted = options.fit_frames
        near = [side for side in (i - 1, i + 1) if 0 <= side < len(begins)]
        sides = [side for side in near if begins[side][2] == state]
        found: dict[int, tuple[Place, ...]] = {}
        for side in sides if options.fit_frames != "all" else ():
            # Of a segment that is shorter than its sample, all frames are the smaller part still.
            share = _BORROWED * min(fitted, round(size / (1 - _BORROWED))) / len(sides)
            theirs = film.numbers[edges[side] : edges[side + 1]]
            found[side] = tuple(film.samples(int(theirs[0]), int(theirs[-1]), round(share)))
        first = int(film.numbers[place])
        last = None if i + 1 == len(begins) else int(film.numbers[edges[i + 1]]) - 1
        lent = found.get(i - 1, ()), found.get(i + 1, ())
        entry = film.entry(first)
        segments.append(Segment(i + 1, first, last, reason, state, entry, fitted, *lent))
    return tuple(segments)


def _begins(film: Film, options: RunOptions) -> list[tuple[int, str, int]]:
    """Return the place among the frames at which each segment begins, why, and its state."""
    total, is_auto = film.numbers.size, options.segment == "auto"
    if is_auto and total <= AUTO_FRAMES:
        return [(0, "beginning", 1)]
    states = [(0, "beginning")]
    for change in find_changes(film):
        place = int(np.searchsorted(film.numbers, change.first))
        if place - states[-1][0] >= _LEAST and total - place >= _LEAST:
            states.append((place, change.reason))
    length = Position(frame=AUTO_FRAMES) if is_auto else parse_step(options.segment, "--segment")
    unit = " frames" if length.seconds is None else ""
    by_length = f"after {AUTO_FRAMES if is_auto else options.segment}{unit}"
    stops = [*(place for place, _ in states[1:]), total]
    return [
        (start + at, by_length if at else why, state)
        for state, ((start, why), stop) in enumerate(zip(states, stops, strict=True), start=1)
        for at in equal_parts(film.times[start:stop], length)
    ]


def equal_parts(times: NDArray[np.float64], length: Position) -> list[int]:
    """Choose the places at which parts of a length begin, the first at 0.

    What is left at the end is a part if it has half the length and enough frames, or else belongs
    to the part before it.
    """
    n, by_frames = times.size, length.frame is not None
    since = np.arange(n) if by_frames else times - times[0]
    step = max(length.frame or 0, _LEAST) if by_frames else float(length.seconds or 0.0)
    begins = np.arange(0.0, since[-1] + step, step)
    starts = np.unique(np.searchsorted(since, begins - 1e-6))
    starts = starts[starts < n]
    is_long = 2 * (since[-1] - since[starts[-1]] + by_frames) >= step
    kept = [0]
    for start in starts[1:].tolist():
        if start - kept[-1] >= _LEAST:
            kept.append(start)
    if len(kept) > 1 and (n - kept[-1] < _LEAST or (kept[-1] == starts[-1] and not is_long)):
        kept.pop()
    return kept


@dataclass(frozen=True)
class SegmentPlan:
    """How a video is run in segments."""

    identity: dict[str, Any]  # what `input_identity` gives for it
    options: RunOptions  # of the run that all segments together are
    segments: tuple[Segment, ...] = ()
    directory: str = field(default_factory=os.getcwd)  # of whoever made the plan

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides about the results: input, options and version."""
        options = self.options.to_json()
        decisive = {name: options[name] for name in options.keys() - WITHOUT_EFFECT}
        decided = [__version__, self.identity["sha256"], decisive]
        return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()

    def segment_options(self, number: int) -> RunOptions:
        """Return the options of a segment's own run; what needs all frames is made by the join."""
        segment, options = self.segments[number - 1], self.options
        outputs = options.outputs - {"plot"}
        if needs_fit(options):
            outputs |= {"errors"}
        if outputs & {*_OF_OBJECTS, "activity"}:
            outputs |= _OF_OBJECTS
        if needs_still(options):
            outputs |= {"still"}
        last = options.source.end if segment.last is None else segment.last
        return replace(
            options,
            source=replace(options.source, start=segment.first, end=last),
            outputs=outputs,
            fit_frames=options.fit_frames or segment.fit_frames,
            segment="off",
            feedback=None,
            resume=False,
            force=False,
        )

    def missing(self, out: Path) -> list[int]:
        """Return the numbers of the segments that are not finished."""
        numbers = (segment.number for segment in self.segments)
        return [number for number in numbers if not is_complete(segment_folder(out, number))]

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        return {
            "version": _VERSION,
            "bgsub_version": __version__,
            "fingerprint": self.fingerprint,
            "input": self.identity,
            "directory": self.directory,
            "options": self.options.to_json(),
            "segments": [asdict(segment) for segment in self.segments],
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Make a plan from what `to_json` gave."""
        if plain["version"] != _VERSION:
            raise ValueError(f"it is of version {plain['version']!r}")
        try:
            options = RunOptions.from_json(plain["options"])
        except BgsubError as error:
            raise ValueError(error) from error
        segments = tuple(Segment.from_json(each) for each in plain["segments"])
        plan = cls(dict(plain["input"]), options, segments, str(plain["directory"]))
        if plan.fingerprint != plain["fingerprint"]:
            raise ValueError("it is of another version of bgsub")
        return plan

    def save(self, out: Path) -> bool:
        """Write the plan into the hidden folder of `out`, whole, unless there is one already.

        Others, here or on other machines, may be the first: return whether it is this one that is
        there.
        """
        path = out / FOLDER / PLAN
        partial = path.with_name(f".{PLAN}.{platform.node()}.{os.getpid()}")
        with writing(path, "choose another --out"):
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps(self.to_json(), allow_nan=False) + "\n", encoding="utf-8")
            sync(partial)
            try:
                os.link(partial, path)
            except FileExistsError:
                return False
            except OSError:  # a file system without links
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
        return True


def load_plan(out: Path) -> SegmentPlan:
    """Read the plan of a folder of results."""
    path = out / FOLDER / PLAN
    if not path.exists():
        raise InputError(f"{out}: holds no segments; begin with `bgsub run --segment`")
    advice = "; begin anew with --force"
    return read_json(path, "plan of this bgsub", SegmentPlan.from_json, advice=advice)


def segment_folder(out: Path, number: int) -> Path:
    """Name the folder of results of a segment."""
    return out / FOLDER / f"{number:04d}"


def clear(out: Path) -> bool:
    """Remove the segments of a folder of results, and nothing else; False if there are none."""
    folder, found = out / FOLDER, False
    if not folder.is_dir() or folder.is_symlink():
        return False
    for path in folder.iterdir():
        if _SEGMENT.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
            found = True
        elif path.name == PLAN or path.name.startswith(f".{PLAN}."):
            path.unlink(missing_ok=True)
            found = True
    with contextlib.suppress(OSError):  # somebody else's files are in it
        folder.rmdir()
    return found
