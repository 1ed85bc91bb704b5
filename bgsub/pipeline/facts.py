"""Describe the input, the fit and the pictures for run.json."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bgsub.background.model import BackgroundModel
from bgsub.fit.memory import Plan
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import find_events
from bgsub.pipeline.damage import spans
from bgsub.pipeline.outputs import FrameOutputs
from bgsub.pipeline.scene import LearnedScene
from bgsub.video.source import FrameSource

if TYPE_CHECKING:
    from bgsub.fit.frame_fit import FrameFit


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


def object_facts(outputs: FrameOutputs, table: ErrorTable | None) -> dict[str, Any]:
    """Write the tables of objects, where they are followed, and describe what was found."""
    if outputs.objects is None:
        return {}
    found = outputs.objects.finish([] if table is None else find_events(table))
    from bgsub.tracking.recorder import describe

    if outputs.activity is not None:
        outputs.activity.finish(found.events)
    kinds = [event.kind for event in found.events]
    feedback = outputs.objects.feedback
    return {
        **({} if feedback is None else feedback.facts()),
        "objects": {
            "observations": found.observations,
            "tracks": len(found.tracks),
            "events": {kind: kinds.count(kind) for kind in ("object", "frame", "both")},
            "summary": describe(found),
        },
    }


def frame_facts(outputs: FrameOutputs, scene: LearnedScene) -> dict[str, Any]:
    """Describe what was made of the frames."""
    if not outputs.consumers:
        return {}
    facts: dict[str, Any] = {
        "frames_passed": outputs.frames,
        "span": None if outputs.span is None else asdict(outputs.span),
        "frames_written": outputs.counts,
        "padded_to_even_size": outputs.padded,
        "foreground_gain": round(outputs.gain, 3),
    }
    masker = scene.masker
    if masker is not None and outputs.tally is not None:
        facts |= {"min_area": masker.min_area, "mask_model": masker.name, **masker.facts()}
        facts |= {"mask_share": round(outputs.tally.mean_share, 6)}
        facts |= {"mask_frames": outputs.tally.frames, "empty_masks": outputs.tally.empty}
        if outputs.tally.trust:
            facts["mask_trust"] = [list(one) for one in outputs.tally.trust]
        facts |= {"score_level": masker.score_level} if "scores" in outputs.counts else {}
    return facts
