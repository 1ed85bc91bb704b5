"""Say in one run.json what the run.json of all segments say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bgsub.errors import OutputError
from bgsub.outliers.errors_table import BOTH
from bgsub.outliers.events import Event
from bgsub.pipeline import manifest as manifests
from bgsub.pipeline.advice import EMPTY, describe_outliers, sight_findings
from bgsub.pipeline.damage import damage_findings
from bgsub.pipeline.schema import SCHEMA_VERSION
from bgsub.segments.plan import Segment, SegmentPlan, segment_folder
from bgsub.version import __version__
from bgsub.video.base import BadFrame
from bgsub.wording import is_or_are

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
    rate : str or None
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
        """Give the run.json of the film, but for its objects and outputs."""
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
    """The damage of a film, as `bgsub.pipeline.damage` takes it."""

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
    """Sum up the run.json of all segments; memory grows with the number of segments and events.

    Raises
    ------
    InputError
        If one is damaged.
    OutputError
        If a segment is missing.
    """
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
