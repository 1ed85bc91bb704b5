"""Thin out the errors of a long film for a plot: what stands out of every stretch is kept."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, OutputError, cannot_write, is_or_are
from bgsub.options import RunOptions
from bgsub.outliers.errors_table import BOTH, ErrorTable
from bgsub.outliers.events import Event
from bgsub.pipeline import manifest as manifests
from bgsub.pipeline.activity import join_activity, join_heatmaps
from bgsub.pipeline.advice import EMPTY, damage_findings, describe_outliers, sight_findings
from bgsub.pipeline.inputs import VIDEOS, needs_still, output_name, output_names
from bgsub.pipeline.manifest import SCHEMA_VERSION, Stopwatch, load_manifest
from bgsub.pipeline.objects import given_feedback, object_options
from bgsub.pipeline.outcome import RunResult, commit
from bgsub.pipeline.results import ResultsDirectory
from bgsub.robustpca.rank import RankChoice
from bgsub.segments.plan import Segment, SegmentPlan, segment_folder
from bgsub.tracking.feedback import drop_alike
from bgsub.tracking.recorder import ObjectOptions, ObjectTables, Recorded, describe
from bgsub.tracking.tables import read_frames
from bgsub.tracking.tracker import Observation
from bgsub.version import __version__
from bgsub.video.base import BadFrame
from bgsub.video.clip import join_arrays, join_pictures, join_videos, link_or_copy

MOST_ROWS = 6000
"""Rows up to which all are drawn."""

_STRETCHES = 1200
"""Stretches of more, each some of a pixel wide."""

_NAMES = ("frame", "time_s", "error", "rmse", "score", "outlier")


def read_overview(path: Path, rows: int, cutoff: float) -> ErrorTable:
    """Read an errors.csv, of a long film the rows that an envelope is drawn from.

    Parameters
    ----------
    path : Path
        As bgsub wrote it.
    rows : int
        How many there are.

    Returns
    -------
    ErrorTable
        Of every stretch of a long film the frames of the lowest and the highest error and of both
        highest scores. Memory does not grow with the number of rows.
    """
    size = 1 if rows <= MOST_ROWS else -(-rows // _STRETCHES)
    with path.open(encoding="ascii", newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        columns = [header.index(name) for name in (*_NAMES, *({"local"} & set(header)))]
        kept = np.concatenate([_outstanding(part) for part in _parts(reader, columns, size)])
    pixels = kept[:, 2] / np.maximum(kept[:, 3] ** 2, 1e-12)
    return ErrorTable(
        frames=kept[:, 0].astype(np.int64),
        times=kept[:, 1],
        errors=kept[:, 2],
        pixels=max(1, round(float(np.median(pixels)))),
        scores=kept[:, 4],
        cutoff=cutoff,
        local=kept[:, 6] if kept.shape[1] > 6 else None,
    )


def _parts(
    reader: Iterator[list[str]], columns: list[int], size: int
) -> Iterator[NDArray[np.float64]]:
    """Yield the rows in stretches of so many."""
    while chunk := list(islice(reader, max(size, 1))):
        yield np.array([[float(row[column]) for column in columns] for row in chunk])


def _outstanding(part: NDArray[np.float64]) -> NDArray[np.float64]:
    chosen = {
        int(part[:, 3].argmin()),
        *(int(part[:, c].argmax()) for c in range(3, part.shape[1])),
    }
    return part[sorted(chosen)]


_MERGED_S = 1.0
"""Seconds between two events of whole frames below which they are one, as in `find_events`."""

_OF_ALL = (
    *("input", "frame_size", "cutoff", "padded_to_even_size", "mask_model", "score_level"),
    *("min_area", "versions"),
)
"""What is alike in all segments, or said of the film by its first one."""

_OF_EACH = (
    *("span", "k", "components", "objective", "iterations", "converged", "inliers", "fit_frames"),
    *("error_location", "error_scale", "threshold", "foreground_gain", "scene_change"),
)
"""What run.json says of every segment."""

_SUMMED = ("used", "decoded", "bad", "doubtful", "outliers", "after_scene_change")


@dataclass
class FilmFacts:
    """Facts of a film, summed up segment by segment.

    Attributes
    ----------
    first : dict
        What is said of the film by its first segment.
    segments : list of dict
        What is said of each.
    """

    plan: SegmentPlan
    first: dict[str, Any] = field(default_factory=dict)
    segments: list[dict[str, Any]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    bad_frames: list[dict[str, Any]] = field(default_factory=list)
    doubtful: list[list[int]] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    hints: dict[str, list[int]] = field(default_factory=dict)
    frames: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(_SUMMED, 0))
    stages_s: dict[str, float] = field(default_factory=dict)
    peak_bytes: int = 0
    memory: dict[str, Any] = field(default_factory=dict)
    masks: dict[str, float] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    has_events: bool = True

    def add(self, segment: Segment, found: Mapping[str, Any]) -> None:
        """Take in the run.json of the next segment."""
        if not self.first:
            self.first = {name: found[name] for name in _OF_ALL if name in found}
        own = {name: found[name] for name in _OF_EACH if name in found}
        place = {"number": segment.number, "first": segment.first, "last": segment.last}
        why = {"reason": segment.reason, "state": segment.state}
        self.segments.append({**place, **why, "frames": found["frames"], **own})
        if found["events"] is None:
            self.has_events = False
        for event in found["events"] or []:
            self._add_event(Event(**event), _step(found))
        self.bad_frames += found["bad_frames"]
        self.doubtful += found["doubtful_frames"]
        self.warnings |= dict.fromkeys(found["warnings"])
        for hint in found["hints"]:
            self.hints.setdefault(hint, []).append(segment.number)
        for name in _SUMMED:
            more, before = found["frames"].get(name), self.frames[name]
            self.frames[name] = None if more is None or before is None else before + more
        for name, seconds in found["stages_s"].items():
            self.stages_s[name] = round(self.stages_s.get(name, 0.0) + seconds, 4)
        self.peak_bytes = max(self.peak_bytes, found["peak_memory_bytes"] or 0)
        memory = found.get("memory") or {}
        if memory.get("expected_bytes", 0) > self.memory.get("expected_bytes", 0):
            self.memory = memory  # that of the film is that of the segment that takes most
        self._add_masks(found)
        for name, count in found.get("frames_written", {}).items():
            self.written[name] = self.written.get(name, 0) + count

    def _add_masks(self, found: Mapping[str, Any]) -> None:
        if "mask_frames" not in found:
            return
        frames, masks = found["mask_frames"], self.masks
        marked = masks.get("share", 0.0) + found["mask_share"] * frames
        self.masks = {
            "share": marked,
            "frames": masks.get("frames", 0) + frames,
            "empty": masks.get("empty", 0) + found["empty_masks"],
            "trust": masks.get("trust", []) + found.get("mask_trust", []),
        }

    def _add_event(self, event: Event, step: float) -> None:
        """Add an event of whole frames; one that goes on over a border is one."""
        last = self.events[-1] if self.events else None
        if last is None or event.start_s - last.end_s >= _MERGED_S - 1e-6:
            self.events.append(replace(event, number=len(self.events) + 1))
            return
        peak = max(last, event, key=lambda each: each.peak_score)
        between = max(0, round((event.first_frame - last.last_frame) / step) - 1)
        self.events[-1] = replace(
            peak,
            number=last.number,
            first_frame=last.first_frame,
            start_s=last.start_s,
            last_frame=event.last_frame,
            end_s=event.end_s,
            n_frames=last.n_frames + between + event.n_frames,
            flag=last.flag if last.flag == event.flag else BOTH,
        )

    @property
    def _changed_from(self) -> Mapping[str, Any] | None:
        """The lasting change that the last segment ends with, if it does."""
        change: Mapping[str, Any] | None = self.segments[-1].get("scene_change")
        return change

    def to_json(self) -> dict[str, Any]:
        """Return the run.json of the film, but for its objects and outputs."""
        facts: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "bgsub_version": __version__,
            "options": self.plan.options.to_json(),
            "seed": self.plan.options.seed,
            "directory": self.plan.directory,
            "command": "run",
            **self.first,
            "input": {**self.first["input"], **self.plan.identity},
            "segments": self.segments,
            "bad_frames": self.bad_frames,
            "doubtful_frames": _merged_spans(self.doubtful),
            "warnings": list(self.warnings),
            "frames": self.frames,
            "events": [asdict(event) for event in self.events] if self.has_events else None,
            "scene_change": self._changed_from,
            "hints": [
                self._placed(hint, numbers)
                for hint, numbers in self.hints.items()
                # What finds something in other segments would in these.
                if len(numbers) == len(self.segments) or not hint.startswith(EMPTY)
            ],
            "stages_s": self.stages_s,
            "peak_memory_bytes": max(self.peak_bytes, manifests.peak_memory() or 0),
        }
        if self.memory:
            facts["memory"] = self.memory
        if self.masks:
            frames = int(self.masks["frames"])
            facts |= {"mask_share": round(self.masks["share"] / max(1, frames), 6)}
            facts |= {"mask_frames": frames, "empty_masks": int(self.masks["empty"])}
            facts |= {"mask_trust": self.masks["trust"]} if self.masks["trust"] else {}
        if self.written:
            facts |= {"frames_passed": self.frames["used"], "frames_written": self.written}
        return facts | {"findings": self._findings(facts)}

    def _placed(self, hint: str, numbers: Sequence[int]) -> str:
        """Say where a hint holds, unless it is everywhere."""
        if len(numbers) == len(self.segments):
            return hint
        shown = ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
        return f"segment {shown}: {hint}" if len(numbers) == 1 else f"segments {shown}: {hint}"

    def _findings(self, facts: Mapping[str, Any]) -> list[str]:
        used, flagged = int(self.frames["used"] or 0), self.frames["outliers"]
        change = self._changed_from
        findings: list[str] = []
        if flagged is not None:
            since = None if change is None else int(change["first_frame"])
            findings += describe_outliers(self.events, flagged, used, since)
        for segment in self.segments[:-1]:
            if segment.get("scene_change"):
                since = segment["scene_change"]["first_frame"]
                what = f"from {since} to {segment['last']}, the end of segment {segment['number']}"
                findings.append(f"{what}, the scene stays different")
        findings = sight_findings(findings, facts, 0 if flagged is None else used)
        source = self.plan.options.source
        return findings + damage_findings(_Damage.of(facts), source.on_bad_frame, is_fitted=True)


@dataclass
class _Damage:
    """The damage of a film, as `bgsub.pipeline.advice` takes it."""

    codec: str
    bad_frames: list[BadFrame]
    doubtful_frames: list[int]
    unseen_damage: str
    decoded: int

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> _Damage:
        source = facts["input"]
        return cls(
            source.get("codec", ""),
            [BadFrame(bad["frame"], bad["time_s"], bad["reason"]) for bad in facts["bad_frames"]],
            [n for first, last in facts["doubtful_frames"] for n in range(first, last + 1)],
            source.get("unseen_damage", ""),
            facts["frames"]["decoded"],
        )


def join_facts(out: Path, plan: SegmentPlan) -> FilmFacts:
    """Sum up the run.json of all segments; memory grows with the number of segments and events."""
    missing = plan.missing(out)
    if missing:
        shown = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        many = f"{len(missing)} of {len(plan.segments)} segments {is_or_are(len(missing))} missing"
        raise OutputError(f"{out}: {many} ({shown}); go on with --resume")
    facts = FilmFacts(plan)
    for segment in plan.segments:
        facts.add(segment, manifests.load_manifest(segment_folder(out, segment.number)))
    return facts


def _step(found: Mapping[str, Any]) -> float:
    """Distance of the frames of a segment, in frames of the film."""
    span, used = found.get("span"), found["frames"]["used"]
    if not span or used < 2:
        return 1.0
    passed = int(span["last_frame"]) - int(span["first_frame"])
    return max(1.0, passed / (int(used) - 1))


def _merged_spans(spans: Iterable[Sequence[int]]) -> list[list[int]]:
    merged: list[list[int]] = []
    for first, last in spans:
        if merged and first <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    return merged


_NEAR = 0.75
"""Sizes of an object that it may be away from where it should be behind a border."""

_LEAST_NEAR_PX = 6.0

_LIKE = 3.0
"""Factor by which its area may differ there."""

_SPEED_S = 0.5
"""Seconds before a border from which the speed of an object is taken."""


def join_errors(parts: Sequence[Path], out: Path) -> None:
    """Write the rows of several errors.csv under one header."""
    try:
        with out.open("wb") as target:
            header = b""
            for path in parts:
                with path.open("rb") as source:
                    own = source.readline()
                    header = header or own
                    if own != header:
                        raise InputError(f"{path}: has other columns than the segments before it")
                    target.write(own if path == parts[0] else b"")
                    while piece := source.read(1 << 20):
                        target.write(piece)
    except OSError as error:
        raise cannot_write(out, error) from error


@dataclass
class _Tail:
    """The last places of an object that may go on behind a border."""

    places: list[Observation] = field(default_factory=list)

    def add(self, seen: Observation) -> None:
        self.places.append(seen)
        while seen.time_s - self.places[0].time_s > _SPEED_S:
            del self.places[0]

    def distance(self, seen: Observation) -> float:
        """Distance from where it should be, in units of what may be; inf if it is another."""
        first, last = self.places[0], self.places[-1]
        areas = max(last.area, 1.0), max(seen.area, 1.0)
        if max(areas) > _LIKE * min(areas):
            return math.inf
        x, y = last.cx, last.cy
        if last.time_s > first.time_s:
            share = (seen.time_s - last.time_s) / (last.time_s - first.time_s)
            x, y = x + share * (last.cx - first.cx), y + share * (last.cy - first.cy)
        away = min(
            math.dist((seen.cx, seen.cy), (x, y)),
            math.dist((seen.cx, seen.cy), (last.cx, last.cy)),
        )
        size = math.sqrt(max(last.box[2] * last.box[3], 1.0))
        return away / max(_NEAR * size, _LEAST_NEAR_PX)


class TrackNumbers:
    """Number the tracks of a film through, segment by segment.

    Parameters
    ----------
    max_gap_s : float
        Seconds for which an object may be missed and keep its number.
    """

    def __init__(self, max_gap_s: float) -> None:
        self._gap = max_gap_s
        self._last = 0
        self._own: dict[int, int] = {}
        self._tails: dict[int, _Tail] = {}

    def begin(self, heads: Iterable[Observation]) -> None:
        """Begin the next segment; `heads` are its objects as they are first seen, near its start.

        Each goes on the nearest track that was there before, if there is one.
        """
        tails, self._tails = self._tails, {}
        pairs = sorted(
            (distance, number, seen.track)
            for seen in heads
            for number, tail in tails.items()
            if seen.time_s - tail.places[-1].time_s <= self._gap
            and (distance := tail.distance(seen)) <= 1.0
        )
        self._own = {}
        taken: set[int] = set()
        for _, number, track in pairs:
            if track not in self._own and number not in taken:
                self._own[track] = number
                taken.add(number)

    def number(self, seen: Observation) -> Observation:
        """Return an object with its number in the film."""
        if seen.track not in self._own:
            self._last += 1
            self._own[seen.track] = self._last
        number = self._own[seen.track]
        self._tails.setdefault(number, _Tail()).add(seen)
        return replace(seen, track=number)

    def forget(self, now: float) -> None:
        """Forget tracks that are over."""
        for number, tail in list(self._tails.items()):
            if now - tail.places[-1].time_s > self._gap:
                del self._tails[number]


def join_objects(
    parts: Sequence[Path],
    folder: Path,
    area: tuple[int, int, int, int],
    options: ObjectOptions,
    *,
    frame_events: Sequence[Event],
    end_s: float,
) -> Recorded:
    """Write the tables of objects of a film from those of its segments.

    Parameters
    ----------
    parts : sequence of Path
        objects.csv of each segment.
    folder : Path
        Where the files are written.
    area : tuple of four ints
        x, y, width and height of what was looked at.
    frame_events : sequence of Event
        Events of whole frames, to be listed too.
    end_s : float
        Time of the film's last frame, whether it shows objects or not.
    """
    tables = ObjectTables(folder, area, options)
    numbers = TrackNumbers(options.max_gap_s)
    try:
        for path in parts:
            frames = read_frames(path)
            early = _early(frames, options.max_gap_s)
            heads: dict[int, Observation] = {}
            for seen in (each for frame in early for each in frame):
                heads.setdefault(seen.track, seen)
            numbers.begin(heads.values())
            for frame in chain(early, frames):
                tables.add([numbers.number(seen) for seen in frame])
                numbers.forget(frame[0].time_s)
        tracks, found = tables.finish(frame_events, end_s)
    finally:
        tables.close()
    return Recorded(tuple(tracks), tuple(found), tables.rows)


def _early(frames: Iterator[list[Observation]], gap_s: float) -> list[list[Observation]]:
    """Take the first frames off, as many as lie within a gap of the first one."""
    taken: list[list[Observation]] = []
    for frame in frames:
        taken.append(frame)
        if frame[0].time_s - taken[0][0].time_s > gap_s:
            break
    return taken


MODELS = "models"
"""Folder with the models of all segments."""


def joined_names(options: RunOptions) -> list[str]:
    """Name everything that segments are joined into."""
    return [MODELS if name == "model.npz" else name for name in output_names(options)]


def join_segments(
    out: Path, results: ResultsDirectory, plan: SegmentPlan, watch: Stopwatch
) -> RunResult:
    """Join the segments in the hidden folder of `out`.

    Parameters
    ----------
    results : ResultsDirectory
        Of `out`, with the names that `joined_names` gives.

    Notes
    -----
    Memory does not grow with the number of frames, but with that of tracks and events.
    """
    film = join_facts(out, plan)
    facts = film.to_json()
    folders = [segment_folder(out, segment.number) for segment in plan.segments]
    with watch.stage("join"):
        _join_frames(folders, film, results)
        facts |= _join_tables(folders, facts, results, plan.options)
        if needs_still(plan.options):
            _choose_still(folders, film, results)
        if "heatmap" in plan.options.outputs:
            frames = [int(each["frames"]["used"]) for each in film.segments]
            join_heatmaps(folders, frames, results.stage(""))
        if "spectrum" in plan.options.outputs:
            _plot_spectrum(folders, facts, results, plan.options)
        if "model" in plan.options.outputs:
            _gather_models(folders, results.stage(MODELS))
    facts["stages_s"] = {**film.stages_s, **watch.seconds}
    return commit(results, facts, watch, with_page="report" in plan.options.outputs)


def _join_frames(folders: Sequence[Path], film: FilmFacts, results: ResultsDirectory) -> None:
    """Join videos and folders of pictures."""
    rate = film.first["input"].get("rate")
    for name in output_names(film.plan.options):
        stem = Path(name).stem
        if stem not in VIDEOS:
            continue
        parts = [folder / name for folder in folders]
        if Path(name).suffix in {"", ".zarr"}:
            join = join_arrays if Path(name).suffix else join_pictures
            join(parts, results.stage(name))
            continue
        begins = [float(segment["span"]["first_time_s"]) for segment in film.segments]
        join_videos(
            list(zip(parts, begins, strict=True)),
            results.stage(name),
            title=stem,
            rate=None if rate is None else Fraction(rate),
        )


def _choose_still(folders: Sequence[Path], film: FilmFacts, results: ResultsDirectory) -> None:
    """Take the picture of the scene from the segment of most frames."""
    frames = [int(segment["frames"]["used"]) for segment in film.segments]
    name = output_name("still", film.plan.options)
    link_or_copy(folders[frames.index(max(frames))] / name, results.stage(name))


def _join_tables(
    folders: Sequence[Path],
    facts: Mapping[str, Any],
    results: ResultsDirectory,
    options: RunOptions,
) -> dict[str, Any]:
    """Join the tables; give what is found of objects."""
    found: dict[str, Any] = {}
    events = [Event(**event) for event in facts["events"] or []]
    errors = [folder / "errors.csv" for folder in folders]
    if errors[0].is_file():
        path = results.stage("errors.csv")
        join_errors(errors, path)
        if "plot" in options.outputs:
            _plot(path, events, facts, results, options)
    objects = [folder / "objects.csv" for folder in folders]
    if objects[0].is_file():
        source = facts["input"]
        area = options.source.roi or (0, 0, int(source["width"]), int(source["height"]))
        folder, watched = results.stage(""), object_options(options)
        end_s = float(facts["segments"][-1]["span"]["last_time_s"])
        joined = join_objects(objects, folder, area, watched, frame_events=events, end_s=end_s)
        feedback = given_feedback(options, (int(source["width"]), int(source["height"])))
        if feedback is not None:
            joined = drop_alike(folder, joined, feedback, area, watched, events, end_s)
            found |= feedback.facts()
        if "activity" in options.outputs:
            join_activity(folders, folder, watched.regions, joined.events)
        kinds = [event.kind for event in joined.events]
        summary = describe(joined)
        found["objects"] = {
            "observations": joined.observations,
            "tracks": len(joined.tracks),
            "events": {kind: kinds.count(kind) for kind in ("object", "frame", "both")},
            "summary": summary,
        }
        told = [found["feedback"]["summary"]] if "feedback" in found else []
        found["findings"] = [*facts["findings"], summary, *told]
    return found


def _plot(
    path: Path,
    events: list[Event],
    facts: Mapping[str, Any],
    results: ResultsDirectory,
    options: RunOptions,
) -> None:
    """Draw errors.png with the borders of the segments."""
    from bgsub.report.plots import (
        Film,
        render_errors,
        write_plot,
    )  # takes longer to import than many joins

    name = output_name("plot", options)
    borders = {
        int(each["first"]): "" if str(each["reason"]).startswith("after ") else each["reason"]
        for each in facts["segments"][1:]
    }
    used, outliers = int(facts["frames"]["used"]), int(facts["frames"]["outliers"] or 0)
    data = render_errors(
        read_overview(path, used, float(facts["cutoff"])),
        events,
        title=facts["input"]["name"],
        plot_format=options.plot_format,
        film=Film(used, outliers, borders),
    )
    write_plot(results.stage(name), data)


def _plot_spectrum(
    folders: Sequence[Path],
    facts: Mapping[str, Any],
    results: ResultsDirectory,
    options: RunOptions,
) -> None:
    """Draw spectrum.png: the median of all segments, and what they fill around it."""
    from bgsub.report.plots import render_spectrum, write_plot

    found = [load_manifest(folder) for folder in folders]
    parts = [_choice_of(each["rank_choice"]) for each in found if "rank_choice" in each]

    def median(curves: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        shortest = min(curve.size for curve in curves)
        values = [curve[:shortest] for curve in curves]
        return np.asarray(np.median(values, axis=0), dtype=np.float64)

    data = render_spectrum(
        RankChoice(
            rank=round(float(np.median([part.rank for part in parts]))),
            gains=median([part.gains for part in parts]),
            held_out=median([part.held_out for part in parts]),
            spectrum=median([part.spectrum for part in parts]),
            n_rows=sum(part.n_rows for part in parts),
            n_inliers=sum(part.n_inliers for part in parts),
            reason="",
        ),
        round(float(np.median([manifest["k"] for manifest in found]))),
        title=f"{facts['input']['name']}, median of {len(folders)} segments",
        plot_format=options.plot_format,
        parts=parts,
    )
    write_plot(results.stage(output_name("spectrum", options)), data)


def _choice_of(plain: Mapping[str, Any]) -> RankChoice:
    """Make what `RankChoice.to_json` gave a choice again."""
    gains, held_out, spectrum = (
        np.array(plain[name], float) for name in ("gains", "held_out", "spectrum")
    )
    return RankChoice(
        plain["rank"], gains, held_out, spectrum, plain["n_rows"], plain["n_inliers"], reason=""
    )


def _gather_models(folders: Sequence[Path], out: Path) -> None:
    """Put the models of all segments into one folder."""
    try:
        out.mkdir()
        for number, folder in enumerate(folders, start=1):
            link_or_copy(folder / "model.npz", out / f"{number:04d}.npz")
    except OSError as error:
        raise cannot_write(out, error) from error
