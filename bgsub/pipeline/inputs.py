"""What a run reads, computes and writes by its options, all of which come together here."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bgsub.background.plates import working_size
from bgsub.background.sample import MOST_FRAMES, full_frames
from bgsub.errors import InputError, UsageError
from bgsub.fit.memory import ALL_FRAMES, AUTO_FIT_FRAMES, DEFAULT_MEMORY, MemoryNeed
from bgsub.fit.store import Borrowed
from bgsub.options import RunOptions
from bgsub.runtime.limits import memory_bytes
from bgsub.runtime.threads import own_threads
from bgsub.segmenter.masks import SEGMENTERS, saved_kind
from bgsub.video.film import VideoFileSource
from bgsub.video.film_index import Entry, Place
from bgsub.video.sink import SUFFIXES, SinkKind
from bgsub.video.source import Footage, FrameSource, open_source

if TYPE_CHECKING:
    from bgsub.background.model import BackgroundModel

StrPath = str | os.PathLike[str]
# Measured bytes: the network in a thread; and of a pixel what the network says of it, what learning
# takes of a sampled one, what composes its background, what is at rest, and that of background.png.
_NETWORK = 30_000_000
_ANSWER, _LEARNING, _COMPOSING, _ABSORBING, _STILL = 13, 8, 8, 46, 4
# Videos that a run can write, in the order in which they are.
VIDEOS = ("input", "background", "foreground", "mask", "preview", "overlay", "scores")
_OF_ERRORS = {"errors", "plot", "spectrum"}
_TABLES_OF_OBJECTS = {"objects", "tracks", "events", "activity"}
_OF_MASKS = {"mask", "still", "scores", "overlay", "heatmap", "report", *_TABLES_OF_OBJECTS}


def _with_masks(options: RunOptions) -> set[str]:
    """Return outputs that are made of frames and masks and of nothing else."""
    return _OF_MASKS | ({"foreground"} if options.foreground == "cutout" else set())


def videos_of(options: RunOptions) -> set[str]:
    """Return the videos that are written; a page shows the frames themselves, too."""
    shown = {"input"} if "report" in options.outputs else set()
    return {*options.outputs.intersection(VIDEOS), *shown}


def needs_pixels(options: RunOptions) -> bool:
    """Return whether the outputs need more than the errors of the frames."""
    return bool(options.outputs - _OF_ERRORS)


def needs_masks(options: RunOptions) -> bool:
    """Return whether masks are wanted: as an output, within one, or in a model for later."""
    kind = SEGMENTERS[options.mask_model]
    shown = set() if kind.needs_background else {"background", "foreground"}
    return bool(options.outputs & (_with_masks(options) | {"preview", "model"} | shown))


def needs_objects(options: RunOptions) -> bool:
    """Return whether objects are followed: for their tables, or to be drawn."""
    return bool(options.outputs & {*_TABLES_OF_OBJECTS, "overlay", "preview"})


def needs_still(options: RunOptions) -> bool:
    """Return whether a picture of the empty scene is made: as an output, or for the heat map."""
    return bool(options.outputs & {"still", "heatmap"})


def needs_fit(options: RunOptions) -> bool:
    """Return whether frames are fitted; masks that use nothing of a fit do without."""
    only_masks = options.outputs <= _with_masks(options)
    return not only_masks or SEGMENTERS[options.mask_model].needs_background


def fitted_at_most(options: RunOptions) -> int:
    """Return the most frames that are fitted; of longer inputs a sample is."""
    if options.fit_frames == "all":
        return ALL_FRAMES
    return options.fit_frames or AUTO_FIT_FRAMES


_FILES = {  # outputs that have one name in every format
    "still": "background.png",
    "model": "model.npz",
    "report": "report.html",
    "heatmap": "heatmap.png",
    **{output: f"{output}.csv" for output in ("errors", "objects", "tracks", "events", "activity")},
}


def output_name(output: str, options: RunOptions) -> str:
    """Return the name of the file (or folder of images) that an output is written to."""
    if output in _FILES:
        return _FILES[output]
    if output in {"plot", "spectrum"}:
        return f"{'errors' if output == 'plot' else output}.{options.plot_format}"
    return output + SUFFIXES[video_kind(output, options.format)]


def output_names(options: RunOptions) -> list[str]:
    """Return the names of everything that a run will write; UsageError if that is nothing."""
    if not options.outputs:
        raise UsageError("--only names no output; name at least one")
    more = {"events": "events.json", "heatmap": "heatmap.npy", "report": "input.mp4"}
    if options.regions is not None or options.line:
        more["objects"] = "regions.csv"
    names = [output_name(output, options) for output in sorted(options.outputs)]
    return names + [name for output, name in more.items() if output in options.outputs]


def video_kind(output: str, video_format: SinkKind) -> SinkKind:
    """Return the format of a video; scores are numbers of 16 bits, which H.264 does not hold."""
    if output in {"input", "preview", "overlay"}:
        return "mp4"
    return "mkv" if output == "scores" and video_format == "mp4" else video_format


def open_input(
    footage: Footage, options: RunOptions, like: BackgroundModel | None = None
) -> FrameSource:
    """Open an input in the layout that all options together ask for, or in that of a model.

    Footage of the size of a model's is cut and scaled as that was, if no option says how.
    """
    wanted, exact = dict(vars(options.source)), options.format != "mp4"
    kind = SEGMENTERS[options.mask_model]
    if like is not None:
        exact = like.layout.kind == "bgr"
        kind = saved_kind(like, options.threshold)
        if options.source.mask_image is not None:
            message = "--mask-image: a model has the mask that it was fitted with"
            raise UsageError(f"{message}; leave the option out")
        geometry = like.geometry
        if wanted["roi"] is None and wanted["scale"] == 1.0:  # else they say how
            size = open_source(footage, **wanted | {"color": "auto"}, threads=1).input_size
            if list(size) == list(geometry.get("input_size", ())):
                roi = geometry.get("roi")
                wanted["roi"] = None if roi is None else tuple(roi)
                wanted["scale"] = float(geometry.get("scale", 1.0))
        wanted["color"] = "gray" if like.layout.kind == "gray" else "color"
    elif not needs_pixels(options):
        wanted["color"] = "gray"
    threads = options.threads
    if options.jobs > 1:
        threads = own_threads(threads, options.jobs)
    return open_source(
        footage,
        **wanted,
        threads=threads,
        exact_color=exact,
        # The formula cuts what is written; other masks are to be the same in every format.
        with_chroma=needs_masks(options) and not kind.needs_background,
        ignore=options.ignore,
    )


def load_for(path: StrPath, options: RunOptions) -> BackgroundModel:
    """Load a model and let the options override its threshold and cut-off."""
    if "spectrum" in options.outputs:
        message = "--spectrum: a model has its rank already, and nothing is fitted; leave it out"
        raise UsageError(message)
    from bgsub.background.model import BackgroundModel
    from bgsub.outliers.false_alarms import cutoff_for

    model = BackgroundModel.load(path)
    if options.threshold is not None:
        model = replace(model, threshold=options.threshold)
    if options.false_alarms is not None:
        return replace(model, cutoff=cutoff_for(options.false_alarms))
    return model if options.cutoff is None else replace(model, cutoff=options.cutoff)


def model_for(model: BackgroundModel, source: FrameSource, model_path: StrPath) -> BackgroundModel:
    """Return the model with the pixels to ignore; InputError for another size or kind of video."""
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
    """Collect what decides how much memory a run on so many frames takes, some more borrowed."""
    layout, (width, height) = source.layout, source.input_size
    pixels, threads = layout.pixels, own_threads(options.threads, options.jobs)
    at_full_size = min(frames + borrowed, full_frames(layout.height, layout.width))
    samples = needs_masks(options) and not SEGMENTERS[options.mask_model].needs_background
    fit, asked = needs_fit(options), options.fit_frames
    fit_frames = None if asked is None else fitted_at_most(options)
    if not fit:
        fit_frames = min(fitted_at_most(options), MOST_FRAMES)
    learning = sample = kept = 0
    if samples:
        tall, wide = working_size(layout.height, layout.width)
        small = tall * wide * min(frames + borrowed, MOST_FRAMES)
        sample = 3 * small + 3 * pixels * at_full_size * fit
        learning = sample + _LEARNING * small
        kept += threads * (_NETWORK + _ANSWER * pixels)
        if options.outputs & {"background", "foreground", "preview"}:
            kept += layout.size + (threads + 1) * (2 * layout.size + _COMPOSING * pixels)
    if options.still_objects not in {None, "foreground"}:
        kept += _ABSORBING * pixels
    if needs_still(options):
        kept += _STILL * pixels * at_full_size
    return MemoryNeed(
        frames=frames,
        pixels=pixels,
        size=layout.size,
        native_pixels=width * height,
        k=options.k_limit,
        threads=threads,
        pictures=needs_pixels(options),
        videos=len(videos_of(options)) + ("scores" in options.outputs),
        plot=bool(options.outputs & {"plot", "spectrum"}),
        fit_frames=fit_frames,
        local=learning,
        local_sample=sample,
        method=options.method,
        kept=kept,
        fit=fit,
        buffer=source.buffer_bytes,
        whole=fit and asked == "all",
        borrowed=borrowed,
    )


def memory_limit(memory: str | None, jobs: int) -> int:
    """Return the bytes that each of some runs may take."""
    return max(1, memory_bytes(memory or DEFAULT_MEMORY) // jobs)


@dataclass(frozen=True)
class Stretch:
    """What a run takes over from the film that its frames are a stretch of.

    The identity is what `input_identity` gives for the film; decoding may begin at the entry (None
    is the start of the film); frames before and behind the stretch are fitted with it.
    """

    identity: dict[str, Any]
    entry: Entry | None = None
    before: tuple[Place, ...] = ()
    after: tuple[Place, ...] = ()

    def enter(self, source: FrameSource, footage: Footage, options: RunOptions) -> Borrowed | None:
        """Let a source begin to decode there, and open the film where frames around it are."""
        if self.entry is not None and isinstance(source, VideoFileSource):
            source.entry = self.entry
        places = [*self.before, *self.after]
        if not places:
            return None
        start = places[0].number if self.before else options.source.start
        end = places[-1].number if self.after else options.source.end
        wider = replace(options, source=replace(options.source, start=start, end=end))
        return Borrowed(open_input(footage, wider), self.before, self.after)
