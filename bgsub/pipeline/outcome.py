"""End a run: write its manifest, and say what it found."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bgsub.errors import cannot_write
from bgsub.options import RunOptions
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import find_events, outlier_frames
from bgsub.pipeline import manifest as manifests
from bgsub.pipeline.advice import mask_findings, outlier_findings
from bgsub.pipeline.damage import damage_findings
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.schema import SCHEMA_VERSION, check_facts
from bgsub.version import __version__
from bgsub.video.source import FrameSource


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


def finish(
    results: ResultsDirectory,
    source: FrameSource,
    table: ErrorTable | None,
    options: RunOptions,
    watch: manifests.Stopwatch,
    facts: dict[str, Any],
    hints: list[str],
) -> RunResult:
    """Write the manifest last, and say what was found; no table where no frame was fitted."""
    errors = _no_errors(facts) if table is None else _error_facts(table)
    findings = [] if table is None else outlier_findings(table)
    findings += mask_findings(facts)
    findings += [facts["objects"]["summary"]] if "objects" in facts else []
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
    manifest = check_facts(manifest)
    if "report" in options.outputs:
        _write_page(results, manifest, watch)
    manifest = results.commit(manifest)
    return RunResult(results.path, manifest, findings, hints, list(source.warnings))


def _write_page(
    results: ResultsDirectory, manifest: dict[str, Any], watch: manifests.Stopwatch
) -> None:
    """Write the page of all that is staged; its links lead to files beside it."""
    from bgsub.page.report import encode_page, make_page

    path = results.stage("report.html")
    with watch.stage("report"):
        page = make_page(path.parent, manifest, path)
        try:
            path.write_bytes(encode_page(page.html))
        except OSError as error:
            advice = "free some space or choose another folder with --out"
            raise cannot_write(results.path / path.name, error, advice) from error


def _error_facts(table: ErrorTable) -> dict[str, Any]:
    """Describe the outliers among the frames."""
    change, flagged = table.scene_change, int(table.outliers.sum())
    outliers = int(outlier_frames(table).sum())
    return {
        "frames": {
            "used": int(table.frames.size),
            "outliers": outliers,
            "after_scene_change": flagged - outliers,
        },
        "cutoff": table.cutoff,
        "events": [asdict(event) for event in find_events(table)],
        "scene_change": None
        if change is None
        else {"first_frame": change.first_frame, "first_time_s": change.first_time},
    }


def _no_errors(facts: dict[str, Any]) -> dict[str, Any]:
    """Say the same where no frame was fitted, so that nothing is known of outliers."""
    used = facts["frames_passed"]
    return {
        "frames": {"used": used, "outliers": None, "after_scene_change": None},
        "cutoff": None,
        "events": None,
        "scene_change": None,
    }
