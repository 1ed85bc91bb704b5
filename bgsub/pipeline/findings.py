"""What a run found, in plain language, and what looks wrong about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import find_events, outlier_frames
from bgsub.pipeline.outputs import MaskTally

_SPANS_SHOWN = 5


def plural(count: int, noun: str) -> str:
    """``1 frame``, ``2 frames``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def outlier_findings(table: ErrorTable) -> list[str]:
    """How many frames are outliers, and in which spans."""
    events = find_events(table)
    flagged = int(outlier_frames(table).sum())
    total = plural(table.frames.size, "frame")
    if flagged == 0 and table.scene_change is None:
        return [f"none of {total} stands out from the background"]
    spans = [
        str(e.first_frame) if e.first_frame == e.last_frame else f"{e.first_frame}-{e.last_frame}"
        for e in events
    ]
    lines = []
    if spans:
        shown = ", ".join(spans[:_SPANS_SHOWN])
        more = len(spans) - _SPANS_SHOWN
        shown += f" and {more} more (see `bgsub errors`)" if more > 0 else ""
        verb = "stands" if flagged == 1 else "stand"
        lines.append(f"{flagged} of {total} {verb} out from the background: {shown}")
    if table.scene_change is not None:
        change = table.scene_change
        lines.append(f"from {change.first_frame} to the end the scene stays different")
    return lines


def mask_findings(facts: Mapping[str, Any]) -> list[str]:
    """Say in how many frames there is foreground, and how much, by the facts of the masks."""
    if not facts.get("mask_frames"):
        return []
    total, share = facts["mask_frames"], 100 * facts["mask_share"]
    filled = total - facts["empty_masks"]
    shown = f"{share:.2g}" if 0 < share < 1 else f"{share:.1f}"
    return [f"foreground in {filled} of {plural(total, 'frame')}, {shown} % of the pixels"]


def mask_hints(tally: MaskTally | None, threshold: float | None) -> list[str]:
    """What looks wrong about the masks, and what to do; no threshold is that of local models."""
    if tally is None or tally.frames == 0:
        return []
    if tally.empty == tally.frames:
        least, advice = "what is noise", "use --sensitivity high"
        if threshold is not None:
            least, advice = f"{threshold:.0f} grey levels", "lower --threshold"
        hint = (
            f"every mask is empty: nothing differs from the background by more than {least}; "
            f"{advice} if there is something to find"
        )
        return [hint]
    if tally.crowded > tally.frames / 2:
        advice = "use --sensitivity low" if threshold is None else "raise --threshold"
        hint = (
            f"most masks are nearly full ({tally.mean_share:.0%} on average): the background does "
            f"not fit these frames; check that the camera stands still, or {advice}"
        )
        return [hint]
    return []
