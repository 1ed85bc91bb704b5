"""Derive from the options what a run has to compute, and the values that each part of it needs.

Here all options come together, so that what is below gets the values that it needs and no more.
"""

from __future__ import annotations

from bgsub.fit.memory_need import ALL_FRAMES, AUTO_FIT_FRAMES
from bgsub.fit.settings import FitSettings
from bgsub.options import RunOptions
from bgsub.outliers.false_alarms import cutoff_for
from bgsub.pipeline.mask_kinds import MASKERS
from bgsub.pipeline.masker import MaskSettings
from bgsub.pipeline.scene import SceneSettings

VIDEOS = ("input", "background", "foreground", "mask", "preview", "overlay", "scores")
"""Videos that a run can write, in the order in which they are."""

_OF_ERRORS = {"errors", "plot", "spectrum"}
_TABLES_OF_OBJECTS = {"objects", "tracks", "events", "activity"}
_OF_MASKS = {"mask", "still", "scores", "overlay", "heatmap", "report", *_TABLES_OF_OBJECTS}


def _with_masks(options: RunOptions) -> set[str]:
    """Outputs that are made of frames and masks and of nothing else."""
    return _OF_MASKS | ({"foreground"} if options.foreground == "cutout" else set())


def videos_of(options: RunOptions) -> set[str]:
    """Name the videos that are written; a page shows the frames themselves, too."""
    shown = {"input"} if "report" in options.outputs else set()
    return {*options.outputs.intersection(VIDEOS), *shown}


def needs_pixels(options: RunOptions) -> bool:
    """Say whether the outputs need more than the errors of the frames."""
    return bool(options.outputs - _OF_ERRORS)


def needs_masks(options: RunOptions) -> bool:
    """Say whether masks are wanted: as an output, within one, or for later footage (model.npz)."""
    shown = (
        {"background", "foreground"} if MASKERS[options.mask_model].corrects_background else set()
    )
    return bool(options.outputs & (_with_masks(options) | {"preview", "model"} | shown))


def needs_objects(options: RunOptions) -> bool:
    """Say whether objects are followed: for their tables, or to be drawn."""
    return bool(options.outputs & {*_TABLES_OF_OBJECTS, "overlay", "preview"})


def needs_still(options: RunOptions) -> bool:
    """Return whether a picture of the empty scene is made: as an output, or for the heat map."""
    return bool(options.outputs & {"still", "heatmap"})


def needs_fit(options: RunOptions) -> bool:
    """Say whether frames are fitted; masks that use nothing of a fit do without."""
    only_masks = options.outputs <= _with_masks(options)
    return not only_masks or MASKERS[options.mask_model].needs_background


def fitted_at_most(options: RunOptions) -> int:
    """Give the most frames that are fitted; of longer inputs a sample is."""
    if options.fit_frames == "all":
        return ALL_FRAMES
    return options.fit_frames or AUTO_FIT_FRAMES


def sampled_at_most(options: RunOptions) -> int | None:
    """Give the most frames that masks alone are learned from; None where frames are fitted."""
    return None if needs_fit(options) else fitted_at_most(options)


def fit_settings(options: RunOptions) -> FitSettings:
    """Pick what decides about a fit."""
    return FitSettings(
        method=options.method,
        k=options.k,
        support_fraction=options.support_fraction,
        n_init=options.n_init,
        tol=options.tol,
        max_iter=options.max_iter,
        reweight=options.reweight,
        lam=options.lam,
        seed=options.seed,
        cutoff=chosen_cutoff(options),
        keep_choice="spectrum" in options.outputs,
        plots="plot" in options.outputs,
    )


def scene_settings(options: RunOptions) -> SceneSettings:
    """Pick what decides about what is learned of a scene."""
    return SceneSettings(
        masks=mask_settings(options),
        kind=options.mask_model if needs_masks(options) else None,
        with_pixels=needs_pixels(options),
        threshold=options.threshold,
        method=options.method,
        seed=options.seed,
        roi=options.source.roi,
        scale=options.source.scale,
    )


def mask_settings(options: RunOptions) -> MaskSettings:
    """Pick what says how masks are drawn; areas are those of the mask, which may be scaled."""
    least = options.min_area
    return MaskSettings(
        clean=options.clean,
        min_area=None if least is None else round(least * options.source.scale**2),
        shadows=options.shadows,
        sensitivity=options.sensitivity,
        fill_holes=options.fill_holes,
        still_objects=options.still_objects,
    )


def chosen_cutoff(options: RunOptions) -> float | None:
    """Give the cut-off that is asked for, by itself or as a rate of false alarms, or None."""
    if options.false_alarms is None:
        return options.cutoff
    return cutoff_for(options.false_alarms)
