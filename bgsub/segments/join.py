"""Join the results of segments into those of one video."""

from __future__ import annotations

import csv
import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from fractions import Fraction
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from bgsub.errors import OutputError, is_or_are, writing
from bgsub.options import RunOptions
from bgsub.outliers.errors_table import BOTH, ErrorTable
from bgsub.outliers.events import Event
from bgsub.pipeline.activity import join_activity, join_heatmaps
from bgsub.pipeline.inputs import VIDEOS, output_name, output_names
from bgsub.pipeline.objects import given_feedback, object_facts, object_options
from bgsub.pipeline.outcome import (
    EMPTY,
    RunResult,
    commit,
    damage_findings,
    describe_outliers,
    numbers_in,
    sight_findings,
    spans,
)
from bgsub.pipeline.results import ResultsDirectory, Stopwatch, load_manifest, peak_memory, preamble
from bgsub.segments.plan import SegmentPlan, segment_folder
from bgsub.tracking.feedback import drop_alike
from bgsub.tracking.recorder import ObjectOptions, ObjectTables, Recorded
from bgsub.tracking.tables import read_frames
from bgsub.tracking.tracker import Observation
from bgsub.video.clip import join_arrays, join_pictures, join_videos, link_or_copy

Facts = Mapping[str, Any]
_MERGED_S = 1.0  # between two events of whole frames below which they are one, as in `find_events`
# What is alike in all segments, or said of the video by its first one.
_OF_ALL = (
    *("input", "frame_size", "cutoff", "padded_to_even_size", "mask_model", "score_level"),
    *("min_area", "versions"),
)
# What run.json says of every segment.
_OF_EACH = (
    *("span", "k", "components", "objective", "iterations", "converged", "inliers", "fit_frames"),
    *("error_location", "error_scale", "threshold", "foreground_gain", "scene_change"),
)
_SUMMED = ("used", "decoded", "bad", "doubtful", "outliers", "after_scene_change")


def joined_facts(plan: SegmentPlan, found: Sequence[Facts]) -> dict[str, Any]:
    """Return the run.json of a video, but for its objects and outputs, from those of segments."""
    segments = [
        {
            **{name: getattr(own, name) for name in ("number", "first", "last", "reason", "state")},
            "frames": each["frames"],
            **{name: each[name] for name in _OF_EACH if name in each},
        }
        for own, each in zip(plan.segments, found, strict=True)
    ]
    first = {name: found[0][name] for name in _OF_ALL if name in found[0]}
    frames: dict[str, int | None] = {}
    for name in _SUMMED:
        counts = [each["frames"].get(name) for each in found]
        frames[name] = None if None in counts else sum(counts)
    hints: dict[str, list[int]] = {}
    for number, each in enumerate(found, start=1):
        for hint in each["hints"]:
            hints.setdefault(hint, []).append(number)
    placed = []
    for hint, numbers in hints.items():
        shown = ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
        if len(numbers) == len(found):
            placed.append(hint)
        # What finds something in other segments would in these.
        elif not hint.startswith(EMPTY):
            placed.append(f"segment{'s' * (len(numbers) > 1)} {shown}: {hint}")
    peaks = [peak_memory() or 0, *(each["peak_memory_bytes"] or 0 for each in found)]
    facts: dict[str, Any] = {
        **preamble("run", plan.options.to_json()),
        "directory": plan.directory,
        **first,
        "input": {**first["input"], **plan.identity},
        "segments": segments,
        "bad_frames": [bad for each in found for bad in each["bad_frames"]],
        "doubtful_frames": spans([number for each in found for number in numbers_in(each)]),
        "warnings": list(dict.fromkeys(text for each in found for text in each["warnings"])),
        "frames": frames,
        "events": None,
        "scene_change": segments[-1].get("scene_change"),
        "hints": placed,
        "stages_s": _summed(each["stages_s"] for each in found),
        "peak_memory_bytes": max(peaks),
    }
    events = _joined_events(found)
    if all(each["events"] is not None for each in found):
        facts["events"] = [asdict(event) for event in events]
    # The memory of the video is that of the segment that takes most.
    memories = [each["memory"] for each in found if each.get("memory")]
    if memories:
        facts["memory"] = max(memories, key=lambda memory: memory.get("expected_bytes", 0))
    masked = [each for each in found if "mask_frames" in each]
    if masked:
        total = sum(each["mask_frames"] for each in masked)
        share = sum(each["mask_share"] * each["mask_frames"] for each in masked)
        facts["mask_share"] = round(share / max(1, total), 6)
        facts["mask_frames"] = total
        facts["empty_masks"] = sum(each["empty_masks"] for each in masked)
        trust = [value for each in masked for value in each.get("mask_trust", [])]
        facts |= {"mask_trust": trust} if trust else {}
    written = _summed(each.get("frames_written", {}) for each in found)
    if written:
        facts |= {"frames_passed": frames["used"], "frames_written": written}
    return facts | {"findings": _findings(plan, facts, events)}


