"""Open what a run reads: footage in the layout that its outputs need, and saved models."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from typing import Any

from bgsub.background.backdrop import backdrop_bytes
from bgsub.background.model import BackgroundModel
from bgsub.errors import InputError, UsageError
from bgsub.fit.memory_need import MemoryNeed
from bgsub.fit.memory_plan import Plan, make_plan
from bgsub.options import RunOptions, SourceOptions
from bgsub.pipeline.mask_kinds import MASKERS, saved_kind
from bgsub.pipeline.needs import (
    chosen_cutoff,
    fitted_at_most,
    needs_fit,
    needs_masks,
    needs_pixels,
    needs_still,
    videos_of,
)
from bgsub.pipeline.still import still_bytes
from bgsub.runtime.cores import own_threads
from bgsub.runtime.limits import memory_bytes
from bgsub.tracking.absorption import absorbed_after, kept_bytes
from bgsub.video.geometry import ColorMode
from bgsub.video.source import Footage, FrameSource, open_source

notes = logging.getLogger("bgsub.notes")
"""What a person wants to hear of a run as it begins; `bgsub` shows it on stderr."""

DEFAULT_MEMORY = "50%"

StrPath = str | os.PathLike[str]


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Report nothing."""


def open_frames(
    footage: Footage,
    options: SourceOptions,
    *,
    threads: int | None,
    color: ColorMode | None = None,
    exact_color: bool = False,
    with_chroma: bool = False,
    ignore: str | None = None,
) -> FrameSource:
    """Open an input as options say, but in another `color`; see `open_source` for the errors."""
    wanted: dict[str, Any] = vars(options) | ({} if color is None else {"color": color})
    return open_source(
        footage,
        **wanted,
        ignore=ignore,
        threads=threads,
        exact_color=exact_color,
        with_chroma=with_chroma,
    )


def open_input(
    footage: Footage, options: RunOptions, like: BackgroundModel | None = None
) -> FrameSource:
    """Open an input in the layout that the outputs need, or in that of a model.

    Outputs, format, kind of masks and all options of the source decide together: hence all options.
    """
    color, wanted = options.source.color, options.source
    exact = options.format != "mp4"
    kind = MASKERS[options.mask_model]
    if like is not None:
        color = "gray" if like.layout.kind == "gray" else "color"
        exact = like.layout.kind == "bgr"
        kind = saved_kind(like, options.threshold)
        wanted = _geometry_of(footage, options.source, like)
    elif not needs_pixels(options):
        color = "gray"
    threads = options.threads
    if options.jobs > 1:
        threads = own_threads(threads, options.jobs)
    return open_frames(
        footage,
        wanted,
        threads=threads,
        color=color,
        exact_color=exact,
        # The formula cuts what is written; other masks are to be the same in every format.
        with_chroma=needs_masks(options) and not kind.needs_background,
        ignore=options.ignore,
    )


def _geometry_of(footage: Footage, options: SourceOptions, model: BackgroundModel) -> SourceOptions:
    """Cut and scale footage as that of the model was, if it has its size and no option says how."""
    if options.mask_image is not None:
        message = "--mask-image: a model has the mask that it was fitted with; leave the option out"
        raise UsageError(message)
    geometry = model.geometry
    if options.roi is not None or options.scale != 1.0:
        return options
    size = open_frames(footage, options, threads=1, color="auto").input_size
    if list(size) != list(geometry.get("input_size", ())):
        return options
    roi = geometry.get("roi")
    return replace(
        options, roi=None if roi is None else tuple(roi), scale=float(geometry.get("scale", 1.0))
    )


def load_for(path: str | os.PathLike[str], options: RunOptions) -> BackgroundModel:
    """Load a model and let the options override its threshold and cut-off."""
    if "spectrum" in options.outputs:
        message = "--spectrum: a model has its rank already, and nothing is fitted; leave it out"
        raise UsageError(message)
    model = BackgroundModel.load(path)
    if options.threshold is not None:
        model = replace(model, threshold=options.threshold)
    cutoff = chosen_cutoff(options)
    if cutoff is not None:
        model = replace(model, cutoff=cutoff)
    return model


