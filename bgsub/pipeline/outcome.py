"""End a run: write its manifest, and say what it found, what looks wrong, and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bgsub.errors import InputError, plural
from bgsub.fit.store import are_left_out
from bgsub.outliers.errors_table import ErrorTable, write_csv
from bgsub.outliers.events import Event, find_events, outlier_frames
from bgsub.pipeline.inputs import output_name
from bgsub.pipeline.outputs import FrameOutputs, MaskStatistics
from bgsub.pipeline.results import (
    ResultsDirectory,
    Stopwatch,
    check_facts,
    load_manifest,
    peak_memory,
    preamble,
    recorded_path,
)
from bgsub.video.base import OnBadFrame
from bgsub.video.source import FrameSource

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bgsub.background.model import BackgroundModel
    from bgsub.fit.frame_fit import FrameFit
    from bgsub.page.films import FramePictures
    from bgsub.pipeline.camera import CameraWatch

_SPANS_SHOWN, _NUMBERS_SHOWN = 5, 8
EMPTY = "every mask is empty"  # what the hint about such masks begins with
_LEFT_OUT = (  # why pixels are left out of masks, and what marks them
    ("as cast shadows", "--shadows keep"),
    ("as too small", "--min-area 1"),
    ("as nearly as likely objects as not", "--sensitivity high"),
)
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


@dataclass(frozen=True)
class RunResult:
    """What a run leaves behind.

    Attributes
    ----------
    out : Path
        The results directory.
    manifest : dict
        What its run.json holds.
    findings : list of str
        What was found, in plain language.
    hints : list of str
        What looks wrong, and what to do about it.
    warnings : list of str
        What reading the input had to say.
    """

    out: Path
    manifest: dict[str, Any] = field(repr=False)
    findings: list[str]
    hints: list[str]
    warnings: list[str]

    def frame(self, number: int) -> FramePictures:
        """Read the input, background, foreground and mask of a frame.

        Parameters
        ----------
        number : int
            From 1 in the input.

        Returns
        -------
        FramePictures
            With arrays ``input``, ``background``, ``foreground`` (RGB) and ``mask``; None for what
            the run did not write, and for an input that is gone.

        Raises
        ------
        UsageError
            If the run did not use that frame.
        """
        from bgsub.page.films import read_frame

        footage = recorded_path(self.manifest, self.manifest["input"]["path"])
        return read_frame(self.out, self.manifest, number, footage)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the error of every frame with outliers and events.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where it is drawn; axes of a new figure of pyplot if not given.

        Returns
        -------
        Axes

        Raises
        ------
        InputError
            If the run wrote no errors.csv.
        """
        from bgsub.page.result import read_result
        from bgsub.report.plots import draw_errors

        result = read_result(self.out, self.manifest)
        if result.table is None:
            message = f"{self.out}: its run wrote no errors.csv; run it again without --only"
            raise InputError(message)
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(10, 3.5), layout="constrained")
        draw_errors(ax, result.table, find_events(result.table), title=result.name)
        return ax

    def _repr_html_(self) -> str:
        """Show the result in a notebook."""
        from bgsub.page.pages import as_html

        return as_html(self.out, self.manifest)


def load_results(folder: str | os.PathLike[str]) -> RunResult:
    """Load what `bgsub.run`, `bgsub.apply` or their commands left in a folder.

    Parameters
    ----------
    folder : path
        The results directory, or its run.json.

    Returns
    -------
    RunResult

    Raises
    ------
    InputError
        If it holds no finished results of a run.
    """
    path = Path(folder)
    manifest = load_manifest(path)
    if manifest.get("command", "run") not in {"run", "apply"}:
        message = f"{path}: was written by bgsub {manifest['command']}"
        raise InputError(f"{message}; name a folder that bgsub run or bgsub apply wrote")
    return _result(path.parent if path.is_file() else path, manifest)


def _result(out: Path, manifest: dict[str, Any]) -> RunResult:
    texts = (list(manifest.get(name) or []) for name in ("findings", "hints", "warnings"))
    return RunResult(out, manifest, *texts)


def finish(
    outputs: FrameOutputs,
    table: ErrorTable | None,
    watch: Stopwatch,
    facts: dict[str, Any],
    fit_hints: Iterable[str] = (),
) -> RunResult:
    """Write the tables, and the manifest last; no table where no frame was fitted."""
    source, options = outputs.source, outputs.options
    with watch.stage("plot"):
        events, errors, standing_out = _errors(outputs, table)
        facts |= outputs.facts() | outputs.object_facts(events)
    used = facts.get("frames_passed", 0) if table is None else int(table.frames.size)
    findings = sight_findings(standing_out, facts, 0 if table is None else used)
    findings += [facts[name]["summary"] for name in ("objects", "feedback") if name in facts]
    is_fitted, on_bad = facts["command"] == "run", options.source.on_bad_frame
    findings += damage_findings(facts, source.decoded, on_bad, is_fitted=is_fitted)
    hints = [*camera_hints(outputs.camera, facts), *fit_hints]
    segmenter = outputs.scene.segmenter
    threshold = None if segmenter is None else segmenter.threshold
    hints += mask_hints(outputs.statistics, threshold)
    frames = {
        "decoded": source.decoded,
        "bad": len(source.bad_frames),
        "doubtful": len(source.doubtful_frames),
        "used": used,
    }
    manifest = {
        **preamble(facts["command"], options.to_json()),
        "directory": os.getcwd(),  # noqa: PTH109 - text
        **facts,
        **errors,
        "frames": frames | errors["frames"],
        "findings": findings,
        "hints": hints,
        "stages_s": watch.seconds,
        "peak_memory_bytes": peak_memory(),
    }
    return commit(outputs.results, manifest, watch, with_page="report" in options.outputs)


