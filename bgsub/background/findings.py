"""What a run found, in plain language, and what looks wrong about it."""

from __future__ import annotations

import numpy as np

from bgsub.background.errors_table import ErrorTable
from bgsub.background.fitting import FrameFit
from bgsub.background.outliers import find_events
from bgsub.background.outputs import MaskTally

_SPANS_SHOWN = 5
_DISAGREEMENT = 1.05


def plural(count: int, noun: str) -> str:
    """``1 frame``, ``2 frames``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def outlier_findings(table: ErrorTable) -> list[str]:
    """How many frames are outliers, and in which spans."""
    events = find_events(table)
    flagged = int(table.outliers.sum())
    total = plural(table.frames.size, "frame")
    if flagged == 0:
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


def fit_hints(fit: FrameFit) -> list[str]:
    """What looks wrong about a fit, and what to do."""
    hints = list(fit.notes)
    objectives = fit.estimator.objectives_
    best = float(objectives.min())
    if best > 0 and float(np.median(objectives)) > _DISAGREEMENT * best:
        close = int((objectives <= _DISAGREEMENT * best).sum())
        hints.append(
            f"the random starts disagree: {close} of {objectives.size} came within 5 % of the "
            f"best; try --n-init {5 * objectives.size}"
        )
    share = float(fit.table.outliers.mean())
    if share > 0.5:
        hints.append(
            f"{share:.0%} of the frames are outliers, but the method needs at least half of them "
            "to show the background: use a longer or calmer stretch (--start, --end), "
            "or a higher --k"
        )
    return hints


def mask_hints(tally: MaskTally, threshold: float) -> list[str]:
    """What looks wrong about the masks, and what to do."""
    if tally.frames == 0:
        return []
    if tally.empty == tally.frames:
        hint = (
            "every mask is empty: nothing differs from the background by more than "
            f"{threshold:.0f} grey levels; lower --threshold if there is something to find"
        )
        return [hint]
    if tally.crowded > tally.frames / 2:
        hint = (
            f"most masks are nearly full ({tally.mean_share:.0%} on average): the background does "
            "not fit these frames; check that the camera stands still, or raise --threshold"
        )
        return [hint]
    return []
