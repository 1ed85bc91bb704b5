"""Describe in plain language what a run found, what looks wrong about it, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from bgsub.errors import plural
from bgsub.fit.store import are_left_out
from bgsub.video.base import OnBadFrame

if TYPE_CHECKING:
    from bgsub.fit.frame_fit import FrameFit
    from bgsub.outliers.errors_table import ErrorTable
    from bgsub.outliers.events import Event
    from bgsub.pipeline.camera import CameraWatch
    from bgsub.pipeline.outputs import MaskStatistics

_SPANS_SHOWN = 5

EMPTY = "every mask is empty"  # what the hint about such masks begins with

_LEFT_OUT = (
    ("as cast shadows", "--shadows keep"),
    ("as too small", "--min-area 1"),
    ("as nearly as likely objects as not", "--sensitivity high"),
)
"""Why pixels are left out of masks, and what marks them."""

_WORTH_A_LINE = 1e-4  # mean share of a frame, that of the smallest object, that is worth a hint

# The better half is what outliers are compared with, so that half is all there can be.
_NEARLY_HALF = 0.45
# On recordings where most frames are clean, errors of ordinary frames spread by up to 0.33 of
# their size; where foreground is in most frames, by 0.36 and more.
_SPREAD = 0.35
# More components than a third of the frames that decide about them fit these and no others.
_COMPONENTS_A_FRAME = 1 / 3
# What the warnings of a fit are known by that have a hint of their own.
_OWN_HINTS = ("n_components", "max_iter")

_NUMBERS_SHOWN = 8


def describe_outliers(
    events: Sequence[Event], flagged: int, frames: int, changed_from: int | None
) -> list[str]:
    """Return how many of so many frames are outliers, in which spans, and what stays different."""
    total = plural(frames, "frame")
    lines = []
    if events:
        where = [_in_words(event.first_frame, event.last_frame) for event in events]
        shown = some(where, _SPANS_SHOWN)
        shown += " (see `bgsub errors`)" if len(where) > _SPANS_SHOWN else ""
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


def camera_hints(camera: CameraWatch | None, facts: Mapping[str, Any]) -> Iterator[str]:
    """Return a hint if the camera moves; by their facts, whether masks follow it."""
    if camera is None or not (camera.is_moving or camera.drifts):
        return
    if shake := facts.get("mask_shake_pixels"):
        yield (
            f"the camera moves, by up to {plural(shake, 'pixel')}: masks and background "
            "follow it, but errors do not; stabilize the video first if you need those"
        )
        return
    how = f"in {camera.moved} of {camera.pairs} comparisons" if camera.is_moving else "slowly"
    yield (
        f"the whole picture moves ({how}): the camera pans or shakes, but masks need one that "
        "stands still; stabilize the video first, or take a part in which it does not move "
        "(--start, --end)"
    )


def mask_hints(masks: MaskStatistics | None, threshold: float | None) -> Iterator[str]:
    """Return hints on masks that look wrong; only those of the formula have a threshold."""
    if masks is None or masks.frames == 0:
        return
    if masks.empty == masks.frames and threshold is not None:
        yield (
            f"{EMPTY}: nothing differs from the background by more than {threshold:.0f} grey "
            "levels; lower --threshold if there is something to find"
        )
        return
    for share, (why, option) in zip(masks.left_out, _LEFT_OUT, strict=True):
        if share > max(masks.covered, _WORTH_A_LINE * masks.frames):
            is_empty = masks.empty == masks.frames
            begin, end = (f"{EMPTY}, but ", "") if is_empty else ("", ", more than objects cover")
            much = f"{100 * share / masks.frames:.2g} % of the pixels were left out {why}"
            yield f"{begin}{much}{end}: {option} marks them"
            return
    if masks.crowded > masks.frames / 2:
        advice = "use --sensitivity low" if threshold is None else "raise --threshold"
        yield (
            f"most masks are nearly full ({100 * masks.mean_share:.0f} % on average): "
            "the background does not fit these frames; "
            f"check that the camera stands still, or {advice}"
        )


def fit_hints(fit: FrameFit, table: ErrorTable) -> Iterator[str]:
    """Return what looks wrong about a fit and its errors, and what to do."""
    from bgsub.robustpca.trpca import TRPCA

    estimator = fit.estimator
    yield from fit_notes(fit)
    if not fit.converged and isinstance(estimator, TRPCA):
        iterations = plural(estimator.max_iter, "iteration")
        yield f"the fit did not converge in {iterations}; raise --max-iter or --tol"
    elif not fit.converged:
        yield "the fit did not converge; take fewer frames, or another --method"
    k, frames = estimator.n_components, fit.support.size
    least = (frames + 1) // 2
    most = max(1, int(least * _COMPONENTS_A_FRAME))
    if k > max(1, least * _COMPONENTS_A_FRAME):
        yield (
            f"--k {k} is much for {plural(frames, 'frame')}: half of them, {least}, decide about "
            f"it, and nearly all that they show becomes background; use --k {most} or less, or "
            "more frames"
        )
    advice = "use a longer or calmer stretch (--start, --end)"
    if estimator.scores_.shape[1] == k:
        advice += ", or a higher --k"
    share = float(table.outliers.mean())
    # A third of a grey level a pixel is what rounding leaves of a scene without noise.
    location = max(estimator.error_location_, float(np.sqrt(fit.table.pixels)) / 3)
    if share >= _NEARLY_HALF:
        yield (
            f"{100 * share:.0f} % of the frames are outliers, but the method needs more than half "
            f"of them to show the background: {advice}"
        )
    elif estimator.error_scale_ > _SPREAD * location:
        yield (
            "ordinary frames differ so much in their errors that outliers cannot be told from "
            f"them; foreground may be in more than half of the frames: {advice}"
        )


def fit_notes(fit: FrameFit) -> list[str]:
    """Return the warnings of the fit, and a note if it has fewer components than asked for."""
    from bgsub.robustpca.trpca import LEAST_DISTINCT

    estimator = fit.estimator
    notes = [note for note in fit.notes if not any(word in note for word in _OWN_HINTS)]
    used = estimator.scores_.shape[1]
    pictures = LEAST_DISTINCT if fit.copies is None else np.unique(fit.copies[fit.support]).size
    if used < estimator.n_components and 1 < pictures < LEAST_DISTINCT:
        notes.append(
            f"the frames that were fitted show {pictures} different pictures, each of them frozen: "
            "too few to tell components from their noise"
        )
    elif used == 0:
        notes.append("the frames that were fitted are all alike: their background is a still")
    elif used < estimator.n_components:
        notes.append(
            f"--k {estimator.n_components} is too large: the frames that were fitted have rank "
            f"{used}; use --k {used} or less"
        )
    return notes


def damage_findings(
    facts: Mapping[str, Any], decoded: int, on_bad_frame: OnBadFrame, *, is_fitted: bool
) -> list[str]:
    """Return how many frames were damaged and how many may be wrong, by complete `source_facts`."""
    lines = []
    damaged, suspect = [bad["frame"] for bad in facts["bad_frames"]], numbers_in(facts)
    if damaged:
        what = {"skip": "left out", "repeat": "replaced by the one before"}.get(on_bad_frame, "met")
        shown = some(damaged, _NUMBERS_SHOWN)
        lines.append(f"{plural(len(damaged), 'damaged frame')} {what}: {shown}")
    doubtful = sorted(set(suspect).difference(damaged))
    if doubtful:
        line = f"{plural(len(doubtful), 'frame')} may be wrong, next to damage or depending on it"
        shown = some([_in_words(*span) for span in spans(doubtful)], _SPANS_SHOWN, "span")
        part = ""
        if is_fitted:
            part = " (part of the fit, since they are most of the frames)"
            part = " (left out of the fit)" if are_left_out(len(suspect), decoded) else part
        lines.append(f"{line}: {shown}{part}")
    source = facts["input"]
    if lines and source.get("unseen_damage") == "may go unseen":
        lines.append(f"{source['codec']} has no checksums: more pictures may be damaged unseen")
    return lines


def _in_words(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def some(names: Sequence[object], most: int = 10, what: str = "") -> str:
    """List names, or the first of them and how many more there are of what."""
    more = len(names) - most
    last = f" and {plural(more, f'more {what}') if what else f'{more} more'}" if more > 0 else ""
    return ", ".join(map(str, names[:most])) + last


def spans(numbers: list[int]) -> list[list[int]]:
    """Write increasing numbers as first and last of those that follow each other.

    Examples
    --------
    >>> spans([3, 4, 5, 9])
    [[3, 5], [9, 9]]
    """
    groups = groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    parts = ([number for _, number in group] for _, group in groups)
    return [[part[0], part[-1]] for part in parts]


def numbers_in(facts: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the doubtful frames of a run.json."""
    return [n for first, last in facts["doubtful_frames"] for n in range(first, last + 1)]