def _errors(
    outputs: FrameOutputs, table: ErrorTable | None
) -> tuple[list[Event], dict[str, Any], list[str]]:
    """Write errors.csv and errors.png as asked for; return events, facts, and these in words."""
    if table is None:  # no frame was fitted
        frames = {"outliers": None, "after_scene_change": None}
        return [], {"frames": frames, "cutoff": None, "events": None, "scene_change": None}, []
    results, options, events = outputs.results, outputs.options, find_events(table)
    if "errors" in options.outputs:
        write_csv(table, results.stage("errors.csv"))
    if "plot" in options.outputs:
        from bgsub.report.plots import render_errors  # which imports matplotlib

        title = outputs.source.name
        data = render_errors(table, events, title=title, plot_format=options.plot_format)
        results.write(output_name("plot", options), data)
    outliers, change = int(outlier_frames(table).sum()), table.scene_change
    first = None if change is None else change.first_frame
    after = int(table.outliers.sum()) - outliers
    facts = {
        "frames": {"outliers": outliers, "after_scene_change": after},
        "cutoff": table.cutoff,
        "events": [asdict(event) for event in events],
        "scene_change": change and {"first_frame": first, "first_time_s": change.first_time},
    }
    return events, facts, describe_outliers(events, outliers, table.frames.size, first)


def commit(
    results: ResultsDirectory, manifest: dict[str, Any], watch: Stopwatch, *, with_page: bool
) -> RunResult:
    """Write the page if asked for, check the manifest, and put all results in place."""
    manifest = check_facts(manifest)
    if with_page:
        from bgsub.page.pages import encode_page, make_page

        path = results.stage("report.html")
        with watch.stage("report"):
            page = make_page(path.parent, manifest, path)
            results.write(path.name, encode_page(page.html))
    return _result(results.path, results.commit(manifest))


def source_facts(source: FrameSource, identity: dict[str, Any]) -> dict[str, Any]:
    """Describe the input; `identity` is what `input_identity` returned."""
    width, height = source.input_size
    return {
        "input": {
            **identity,
            "width": width,
            "height": height,
            "frames": source.input_frames,
            "rate": None if source.rate is None else str(source.rate),
            "codec": source.codec,
            "pixel_format": source.pixel_format,
            "unseen_damage": source.unseen_damage,
        },
        "frame_size": [source.layout.width, source.layout.height],
        "bad_frames": [
            {"frame": bad.number, "time_s": round(bad.time_s, 6), "reason": bad.reason}
            for bad in source.bad_frames
        ],
        "doubtful_frames": spans(source.doubtful_frames),
        "warnings": list(source.warnings),
    }


def fit_facts(fit: FrameFit, model: BackgroundModel | None) -> dict[str, Any]:
    """Describe how the fit went."""
    from bgsub.robustpca.trpca import TRPCA

    estimator = fit.estimator
    of_trpca: dict[str, Any] = {}
    if isinstance(estimator, TRPCA):
        of_trpca = {
            "objective": estimator.objective_,
            "objectives": [float(value) for value in estimator.objectives_],
            "reweighting_rounds": estimator.n_reweight_,
        }
    chosen = {} if fit.rank is None else {"rank_choice": fit.rank.to_json()}
    return {
        **chosen,
        "k": estimator.n_components,
        "components": int(estimator.scores_.shape[1]),
        **of_trpca,
        "iterations": estimator.n_iter_,
        "converged": fit.converged,
        "inliers": int(fit.support.sum()),
        "error_location": estimator.error_location_,
        "error_scale": estimator.error_scale_,
        "gram_blocks": fit.gram_blocks,
        "threshold": None if model is None else model.threshold,
        "fit_warnings": list(fit.notes),
    }


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

    >>> spans([3, 4, 5, 9])
    [[3, 5], [9, 9]]
    """
    groups = groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    parts = ([number for _, number in group] for _, group in groups)
    return [[part[0], part[-1]] for part in parts]


def numbers_in(facts: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the doubtful frames of a run.json."""
    return [n for first, last in facts["doubtful_frames"] for n in range(first, last + 1)]
