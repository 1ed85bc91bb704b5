"""Declare every option of a run once: name, type, rule, default, section and help.

The checks, the command line, run.json, the docstrings and the tables of docs/options.md are made
from the fields of these classes. A new option is one field here, and the code that uses it; those
of the fit are in `bgsub.fit_options`, those of the input in `bgsub.source_options`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self

from bgsub.declared import documented, option
from bgsub.errors import UsageError
from bgsub.fit_options import FitOptions
from bgsub.input_rules import File, Folder, Memory, Place, Segment, Share
from bgsub.rules import Choice, Integer, Number, Or, Several, Switch, check_areas
from bgsub.source_options import SourceOptions

OUTPUTS = (
    *("background", "foreground", "mask", "still", "errors", "plot", "model"),
    *("objects", "tracks", "events", "preview", "overlay", "spectrum", "scores"),
    *("heatmap", "activity", "report"),
)
"""What a run can write: three videos, background.png, errors.csv, errors.png, model.npz,
objects.csv, tracks.csv, events.csv (and .json), preview.mp4, overlay.mp4, spectrum.png, scores.mkv,
heatmap.png (and .npy), activity.csv and report.html (with input.mp4)."""

EXTRA_OUTPUTS = frozenset(
    {"preview", "overlay", "spectrum", "scores", "heatmap", "activity", "report"}
)
"""Those that are only written when they are asked for."""

DEFAULT_OUTPUTS = frozenset(OUTPUTS) - EXTRA_OUTPUTS

OF_LOCAL = frozenset({"sensitivity", "shadows", "fill_holes"})
"""Options that the network's masks alone make something of."""

ProgressCallback = Callable[[str, int, int | None], None]
"""Called with the stage, the frames (or blocks) done and their number if it is known."""

_segments, _masks, _objects, _output, _resources = (
    functools.partial(option, section)
    for section in ("Segments", "Masks", "Objects", "Output", "Resources")
)


@documented
@dataclass(frozen=True, kw_only=True)
class RunOptions(FitOptions):
    """How frames are fitted and what is written; a run is these options and an input.

    `source` holds the options of the input, a `SourceOptions`.
    """

    source: SourceOptions = field(default_factory=SourceOptions)

    segment: str | int = _segments(
        "auto",
        Or(Choice(("auto", "off")), Place(step=True)),
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
        "Smallest blob that stays in the mask, in its pixels.",
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
            Choice(("foreground", "background")),
            Number("a number of seconds above 0", 0, open_least=True),
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
        Several(Segment(), separator=";"),
        "Count in regions.csv the objects that cross a line, in each direction; several lines: "
        '"A:1,2,3,4; …".',
        metavar="X1,Y1,X2,Y2",
        unset="none",
    )

    outputs: frozenset[str] = _output(
        DEFAULT_OUTPUTS,
        Several(Choice(OUTPUTS), frozenset),
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
        Share(),
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
        None,
        Integer(1, 1024),
        "Cores to use.",
        unset="all cores available",
    )
    memory: str | None = _resources(
        None, Memory(), "Memory to use: 600M, 4G, or 50% of what is available.", unset="50%"
    )
    temp: str | None = _resources(
        None,
        Folder(),
        "Folder for frames that do not fit into memory; nothing is left in it.",
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
        check_areas(self.min_area, self.max_area, self.source.scale)
        self._check_lines()
        if self.model == "local" and self.threshold is not None:
            message = "--model local contradicts --threshold, which is the formula's"
            raise UsageError(f"{message}; leave one of them out")

    def _check_lines(self) -> None:
        """Refuse two lines that nothing tells apart in regions.csv."""
        names = [name for name, *_ in self.line]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"--line {name}: is there twice; give each line its own name")

    def without_effect(self, given: Collection[str]) -> dict[str, str]:
        """Return those of the given options that the others leave without effect, and why."""
        idle = super().without_effect(given)
        if self.mask_model != "local":
            reason = f"--method {self.method}" if self.threshold is None else "--threshold"
            reason = "--model paper" if self.model == "paper" else reason
            idle |= dict.fromkeys(OF_LOCAL.intersection(given), reason)
        return idle

    def with_names(self, **named: Any) -> Self:
        """Return these options with some changed; those of ``source`` are named as plainly."""
        of_input = {field.name for field in fields(SourceOptions)}
        source = {name: value for name, value in named.items() if name in of_input}
        rest = {name: value for name, value in named.items() if name not in of_input}
        return replace(self, source=replace(rest.pop("source", self.source), **source), **rest)

    @property
    def mask_model(self) -> str:
        """Kind of masks, a name in `pipeline.mask_kinds.MASKERS`; a threshold is the formula."""
        usual = "local" if self.method == "trpca" else "paper"
        return "paper" if self.threshold is not None else self.model or usual

    def to_json(self) -> dict[str, Any]:
        """Give all options as plain JSON values, those of the input under ``source``."""
        return {"source": self.source.to_json(), **super().to_json()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Make options from what `to_json` gave; see `Declared.from_json`."""
        if not isinstance(plain, Mapping):
            return super().from_json(plain)
        source = SourceOptions.from_json(plain.get("source", {}))
        return super().from_json({**plain, "source": source})
