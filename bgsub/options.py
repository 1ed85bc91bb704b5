"""Declare every option once: name, type, rule, default, section and help.

The checks, the command line, run.json, the docstrings and the tables of docs/options.md are made
from the fields of these classes. A new option is one field here, and the code that uses it.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self, TypeVar, dataclass_transform

from bgsub import rules
from bgsub.errors import InputError, UsageError
from bgsub.robustpca.competitors import METHODS
from bgsub.rules import POSITIVE, Choice, File, Integer, Number, Or, Position, Rule, Switch
from bgsub.video.selection import Selection

T = TypeVar("T", bound="Declared")


@dataclass(kw_only=True)
class Declaration:
    """What is declared of an option; `documented` adds its name, and a flag made from that."""

    default: Any
    section: str  # its heading in the help
    rule: Rule  # of its values; None is allowed too where it is the default
    help: str
    metavar: str = ""
    unset: str = ""  # what the default means, where its value does not say it
    flag: str = ""  # without a unit: --on-bad-frame
    short: str = ""  # such as -j
    repeated: bool = True  # --from-json takes it over from an earlier run
    name: str = ""

    @property
    def default_in_words(self) -> str:
        """What the default means where its value alone does not say it."""
        if isinstance(self.default, tuple) and self.default:
            return self.unset or ",".join(map(str, self.default))
        return self.unset


def option(section: str, default: Any, rule: Rule, text: str, **more: Any) -> Any:
    """Declare an option; `more` are attributes of `Declaration` that have a default."""
    declared = Declaration(default=default, section=section, rule=rule, help=text, **more)
    return field(default=default, metadata={"option": declared})


def declared_options(kind: type[Declared]) -> list[Declaration]:
    """List what `option` declared in a class, in the order of its fields."""
    return [one.metadata["option"] for one in fields(kind) if "option" in one.metadata]


@dataclass_transform(frozen_default=True, kw_only_default=True)
def documented(kind: type[T]) -> type[T]:
    """Make a class of options a frozen dataclass that documents them as numpydoc does."""
    kind = dataclass(frozen=True, kw_only=True)(kind)
    lines = [inspect.cleandoc(kind.__doc__ or ""), "", "Attributes", "----------"]
    for own in fields(kind):
        if one := own.metadata.get("option"):
            one.name = own.name
            one.flag = one.flag or f"--{own.name.removesuffix('_s').replace('_', '-')}"
            words = one.default_in_words
            text = textwrap.fill(one.help + (f" Default: {words}." if words else ""), 88)
            lines += [f"{own.name} : {own.type}", textwrap.indent(text, "    ")]
    kind.__doc__ = "\n".join(lines)
    return kind


class Declared:
    """Base of options that check their values when they are made, and go to JSON and back."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # which all that derive from it have

    def __post_init__(self) -> None:
        """Check every value, and store it in its own type (a list becomes a tuple, say)."""
        for one in declared_options(type(self)):
            value = getattr(self, one.name)
            if value is not None or one.default is not None:
                object.__setattr__(self, one.name, one.rule.read(one.flag, value))

    def as_given(self, name: str) -> str:
        """Return an option as it is written on the command line: ``--no-clean``, say."""
        found = self.__dataclass_fields__[name].metadata["option"].flag
        return f"--no-{found.removeprefix('--')}" if getattr(self, name) is False else found

    def changed(self) -> set[str]:
        """Return the names of the options that have another value than their default."""
        declared = declared_options(type(self))
        return {one.name for one in declared if getattr(self, one.name) != one.default}

    def to_json(self) -> dict[str, Any]:
        """Return all options as plain JSON values."""
        plain = {}
        for one in declared_options(type(self)):
            value = getattr(self, one.name)
            plain[one.name] = None if value is None else one.rule.to_json(value)
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Make options from what `to_json` returned; what is missing has its default."""
        if not isinstance(plain, Mapping):
            damaged = f"is damaged: its options are {plain!r:.60}"
            raise InputError(f"{damaged}, where an object with names is needed")
        for name in plain:
            if name not in cls.__dataclass_fields__:
                raise UsageError(f"option {name!r} is not known to this version of bgsub")
        return cls(**plain)


def check_areas(least: int | None, most: int | None) -> None:
    """Raise UsageError for a smallest area of objects that is above the largest."""
    if least is not None and most is not None and least > most:
        message = f"--min-area {least} is more than --max-area {most}, so that no object is left"
        raise UsageError(f"{message}; lower the one or raise the other")


(_input, _fit, _segments, _masks, _objects, _output, _resources) = (
    functools.partial(option, section)
    for section in ("Input", "Fit", "Segments", "Masks", "Objects", "Output", "Resources")
)


@documented
class SourceOptions(Declared):
    """Which frames and pixels are read; see `bgsub.open_source`."""

    start: str | int | None = _input(
        None, Position(), 'First frame: a number from 1, seconds ("12.5s") or HH:MM:SS.mmm.'
    )
    end: str | int | None = _input(None, Position(), "Last frame, included.")
    every: str | int | None = _input(
        None,
        Position(step=True),
        'Take every fifth frame ("5"), or one every two seconds ("2s").',
        metavar="STEP",
    )
    scale: float = _input(
        1.0, POSITIVE, "Resize the frames: 0.5 halves width and height.", metavar="FACTOR"
    )
    roi: tuple[int, int, int, int] | None = _input(
        None,
        rules.Rectangle(),
        "Keep only this part of the picture, in pixels of the input (before --scale).",
    )
    mask_image: str | None = _input(
        None,
        File(),
        "Image of the input's size. Pixels where it is black are left out of the fit and of the "
        "masks, and are written unchanged.",
        metavar="IMAGE",
    )
    fps: str | float | None = _input(
        None,
        rules.Rate(),
        "Frames per second of a folder of images or of an array; a video has times of its own.",
        unset="25",
    )
    color: Literal["auto", "gray", "color"] = _input(
        "auto", Choice(("auto", "gray", "color")), "Write colour or grey; auto is as the input is."
    )
    on_bad_frame: Literal["skip", "repeat", "fail"] = _input(
        "skip",
        Choice(("skip", "repeat", "fail")),
        "What to do with a frame that cannot be decoded: leave it out, take the frame before it "
        "again, or stop.",
    )

    def __post_init__(self) -> None:
        """Check every value, and that the end does not lie before the start."""
        super().__post_init__()
        Selection.parse(self.start, self.end, self.every)


# What a run can write: three videos, background.png, errors.csv, errors.png, model.npz,
# objects.csv, tracks.csv, events.csv (and .json), preview.mp4, overlay.mp4, spectrum.png,
# scores.mkv, heatmap.png (and .npy), activity.csv and report.html (with input.mp4).
OUTPUTS = (
    *("background", "foreground", "mask", "still", "errors", "plot", "model"),
    *("objects", "tracks", "events", "preview", "overlay", "spectrum", "scores"),
    *("heatmap", "activity", "report"),
)
EXTRA_OUTPUTS = frozenset(  # those that are only written when they are asked for
    {"preview", "overlay", "spectrum", "scores", "heatmap", "activity", "report"}
)
DEFAULT_OUTPUTS = frozenset(OUTPUTS) - EXTRA_OUTPUTS
# Options that the network's masks alone make something of.
OF_LOCAL = frozenset({"sensitivity", "shadows", "fill_holes"})
# Called with the stage, the frames (or blocks) done and their number if it is known.
ProgressCallback = Callable[[str, int, int | None], None]
MOST_AUTO_COMPONENTS = 10  # most that ``k="auto"`` chooses; memory is planned for so many


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Report nothing."""


