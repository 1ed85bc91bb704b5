"""Opening what a run reads: footage in the layout that its outputs need, and saved models."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from bgsub.background.config import RunOptions, SourceOptions
from bgsub.background.memory import Demand, Plan, make_plan, parse_memory
from bgsub.background.model import BackgroundModel
from bgsub.background.outputs import VIDEOS
from bgsub.errors import InputError
from bgsub.video.source import FrameSource, open_source

logger = logging.getLogger(__name__)


def open_frames(
    path: str, options: SourceOptions, *, threads: int | None, color: str, exact_color: bool
) -> FrameSource:
    """Open an input as a run wants it; see `open_source` for the errors."""
    return open_source(
        path,
        start=options.start,
        end=options.end,
        every=options.every,
        scale=options.scale,
        roi=options.roi,
        mask_image=options.mask_image,
        color=color,  # type: ignore[arg-type]
        on_bad_frame=options.on_bad_frame,
        threads=threads,
        exact_color=exact_color,
    )


def needs_pixels(options: RunOptions) -> bool:
    """Whether the outputs need more than the errors of the frames."""
    return bool(options.outputs - {"errors", "plot"})


def open_input(path: str, options: RunOptions, like: BackgroundModel | None = None) -> FrameSource:
    """Open an input in the layout that the outputs need, or in that of a model."""
    color = options.source.color
    exact = options.format != "mp4"
    if like is not None:
        color = "gray" if like.layout.kind == "gray" else "color"
        exact = like.layout.kind == "bgr"
    elif not needs_pixels(options):
        color = "gray"
    return open_frames(
        path, options.source, threads=options.threads, color=color, exact_color=exact
    )


def load_for(path: Path, options: RunOptions) -> BackgroundModel:
    """Load a model and let the options override its threshold and cut-off."""
    model = BackgroundModel.load(path)
    if options.threshold is not None:
        model = replace(model, threshold=options.threshold)
    if options.cutoff is not None:
        model = replace(model, cutoff=options.cutoff)
    return model


def check_geometry(model: BackgroundModel, source: FrameSource, model_path: Path) -> None:
    """Raise InputError unless the footage has the size and kind of the model."""
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


def plan_run(source: FrameSource, options: RunOptions) -> Plan:
    """Choose where the frames of a run will be, before any of them is read.

    Raises
    ------
    MemoryLimitError
        If the limit cannot be kept.
    """
    frames = source.frames_estimate
    if frames is None:
        frames = sum(1 for _ in source)
    demand = Demand(
        frames=frames,
        pixels=source.layout.pixels,
        size=source.layout.size,
        k=options.k,
        pictures=needs_pixels(options),
        videos=len(options.outputs.intersection(VIDEOS)),
        plot="plot" in options.outputs,
        fit_frames=options.fit_frames,
    )
    limit = parse_memory(options.memory or "50%")
    temp = None if options.temp is None else Path(options.temp)
    plan = make_plan(demand, limit, temp, source.name)
    if plan.reason:
        logger.info("%s: %s", source.name, plan.reason)
    return plan
