"""Describe in plain language what a run found, what looks wrong about it, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bgsub.errors import plural
from bgsub.fit.store import trusted_rows
from bgsub.video.base import BadFrame, OnBadFrame
from bgsub.video.source import FrameSource

if TYPE_CHECKING:
    from bgsub.fit.frame_fit import FrameFit
    from bgsub.outliers.errors_table import ErrorTable
    from bgsub.outliers.events import Event
    from bgsub.pipeline.camera import CameraWatch
    from bgsub.pipeline.outputs import MaskStatistics
    from bgsub.robustpca.gram import Gram
    from bgsub.robustpca.trpca import TRPCA

_SPANS_SHOWN = 5

EMPTY = "every mask is empty"
"""What the hint about such masks begins with."""


def outlier_findings(table: ErrorTable) -> list[str]:
    """Return how many frames are outliers, and in which spans."""
    from bgsub.outliers.events import find_events, outlier_frames

    change = table.scene_change
    return describe_outliers(
        find_events(table),
        int(outlier_frames(table).sum()),
        table.frames.size,
        None if change is None else change.first_frame,
    )


def describe_outliers(
    events: Sequence[Event], flagged: int, frames: int, changed_from: int | None
) -> list[str]:
    """Return how many of so many frames are outliers, in which spans, and what stays different."""
    total = plural(frames, "frame")
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
    if changed_from is not None:
        lines.append(f"from {changed_from} to the end the scene stays different")
    return lines


def sight_findings(standing_out: list[str], facts: Mapping[str, Any], fitted: int) -> list[str]:
    """Return what stands out of the frames that were fitted, and how often something is in sight.

    Where that is most of the time, frames stand out that differ from a usual one with somebody in
    it, and both lines together would contradict each other.
    """
    total = facts.get("mask_frames") or 0
    filled = total - facts["empty_masks"] if total else 0
    usual = 2 * filled >= total > 0
    lines = list(standing_out)
    if fitted and not standing_out and not usual:
        lines = [f"none of {plural(fitted, 'frame')} stands out from the background"]
    if not total:
        return lines
    share = 100 * facts["mask_share"]
    shown = f"{share:.2g}" if 0 < share < 1 else f"{share:.1f}"
    measured = f"in {filled} of {plural(total, 'frame')}, {shown} % of the pixels"
    if not usual:
        return [*lines, f"foreground {measured}"]
    so = ", so no frame stands out" if fitted and not standing_out else ""
    return [*lines, f"something is in sight {measured}{so}: `bgsub events` lists when"]


def camera_hints(camera: CameraWatch | None, facts: Mapping[str, Any]) -> list[str]:
    """Return a hint if the camera moves; by their facts, whether masks follow it."""
    if camera is None or not (camera.is_moving or camera.drifts):
        return []
    how = f"in {camera.moved} of {camera.pairs} comparisons" if camera.is_moving else "slowly"
    shake = facts.get("mask_shake_pixels")
    if shake:
        hint = (
            f"the camera moves, by up to {plural(shake, 'pixel')}: masks and background "
            "follow it, but errors do not; stabilize the video first if you need those"
        )
        return [hint]
    hint = (
        f"the whole picture moves ({how}): the camera pans or shakes, but masks need one "
        "that stands still; stabilize the video first, or take a part in which it does not move "
        "(--start, --end)"
    )
    return [hint]


_LEFT_OUT = (
    ("as cast shadows", "--shadows keep"),
    ("as too small", "--min-area 1"),
    ("as nearly as likely objects as not", "--sensitivity high"),
)
"""Why pixels are left out of masks, and what marks them."""

_WORTH_A_LINE = 1e-4
"""Mean share of a frame, that of the smallest object, below which nothing is said."""


def mask_hints(masks: MaskStatistics | None, threshold: float | None) -> list[str]:
    """Return hints on masks that look wrong; only those of the formula have a threshold."""
    if masks is None or masks.frames == 0:
        return []
    if masks.empty == masks.frames and threshold is not None:
        hint = (
            f"{EMPTY}: nothing differs from the background by more than {threshold:.0f} grey "
            "levels; lower --threshold if there is something to find"
        )
        return [hint]
    for share, (why, option) in zip(masks.left_out, _LEFT_OUT, strict=True):
        if share > max(masks.covered, _WORTH_A_LINE * masks.frames):
            is_empty = masks.empty == masks.frames
            begin, end = (f"{EMPTY}, but ", "") if is_empty else ("", ", more than objects cover")
            much = f"{100 * share / masks.frames:.2g} % of the pixels were left out {why}"
            return [f"{begin}{much}{end}: {option} marks them"]
    if masks.crowded > masks.frames / 2:
        advice = "use --sensitivity low" if threshold is None else "raise --threshold"
        hint = (
            f"most masks are nearly full ({100 * masks.mean_share:.0f} % on average): "
            "the background does not fit these frames; "
            f"check that the camera stands still, or {advice}"
        )
        return [hint]
    return []


_SAME = 1.01

# Objectives below this share of the frames' variance are rounding errors, and none is the best.
_ROUNDING = 1e-9

# The better half is what outliers are compared with, so that half is all there can be.
_NEARLY_HALF = 0.45

# On recordings where most frames are clean, errors of ordinary frames spread by up to 0.33 of
# their size; where foreground is in most frames, by 0.36 and more.
_SPREAD = 0.35

# More components than a third of the frames that decide about them fit these and no others.
_COMPONENTS_A_FRAME = 1 / 3

# What the warnings of a fit are known by that have a hint of their own.
_OWN_HINTS = ("n_components", "max_iter")


def fit_hints(fit: FrameFit | None, table: ErrorTable | None) -> list[str]:
    """Return what looks wrong about a fit and its errors, if there are any, and what to do."""
    if fit is None or table is None:
        return []
    from bgsub.robustpca.trpca import TRPCA

    estimator = fit.estimator
    hints = fit_notes(fit)
    if isinstance(estimator, TRPCA) and fit.gram is not None:
        hints += descent_hints(estimator, fit.gram, converged=fit.converged)
    elif not fit.converged:
        hints.append("the fit did not converge; take fewer frames, or another --method")
    return hints + _rank_hints(fit) + _premise_hints(fit, table)


def fit_notes(fit: FrameFit) -> list[str]:
    """Return the warnings of the fit, and a note if it has fewer components than asked for."""
    estimator = fit.estimator
    notes = [note for note in fit.notes if not any(word in note for word in _OWN_HINTS)]
    used = estimator.scores_.shape[1]
    if used == 0:
        notes.append("the frames that were fitted are all alike: their background is a still")
    elif used < estimator.n_components:
        notes.append(
            f"--k {estimator.n_components} is too large: the frames that were fitted have rank "
            f"{used}; use --k {used} or less"
        )
    return notes


def descent_hints(estimator: TRPCA, gram: Gram, *, converged: bool) -> list[str]:
    """Return what looks wrong about the random starts of TRPCA."""
    hints = []
    if not converged:
        hints.append(
            f"the fit did not converge in {plural(estimator.max_iter, 'iteration')}; "
            "raise --max-iter or --tol"
        )
    objectives = estimator.objectives_ + _ROUNDING * float(gram.values.diagonal().mean())
    # Most starts may end elsewhere; a value that is found twice is hardly surpassed by more starts.
    best = np.sort(objectives)[:2]
    if best.size == 2 and best[1] > _SAME * best[0]:
        hints.append(
            f"the random starts disagree: 1 of {objectives.size} came within 1 % of the best, so a "
            f"better one may be left; try --n-init {5 * objectives.size}"
        )
    return hints


def _rank_hints(fit: FrameFit) -> list[str]:
    """Return a hint if the frames that every fit must keep can hardly carry so many components."""
    k = fit.estimator.n_components
    least = (fit.support.size + 1) // 2
    if k <= max(1, least * _COMPONENTS_A_FRAME):
        return []
    most = max(1, int(least * _COMPONENTS_A_FRAME))
    hint = (
        f"--k {k} is much for {plural(fit.support.size, 'frame')}: half of them, {least}, decide "
        f"about it, and nearly all that they show becomes background; use --k {most} or less, or "
        "more frames"
    )
    return [hint]


def _premise_hints(fit: FrameFit, table: ErrorTable) -> list[str]:
    """Return a hint unless at least half of the frames show the background, as the method needs."""
    advice = "use a longer or calmer stretch (--start, --end)"
    if fit.estimator.scores_.shape[1] == fit.estimator.n_components:
        advice += ", or a higher --k"
    share = float(table.outliers.mean())
    if share >= _NEARLY_HALF:
        hint = (
            f"{100 * share:.0f} % of the frames are outliers, but the method needs more than half "
            f"of them to show the background: {advice}"
        )
        return [hint]
    # A third of a grey level a pixel is what rounding leaves of a scene without noise.
    location = max(fit.estimator.error_location_, float(np.sqrt(fit.table.pixels)) / 3)
    if fit.estimator.error_scale_ > _SPREAD * location:
        hint = (
            "ordinary frames differ so much in their errors that outliers cannot be told from "
            f"them; foreground may be in more than half of the frames: {advice}"
        )
        return [hint]
    return []


_NUMBERS_SHOWN = 8


def mark_doubtful(table: ErrorTable, source: FrameSource) -> ErrorTable:
    """Flag the frames of a table that may be wrong, once all of the source has been read."""
    if not source.doubtful_frames:
        return table
    return replace(table, doubtful=np.isin(table.frames, source.doubtful_frames))


class Damage(Protocol):
    """What is known of the damage of a video that has been read; see `FrameSource`."""

    codec: str
    bad_frames: list[BadFrame]
    doubtful_frames: list[int]
    unseen_damage: str
    decoded: int


def damage_findings(source: Damage, on_bad_frame: OnBadFrame, *, is_fitted: bool) -> list[str]:
    """Return how many frames were damaged, and how many may be wrong; a line each if any.

    Parameters
    ----------
    source : Damage
        A source of which all has been read.
    on_bad_frame : {"skip", "repeat", "fail"}
        What was done about the damaged ones.
    is_fitted : bool
        Whether a background was fitted to the frames, and not known from before.
    """
    lines = []
    damaged = [bad.number for bad in source.bad_frames]
    if damaged:
        action = {"skip": "left out", "repeat": "replaced by the one before"}
        what = action.get(on_bad_frame, "met")
        shown = ", ".join(map(str, damaged[:_NUMBERS_SHOWN]))
        more = len(damaged) - _NUMBERS_SHOWN
        shown += f" and {more} more" if more > 0 else ""
        lines.append(f"{plural(len(damaged), 'damaged frame')} {what}: {shown}")
    doubtful = sorted(set(source.doubtful_frames).difference(damaged))
    if doubtful:
        line = f"{plural(len(doubtful), 'frame')} may be wrong, next to damage or depending on it"
        lines.append(f"{line}: {_in_words(doubtful)}{_part_in_fit(source) if is_fitted else ''}")
    if lines and source.unseen_damage == "may go unseen":
        lines.append(f"{source.codec} has no checksums: more pictures may be damaged unseen")
    return lines


def _part_in_fit(source: Damage) -> str:
    doubtful = source.doubtful_frames
    read = max(source.decoded, len(doubtful))
    everything = np.arange(read)
    if trusted_rows(everything, list(range(len(doubtful)))).size < read:
        return " (left out of the fit)"
    return " (part of the fit, since they are most of the frames)"


def spans(numbers: list[int]) -> list[list[int]]:
    """Write increasing numbers as first and last of those that follow each other.

    Examples
    --------
    >>> spans([3, 4, 5, 9])
    [[3, 5], [9, 9]]
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def _in_words(numbers: list[int]) -> str:
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in spans(numbers)]
    more = len(texts) - _SPANS_SHOWN
    return ", ".join(texts[:_SPANS_SHOWN]) + (
        f" and {plural(more, 'more span')}" if more > 0 else ""
    )