def model_for(
    model: BackgroundModel, source: FrameSource, model_path: str | os.PathLike[str]
) -> BackgroundModel:
    """Give the model with the pixels to be ignored in this footage, if it names any of its own.

    Raises
    ------
    InputError
        Unless the footage has the size and kind of the model.
    """
    ours, theirs = model.layout, source.layout
    if (ours.width, ours.height) != (theirs.width, theirs.height):
        message = (
            f"{source.path}: its frames are {theirs.width}x{theirs.height}, but {model_path} was "
            f"fitted to {ours.width}x{ours.height}; use footage of that size, or --scale or --roi"
        )
        raise InputError(message)
    if ours.kind != theirs.kind:
        message = (
            f"{source.path}: is read as {theirs.kind}, but {model_path} was fitted to {ours.kind}; "
            "use footage of the same kind, or fit a model to this one"
        )
        raise InputError(message)
    return model if source.ignored is None else replace(model, ignored=source.ignored)


def memory_need(
    source: FrameSource, options: RunOptions, frames: int, borrowed: int = 0
) -> MemoryNeed:
    """Collect what decides how much memory a run on so many frames takes, some more borrowed.

    Every output and every product of a run takes its part: hence all options.
    """
    width, height = source.input_size
    size = source.layout.height, source.layout.width
    kind = MASKERS[options.mask_model]
    fit, asked = needs_fit(options), options.fit_frames
    fit_frames = None if asked is None else fitted_at_most(options)
    if not fit:
        fit_frames = min(fitted_at_most(options), kind.sample_size(*size) or frames)
    learning = kind.learning_bytes(frames + borrowed, *size) if needs_masks(options) else (0, 0)
    kept = kept_bytes(*size) if absorbed_after(options.still_objects) else 0
    kept += still_bytes(frames, *size) if needs_still(options) else 0
    threads = own_threads(options.threads, options.jobs)
    if needs_masks(options):
        kept += kind.masking_bytes(*size, threads)
    if kind.corrects_background and options.outputs & {"background", "foreground", "preview"}:
        kept += backdrop_bytes(source.layout, threads)
    return MemoryNeed(
        frames=frames,
        pixels=source.layout.pixels,
        size=source.layout.size,
        native_pixels=width * height,
        k=options.k_limit,
        threads=threads,
        pictures=needs_pixels(options),
        videos=len(videos_of(options)) + ("scores" in options.outputs),
        plot=bool(options.outputs & {"plot", "spectrum"}),
        fit_frames=fit_frames,
        local=learning[0],
        local_sample=learning[1],
        method=options.method,
        kept=kept,
        fit=fit,
        buffer=source.buffer_bytes,
        whole=fit and asked == "all",
        borrowed=borrowed,
    )


def memory_limit(memory: str | None, jobs: int) -> int:
    """Give the bytes that each of some runs may take."""
    return max(1, memory_bytes(memory or DEFAULT_MEMORY) // jobs)


def plan_run(source: FrameSource, options: RunOptions, *, borrowed: int = 0) -> Plan:
    """Choose where the frames of a run will be, before any of them is read, and say why.

    Some borrowed frames are fitted with them. It takes all options because `memory_need` does.

    Raises
    ------
    MemoryLimitError
        If the limit cannot be kept.
    OutputError
        If the folder for frames cannot be written.
    """
    frames = source.frames_estimate
    if frames is None:
        frames = sum(1 for _ in source)
    need = memory_need(source, options, frames, borrowed)
    limit = memory_limit(options.memory, options.jobs)
    plan = make_plan(need, limit, options.temp, name=source.name, jobs=options.jobs)
    if plan.reason:
        notes.info("%s: %s", source.name, plan.reason)
    return plan