@documented
class RunOptions(Declared):
    """How frames are fitted and what is written; a run is these options and an input.

    `source` holds the options of the input, a `SourceOptions`.
    """

    source: SourceOptions = field(default_factory=SourceOptions)

    method: str = _fit(
        "trpca", Choice(tuple(METHODS)), "Method of robust PCA; `bgsub methods` describes them."
    )
    k: int | Literal["auto"] = _fit(
        "auto",
        Or(Integer(1), {"auto": "auto"}),
        "Components of the background: 1 for a still scene, more where it moves; auto chooses "
        f"from the frames, {MOST_AUTO_COMPONENTS} at most.",
        metavar="K|auto",
    )
    support_fraction: float | None = _fit(
        None,
        Number("a share of the frames from 0.5 to 1", 0.5, 1),
        "Share of the frames that certainly show no object, 0.5 to 1.",
        metavar="T",
        unset="half",
    )
    lam: float | None = _fit(
        None,
        POSITIVE,
        "λ of the methods orpca, outlier-pursuit and pcp.",
        metavar="L",
        flag="--lambda",
        unset="that of the method",
    )
    n_init: int = _fit(10, Integer(1), "Number of random starts; the best result is kept.")
    tol: float = _fit(
        1e-5,
        Number("a number of 0 or more", 0),
        "Stop when an iteration lowers the objective by less than this share.",
        metavar="TOL",
    )
    max_iter: int = _fit(1000, Integer(1), "Stop after this many iterations.")
    reweight: bool = _fit(
        True, Switch(), "Fit again, to all frames found to be inliers, which the paper does not."
    )
    fit_frames: int | Literal["all"] | None = _fit(
        None,
        Or(Integer(2), {"all": "all", "auto": None}),
        "Fit to a sample of N evenly spaced frames, or to all of them; the memory needed grows as "
        "the square of their number.",
        metavar="N|all|auto",
        unset="auto, all up to 2000",
    )
    seed: int = _fit(
        0,
        Integer(0),
        "Seed of the random starts; the same seed gives the same result.",
        metavar="SEED",
    )

    segment: str | int = _segments(
        "auto",
        Or(Position(step=True), {"auto": "auto", "off": "off"}),
        "Fit a long film in segments, each with a background of its own. A segment ends where the "
        'scene changes for good, or at this length, in frames ("5000") or time ("10m"). auto '
        "divides films of more than 15000 frames, at that length.",
        metavar="auto|off|LENGTH",
    )
    resume: bool = _segments(
        False,
        Switch(),
        "Continue a run of the same input and options that was stopped; the segments that it had "
        "finished are kept.",
        repeated=False,
    )

    model: Literal["local", "paper"] | None = _masks(
        None,
        Choice(("local", "paper")),
        "How masks are made. local: from the usual colours of each place, allowing for shadows, "
        "changes of light and waving trees. paper: every difference above --threshold.",
        unset="local, but paper with --threshold or another --method",
    )
    sensitivity: Literal["low", "normal", "high"] = _masks(
        "normal",
        Choice(("low", "normal", "high")),
        "Local model: low makes fewer false detections, high misses less of an object.",
    )
    shadows: Literal["drop", "keep"] = _masks(
        "drop",
        Choice(("drop", "keep")),
        "Local model: leave cast shadows out of the mask, or keep them in it.",
    )
    fill_holes: bool = _masks(
        True, Switch(), "Local model: fill the holes of objects, and close their bays."
    )
    threshold: float | None = _masks(
        None,
        Number("a number of grey levels from 0 to 255", 0, 255),
        "Mark pixels that differ from the background by more than this many grey levels.",
        metavar="LEVEL",
        unset="from the noise",
    )
    min_area: int | None = _masks(
        None,
        Integer(0),
        "Smallest blob that stays in the mask, in pixels of the input.",
        metavar="PIXELS",
        unset="from the frame size, and smaller ones that move",
    )
    clean: bool = _masks(True, Switch(), "Remove specks from the mask.")
    ignore: str | None = _masks(
        None,
        File(),
        "Image of the input's size. Pixels where it is white (a clock, a monitor) are fitted but "
        "never foreground.",
        metavar="IMAGE",
    )

    max_area: int | None = _objects(
        None,
        Integer(1),
        "Largest region of the mask that is taken for an object, in pixels of the input.",
        metavar="PIXELS",
        unset="no limit",
    )
    min_track: int = _objects(
        3, Integer(1), "Frames in which an object must be seen to count.", metavar="FRAMES"
    )
    max_gap: float = _objects(
        1.0,
        Number("a number of seconds of 0 or more", 0),
        "Seconds for which an object may be hidden and keep its number.",
        metavar="SECONDS",
    )
    still_objects: Literal["foreground", "background"] | float | None = _objects(
        None,
        Or(
            Number("a number of seconds above 0", 0, open_least=True),
            {"foreground": "foreground", "background": "background"},
        ),
        "What becomes of a thing that has come to rest. foreground: it is an object until it "
        "leaves; background: it becomes background, after 2 seconds; SECONDS: after so many. This "
        "holds for masks and tracks.",
        metavar="foreground|background|SECONDS",
        unset="foreground",
    )
    regions: str | None = _objects(
        None,
        File(),
        'File of named regions, {"arena 1": [[x, y], …], …} in pixels of the input: objects.csv '
        "gets a column with the region, and regions.csv counts entries, exits and seconds.",
        metavar="JSON",
    )
    feedback: str | None = _objects(
        None,
        File(),
        "File that `bgsub feedback` wrote: tracks that are like what it says is no object are "
        "dropped from the tables, and that is said.",
        metavar="JSON",
    )
    line: tuple[tuple[str, float, float, float, float], ...] = _objects(
        (),
        rules.Several(rules.Line(), separator=";"),
        "Count in regions.csv the objects that cross a line, in each direction; several lines: "
        '"A:1,2,3,4; …".',
        metavar="X1,Y1,X2,Y2",
        unset="none",
    )

    outputs: frozenset[str] = _output(
        DEFAULT_OUTPUTS,
        rules.Several(Choice(OUTPUTS), frozenset),
        f"Write only these, separated by commas: {', '.join(OUTPUTS)}.",
        flag="--only",
        unset="all but preview, overlay, spectrum, scores and report",
    )
    format: Literal["mp4", "mkv", "png", "zarr"] = _output(
        "mp4",
        Choice(("mp4", "mkv", "png", "zarr")),
        "H.264, which every player shows; lossless FFV1; folders of PNG images; or Zarr arrays "
        "(which need the library zarr).",
    )
    foreground: Literal["abs", "signed", "cutout"] = _output(
        "abs",
        Choice(("abs", "signed", "cutout")),
        "What the foreground video shows: the difference from the background, the signed "
        "difference around grey, or the objects cut out.",
    )
    cutoff: float | None = _output(
        None,
        Number("a number above 0, up to 1e9", 0.0, 1e9, open_least=True),
        "Score above which a frame is an outlier. A frame has two: one for its error as a whole, "
        "one for the place in it that fits worst. At 12, each gives one false alarm in 1000 clean "
        "frames.",
        metavar="Z",
        unset="12; with a model, that of its run",
    )
    false_alarms: float | None = _output(
        None,
        rules.FALSE_ALARMS,
        "Instead of --cutoff: the share of clean frames that each score may wrongly call outliers.",
        unset="1/1000",
    )
    plot_format: Literal["png", "svg"] = _output(
        "png", Choice(("png", "svg")), "Format of the plot of the errors."
    )
    force: bool = _output(
        False,
        Switch(),
        "Replace the results of an earlier run; other files are never touched.",
        repeated=False,
    )

    threads: int | None = _resources(
        None, Integer(1, 1024), "Cores to use.", unset="all cores available"
    )
    memory: str | None = _resources(
        None, rules.Memory(), "Memory to use: 600M, 4G, or 50% of what is available.", unset="50%"
    )
    temp: str | None = _resources(
        None,
        rules.Folder(),
        "Folder for frames that take more than 256 MB or do not fit; nothing is left in it.",
        unset="that of the system",
    )
    jobs: int = _resources(
        1,
        Integer(1),
        "Inputs to work on at the same time; they share --threads and --memory.",
        short="-j",
        repeated=False,
    )

    def __post_init__(self) -> None:
        """Check every value, and that none contradicts another."""
        super().__post_init__()
        if self.cutoff is not None and self.false_alarms is not None:
            raise UsageError("--cutoff and --false-alarms say the same thing; give one of them")
        if self.resume and self.segment == "off":
            message = "--resume goes on with segments, but --segment is off"
            raise UsageError(f"{message}; use --segment too, or --skip-existing for a batch")
        if self.model == "local" and self.threshold is not None:
            message = "--model local contradicts --threshold, which is the formula's"
            raise UsageError(f"{message}; leave one of them out")
        check_areas(self.min_area, self.max_area)
        names = [name for name, *_ in self.line]
        if name := next((name for name in names if names.count(name) > 1), ""):
            raise UsageError(f"--line {name}: is there twice; give each line its own name")

    @property
    def k_limit(self) -> int:
        """The number of components that memory is planned for: `k`, or the most "auto" takes."""
        return MOST_AUTO_COMPONENTS if self.k == "auto" else self.k

    def with_names(self, **named: Any) -> Self:
        """Return these options with some changed; those of ``source`` are named as plainly."""
        theirs = named.keys() & SourceOptions.__dataclass_fields__.keys()
        of_input = {name: named.pop(name) for name in theirs}
        source = replace(named.pop("source", self.source), **of_input)
        return replace(self, source=source, **named)

    @property
    def mask_model(self) -> str:
        """Kind of masks, a name in `segmenter.masks.SEGMENTERS`; a threshold is the formula."""
        usual = "local" if self.method == "trpca" else "paper"
        return "paper" if self.threshold is not None else self.model or usual

    def to_json(self) -> dict[str, Any]:
        """Return all options as plain JSON values, those of the input under ``source``."""
        return {"source": self.source.to_json(), **super().to_json()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Make options from what `to_json` returned; see `Declared.from_json`."""
        if isinstance(plain, Mapping):
            plain = {**plain, "source": SourceOptions.from_json(plain.get("source", {}))}
        return super().from_json(plain)


# Options that say where and how fast a run is done: its results are the same.
WITHOUT_EFFECT = {"threads", "memory", "temp", "jobs", "force", "resume"}
