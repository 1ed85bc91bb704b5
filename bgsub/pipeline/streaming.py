"""Give the masks of a film one by one, without any result on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bgsub.fit.frame_fit import fit_frames, load_libraries
from bgsub.fit.store import FrameStore
from bgsub.options import RunOptions
from bgsub.pipeline.consumers import Renderer
from bgsub.pipeline.inputs import no_progress, open_input, plan_run
from bgsub.pipeline.needs import chosen_cutoff, needs_fit, sampled_at_most, scene_settings
from bgsub.pipeline.projection import ScoredFrames
from bgsub.pipeline.scene import learn_scene
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes, Frame
from bgsub.video.source import Footage


def masks(
    footage: Footage, options: RunOptions | None = None, **named: Any
) -> Iterator[tuple[Frame, Bytes]]:
    """Give every frame of a film with its mask.

    Parameters
    ----------
    footage : str, Path or ndarray
        As for `bgsub.run`.
    options : RunOptions, optional
        Its outputs have no effect.
    **named
        Options of a run or of its input by name, such as ``sensitivity="high", start=100``.

    Yields
    ------
    Frame
        The frame; ``frame.layout.to_bgr(frame.data)`` is its picture.
    ndarray of shape (h, w), uint8
        Its mask, 0 or 255; the same that `bgsub.run` writes.

    Raises
    ------
    BgsubError
        As for `bgsub.run`.

    Notes
    -----
    The film is read once to learn from, and what of it does not fit into ``options.memory`` is
    decoded again. Close the iterator (or let it end) to give the memory back.
    """
    options = (options or RunOptions()).with_names(**named)
    options = replace(options, outputs=frozenset({"mask"}))
    with Workers(options.threads, options.jobs) as workers:
        if needs_fit(options):
            load_libraries(workers)
        source = open_input(footage, options)
        plan = plan_run(source, options)
        store = FrameStore(
            source,
            plan,
            seed=options.seed,
            temp=options.temp,
            progress=no_progress,
            fitted=sampled_at_most(options),
        )
        with store:
            fit = None
            if needs_fit(options):
                cutoff = chosen_cutoff(options)
                fit = fit_frames(store, source.pixel_mask, options, cutoff, workers, no_progress)
            scene = learn_scene(store, source, fit, scene_settings(options), workers, no_progress)
            shown = None
            if scene.masker is not None and scene.masker.needs_background:
                shown = scene.background
            renderer = Renderer(
                scene.layout,
                shown,
                scene.masker,
                scene.inside,
                lambda frame: frame.row,
                with_scores=False,
            )
            frames = ScoredFrames(store, fit, scene, workers)
            for block in renderer.frames(frames.blocks(), workers):
                for frame in block:
                    one = Frame(frame.number, frame.time_s, frame.row.copy(), frame.layout)
                    yield one, frame.mask
