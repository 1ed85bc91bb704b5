"""``bgsub info``: describe an input, and what a run on it would need."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as opts
from bgsub.cli.messages import Session, duration, make_progress
from bgsub.errors import MemoryLimitError
from bgsub.options import RunOptions
from bgsub.runtime.limits import amount
from bgsub.video.selection import format_time

if TYPE_CHECKING:
    from bgsub.fit.memory import MemoryNeed, Storage
    from bgsub.segments.plan import Segment
    from bgsub.video.source import FrameSource

SCHEMA_VERSION = 1


@opts.command(
    "info",
    "bgsub info water.avi",
    "bgsub info 'shots/*.png' --k 5 --scale 0.5 --memory 600M",
    "bgsub info door.mp4 --json | jq .estimate.memory_bytes",
)
@opts.argument("path", "INPUT")
@opts.option("Results", "--json as_json", "Print one JSON object.")
@opts.named("k", "fit_frames", "segment")
@opts.source_options
@opts.resource_options
def info_command(session: Session, path: str, as_json: bool, **params: Any) -> None:
    """Decode INPUT once and print its size, frames, rate, duration and codec.

    The last lines are the memory and the time that `bgsub run` would need for its default outputs.
    """
    options = opts.run_options(params)
    with session.about(path):
        facts, warnings = _examine(path, options, session)
        for warning in warnings:
            session.log("warning", warning)
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    else:
        click.echo(_describe(facts))


def _examine(path: str, options: RunOptions, session: Session) -> tuple[dict[str, Any], list[str]]:
    """Decode an input; return what is known of it, and the warnings of its decoder."""
    from bgsub.pipeline.inputs import memory_limit
    from bgsub.pipeline.outcome import source_facts
    from bgsub.video.source import open_source

    source = open_source(path, **vars(options.source), threads=options.threads)
    width, height = source.input_size
    limit = memory_limit(options.memory, options.jobs)
    if 3 * width * height > limit:
        message = f"{source.name}: a picture of {width} x {height} pixels takes at least"
        message = f"{message} {amount(3 * width * height)}, but the limit is {amount(limit)}"
        raise MemoryLimitError(f"{message}; raise --memory")
    selected, last_time = 0, 0.0
    began = time.perf_counter()
    with make_progress(session) as progress:
        for frame in source:
            selected, last_time = selected + 1, frame.time_s
            progress("decode", selected, source.frames_estimate)
    decode_s = time.perf_counter() - began
    rate, seconds = source.rate, source.duration_s
    if seconds is None and rate:
        seconds = last_time + 1 / float(rate)
    return {
        "schema_version": SCHEMA_VERSION,
        "input": source.path,
        "kind": source.kind,
        "width": width,
        "height": height,
        "frame_width": source.layout.width,
        "frame_height": source.layout.height,
        "color": source.layout.is_color,
        "frames_decoded": source.decoded,
        "frames_selected": selected,
        "frames_bad": len(source.bad_frames),
        "bad_frames": source_facts(source, {})["bad_frames"],
        "rate": None if rate is None else round(float(rate), 6),
        "duration_s": None if seconds is None else round(seconds, 6),
        "codec": source.codec,
        "pixel_format": source.pixel_format,
        "unseen_damage": source.unseen_damage,
        "estimate": _estimate(source, options, selected, decode_s),
    }, source.warnings


def _estimate(
    source: FrameSource, options: RunOptions, frames: int, decode_s: float
) -> dict[str, Any]:
    """Make the plan of a run, of its largest segment if it has some, or say why there is none."""
    from bgsub.fit.memory import make_plan, run_seconds
    from bgsub.pipeline.inputs import memory_limit, memory_need
    from bgsub.segments.run import segment_needs

    began = time.perf_counter()
    pieces: list[tuple[Segment | None, MemoryNeed]] = [*segment_needs(source.path, options)]
    seconds = time.perf_counter() - began if pieces else 0.0
    limit, share_s = memory_limit(options.memory, options.jobs), decode_s / max(1, frames)
    found = []
    for own, need in pieces or [(None, memory_need(source, options, frames))]:
        unrestricted = make_plan(need, sys.maxsize, options.temp).bytes
        storage: Storage | None = None
        needed, sample = unrestricted, need.sample
        try:
            plan = make_plan(need, limit, options.temp, name=source.name, jobs=options.jobs)
            storage, needed, sample, reason = plan.storage, plan.bytes, plan.fit_frames, plan.reason
        except MemoryLimitError as error:
            reason = str(error).removeprefix(f"{source.name}: ")
        sizes = {"memory_bytes": needed, "unrestricted_bytes": unrestricted}
        kept = {"fits": storage is not None, "frames_kept": storage, "fit_frames": sample}
        found.append({**sizes, **kept, "reason": reason})
        # A segment that no key frame leads to is decoded from the beginning of the film.
        before = own.first - 1 if own is not None and own.entry is None else 0
        seconds += run_seconds(need, storage or "memory", sample, share_s * (need.frames + before))
    largest = max(found, key=lambda each: (not each["fits"], each["memory_bytes"]))
    run = {"limit_bytes": limit, "segments": len(found), "seconds": round(seconds, 1)}
    return {"k": options.k, **largest, **run}


def _describe(facts: dict[str, Any]) -> str:
    """Write the facts as lines for people."""
    size = f"{facts['width']} x {facts['height']} pixels"
    used = (facts["frame_width"], facts["frame_height"])
    if used != (facts["width"], facts["height"]):
        size += f", taken as {used[0]} x {used[1]}"
    frames = f"{facts['frames_decoded']} decoded"
    if facts["frames_bad"]:
        frames += f", {facts['frames_bad']} damaged"
    if facts["frames_selected"] != facts["frames_decoded"]:
        frames += f", {facts['frames_selected']} selected"
    needs = facts["estimate"]
    memory, time_s = _memory(needs["memory_bytes"]), duration(max(1.0, needs["seconds"]))
    pieces = f", in {needs['segments']} segments" if needs["segments"] > 1 else ""
    is_less = needs["memory_bytes"] != needs["unrestricted_bytes"]
    lines = {
        "size": size,
        "colour": "yes" if facts["color"] else "no, grey",
        "frames": frames,
        "rate": f"{facts['rate']:g} frames a second" if facts["rate"] else "not said",
        "duration": "not said" if facts["duration_s"] is None else format_time(facts["duration_s"]),
        "codec": facts["codec"] or "none",
        "pixel format": facts["pixel_format"] or "not said",
        "damage": facts["unseen_damage"]
        and f"{facts['unseen_damage']}: {facts['codec']} has no checksums",
        "a run needs": f"about {memory} of memory and {time_s}, with --k {needs['k']}{pieces}",
        "how" if needs["fits"] else "does not fit": needs["reason"],
        "without it": is_less and f"about {_memory(needs['unrestricted_bytes'])}",
    }
    # A name that is no valid text, which Linux allows, must not be an error here.
    name = click.format_filename(facts["input"])
    shown = (f"  {label:<13} {text}" for label, text in lines.items() if text)
    return "\n".join([name, *shown])


def _memory(size: int) -> str:
    """Write a number of bytes for people.

    >>> _memory(186_000_000), _memory(3_240_000_000)
    ('190 MB', '3.2 GB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, round(size / 1e7)) * 10} MB"
