"""End a run: write its manifest, and say what it found."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgsub.errors import InputError, cannot_write
from bgsub.options import RunOptions
from bgsub.pipeline import manifest as manifests
from bgsub.pipeline.advice import damage_findings, outlier_findings, sight_findings, spans
from bgsub.pipeline.manifest import SCHEMA_VERSION, check_facts
from bgsub.pipeline.results import ResultsDirectory
from bgsub.version import __version__
from bgsub.video.source import FrameSource

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bgsub.background.model import BackgroundModel
    from bgsub.fit.frame_fit import FrameFit
    from bgsub.fit.memory import Plan
    from bgsub.outliers.errors_table import ErrorTable
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

        footage = manifests.recorded_path(self.manifest, self.manifest["input"]["path"])
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
    manifest = manifests.load_manifest(path)
    if manifest.get("command", "run") not in {"run", "apply"}:
        message = f"{path}: was written by bgsub {manifest['command']}"
        raise InputError(f"{message}; name a folder that bgsub run or bgsub apply wrote")
    texts = [list(manifest.get(name) or []) for name in ("findings", "hints", "warnings")]
    return RunResult(path.parent if path.is_file() else path, manifest, *texts)


def finish(
    results: ResultsDirectory,
    source: FrameSource,
    table: ErrorTable | None,
    options: RunOptions,
    watch: manifests.Stopwatch,
    facts: dict[str, Any],
    hints: list[str],
) -> RunResult:
    """Write the manifest last, and say what was found; no table where no frame was fitted.

    It records all options, so that the run can be repeated.
    """
    errors = _error_facts(table, facts.get("frames_passed", 0))
    standing_out = [] if table is None else outlier_findings(table)
    findings = sight_findings(standing_out, facts, 0 if table is None else table.frames.size)
    findings += [facts["objects"]["summary"]] if "objects" in facts else []
    findings += [facts["feedback"]["summary"]] if "feedback" in facts else []
    findings += damage_findings(
        source, options.source.on_bad_frame, is_fitted=facts["command"] == "run"
    )
    frames = {
        "decoded": source.decoded,
        "bad": len(source.bad_frames),
        "doubtful": len(source.doubtful_frames),
        **errors.pop("frames"),
    }
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "bgsub_version": __version__,
        "options": options.to_json(),
        "seed": options.seed,
        "directory": os.getcwd(),  # noqa: PTH109 - text
        **facts,
        "frames": frames,
        **errors,
        "findings": findings,
        "hints": hints,
        "stages_s": watch.seconds,
        "peak_memory_bytes": manifests.peak_memory(),
        "versions": manifests.versions(),
    }
    return commit(results, manifest, watch, with_page="report" in options.outputs)


def commit(
    results: ResultsDirectory,
    manifest: dict[str, Any],
    watch: manifests.Stopwatch,
    *,
    with_page: bool,
) -> RunResult:
    """Write the page, if it is asked for, and the manifest, and put all results in place."""
    manifest = check_facts(manifest)
    if with_page:
        _write_page(results, manifest, watch)
    manifest = results.commit(manifest)
    texts = [list(manifest[name]) for name in ("findings", "hints", "warnings")]
    return RunResult(results.path, manifest, *texts)


def _write_page(
    results: ResultsDirectory, manifest: dict[str, Any], watch: manifests.Stopwatch
) -> None:
    """Write the page of all that is staged; its links lead to files beside it."""
    from bgsub.page.pages import encode_page, make_page

    path = results.stage("report.html")
    with watch.stage("report"):
        page = make_page(path.parent, manifest, path)
        try:
            path.write_bytes(encode_page(page.html))
        except OSError as error:
            advice = "free some space or choose another folder with --out"
            raise cannot_write(results.path / path.name, error, advice) from error


def _error_facts(table: ErrorTable | None, passed: int) -> dict[str, Any]:
    """Describe the outliers among the frames; where no frame was fitted, none is known."""
    if table is None:
        frames = {"used": passed, "outliers": None, "after_scene_change": None}
        return {"frames": frames, "cutoff": None, "events": None, "scene_change": None}
    from bgsub.outliers.events import find_events, outlier_frames

    change, flagged = table.scene_change, int(table.outliers.sum())
    outliers, first = int(outlier_frames(table).sum()), None
    if change is not None:
        first = {"first_frame": change.first_frame, "first_time_s": change.first_time}
    used = int(table.frames.size)
    return {
        "frames": {
            "used": used,
            "outliers": outliers,
            "after_scene_change": flagged - outliers,
        },
        "cutoff": table.cutoff,
        "events": [asdict(event) for event in find_events(table)],
        "scene_change": first,
    }


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


def plan_facts(plan: Plan, fitted: int) -> dict[str, Any]:
    """Describe where the frames were kept, and why, and how many were fitted."""
    return {
        "memory": {
            "limit_bytes": plan.limit,
            "expected_bytes": plan.bytes,
            "frames_kept": plan.storage,
            "reason": plan.reason,
        },
        "fit_frames": fitted,
    }


def fit_facts(fit: FrameFit | None, model: BackgroundModel | None) -> dict[str, Any]:
    """Describe how the fit went, if there was one."""
    if fit is None:
        return {}
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
        "gram_blocks": None
        if fit.gram is None
        else {"all": fit.gram.blocks, "cut": fit.gram.cut_blocks},
        "threshold": None if model is None else model.threshold,
        "fit_warnings": list(fit.notes),
    }
