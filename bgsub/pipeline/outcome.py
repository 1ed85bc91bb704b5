"""End a run: write its manifest, and say what it found."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgsub.errors import InputError
from bgsub.pipeline import advice
from bgsub.pipeline.inputs import output_name
from bgsub.pipeline.outputs import FrameOutputs
from bgsub.pipeline.results import (
    ResultsDirectory,
    Stopwatch,
    check_facts,
    load_manifest,
    peak_memory,
    preamble,
    recorded_path,
)
from bgsub.video.source import FrameSource

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bgsub.background.model import BackgroundModel
    from bgsub.fit.frame_fit import FrameFit
    from bgsub.outliers.errors_table import ErrorTable
    from bgsub.outliers.events import Event
    from bgsub.page.films import FramePictures


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
        from bgsub.outliers.events import find_events
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
    findings = advice.sight_findings(standing_out, facts, 0 if table is None else used)
    findings += [facts[name]["summary"] for name in ("objects", "feedback") if name in facts]
    is_fitted, on_bad = facts["command"] == "run", options.source.on_bad_frame
    findings += advice.damage_findings(facts, source.decoded, on_bad, is_fitted=is_fitted)
    hints = [*advice.camera_hints(outputs.camera, facts), *fit_hints]
    segmenter = outputs.scene.segmenter
    threshold = None if segmenter is None else segmenter.threshold
    hints += advice.mask_hints(outputs.statistics, threshold)
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
    from bgsub.outliers.errors_table import write_csv
    from bgsub.outliers.events import find_events, outlier_frames

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
    return events, facts, advice.describe_outliers(events, outliers, table.frames.size, first)


def commit(
    results: ResultsDirectory,
    manifest: dict[str, Any],
    watch: Stopwatch,
    *,
    with_page: bool,
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
        "doubtful_frames": advice.spans(source.doubtful_frames),
        "warnings": list(source.warnings),
    }


def fit_facts(fit: FrameFit, model: BackgroundModel | None) -> dict[str, Any]:
    """Describe how the fit went."""
    from bgsub.robustpca.trpca import TRPCA

    estimator, gram = fit.estimator, fit.gram
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
        "gram_blocks": gram and {"all": gram.blocks, "cut": gram.cut_blocks},
        "threshold": None if model is None else model.threshold,
        "fit_warnings": list(fit.notes),
    }