def _summed(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = round(total.get(name, 0) + value, 4)
    return total


def _joined_events(found: Sequence[Facts]) -> list[Event]:
    """Return the events of whole frames; one that goes on over a border is one."""
    events: list[Event] = []
    for part in found:
        span, used = part.get("span"), part["frames"]["used"]
        step = 1.0  # from one frame to the next, in frames of the video
        if span and used > 1:
            step = max(1.0, (span["last_frame"] - span["first_frame"]) / (used - 1))
        for event in (Event(**each) for each in part["events"] or []):
            last = events[-1] if events else None
            if last is None or event.start_s - last.end_s >= _MERGED_S - 1e-6:
                events.append(replace(event, number=len(events) + 1))
                continue
            between = max(0, round((event.first_frame - last.last_frame) / step) - 1)
            events[-1] = replace(
                max(last, event, key=lambda each: each.peak_score),
                number=last.number,
                first_frame=last.first_frame,
                start_s=last.start_s,
                last_frame=event.last_frame,
                end_s=event.end_s,
                n_frames=last.n_frames + between + event.n_frames,
                flag=last.flag if last.flag == event.flag else BOTH,
            )
    return events


def _findings(plan: SegmentPlan, facts: Facts, events: Sequence[Event]) -> list[str]:
    used, flagged = int(facts["frames"]["used"] or 0), facts["frames"]["outliers"]
    change, findings = facts["scene_change"], []
    if flagged is not None:
        since = None if change is None else int(change["first_frame"])
        findings += describe_outliers(events, flagged, used, since)
    for segment in facts["segments"][:-1]:
        if segment.get("scene_change"):
            since = segment["scene_change"]["first_frame"]
            what = f"from {since} to {segment['last']}, the end of segment {segment['number']}"
            findings.append(f"{what}, the scene stays different")
    findings = sight_findings(findings, facts, 0 if flagged is None else used)
    decoded, on_bad = facts["frames"]["decoded"], plan.options.source.on_bad_frame
    return findings + damage_findings(facts, decoded, on_bad, is_fitted=True)


MOST_ROWS = 6000  # up to which all are drawn
_STRETCHES = 1200  # of more rows, each some of a pixel wide
_NAMES = ("frame", "time_s", "error", "rmse", "score", "outlier")


def read_overview(path: Path, rows: int, cutoff: float) -> ErrorTable:
    """Read an errors.csv with so many rows, of a long film those that an envelope is drawn from.

    That is of every stretch of a long video the frames of the lowest and the highest error and of
    both highest scores, so that memory does not grow with the number of rows.
    """
    size = 1 if rows <= MOST_ROWS else -(-rows // _STRETCHES)
    found: list[list[float]] = []
    with path.open(encoding="ascii", newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        columns = [header.index(name) for name in (*_NAMES, *({"local"} & set(header)))]
        while chunk := list(islice(reader, size)):
            part = np.array([[float(row[column]) for column in columns] for row in chunk])
            highest = part[:, 3:].argmax(axis=0).tolist()
            found += part[sorted({int(part[:, 3].argmin()), *highest})].tolist()
    frames, times, errors, rmse, scores, _, *local = np.array(found).T
    pixels = max(1, round(float(np.median(errors / np.maximum(rmse**2, 1e-12)))))
    numbers, places = frames.astype(np.int64), local[0] if local else None
    return ErrorTable(numbers, times, errors, pixels, scores, cutoff, local=places)


# Sizes of an object, and pixels at least, that it may be away from where it should be behind a
# border; the factor by which its area may differ there; seconds before it that tell its speed.
_NEAR, _LEAST_NEAR_PX, _LIKE, _SPEED_S = 0.75, 6.0, 3.0, 0.5


def join_errors(parts: Sequence[Path], out: Path) -> None:
    """Write the rows of several errors.csv under one header."""
    with writing(out), out.open("wb") as target:
        for path in parts:
            with path.open("rb") as source:
                header = source.readline()
                target.write(header if path == parts[0] else b"")
                shutil.copyfileobj(source, target)


def _distance(tail: Sequence[Observation], seen: Observation) -> float:
    """Return how far an object is from where that of a tail should be, 1 being what may be."""
    first, last = tail[0], tail[-1]
    areas = max(last.area, 1.0), max(seen.area, 1.0)
    if max(areas) > _LIKE * min(areas):
        return math.inf
    x, y = last.cx, last.cy
    if last.time_s > first.time_s:
        share = (seen.time_s - last.time_s) / (last.time_s - first.time_s)
        x, y = x + share * (last.cx - first.cx), y + share * (last.cy - first.cy)
    here = seen.cx, seen.cy
    away = min(math.dist(here, (x, y)), math.dist(here, (last.cx, last.cy)))
    size = math.sqrt(max(last.box[2] * last.box[3], 1.0))
    return away / max(_NEAR * size, _LEAST_NEAR_PX)


class _TrackNumbers:
    """Number the tracks of a video through, segment by segment; `max_gap_s` may be missed."""

    def __init__(self, max_gap_s: float) -> None:
        self._gap, self._last = max_gap_s, 0
        self._own: dict[int, int] = {}
        self._tails: dict[int, list[Observation]] = {}

    def begin(self, heads: Iterable[Observation]) -> None:
        """Begin a segment, whose objects near its start each go on the nearest earlier track."""
        tails, self._tails, self._own = self._tails, {}, {}
        pairs = sorted(
            (distance, number, seen.track)
            for seen in heads
            for number, tail in tails.items()
            if seen.time_s - tail[-1].time_s <= self._gap
            and (distance := _distance(tail, seen)) <= 1.0
        )
        for _, number, track in pairs:
            if track not in self._own and number not in self._own.values():
                self._own[track] = number

    def number(self, seen: Observation) -> Observation:
        """Return an object with its number in the video."""
        if seen.track not in self._own:
            self._last += 1
            self._own[seen.track] = self._last
        number = self._own[seen.track]
        tail = self._tails.setdefault(number, [])
        tail.append(seen)
        while seen.time_s - tail[0].time_s > _SPEED_S:
            del tail[0]
        return replace(seen, track=number)

    def forget(self, now_s: float) -> None:
        """Forget tracks that are over."""
        tails = self._tails.items()
        self._tails = {n: tail for n, tail in tails if now_s - tail[-1].time_s <= self._gap}


def join_objects(
    parts: Sequence[Path],
    folder: Path,
    area: tuple[int, int, int, int],
    options: ObjectOptions,
    *,
    frame_events: Sequence[Event],
    end_s: float,
) -> Recorded:
    """Write the tables of objects of a film into a folder from the objects.csv of its segments.

    `area` is what was looked at; `end_s` is the time of the film's last frame, with objects or not.
    """
    numbers = _TrackNumbers(options.max_gap_s)
    with closing(ObjectTables(folder, area, options)) as tables:
        for path in parts:
            frames = read_frames(path)
            early: list[list[Observation]] = []
            for frame in frames:  # those that lie within a gap of the first one
                early.append(frame)
                if frame[0].time_s - early[0][0].time_s > options.max_gap_s:
                    break
            numbers.begin({seen.track: seen for frame in early[::-1] for seen in frame}.values())
            for frame in chain(early, frames):
                tables.add([numbers.number(seen) for seen in frame])
                numbers.forget(frame[0].time_s)
        return tables.finish(frame_events, end_s)


MODELS = "models"  # folder with the models of all segments


def joined_names(options: RunOptions) -> list[str]:
    """Name everything that segments are joined into."""
    return [MODELS if name == "model.npz" else name for name in output_names(options)]


def join_segments(
    out: Path, results: ResultsDirectory, plan: SegmentPlan, watch: Stopwatch
) -> RunResult:
    """Join the segments in the hidden folder of `out`; `results` has the names of `joined_names`.

    OutputError if a segment is missing. Memory does not grow with the number of frames, but with
    that of segments, tracks and events.
    """
    missing = plan.missing(out)
    if missing:
        shown = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        many = f"{len(missing)} of {len(plan.segments)} segments {is_or_are(len(missing))} missing"
        raise OutputError(f"{out}: {many} ({shown}); go on with --resume")
    folders = [segment_folder(out, segment.number) for segment in plan.segments]
    found = [load_manifest(folder) for folder in folders]
    facts, options = joined_facts(plan, found), plan.options
    frames = [int(each["frames"]["used"]) for each in found]
    with watch.stage("join"):
        rate = facts["input"].get("rate")
        for name in output_names(options):  # videos and folders of pictures
            path, parts = Path(name), [folder / name for folder in folders]
            if path.stem not in VIDEOS:
                continue
            if path.suffix in {"", ".zarr"}:
                (join_arrays if path.suffix else join_pictures)(parts, results.stage(name))
                continue
            begins = (float(segment["span"]["first_time_s"]) for segment in facts["segments"])
            timed = list(zip(parts, begins, strict=True))
            join_videos(timed, results.stage(name), title=path.stem, rate=rate and Fraction(rate))
        facts |= _join_tables(folders, facts, results, options)
        longest = folders[frames.index(max(frames))]
        for output in ("still", "spectrum"):
            name = output_name(output, options)
            if (longest / name).is_file():
                link_or_copy(longest / name, results.stage(name))
        if "heatmap" in options.outputs:
            join_heatmaps(folders, frames, results.stage(""))
        if "model" in options.outputs:
            models = results.stage(MODELS)
            with writing(models):
                models.mkdir()
                for number, folder in enumerate(folders, start=1):
                    link_or_copy(folder / "model.npz", models / f"{number:04d}.npz")
    facts["stages_s"] |= watch.seconds
    return commit(results, facts, watch, with_page="report" in options.outputs)


def _join_tables(
    folders: Sequence[Path], facts: Facts, results: ResultsDirectory, options: RunOptions
) -> dict[str, Any]:
    """Join the tables; give what is found of objects."""
    found: dict[str, Any] = {}
    events = [Event(**event) for event in facts["events"] or []]
    errors = [folder / "errors.csv" for folder in folders]
    if errors[0].is_file():
        path = results.stage("errors.csv")
        join_errors(errors, path)
        if "plot" in options.outputs:
            # Takes longer to import than many joins.
            from bgsub.report.plots import Film, render_errors

            reasons = {int(each["first"]): str(each["reason"]) for each in facts["segments"][1:]}
            borders = {at: "" if why.startswith("after ") else why for at, why in reasons.items()}
            used, outliers = int(facts["frames"]["used"]), int(facts["frames"]["outliers"] or 0)
            data = render_errors(
                read_overview(path, used, float(facts["cutoff"])),
                events,
                title=facts["input"]["name"],
                plot_format=options.plot_format,
                film=Film(used, outliers, borders),
            )
            results.write(output_name("plot", options), data)
    objects = [folder / "objects.csv" for folder in folders]
    if objects[0].is_file():
        source = facts["input"]
        size = int(source["width"]), int(source["height"])
        area = options.source.roi or (0, 0, *size)
        folder, watched = results.stage(""), object_options(options)
        end_s = float(facts["segments"][-1]["span"]["last_time_s"])
        joined = join_objects(objects, folder, area, watched, frame_events=events, end_s=end_s)
        feedback = given_feedback(options, size)
        if feedback is not None:
            joined = drop_alike(folder, joined, feedback, area, watched, events, end_s)
        if "activity" in options.outputs:
            join_activity(folders, folder, watched.regions, joined.events)
        found = object_facts(joined, feedback)
        summaries = [found[name]["summary"] for name in ("objects", "feedback") if name in found]
        found["findings"] = [*facts["findings"], *summaries]
    return found
