"""Foretell what the segments of a film need, as the run of each will plan it."""

from __future__ import annotations

from collections.abc import Sequence

from bgsub.fit.memory_need import MemoryNeed
from bgsub.options import RunOptions
from bgsub.pipeline.inputs import memory_need, open_input
from bgsub.segments.plan import Segment, SegmentPlan, segments_of
from bgsub.segments.run import is_one_piece
from bgsub.video.source import Footage


def segment_needs(footage: Footage, options: RunOptions) -> list[tuple[Segment, MemoryNeed]]:
    """Divide a film as a run would, and count what each segment takes; nothing where it is one.

    Raises
    ------
    BgsubError
        As for `bgsub.open_source`.

    Notes
    -----
    Looks through the film for lasting changes, and opens it once for every segment.
    """
    if is_one_piece(footage, options):
        return []
    segments = segments_of(footage, options)
    return _needs(footage, options, segments) if len(segments) > 1 else []


def _needs(
    footage: Footage, options: RunOptions, segments: Sequence[Segment]
) -> list[tuple[Segment, MemoryNeed]]:
    plan = SegmentPlan({}, options, tuple(segments), "")
    needs = []
    for segment in segments:
        own = plan.segment_options(segment.number)
        source = open_input(footage, own)
        frames = source.frames_estimate or 0
        borrowed = len(segment.before) + len(segment.after)
        needs.append((segment, memory_need(source, own, frames, borrowed)))
    return needs
